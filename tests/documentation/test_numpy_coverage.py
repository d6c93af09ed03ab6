"""The page of NumPy's functions says what becomes of each."""

# pyright: basic
from __future__ import annotations

import numpy as np
import pytest

from tests.documentation.numpy_coverage import PAGE, names, page_of, row_of, rows_of_page

ROWS = rows_of_page()
IS_OF_THIS_NUMPY = f"of NumPy {np.__version__} " in PAGE.read_text()


def test_the_page_has_each_function_and_none_is_wrong():
    assert page_of(ROWS) == PAGE.read_text()
    assert not IS_OF_THIS_NUMPY or [each.name for each in ROWS] == names()
    counted = [each for each in ROWS if each.how != "other"]
    assert sum(each.how in ("compiled", "split") for each in counted) >= 0.95 * len(counted)
    assert not [each for each in ROWS if each.how == "wrong"]


@pytest.mark.one_in(60)
@pytest.mark.skipif(not IS_OF_THIS_NUMPY, reason="the page is of another NumPy")
@pytest.mark.parametrize("row", ROWS, ids=[each.name for each in ROWS])
def test_each_function_becomes_what_the_page_says(row):
    assert row_of(row.name) == row
