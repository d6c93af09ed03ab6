"""Reverse mode through loops whose length is not known before: as JAX has it of the unrolled program."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.autodiff.test_programs_as_jax import X, Y, assert_equal, function_of, leaves, run
from windlass.autodiff import (
    Binomial,
    Plan,
    checkpoints,
    planned,
    pullback_function,
    regions,
    tangent_function,
    transposed_function,
)
from windlass.autodiff.online import Ledger, empty_ledger, place_online
from windlass.autodiff.recording import INDEX
from windlass.autodiff.rounds import LONG
from windlass.ir import Block, Builder, Function
from windlass.ops import Return, While
from windlass.ops.evaluation import evaluate_block
from windlass.rewriting.driver import remove_dead_code

Program = Callable[[Any, Any, Any], Any]


def by_an_argument(x: Any, y: Any, n: Any) -> Any:
    return lax.fori_loop(0, n, lambda i, a: jnp.sin(a) * x + y, y)


def by_strides(x: Any, y: Any, n: Any) -> Any:
    _, _, a = lax.while_loop(
        lambda s: s[1] + 3 >= s[0], lambda s: (s[0] + 2, s[1], jnp.sin(s[2]) * x + s[0]), (n * 0, 2 * n - 4, y)
    )
    return a


def downwards(x: Any, y: Any, n: Any) -> Any:
    return lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 1, jnp.sin(s[1]) * x / s[0] + y), (n, y))[1]


def linear(x: Any, y: Any, n: Any) -> Any:
    return lax.fori_loop(0, n, lambda i, a: (a + y) * 0.5, x)


def by_an_element(x: Any, y: Any, n: Any) -> Any:
    lengths = jnp.stack([n, n * 0, n // 2])

    def row(j: Any, out: Any) -> Any:
        return out.at[j].set(lax.fori_loop(0, lengths[j], lambda i, a: jnp.sin(a * y[j]) + x[i % 3], out[j]))

    return lax.fori_loop(0, 3, row, x * y)


def with_an_early_exit(x: Any, y: Any, n: Any) -> Any:
    def step(s: Any) -> Any:
        i, a, _ = s
        a = a * jnp.cos(y * a) + 0.1 * x
        return i + 1, a, jnp.sum(a) > 1e3

    return lax.while_loop(lambda s: (s[0] < n) & ~s[2], step, (n * 0, x, False))[1]


def until_small(x: Any, y: Any, n: Any) -> Any:
    """So many rounds are needed to come below the bound, however many that are."""
    bound = x[0] * 0.5 ** (n - 0.5)
    factors = jnp.array([0.5, 0.7, 0.3])
    _, a, _ = lax.while_loop(
        lambda s: s[0] > bound, lambda s: (s[0] * 0.5, jnp.sin(s[1] * factors + y), y), (x[0], x, y)
    )
    return a


def nested(x: Any, y: Any, n: Any) -> Any:
    def outer(s: Any) -> Any:
        i, a = s
        return i + 1, lax.fori_loop(0, i, lambda j, b: jnp.sin(b * a) + x, a * y)

    return lax.while_loop(lambda s: s[0] < n, outer, (n * 0, x))[1]


def with_a_branch(x: Any, y: Any, n: Any) -> Any:
    return lax.fori_loop(0, n, lambda i, a: lax.cond(i % 2 == 0, lambda: jnp.sin(a * x), lambda: a / (1 + y * y)), y)


def ints_and_floats_on_the_way(x: Any, y: Any, n: Any) -> Any:
    """The state holds an integer that is no counter."""
    step = lambda i, s: (s[0] * 3 % 7, jnp.sin(s[1] * x) + s[0] * y)  # noqa: E731
    return lax.fori_loop(0, n, step, (jnp.int64(1), y))[1]


PROGRAMS: list[Program] = [
    by_an_argument,
    by_strides,
    downwards,
    linear,
    by_an_element,
    with_an_early_exit,
    until_small,
    nested,
    with_a_branch,
    ints_and_floats_on_the_way,
]
LENGTHS = (0, 1, 2, 7)


def unrolled(program: Program) -> Program:
    """The program with JAX's loops replaced by Python's, which JAX goes backwards through."""

    def run(x: Any, y: Any, n: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch, jax.disable_jit():
            patch.setattr(lax, "while_loop", _while_by_python)
            patch.setattr(lax, "fori_loop", _for_by_python)
            return program(x, y, n)

    return run


def _while_by_python(goes: Any, step: Any, state: Any) -> Any:
    while bool(lax.stop_gradient(goes(state))):
        state = step(state)
    return state


def _for_by_python(start: Any, end: Any, step: Any, state: Any) -> Any:
    for i in range(int(start), int(end)):
        state = step(jnp.asarray(i), state)
    return state


@pytest.fixture(params=["room for all", "room for two"])
def room(request: Any, monkeypatch: Any) -> Iterator[None]:
    """With little room, rounds are computed again."""
    if request.param == "room for two":
        monkeypatch.setattr(checkpoints, "MOST", 2)
    with jax.enable_x64(True):
        yield


ALONG = [np.array([0.3, -0.2, 1.1]), np.array([-0.5, 0.8, 0.1])]
COTANGENT = np.array([0.4, -1.2, 0.7])


def traced(program: Program) -> Function:
    return function_of(program, np.int64(1))


@pytest.mark.one_in(4)
@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_cotangents_are_those_of_the_unrolled_program(program: Program) -> None:
    primal = traced(program)
    pullback = pullback_function(primal, (0, 1))
    tangent = tangent_function(primal, (0, 1))
    transposed = transposed_function(tangent, (3, 4), (0,))
    for n in LENGTHS:
        _, pull = jax.vjp(lambda x, y, n=n: unrolled(program)(x, y, n), X, Y)
        expected = leaves(pull(COTANGENT))
        for function in (pullback, transposed):
            assert_equal(run(function, X, Y, np.int64(n), COTANGENT), expected)


@pytest.mark.one_in(2)
@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("program", [by_an_argument, until_small, nested], ids=lambda program: program.__name__)
def test_second_derivatives_are_those_of_the_unrolled_program(program: Program) -> None:
    pullback = pullback_function(traced(program), (0, 1))
    forward, reverse = tangent_function(pullback, (0, 1)), pullback_function(pullback, (0, 1))
    for n in (0, 1, 4):

        def pulled(x: Any, y: Any, n: int = n) -> Any:
            return jax.vjp(lambda x, y: unrolled(program)(x, y, n), x, y)[1](COTANGENT)

        expected = leaves(jax.jvp(pulled, (X, Y), tuple(ALONG))[1])
        assert_equal(run(forward, X, Y, np.int64(n), COTANGENT, *ALONG), expected)
        assert_equal(run(reverse, X, Y, np.int64(n), COTANGENT, *ALONG), expected)


@pytest.mark.parametrize("program", [until_small, nested], ids=lambda program: program.__name__)
def test_states_are_kept_online_in_as_many_places_as_asked_for(program: Program) -> None:
    primal = traced(program)
    for places in (1, 3):
        pullback, _ = planned(lambda: pullback_function(primal, (0, 1)), Plan(Binomial(places)))
        for n in (0, 1, 9):
            with jax.enable_x64(True):
                _, pull = jax.vjp(lambda x, y, n=n: unrolled(program)(x, y, n), X, Y)
                expected = leaves(pull(COTANGENT))
            assert_equal(run(pullback, X, Y, np.int64(n), COTANGENT), expected)


def test_a_loop_too_long_to_be_recorded_is_computed_again(monkeypatch: Any) -> None:
    def power(x: Any, y: Any) -> Any:
        return lax.fori_loop(0, 40, lambda i, a: jnp.sin(a * x) + y, y)

    monkeypatch.setattr(regions, "MOST_RECORDED", 20 * 40)
    primal = function_of(power)
    pullback = pullback_function(primal, (0, 1))
    firsts = {result.shape[0] for op in pullback.walk() for result in op.results if result.tensor.rank == 2}
    assert firsts == {1, 21}
    with jax.enable_x64(True):
        expected = leaves(jax.vjp(power, X, Y)[1](COTANGENT))
    assert_equal(run(pullback, X, Y, COTANGENT), expected)


def test_a_loop_of_known_length_is_counted_by_nobody() -> None:
    """Loops by a counter take no loop of their own to be counted, linear ones nothing to be computed again."""
    function = pullback_function(traced(linear), (0,))
    remove_dead_code(function.body)
    assert sum(isinstance(op, While) for op in function.walk()) == 1


@pytest.mark.parametrize("places", [1, 2, 3, 5])
def test_whenever_a_loop_ends_what_it_kept_is_as_good_as_if_its_end_had_been_known(places: int) -> None:
    """No round is run more than t times, the first time counted, where C(places + t, t) are gone back through so."""
    place, stride = _placing(places), _striding(places)
    ledger: list[Any] = list(evaluate_block(_empty(places), []))
    for rounds in range(1, 71):
        slot, *ledger = evaluate_block(place, [*ledger, np.int64(rounds - 1)])
        height, slots, kept, _ = ledger
        assert sorted(slots) == list(range(places + 1))
        assert 0 <= int(slot) <= places
        found = [int(each) for each in kept[: int(height)]]
        assert found == sorted(set(found))
        assert found[0] == 0
        assert found[-1] == rounds - 1
        runs = [1 + each for each in _runs(stride, found, rounds, places)]
        least = next(t for t in range(rounds + 1) if math.comb(places + t, t) >= rounds)
        assert max(runs[:-1], default=0) <= max(least, 1)


@pytest.mark.parametrize(("places", "rounds"), [(1, 30), (2, 45), (3, 120), (5, 56), (6, 6), (16, 400)])
def test_rounds_are_computed_as_often_as_is_least(places: int, rounds: int) -> None:
    """No round is run more than t times where C(places + t, t) rounds can be gone back through so."""
    least = next(t for t in range(rounds + 1) if math.comb(places + t, t) >= rounds)
    assert max(_runs(_striding(places), [0], rounds, places)) <= least


def _runs(stride: Block, kept: list[int], rounds: int, places: int) -> list[int]:
    """How often each round is run again to go back through all, beginning with what is kept."""
    kept, runs = list(kept), [0] * rounds
    for index in reversed(range(rounds)):
        while kept[-1] < index:
            (length,) = evaluate_block(stride, [np.int64(index - kept[-1]), np.int32(len(kept))])
            assert 1 <= int(length) <= index - kept[-1]
            for round_ in range(kept[-1], kept[-1] + int(length)):
                runs[round_] += 1
            kept.append(kept[-1] + int(length))
            assert len(kept) <= places + 1
        kept.pop()
    return runs


def _striding(places: int) -> Block:
    block = Block([LONG, INDEX])
    distance, height = block.arguments
    with Builder(block):
        Return((checkpoints.stride_for(distance, height, places),))
    return block


def _placing(places: int) -> Block:
    types = [value.type for value in _empty(places).terminator.operands]
    with Builder(block := Block([*types, LONG])):
        *ledger, round_ = block.arguments
        slot, after = place_online(Ledger(*ledger), round_)
        Return((slot, *after))
    return block


def _empty(places: int) -> Block:
    with Builder(block := Block()):
        Return(tuple(empty_ledger(places + 1)))
    return block
