"""Loops and branches of Python as operations of the program."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays.running import assert_as_numpy, whole
from windlass.frontends.arrays import loops

U = np.linspace(0, 1, 40, dtype=np.float32) ** 2


def heat(u: Any, v: Any, steps: Any, rate: Any) -> Any:
    for _ in range(steps):
        v[1:-1] = u[1:-1] + rate * (u[:-2] - 2 * u[1:-1] + u[2:])
        u, v = v, u
    return u.copy()


def rotates_three(a: Any, b: Any, c: Any, steps: Any) -> Any:
    for i in range(steps):
        a[...] = b + c * i
        a, b, c = b, c, a
    return a + 0, b + 0


def adds_numbers(u: Any) -> Any:
    total = 0.0
    for i in range(100):
        total = total + u[i % 10] * i
    return total, i  # pyright: ignore[reportPossiblyUnboundVariable]


def nests(u: Any) -> Any:
    for i in range(20):
        for j in range(i, 30, 2):
            u[i % 4, j % 5] += i * j
    return u


def rebinds(u: Any, steps: Any) -> Any:
    for k in range(steps):
        u = u * 0.5 + k
    return u


def counts_down(u: Any, first: Any) -> Any:
    for i in range(first, 2, -3):
        u[i] = i
    return u


def halves(u: Any) -> Any:
    count = 0
    while u.sum() > 1:
        u *= 0.5
        count += 1
    return count


def chooses(u: Any, n: Any) -> Any:
    if n > 3:
        u += 1
        x = 2.0
    elif n > 2:
        x = 5.0
    else:
        u -= 1
        x = 3.0
    return x * u


def chooses_in_a_loop(u: Any, n: Any) -> Any:
    biggest = u[0] * 0
    for i in range(n):
        if u[i] > biggest:
            biggest = u[i] * 1
    return biggest


def builds_a_list(u: Any) -> Any:
    found = []
    for i in range(12):
        found.append(u[i] + i)
    return found[-1]


def indexes_a_list(u: Any) -> Any:
    names = [1.0, 2.0, 3.0] * 5
    for i in range(15):
        u += names[i]
    return u


def leaves_early(u: Any, limit: int) -> Any:
    for i in range(20):
        if i == limit:
            break
        u += 1
    return u


def sees_the_outside(u: Any) -> Any:
    factor = 2.0

    def scaled(x: Any) -> Any:
        return x * factor

    for _ in range(10):
        u[...] = scaled(u) - u * 0.5
    return u


def names_the_counter(u: Any) -> Any:
    i = 5
    for i in range(10, 30):
        last = i * 2
        u[i] = last
    return i + last  # pyright: ignore[reportPossiblyUnboundVariable]


def loops_over_others(u: Any) -> Any:
    for row in (1, 2, 3):
        u[row] *= row
    for value, place in zip([4.0, 5.0], range(2), strict=True):
        u[place] = value
    return u


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        *[(heat, (U, U.copy(), steps, 0.1)) for steps in (0, 1, 2, 7, 50)],
        *[(rotates_three, (U, U + 1, U + 2, steps)) for steps in (0, 1, 3, 4, 11)],
        (adds_numbers, (U,)),
        (nests, (np.zeros((4, 5), np.float32),)),
        (rebinds, (U, 5)),
        (rebinds, (U.astype(np.float64), 0)),
        (counts_down, (U, 30)),
        (counts_down, (U, 1)),
        (halves, (U,)),
        *[(chooses, (U, n)) for n in (1, 3, 5)],
        (chooses_in_a_loop, (U, 30)),
        (builds_a_list, (U,)),
        (indexes_a_list, (U,)),
        (sees_the_outside, (U,)),
        (names_the_counter, (U,)),
        (loops_over_others, (U,)),
    ],
)
def test_behaves_as_python(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    assert_as_numpy(function, *arguments)


@pytest.mark.parametrize("steps", [9, 10])
def test_known_number_of_steps(steps: int) -> None:
    assert_as_numpy(heat, U, U.copy(), steps, 0.1, static="steps")


def test_breaks_are_left_to_python() -> None:
    assert_as_numpy(leaves_early, U, 7, static="limit")


def test_loop_is_one_operation() -> None:
    text = whole(heat).lower(U.copy(), U.copy(), 1000, 0.1).text("tensor")
    assert text.count("stablehlo.while") == 1
    assert text.count("stablehlo.dynamic_update_slice") == 3  # two steps in the loop, one for an odd number of steps


def nests_deeply(x: Any, y: Any) -> Any:
    for a in range(4):
        for b in range(4):
            for c in range(4):
                for d in range(4):
                    for e in range(4):
                        if a - b >= 0:
                            y[a, c, e] += np.sin(x[b, d, e]) * x[e, c, a]
    return d, e  # pyright: ignore[reportPossiblyUnboundVariable]


def test_deep_nests_of_short_loops_are_not_unrolled_as_a_whole() -> None:
    x, y = np.random.default_rng(0).random((4, 4, 4)), np.zeros((4, 4, 4))
    function = whole(nests_deeply)
    assert function.lower(x, y).text("tensor").count("stablehlo.sine") <= 16
    found = y.copy()
    assert function(x, found) == nests_deeply(x, y)
    np.testing.assert_allclose(found, y)


def test_loops_that_would_be_unrolled_without_end_are_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def halves(x: Any, sizes: Any) -> Any:
        for _ in sizes:
            x = x / 2
        return x

    monkeypatch.setattr(loops, "MOST_ROUNDS", 20)
    x, sizes = np.ones(3), list(range(30))
    with pytest.raises(wl.WindlassError, match="more than 20 rounds"):
        wl.jit(whole=True, static="sizes")(halves)(x, tuple(sizes))
    np.testing.assert_array_equal(wl.jit(static="sizes")(halves)(x, tuple(sizes)), halves(x, sizes))


def test_time_loop_copies_no_array() -> None:
    text = whole(heat).lower(U.copy(), U.copy(), 1000, 0.1).text("hlo")
    names = set(re.findall(r"while\(.*body=%([\w.-]+)", text))
    bodies = [re.split(rf"^%{re.escape(name)} ", text, flags=re.MULTILINE)[1].split("\n}")[0] for name in names]
    assert any("fusion" in body for body in bodies)
    assert not any("f32[40]{0} copy(" in body for body in bodies)


def test_writing_to_a_name_that_stands_for_one_of_two_arrays_is_refused() -> None:
    def function(u: Any, v: Any, n: Any) -> None:
        for _ in range(n):
            u, v = v, u
        u[0] = 1

    with pytest.raises(wl.WindlassError, match=r"WL0908"):
        whole(function)(U.copy(), U.copy(), 3)


def test_changing_shapes_are_explained() -> None:
    def function(u: Any, n: Any) -> Any:
        for _ in range(n[0]):
            u = np.concatenate([u, u])
        return u

    with pytest.raises(wl.WindlassError, match=r"WL0910"):
        whole(function)(U.copy(), np.array([3]))
