"""What is nearly everywhere computed alike is computed apart from its borders, and is the same."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from windlass.ir import Module
from windlass.lowering.interiors import split_interiors
from windlass.lowering.reduced_sums import settle_reduced_sums
from windlass.ops import Concatenate, DynamicUpdateSlice, Pad
from windlass.ops.evaluation import evaluate_function
from windlass.stablehlo import run
from windlass.stablehlo.exporting import export_text
from windlass.stablehlo.lowered import import_lowered
from windlass.stablehlo.optimizing import inline_module

X = np.random.default_rng(0).standard_normal((300, 256)).astype(np.float32)


def lower(function: Any, *arrays: Any) -> Module:
    module = import_lowered("f", jax.jit(function).lower(*arrays))
    inline_module(module)
    return module


def sum_of_pads(x: Any) -> Any:
    x = 2 * x[1:-1, 1:-1]
    return jnp.pad(x, ((2, 0), (1, 1))) + jnp.pad(x, ((0, 2), (1, 1)), constant_values=3) + jnp.pad(x, 1)


def clamped(x: Any) -> Any:
    return x * jnp.concatenate([x[1:], x[-1:]]) + jnp.concatenate([x[:, :1], x[:, :-1]], 1)


def periodic(x: Any) -> Any:
    return jnp.roll(x, 2, 0) + jnp.roll(x, -1, 1) * x + jnp.roll(x, (1, 1), (0, 1))


def updated(x: Any) -> Any:
    return 3 * jax.lax.dynamic_update_slice(x, jnp.sin(x[:-4, :-4]), (2, 9)) + jnp.pad(x[2:], ((1, 1), (0, 0)))


def only_a_frame(x: Any) -> Any:
    return jnp.pad(x[1:-1, 1:-1] + 1, 1, constant_values=-0.0)


@pytest.mark.parametrize("function", [sum_of_pads, clamped, periodic, updated, only_a_frame])
def test_borders_apart_give_the_same(function: Any) -> None:
    module = lower(function, X)
    (expected,) = evaluate_function(module.main, X)
    assert split_interiors(module) == 1
    inside = [op for op in module.main.walk() if isinstance(op, DynamicUpdateSlice)][-1].update
    assert inside.tensor.size > 0.9 * X.size
    pending: list[Any] = [inside]
    while pending:
        value = pending.pop()
        assert not isinstance(value, Pad | Concatenate)
        pending += getattr(value, "operands", ())
    (found,) = evaluate_function(module.main, X, module=module)
    np.testing.assert_array_equal(found.view(np.uint32), expected.view(np.uint32))
    np.testing.assert_allclose(run(export_text(module), X)[0], expected, 1e-5, 1e-6)


def halves(x: Any) -> Any:
    return jnp.roll(x, 150, 0) * 2


def small(x: Any) -> Any:
    return sum_of_pads(x[:100])


@pytest.mark.parametrize("function", [halves, small])
def test_what_has_no_large_inside_stays(function: Any) -> None:
    assert split_interiors(lower(function, X)) == 0


def test_what_is_added_up_is_written_once_where_xla_would_write_its_parts() -> None:
    def lone(x: Any) -> Any:
        return (x * x[::-1]).sum()

    def of_parts(x: Any) -> Any:
        return (x[1:] * x[:-1]).sum()

    assert settle_reduced_sums(lower(lone, X)) == 0
    module = lower(of_parts, X)
    assert settle_reduced_sums(module) == 1
    np.testing.assert_allclose(run(export_text(module), X)[0], of_parts(X), 1e-4)
