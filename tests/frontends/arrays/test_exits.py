"""`break`, `continue`, `return` and the `else` of loops, where they are decided as the program runs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays.exit_functions import CASES, A
from tests.frontends.arrays.running import assert_as_numpy, whole


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("function", "cases"), CASES, ids=[each.__name__ for each, _ in CASES])
def test_ways_out_are_pythons(function: Callable[..., Any], cases: list[tuple[Any, ...]]) -> None:
    compiled = whole(function)
    for case in cases:
        plain, given = copy.deepcopy(case), copy.deepcopy(case)
        with np.errstate(all="ignore"):
            wanted = function(*plain)
        found = compiled(*given)
        for one, other in zip(jax.tree.leaves((found, given)), jax.tree.leaves((wanted, plain)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)
            assert np.asarray(one).dtype == np.asarray(other).dtype
        assert jax.tree.structure(found) == jax.tree.structure(wanted)


def test_loop_with_a_break_is_one_operation_with_one_boolean() -> None:
    def function(a: Any, n: Any, t: Any) -> Any:
        s = 0.0
        for i in range(n):
            if a[i] > t:
                break
            s += 1.0
        return s

    text = whole(function).lower(A.copy(), 5, 2.0).text("tensor")
    assert text.count("stablehlo.while") == 1
    loop = next(line for line in text.splitlines() if "stablehlo.while" in line)
    assert loop.count("tensor<i1>") == 1


def test_argument_that_every_way_returns_is_the_argument() -> None:
    def function(a: Any, t: Any) -> Any:
        if a[0] > t:
            a[0] = 1.0
            return a
        return a

    given = A.copy()
    assert whole(function)(given, 2.0) is given
    assert given[0] == 1


# -- names that are bound on some ways --------------------------------------------------------------------------------


def reads_after_no_round(a: Any, n: Any) -> Any:
    for i in range(n):
        value = a[i]
    return value  # pyright: ignore[reportPossiblyUnboundVariable]


def reads_the_counter(a: Any, n: Any) -> Any:
    for i in range(n):
        a[i] = 0
    return i  # pyright: ignore[reportPossiblyUnboundVariable]


def reads_what_one_side_binds(a: Any, t: Any) -> Any:
    if a[0] > t:
        value = a[1]
    return value * 2  # pyright: ignore[reportPossiblyUnboundVariable]


def reads_what_a_break_skips(a: Any, t: Any) -> Any:
    for i in range(5):
        if a[i] > t:
            break
        value = a[i]
    return value  # pyright: ignore[reportPossiblyUnboundVariable]


def adds_to_what_one_side_binds(a: Any, t: Any) -> Any:
    if a[0] > t:
        value = a[1]
    value += 1  # pyright: ignore[reportPossiblyUnboundVariable]
    return value


@pytest.mark.parametrize(
    ("function", "is_bound", "is_unbound", "line"),
    [
        (reads_after_no_round, 3, 0, 3),
        (reads_the_counter, 3, 0, 3),
        (reads_what_one_side_binds, 1.0, 50.0, 3),
        (reads_what_a_break_skips, 3.5, 1.0, 5),
        (adds_to_what_one_side_binds, 1.0, 50.0, 3),
    ],
)
def test_unbound_names_are_told_at_the_line_that_reads_them(
    function: Callable[..., Any], is_bound: Any, is_unbound: Any, line: int
) -> None:
    compiled = whole(function)
    assert_as_numpy(function, A, is_bound)
    with pytest.raises(UnboundLocalError):
        function(A.copy(), is_unbound)
    with pytest.raises(UnboundLocalError) as caught:
        compiled(A.copy(), is_unbound)
    assert isinstance(caught.value, wl.WindlassError)
    first = caught.value.diagnostics[0]
    assert first.code == "WL0920"
    assert first.headline in ("'value' is read, and no statement that binds it has run",
                              "'i' is read, and no statement that binds it has run")  # fmt: skip
    assert first.position is not None
    assert first.position.line == function.__code__.co_firstlineno + line


# -- what is refused --------------------------------------------------------------------------------------------------


def returns_two_shapes(a: Any, t: Any) -> Any:
    if a[0] > t:
        return a
    return a[1:]


def returns_two_types(a: Any, t: Any) -> Any:
    if a[0] > t:
        return 1
    return a[0]


def returns_something_or_nothing(a: Any, t: Any) -> Any:
    for i in range(5):
        if a[i] > t:
            return a[i]
    return None


def returns_tuples_of_two_lengths(a: Any, t: Any) -> Any:
    if a[0] > t:
        return a[0], a[1]
    return (a[0],)


def gives_one_name_two_shapes(a: Any, t: Any) -> Any:
    if a[0] > t:
        b = a[:2]
    else:
        b = a[:3]
    return b


def reads_what_the_other_side_binds(a: Any, t: Any) -> Any:
    value = 0.0
    if a[0] > t:
        other = a * 2
    elif other[0] > 1.0:  # pyright: ignore[reportUnboundVariable]
        value = 1.0
    return value


def test_names_that_are_unbound_on_the_way_that_reads_them_are_refused() -> None:
    with pytest.raises(wl.WindlassError, match="'other' where it is not associated with a value: bind the name before"):
        whole(reads_what_the_other_side_binds)(A.copy(), 1.0)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (returns_two_shapes, "an array of shape (7,) on one way and an array of shape (6,) on another"),
        (returns_two_types, "int64 on one way and float64 on another"),
        (returns_something_or_nothing, "a number (float64) on one way and None on another"),
        (returns_tuples_of_two_lengths, "a tuple of 2 on one way and a tuple of 1 on another"),
    ],
)
def test_returns_that_differ_are_told_with_both_lines(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(wl.WindlassError) as caught:
        whole(function)(A.copy(), 1.0)
    first = caught.value.diagnostics[0]
    start = function.__code__.co_firstlineno
    lines = [number for number in range(start, start + 6) if "return " in _line(number)]
    assert first.code == "WL0910"
    told = f"the function returns (line {lines[0]} and line {lines[1]}) {words}"
    assert first.headline == f"this loop or branch can't become one operation: {told}"


def test_names_of_two_shapes_are_told() -> None:
    with pytest.raises(
        wl.WindlassError, match=r"'b' is an array of shape \(2,\) on one way and an array of shape \(3,\) on another"
    ):
        whole(gives_one_name_two_shapes)(A.copy(), 1.0)


def _line(number: int) -> str:
    return Path(__file__).read_text().splitlines()[number - 1]
