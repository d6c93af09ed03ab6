"""What is looked at as a compiled program runs, what is refused, and what is said."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays.running import assert_as_numpy, copied, whole

X = np.arange(5.0)
GENERATOR = np.random.default_rng(1)
TABLE = np.zeros(3)
kept: list[Any] = []


def reads(x: Any, i: Any) -> Any:
    x[0] = 7
    return x[i]


def writes(x: Any, i: Any) -> None:
    x[0] = 7
    x[i] = 1


def takes(x: Any, i: Any) -> Any:
    return np.take(x, i) + np.take_along_axis(x, np.reshape(i, -1), 0)[0]


def adds_at(x: Any, i: Any) -> None:
    np.add.at(x, i, 1)


def branches(x: Any, i: Any) -> None:
    if i > 3:
        x[i] = 1
    else:
        x[99 if x.size > 99 else -1] = 2


def fills(x: Any, n: Any) -> None:
    for i in range(n):
        x[i] = i


def runs_past(x: Any, limit: Any) -> Any:
    i = 0
    while x[i] < limit:
        i += 1
    return i


def in_a_branch_not_taken(x: Any, n: Any) -> None:
    if n > 3:
        x[99] = 1


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("function", "index"),
    [
        *[(each, i) for each in (reads, writes, takes, adds_at) for i in (4, -5, np.array([1, -1]))],
        *[(each, i) for each in (reads, writes, takes, adds_at) for i in (5, -6, np.array([1, 9]), np.array([-6, 0]))],
        *[(reads, i) for i in (np.int8(-2), np.uint8(200), np.array(2), np.array(5))],
        *[(branches, i) for i in (2, 4, 5)],
        *[(fills, n) for n in (0, 5, 6)],
        *[(runs_past, limit) for limit in (3.0, 9.0)],
        *[(in_a_branch_not_taken, n) for n in (1, 4)],
    ],
)
def test_indices_are_checked_as_numpy_does(function: Callable[..., Any], index: Any) -> None:
    try:
        function(X.copy(), copied(index))
    except IndexError as error:
        x = X.copy()
        with pytest.raises(IndexError, match=str(error)) as caught:
            whole(function)(x, index)
        assert isinstance(caught.value, wl.WindlassError)
        assert caught.value.diagnostics[0].code == "WL0913"
        position = caught.value.diagnostics[0].position
        assert position is not None and position.file == __file__
        np.testing.assert_array_equal(x, X)
    else:
        assert_as_numpy(function, X, index)


def test_narrow_indices_count_from_the_end_of_long_arrays() -> None:
    assert_as_numpy(lambda x, i, j: (x[i], x[j]), np.arange(300.0), np.int8(-100), np.array([-128, 127], np.int8))


def test_indices_within_transformations_of_jax_are_jaxs() -> None:
    assert whole(lambda x: jax.lax.fori_loop(0, 7, lambda i, total: total + x[i], 0.0))(X.copy()) == 18
    assert jax.jit(whole(lambda x, i: x[i]))(jnp.arange(3.0), 9) == 2


def test_nothing_is_lost_in_transformations_of_jax() -> None:
    def function(x: Any) -> Any:
        def body(i: Any, total: Any) -> Any:
            x[i] = 1
            return total

        return jax.lax.fori_loop(0, 3, body, 0.0)

    with pytest.raises(wl.WindlassError, match=r"WL0917.*is written in a function that JAX transforms"):
        whole(function)(X.copy())


# -- draws ------------------------------------------------------------------------------------------------------------


def draws_in_another_function(x: Any) -> Any:
    return draws_by_a_generator(x) * 2


def draws_by_a_generator(x: Any) -> Any:
    return x + GENERATOR.random(5)


def draws_by_numpy(x: Any) -> Any:
    return x + np.random.rand(5)


def shuffles(x: Any) -> None:
    np.random.shuffle(x)


def draws_by_python(x: Any) -> Any:
    return x + random.random()


def draws_without_a_seed(x: Any) -> Any:
    return x + np.random.default_rng().random(5)


def seeds(x: Any) -> Any:
    np.random.seed(0)
    return x


def reads_the_clock(x: Any) -> Any:
    return x + time.perf_counter()


@pytest.mark.parametrize(
    "function",
    [
        draws_in_another_function, draws_by_a_generator, draws_by_numpy, shuffles, draws_by_python,
        draws_without_a_seed, seeds, reads_the_clock,
    ],
)  # fmt: skip
def test_draws_are_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(wl.WindlassError, match="WL0914") as caught:
        whole(function)(X.copy())
    position = caught.value.diagnostics[0].position
    assert position is not None and position.column > 1


def test_draws_of_a_seed_are_what_they_are_in_numpy() -> None:
    def function(x: Any) -> Any:
        rng = np.random.default_rng(3)
        for i in range(20):
            x[i % 5] += rng.random()
        return x + rng.random(5)

    assert_as_numpy(function, X)


class Noise:
    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator

    @property
    def value(self) -> float:
        return self.generator.random()


def test_draws_that_no_call_shows_are_told() -> None:
    with pytest.warns(wl.WindlassWarning, match=r"WL0914.*were drawn while the function was compiled"):
        whole(lambda x: x + Noise(GENERATOR).value)(X.copy())


# -- loops and functions ----------------------------------------------------------------------------------------------


def test_names_bound_in_conditions_are_carried() -> None:
    def function(x: Any, limit: Any) -> Any:
        n = 0
        while (n := n + 1) < 5:
            x *= 2
        while (m := n * 2) < limit:
            n += 1
        return n, m

    assert_as_numpy(function, X, 40)


def test_numbers_that_follow_from_others_are_carried() -> None:
    def function(n: Any) -> Any:
        a, b, c = 0, 1, 1
        for _ in range(n):
            a, b, c = b, c, a + b
        return a, b, c

    assert_as_numpy(function, 9)


def test_objects_changed_in_a_loop_are_changed_each_time() -> None:
    def function(x: Any) -> Any:
        counts, sums = [0], np.zeros(2)
        for i in range(50):
            counts[0] += 1
            sums[i % 2] += 1
        return x * counts[0], sums

    assert_as_numpy(function, X)

    def unknown(x: Any, n: Any) -> Any:
        counts = {"k": 0}
        for _ in range(n[0]):
            counts["k"] += 1
        return x * counts["k"]

    with pytest.raises(wl.WindlassError, match=r"WL0910.*an object of dict is changed within it"):
        whole(unknown)(X.copy(), np.array([3]))


@whole
def endless(x: Any) -> Any:
    return endless(x)


@whole
def folded(x: Any) -> Any:
    assert folded.name == "folded"
    return x[0] if x.size == 1 else folded(x[: x.size // 2]) + folded(x[x.size // 2 :])


def test_functions_call_themselves() -> None:
    assert folded(X.copy()) == 10
    with pytest.raises(wl.WindlassError, match="WL0918"):
        endless(X.copy())


def test_compiled_functions_change_arrays_of_others() -> None:
    @whole
    def inner(x: Any) -> None:
        x[0] = 9

    def outer(x: Any) -> Any:
        inner(x[1:])
        return x.sum()

    assert_as_numpy(outer, X)


def test_decorators_stay() -> None:
    def twice(function: Callable[..., Any]) -> Callable[..., Any]:
        from functools import wraps

        @wraps(function)
        def run(*arguments: Any) -> Any:
            return function(*arguments) * 2

        return run

    @twice
    def function(x: Any) -> Any:
        return x + 1

    assert_as_numpy(function, X)


# -- messages ---------------------------------------------------------------------------------------------------------


def raises_in_a_branch(x: Any) -> Any:
    if x[0] > 1:
        x = x * 2
        raise ValueError("x is too large")
    return -x


def breaks_in_a_try(x: Any) -> None:
    while x.shape[0]:
        try:
            if x[1] > 3:
                break
        finally:
            x += 1


def has_and(x: Any) -> None:
    if x[0] > 1 and (y := x[1]) > 2:
        x += y


def has_or(x: Any) -> Any:
    return x[0] or x.argmax()


def has_a_choice(x: Any) -> Any:
    return "low" if x[0] > 1 else "high"


def has_max(x: Any) -> Any:
    return max(x)


def trims(x: Any) -> Any:
    return np.trim_zeros(x)


def picks(x: Any) -> Any:
    return np.split(x, np.flatnonzero(x > 1))


def does_not_fit(x: Any) -> Any:
    return x + np.ones(3)


def has_no_such_axis(x: Any) -> Any:
    return x.sum(axis=3)


def makes_by_an_element(x: Any) -> Any:
    return np.zeros(x[0])


def writes_outside(x: Any) -> None:
    TABLE[0] = 1


class Keeper:
    """What is done when an object is made is seen by nobody."""

    def __init__(self, x: Any) -> None:
        kept.append(x)


def keep(x: Any) -> None:
    Keeper(x)


def uses_what_is_gone(x: Any) -> Any:
    return x + kept[0]


def changes_a_number(x: Any) -> None:
    x[0][...] = 1
    x[0].fill(1)


def adds_a_string(x: Any) -> Any:
    return x + "1"


@pytest.mark.parametrize(
    ("function", "code", "kind", "words"),
    [
        (raises_in_a_branch, "WL0904", wl.WindlassError, "an `if` that holds a `raise` can't become"),
        (breaks_in_a_try, "WL0904", wl.WindlassError, "that holds a `break` can't become an operation"),
        (has_and, "WL0904", wl.WindlassError, "write numpy.logical_and(a, b), or (a) & (b)"),
        (has_or, "WL0904", wl.WindlassError, "which side `or` gives is not known"),
        (has_a_choice, "WL0910", wl.WindlassError, "the value is 'low' on one way and 'high' on another"),
        (has_max, "WL0904", wl.WindlassError, "or a.max()"),
        (trims, "WL0904", wl.WindlassError, "how much numpy.trim_zeros gives is not known"),
        (picks, "WL0904", wl.WindlassError, "how many elements a slice has is not known"),
        (does_not_fit, "WL0916", ValueError, "shapes"),
        (has_no_such_axis, "WL0916", ValueError, "axis 3 is out of bounds"),
        (makes_by_an_element, "WL0904", wl.WindlassError, "the shape of what numpy.zeros makes is not known"),
        (writes_outside, "WL0907", wl.WindlassError, "a NumPy array from outside"),
        (uses_what_is_gone, "WL0917", wl.WindlassError, "was traced at another time"),
        (changes_a_number, "WL0916", TypeError, "does not support item assignment"),
        (adds_a_string, "WL0916", TypeError, "a string takes part in no arithmetic"),
    ],
)
def test_errors_tell_the_users_line(function: Callable[..., Any], code: str, kind: type, words: str) -> None:
    kept.clear()
    whole(keep)(X.copy())
    with pytest.raises(wl.WindlassError) as caught:
        whole(function)(X.copy())
    assert isinstance(caught.value, kind)
    first = caught.value.diagnostics[0]
    assert (first.code, words in str(first)) == (code, True), str(first)
    lines = range(function.__code__.co_firstlineno, function.__code__.co_firstlineno + 7)
    assert first.position is not None
    assert (first.position.file, first.position.line in lines, first.position.column > 1) == (__file__, True, True)


def test_errors_of_users_stay_what_they_are() -> None:
    def function(x: Any) -> Any:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine") as caught:
        whole(function)(X.copy())
    assert type(caught.value) is LookupError
    with pytest.raises(KeyError) as other:
        whole(lambda x: {}["a"])(X.copy())
    assert type(other.value) is KeyError


def test_only_functions_are_compiled() -> None:
    def generator(x: Any) -> Any:
        yield x

    async def coroutine(x: Any) -> Any:
        return x

    for each in (generator, coroutine, dict):
        with pytest.raises(wl.LaunchError, match="WL0915"):
            whole(each)


def test_integers_that_are_too_large_are_refused() -> None:
    with pytest.raises(wl.LaunchError, match=r"WL0911.*an integer of 71 bits"):
        whole(lambda x, n: x + n)(X.copy(), 2**70)
    with pytest.raises(ValueError, match=r"WL0916.*cannot convert float NaN to integer"):
        whole(converted)(np.array([np.nan]))
    with pytest.raises(OverflowError, match=r"WL0916.*infinite, or has no place in 64 bits"):
        whole(converted)(np.array([1e300]))


def converted(x: Any) -> Any:
    return int(x[0])


def test_launches_past_the_end_are_refused() -> None:
    module = wl.cuda.compile("__global__ void k(float *x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2; }")
    with pytest.raises(wl.LaunchError, match="WL0404"):
        whole(lambda x: module["k"][1, 32](x, 9))(np.zeros(8, np.float32))


def test_assumptions_of_launches_are_checked() -> None:
    module = wl.cuda.compile("""
        __global__ void add_at(float *sums, const int *place) { sums[place[threadIdx.x]] += 1; }""")
    add_at = whole(lambda sums, place: module["add_at"][1, 4](place=place, sums=sums))
    sums = np.zeros(1000, np.float32)
    add_at(sums, np.array([3, 1, 2, 999], np.int32))
    assert sums.sum() == 4
    with pytest.raises(wl.RaisingError, match="several threads add to the same place"):
        add_at(sums, np.array([3, 3, 2, 1], np.int32))
    assert sums.sum() == 4
