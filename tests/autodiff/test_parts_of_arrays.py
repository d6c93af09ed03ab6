"""Loops that read and write a part of an array in each round: what is kept of it, and what a round back touches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.autodiff.test_programs_as_jax import X, Y, assert_equal, function_of, leaves, run
from windlass.autodiff import pullback_function, tangent_function, transposed_function
from windlass.ir import Function
from windlass.ops import Add, Tanh, While
from windlass.rewriting.driver import remove_dead_code

ROUNDS = 6


def rows(x: Any, y: Any) -> Any:
    table = jnp.zeros((ROUNDS + 1, 3)).at[0].set(x)
    return lax.fori_loop(0, ROUNDS, lambda i, h: h.at[i + 1].set(jnp.tanh(h[i]) * y), table)


def two_rows_before(x: Any, y: Any) -> Any:
    table = jnp.ones((ROUNDS + 2, 3)).at[0].set(x)
    return lax.fori_loop(0, ROUNDS, lambda i, h: h.at[i + 2].set(jnp.sin(h[i] + h[i + 1]) * y), table)


def the_same_row(x: Any, y: Any) -> Any:
    table = jnp.tile(x, (5, 1))
    return lax.fori_loop(0, ROUNDS, lambda i, h: h.at[i % 5].set(jnp.sin(h[i % 5] * h[(i + 1) % 5]) + y), table)


def parameters_by_row(x: Any, y: Any) -> Any:
    weights = jnp.outer(jnp.arange(1.0, ROUNDS + 1), y)
    return lax.fori_loop(0, ROUNDS, lambda i, a: jnp.tanh(a * weights[i]), x)


def rows_of_uneven_length(x: Any, y: Any) -> Any:
    """A sparse matrix times a vector: the loop within goes over a part of the values."""
    values, lengths = jnp.outer(x, y).reshape(9), jnp.array([2, 3, 4])

    def row(j: Any, out: Any) -> Any:
        first = jnp.sum(jnp.where(jnp.arange(3) < j, lengths, 0))
        step = lambda k, total: total + jnp.sin(values[first + k] * x[k % 3])  # noqa: E731
        return out.at[j].set(lax.fori_loop(0, lengths[j], step, 0.0))

    return lax.fori_loop(0, 3, row, jnp.zeros(3))


def elements_by_a_table(x: Any, y: Any) -> Any:
    places = jnp.array([3, 1, 4, 1, 5, 9, 2, 6])
    values = jnp.concatenate([x, y, x * y, y])
    return lax.fori_loop(0, 8, lambda i, a: jnp.sin(a * values[places[i]]) + values[(places[i] + 1) % 12], x)


def guarded_elements(x: Any, y: Any) -> Any:
    values = jnp.concatenate([x, y])
    return lax.fori_loop(0, 6, lambda i, a: lax.cond(i % 2 == 0, lambda: a * values[i], lambda: a + values[5 - i]), x)


PROGRAMS: list[Callable[..., Any]] = [
    rows,
    two_rows_before,
    the_same_row,
    parameters_by_row,
    rows_of_uneven_length,
    elements_by_a_table,
    guarded_elements,
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_cotangents_are_those_of_jax(program: Callable[..., Any]) -> None:
    function = function_of(program)
    pullback, tangent = pullback_function(function, (0, 1)), tangent_function(function, (0, 1))
    with jax.enable_x64(True):
        weights = np.cos(np.arange(function.results[0].tensor.size)).reshape(function.results[0].tensor.shape)
        (_, along) = jax.jvp(program, (X, Y), (Y, X))
    found = run(pullback, X, Y, weights)
    # What is right forwards is JAX's; the cotangents are held to it.
    assert_equal(run(tangent, X, Y, Y, X), leaves(along))
    assert np.vdot(found[0], Y) + np.vdot(found[1], X) == pytest.approx(np.vdot(weights, along), rel=1e-12)
    assert_equal(run(transposed_function(tangent, (2, 3), (0,)), X, Y, weights), found)


def bytes_of_tapes(function: Function) -> int:
    """What loops carry beside what the program itself has."""
    remove_dead_code(function.body)
    loops = [op for op in function.body if isinstance(op, While)]
    return sum(result.tensor.bytes for op in loops for result in op.results if result.shape[:1] == (ROUNDS,))


@pytest.mark.parametrize(("program", "each"), [(rows, 3), (two_rows_before, 3), (parameters_by_row, 3)])
def test_of_an_array_of_rows_a_row_is_kept_for_each_round(program: Callable[..., Any], each: int) -> None:
    function = function_of(program)
    # The rows of weights and their cotangents are no tape.
    weights = 2 * ROUNDS * 3 * 8 if program is parameters_by_row else 0
    assert bytes_of_tapes(pullback_function(function, (0, 1))) == ROUNDS * each * 8 + weights


@pytest.mark.parametrize("program", [rows, two_rows_before, parameters_by_row, rows_of_uneven_length])
def test_no_round_back_adds_whole_arrays(program: Callable[..., Any]) -> None:
    function = pullback_function(function_of(program), (0, 1))
    remove_dead_code(function.body)
    whole = {
        op.tensor.shape
        for loop in function.walk()
        if isinstance(loop, While)
        for op in loop.body.block
        if isinstance(op, Add) and op.tensor.size > 3
    }
    assert not whole


def test_what_costs_more_to_compute_than_to_keep_is_kept() -> None:
    """A product of matrices is not computed again on the way back, what is done to each element is."""

    def program(x: Any, y: Any) -> Any:
        matrix = jnp.sin(jnp.arange(4096.0)).reshape(64, 64) * 0.1
        start = jnp.outer(jnp.tile(x, 22)[:64], jnp.tile(y, 22)[:64])
        return lax.fori_loop(0, ROUNDS, lambda i, a: jnp.tanh(matrix @ jnp.sin(a)), start).sum()

    pullback = pullback_function(function_of(program), (0, 1))
    remove_dead_code(pullback.body)
    forwards, backwards = [op.body.block for op in pullback.body if isinstance(op, While)]
    assert [sum(type(op).__name__ == "DotGeneral" for op in block) for block in (forwards, backwards)] == [1, 1]
    assert any(isinstance(op, Tanh) for op in forwards)
