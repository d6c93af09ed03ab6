"""Tangents and cotangents of whole programs, as JAX has them: straight ones, with branches, with loops, nested."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from windlass.autodiff import pullback_function, tangent_function, transposed_function
from windlass.ir import Function, Module
from windlass.ir.verifier import verify
from windlass.ops.evaluation import evaluate_block
from windlass.rewriting.inlining import inline_calls
from windlass.stablehlo import import_text


def polynomial(x: Any, y: Any) -> Any:
    return x * y + x / y - (x + y) * x


def branch_of_a_sum(x: Any, y: Any) -> Any:
    return lax.cond(x[0] + y[0] > 1, lambda: x * y, lambda: x / y + y)


def branch_of_operands(x: Any, y: Any) -> Any:
    return lax.switch(jnp.int32(x[1] * 2), [lambda a: a * y, lambda a: a * a, lambda a: a], x * y)


def power_by_a_loop(x: Any, y: Any) -> Any:
    return lax.fori_loop(0, 5, lambda i, a: a * x + y, y)


def linear_loop(x: Any, y: Any) -> Any:
    return lax.fori_loop(0, 7, lambda i, a: (a + y) * 0.5, x)


def loop_by_its_counter(x: Any, y: Any) -> Any:
    return lax.fori_loop(2, 6, lambda i, a: a * y * i.astype(a.dtype) + x, x)


def loop_of_two(x: Any, y: Any) -> Any:
    return lax.fori_loop(0, 4, lambda i, s: (s[1] * y, s[0] / y + s[1]), (x, y))


def nested_loops(x: Any, y: Any) -> Any:
    def outer(i: Any, a: Any) -> Any:
        return lax.fori_loop(0, 3, lambda j, b: b * a + x, a * y)

    return lax.fori_loop(0, 2, outer, x)


def branch_in_a_loop(x: Any, y: Any) -> Any:
    return lax.fori_loop(0, 6, lambda i, a: lax.cond(i % 2 == 0, lambda: a * x, lambda: a / y), y)


def loop_in_a_branch(x: Any, y: Any) -> Any:
    return lax.cond(x[0] > 0, lambda: power_by_a_loop(x, y), lambda: y)


def loop_without_rounds(x: Any, y: Any) -> Any:
    return lax.fori_loop(3, 3, lambda i, a: a * y, x)


def loop_with_a_part_that_is_constant(x: Any, y: Any) -> Any:
    return lax.fori_loop(0, 4, lambda i, s: (s[0] * s[1], s[1] * 0.5), (x * y, jnp.ones(3) * 2.0))


PROGRAMS: list[Callable[..., Any]] = [
    polynomial,
    branch_of_a_sum,
    branch_of_operands,
    power_by_a_loop,
    linear_loop,
    loop_by_its_counter,
    loop_of_two,
    nested_loops,
    branch_in_a_loop,
    loop_in_a_branch,
    loop_without_rounds,
    loop_with_a_part_that_is_constant,
]
X, Y = np.array([0.9, 0.4, 1.3]), np.array([0.7, 1.1, 0.6])


def function_of(program: Callable[..., Any], *further: Any) -> Function:
    with jax.enable_x64(True):
        module = import_text(jax.jit(program).lower(X, Y, *further).as_text())
    inline_calls(module.main.body, module)
    return module.main


def run(function: Function, *arrays: Any) -> list[np.ndarray[Any, Any]]:
    verify(Module([function]))
    return list(evaluate_block(function.body, list(arrays)))


def leaves(values: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(each) for each in jax.tree.leaves(values)]


def assert_equal(found: list[Any], expected: list[Any]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, 1e-12, 1e-12)


def directions(function: Function) -> list[np.ndarray[Any, Any]]:
    generator = np.random.default_rng(1)
    return [generator.uniform(-1, 1, result.tensor.shape) for result in function.body.terminator.operands]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("active", [(0, 1), (0,), (1,)])
def test_tangents_are_those_of_jax(program: Callable[..., Any], active: tuple[int, ...]) -> None:
    given = [np.array([0.3, -0.2, 1.1]), np.array([-0.5, 0.8, 0.1])]
    function = tangent_function(function_of(program), active)
    with jax.enable_x64(True):
        moved = [each if place in active else 0 * each for place, each in enumerate(given)]
        expected = jax.jvp(program, (X, Y), tuple(moved))[1]
    assert_equal(run(function, X, Y, *(given[place] for place in active)), leaves(expected))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("active", [(0, 1), (0,), (1,)])
def test_cotangents_are_those_of_jax(program: Callable[..., Any], active: tuple[int, ...]) -> None:
    primal = function_of(program)
    given = directions(primal)
    with jax.enable_x64(True):
        values, pull = jax.vjp(program, X, Y)
        expected = pull(jax.tree.unflatten(jax.tree.structure(values), list(map(jnp.asarray, given))))
    wanted = [np.asarray(expected[place]) for place in active]
    assert_equal(run(pullback_function(primal, active), X, Y, *given), wanted)
    tangent = tangent_function(primal, active)
    transposed = transposed_function(tangent, range(2, 2 + len(active)), range(len(tangent.results)))
    assert_equal(run(transposed, X, Y, *given), wanted)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_second_derivatives_are_those_of_jax(program: Callable[..., Any]) -> None:
    primal = function_of(program)
    given = directions(primal)
    along = [np.array([0.3, -0.2, 1.1]), np.array([-0.5, 0.8, 0.1])]

    def pulled(x: Any, y: Any) -> Any:
        values, pull = jax.vjp(program, x, y)
        return pull(jax.tree.unflatten(jax.tree.structure(values), list(map(jnp.asarray, given))))

    with jax.enable_x64(True):
        expected = leaves(jax.jvp(pulled, (X, Y), tuple(along))[1])
    pullback = pullback_function(primal, (0, 1))
    assert_equal(run(tangent_function(pullback, (0, 1)), X, Y, *given, *along), expected)
    # Reverse over reverse gives the same by symmetry.
    again = pullback_function(pullback, (0, 1))
    assert_equal(run(again, X, Y, *given, *along), expected)


def test_a_loop_that_is_linear_records_nothing() -> None:
    function = pullback_function(function_of(linear_loop), (0,))
    assert all(result.shape in ((), (3,)) for op in function.walk() for result in op.results)
