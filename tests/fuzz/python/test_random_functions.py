"""Random functions give what Python gives. `python -m tests.fuzz.python.sweep` runs many more."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.python.author import Program, Statement, write_program
from tests.fuzz.python.running import program_of, run, shrink

QUICK = (2, 4, 5, 8, 10, 20)
"""Functions that are compiled in a moment."""


def expect_as_python(numbers: Iterable[int], *, whole: bool = True) -> None:
    """Raises AssertionError with the smallest form of the first function that goes wrong."""
    for number in numbers:
        program = program_of(number, has_pythons=not whole)
        outcome = run(program, whole=whole)
        if outcome.is_bad:
            small = shrink(program, outcome, whole=whole)
            raise AssertionError(f"{outcome.kind}: {outcome.detail}\n{small.text()}")


def test_random_functions_give_what_python_gives() -> None:
    expect_as_python(QUICK)


def test_random_functions_that_are_split_give_what_python_gives() -> None:
    expect_as_python((3, 9), whole=False)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 10_200, 20))
def test_many_random_functions_that_are_split_give_what_python_gives(first: int) -> None:
    expect_as_python(range(first, first + 20), whole=False)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 10_800, 20))
def test_many_random_functions_give_what_python_gives(first: int) -> None:
    expect_as_python(range(first, first + 20))


@pytest.mark.slow
@given(st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_functions_that_hypothesis_chooses_give_what_python_gives(choose: random.Random) -> None:
    program = write_program(choose)
    outcome = run(program)
    assert not outcome.is_bad, f"{outcome.detail}\n{program.text()}"


def test_functions_are_varied() -> None:
    """What people write is written: each of these stands in a good part of the functions."""
    texts = [program_of(number).text() for number in range(400)]
    words = {
        "if ": 0.5, "else:": 0.2, "for ": 0.3, "while ": 0.15, "while True": 0.05, "enumerate": 0.05, "break": 0.1,
        "continue": 0.04, "    return": 0.9, "[::-1]": 0.1, "] = ": 0.3, " += ": 0.2, " and ": 0.05, " if ": 0.05,
        "p[0]": 0.002, "not ": 0.05, "a, b = b, a": 0.002,
    }  # fmt: skip
    rare = {word for word, part in words.items() if sum(word in text for text in texts) < part * len(texts)}
    assert not rare


@pytest.mark.slow
def test_a_difference_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes that reach no other name are noticed, and few lines are left of the function."""
    loop = Statement("for i in range(n):", (Statement("c = x + y"), Statement("a = a * 2.0")))
    lines = ("a = x * 1.0", "b = a", "s = t + 1.0")
    program = Program((*map(Statement, lines), loop, Statement("a[0] = 9.0"), Statement("return b")))
    assert run(program).kind == "refused"
    monkeypatch.setattr("windlass.frontends.arrays.sharing.relate_two", lambda one, other: None)
    outcome = run(program)
    assert outcome.kind == "wrong"
    assert "c = x + y" not in shrink(program, outcome).text()
    assert "s = t" not in shrink(program, outcome).text()
