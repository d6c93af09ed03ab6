"""Functions over every form of statement and expression of Python give, write and raise what Python's do."""

from __future__ import annotations

import pytest

from tests.fuzz.python.forms import FORMS, OTHERWISE, all_functions
from tests.fuzz.python.run_forms import compare


@pytest.mark.one_in(150)
@pytest.mark.parametrize(("form", "context"), all_functions())
def test_a_form_means_what_it_means_in_python(form: str, context: str) -> None:
    kind, detail = compare(form, context)
    assert kind != "wrong", detail


def test_there_are_hundreds_of_functions() -> None:
    assert len(all_functions()) > 300 and set(OTHERWISE) < set(FORMS)


@pytest.mark.parametrize(
    ("form", "context"),
    [("isinstance_", "alone"), ("texts", "alone"), ("try_that_catches", "alone"), ("suppressed", "in_a_function"),
     ("integer_divided_in_place", "alone")],
)  # fmt: skip
def test_forms_that_once_meant_something_else(form: str, context: str) -> None:
    kind, detail = compare(form, context)
    assert kind == "same", detail
