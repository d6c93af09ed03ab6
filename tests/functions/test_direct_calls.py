"""Programs of native code alone: run on NumPy's arrays where they are, with what NumPy gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import windlass as wl
from windlass.functions import compiled_call
from windlass.functions.direct_calls import DirectCall, direct_call
from windlass.lowering import native_loops
from windlass.native import element_loops

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="native code is a CPU's")


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> list[DirectCall]:
    """The programs that were run so; all are worth it."""
    found: list[DirectCall] = []

    def noting(*given: Any) -> DirectCall | None:
        call = direct_call(*given)
        found.extend([call] if call else [])
        return call

    for owner, name in ((element_loops, "WORTH"), (element_loops, "WORTH_OF_ARRAYS"), (native_loops, "LITTLE")):
        monkeypatch.setattr(owner, name, 0)
    monkeypatch.setattr(compiled_call, "direct_call", noting)
    return found


def swap(x: Any, y: Any) -> Any:
    kept = x.copy()
    x[:] = y + 1
    y[:] = kept
    return kept


def steps(x: Any, y: Any) -> Any:
    """A loop between array code, of which the arrays change places."""
    a, b = x * 2, y
    for _ in range(3):
        a, b = b + a, a
    x[1:] = a[:-1]
    return a, a, b[::2], float(x[0])


def before_and_after(x: Any, y: Any) -> Any:
    before = x + y
    for i in range(1, 4):
        x[i] = x[i - 1] + y[i]
    return before, x - before, x


def swapped(x: Any, y: Any) -> None:
    for _ in range(5):
        first = x[1:] + y[:-1]
        y[:-1] = x[1:] * 2
        x[1:] = first


@pytest.mark.parametrize("function", [swap, steps, before_and_after, swapped])
def test_arrays_may_lie_anyhow(function: Callable[..., Any], made: list[DirectCall]) -> None:
    compiled = wl.jit(function)
    given = np.random.default_rng(0).random((2, 12))
    odd = np.frombuffer(bytearray(8 * 12 + 1), np.uint8)[1:].view(np.float64)
    earlier: list[Any] = []
    for x in (given[0].copy(), np.zeros(24)[::2], np.zeros(24)[::-2], odd, np.zeros(12)):
        x[:] = given[0]
        y, wanted = given[1].copy(), given.copy()
        found, expected = compiled(x, y), function(*wanted)
        for one, other in zip((x, y, *_all(found)), (*wanted, *_all(expected)), strict=True):
            np.testing.assert_array_equal(one, other)
        fresh = [each for each in _all(found) if isinstance(each, np.ndarray) and each is not x]
        for place, each in enumerate(fresh):
            assert not any(np.may_share_memory(each, other) for other in (x, y, *fresh[:place], *earlier))
        earlier += fresh
    assert made


def _all(found: Any) -> list[Any]:
    return [] if found is None else list(found) if isinstance(found, tuple) else [found]


def test_programs_with_checks_and_arrays_of_jax_are_run_by_xla(made: list[DirectCall]) -> None:
    def first_of(x: Any, at: Any) -> Any:
        x[0] += 1
        return x[at[0]] * x

    x = np.ones(3)
    with pytest.raises(wl.WindlassError, match="WL0913"):
        wl.jit(first_of)(x, np.array([7]))
    assert x.tolist() == [1, 1, 1]
    assert wl.jit(lambda x: x + 1)(jax.numpy.ones(3)).tolist() == [2, 2, 2]
    assert not made
