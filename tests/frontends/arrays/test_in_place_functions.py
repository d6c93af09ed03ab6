"""What functions give, and what they do to the caller's arrays, is what NumPy gives and does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.frontends.arrays.in_place_functions import CASES
from tests.frontends.arrays.running import assert_as_numpy


@pytest.mark.one_in(12)
@pytest.mark.parametrize(
    ("function", "arguments"), CASES, ids=[f"{each.__name__}-{number}" for number, (each, _) in enumerate(CASES)]
)
def test_changes_arrays_as_numpy_does(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    assert_as_numpy(function, *arguments, rtol=1e-12 if not _has_floats_of_32_bits(arguments) else 2e-6)


def test_there_are_a_hundred() -> None:
    assert len({function.__name__ for function, _ in CASES}) >= 100


def _has_floats_of_32_bits(arguments: tuple[Any, ...]) -> bool:
    return any(isinstance(each, np.ndarray) and each.dtype in (np.float32, np.float16) for each in arguments)
