"""Clauses and constructs of OpenMP have their serial meaning; loops that wait or know their thread keep their order."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windlass as wl

FILE = Path(__file__).parent / "clauses.c"
N = 13
X = np.random.default_rng(3).standard_normal(N)
K = np.random.default_rng(4).integers(0, 9, N).astype(np.int32)
NOTHING = np.zeros(N)
EMULATED = ("scan", "tasks_red")


def halved(first: float, terms: Any) -> list[float]:
    """Half of the one before, plus a term."""
    found = [first]
    for term in terms:
        found.append(found[-1] * 0.5 + term)
    return found


def filled(places: slice, values: Any) -> Any:
    found = np.zeros(N)
    found[places] = values
    return found


FIRST = filled(slice(0, 1), X[0])
FLAGS = (np.arange(N) == 0).astype(np.int32)
RECURRENCE = halved(X[0], np.ones(N - 1))
TRIANGLE = np.tril(np.arange(N)[:, None] * 100.0 + np.arange(N), -1)

WRITES: dict[str, tuple[tuple[Any, ...], int, Any]] = {
    "through_call": ((N, X, np.ones(2)), 2, [halved(1, X)[-1], 1]),
    "tp": ((N, X, NOTHING), 2, halved(0, X)[1:]),
    "flushing": ((N, FLAGS, FIRST), 2, RECURRENCE),
    "seq_atomic": ((N, np.zeros(1, np.int32), NOTHING.astype(np.int32), X), 2, np.arange(N)),
    "vol": ((N, np.array([2], np.int32), FIRST), 2, X[0] + 2 * np.arange(N)),
    "doacross": ((N, FIRST), 1, RECURRENCE),
    "down": ((N, NOTHING, X), 1, filled(slice(None, None, -2), (X + np.arange(N))[::-2])),
    "unsigned_loop": ((N, NOTHING), 1, filled(slice(3, None, 3), np.arange(3, N, 3))),
    "tri": ((N, np.zeros((N, N))), 1, TRIANGLE),
    "lastp": ((N, np.zeros(3, np.int32), K), 1, [K[-1], N - 1, 2 * N - 2]),
    "lin": ((N, np.zeros(N + 1, np.int32)), 1, 5 + 3 * np.arange(N + 1)),
    "scan": ((N, X, NOTHING), 2, np.cumsum(X)),
    "masters": ((N, X), 1, X + 1),
    "copyp": ((N, X), 1, [X[0], *(X[1:] + X[0])]),
    "dist_chunk": ((N, X), 1, X + 1),
    "simd_for": ((N, X), 1, X + 1),
    "guided": ((N, X), 1, X + 1),
    "runtime_s": ((N, X, 4), 1, X + 3),
    "loop_c": ((N, X), 1, X + 1),
    "iff": ((N, X), 1, X + 1),
}
"""The arguments, and what is in one of them afterwards."""

RETURNS: dict[str, tuple[tuple[Any, ...], Any]] = {
    "custom": ((N, X), X[np.abs(X).argmax()]),
    "cancel": ((N, K), int((K == 7).any())),
    "tasks_red": ((N, X), 2 * X.sum()),
}


@cache
def functions() -> wl.c.CModule:
    return wl.c.compile(FILE)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [*WRITES, *RETURNS])
def test_construct_has_its_serial_meaning(name: str) -> None:
    given, *_ = WRITES.get(name) or RETURNS[name]
    arguments = [each.copy() if isinstance(each, np.ndarray) else each for each in given]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if name in EMULATED else "error")
        returned = functions()[name](*arguments)
    if name in RETURNS:
        assert returned == pytest.approx(RETURNS[name][1])
    else:
        _, place, expected = WRITES[name]
        np.testing.assert_allclose(arguments[place], expected)
