"""Random compositions of statements and NumPy's functions do what Python does.

`python -m tests.fuzz.python.sweep_compositions --minutes 10` runs many more.
"""

# pyright: basic
# ruff: noqa: E501
from __future__ import annotations

import numpy as np
import pytest

from tests.fuzz.python.compared import compare, shrink
from tests.fuzz.python.compositions import PRELUDE, Composition, write_composition

QUICK = (3, 501)
X, Y = np.array([3.0, -1.0, 4.0]), np.array([1, 2, 3])


def expect_as_python(seed: int) -> None:
    """Raises AssertionError with the smallest form of a function that goes wrong."""
    made = write_composition(seed)
    verdict = compare(made)
    if verdict.kind == "wrong":
        small = shrink(made, verdict)
        raise AssertionError(f"{compare(small).detail}\n{small.text.removeprefix(PRELUDE)}")


@pytest.mark.parametrize("seed", QUICK)
def test_compositions_do_what_python_does(seed: int) -> None:
    expect_as_python(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(20_000, 20_400, 20))
def test_many_compositions_do_what_python_does(first: int) -> None:
    for seed in range(first, first + 20):
        expect_as_python(seed)


def test_compositions_are_varied() -> None:
    """What people write is written: each of these stands in some of the functions."""
    texts = [write_composition(seed).text.removeprefix(PRELUDE) for seed in range(60)]
    words = (
        "if ", "else:", "elif ", "for ", "while ", "break", "continue", "try:", "except ", "finally:", "with ", "match ",
        "case ", ":= ", " if ", "lambda ", "def f", "out=", "[::-1]", " for v in ", "Point(", "enumerate(", "zip(", "+= ",
        "{'", "] = ", "astype(", ".append(", "del ",
    )  # fmt: skip
    assert not [word for word in words if not any(word in text for text in texts)]


@pytest.mark.slow
def test_a_difference_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ("b = y + 1", "r = x[0]", "for i in range(n):", "    r = m", "    b = b * 2", "return r, b")
    text = "def program(x, y, n, m, t, flag, notes):\n" + "".join(f"    {line}\n" for line in lines)
    made = Composition(PRELUDE + text, ((X, Y, 3, 2, 0.5, True, []),))
    assert compare(made).kind == "same"
    monkeypatch.setattr("windlass.frontends.arrays.carrying.keeps", lambda value, aval, dtype: True)
    verdict = compare(made)
    assert verdict.cause == "a number of float64 for int64"
    small = shrink(made, verdict, 20.0).text.removeprefix(PRELUDE)
    assert "r = m" in small and "b * 2" not in small
