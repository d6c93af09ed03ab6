"""Plain loops of linear algebra and stencils, without a pragma: all are raised, and as the emulator computes them."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windlass as wl

FILE = Path(__file__).parent / "linear_algebra.c"
N = 7
RANDOM = np.random.default_rng(6)


def square() -> Any:
    return RANDOM.standard_normal((N, N))


def vector() -> Any:
    return RANDOM.standard_normal(N)


CALLS: dict[str, tuple[tuple[Any, ...], int]] = {
    "gemm": ((N, 1.5, 0.5, square(), square(), square()), 1),
    "two_mm": ((N, 1.5, square(), square(), square(), square(), square()), 2),
    "atax": ((N, square(), vector(), vector(), vector()), 0),
    "bicg": ((N, square(), vector(), vector(), vector(), vector()), 0),
    "mvt": ((N, vector(), vector(), vector(), vector(), square()), 2),
    "syrk": ((N, 1.5, square(), square()), 1),
    "k_outermost": ((N, square(), square(), square()), 1),
    "jacobi_2d": ((3, N, square(), square()), 0),
    "doitgen": ((N, RANDOM.standard_normal((N, N, N)), square(), vector()), 0),
    "gesummv": ((N, 1.5, 0.5, square(), square(), vector(), vector(), vector()), 2),
    "covariance": ((N, float(N), square(), square(), vector()), 0),
    "trisolv": ((N, square() + 9 * np.eye(N), vector(), vector()), 0),
}
"""The arguments, and how many contractions there are at least."""


@cache
def functions() -> wl.c.CModule:
    return wl.c.compile(FILE)


@pytest.mark.parametrize("name", CALLS)
def test_loops_are_raised_and_right(name: str) -> None:
    function, (given, products) = functions()[name], CALLS[name]
    ours, theirs = ([each.copy() if isinstance(each, np.ndarray) else each for each in given] for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(*ours)
    wl.emulate(function)(*theirs)
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    assert function.explain().ops["dot_general"] >= products
