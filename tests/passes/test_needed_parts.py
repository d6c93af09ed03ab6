"""What is looked at in part is computed in part, and stays what it was."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from windlass.catalogue import catalogue
from windlass.facts.cost import CPU
from windlass.ir import Block, Builder, Function, Value
from windlass.ir.values import tensor
from windlass.ops import Add, Concatenate, Constant, DynamicUpdateSlice, Multiply, Pad, Return, Slice
from windlass.ops.evaluation import evaluate_function
from windlass.passes.needed_parts import compute_needed_parts
from windlass.rewriting import rewrite_function
from windlass.stablehlo.lowered import import_lowered


def random_slice(rng: np.random.Generator, value: Value, most: int | None = None) -> Value:
    start, limit, strides = list[int](), list[int](), list[int]()
    for size in value.shape:
        first = int(rng.integers(0, size))
        last = int(rng.integers(first + 1, min(size, first + (most or size)) + 1))
        start.append(first)
        limit.append(last)
        strides.append(int(rng.integers(1, 3)))
    return Slice(value, tuple(start), tuple(limit), tuple(strides))


def random_step(rng: np.random.Generator, value: Value) -> Value:
    """One value of about the same shape, made of an earlier one."""
    zero = Constant.of(1.5, "f32")
    match int(rng.integers(0, 4)):
        case 0:
            return Multiply(value, Add(value, value))
        case 1:
            low, high = (tuple(int(rng.integers(0, 3)) for _ in range(2)) for _ in range(2))
            return Pad(value, zero, low, high, (0, 0))
        case 2:
            axis = int(rng.integers(0, 2))
            cut = [list(value.shape), list(value.shape)]
            cut[0][axis] = max(1, value.shape[axis] // 2)
            first = Slice(value, (0, 0), tuple(cut[0]), (1, 1))
            return Concatenate((value, first), axis)
        case _:
            sizes = tuple(int(rng.integers(1, size + 1)) for size in value.shape)
            part = Slice(value, (0, 0), sizes, (1, 1))
            at = tuple(Constant.of(int(rng.integers(-1, size)), "i32") for size in value.shape)
            return DynamicUpdateSlice(value, Add(part, part), at)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_keep_their_results(seed: int) -> None:
    rng = np.random.default_rng(seed)
    body = Block([tensor("f32", 7, 6).type])
    with Builder(body):
        value: Value = body.arguments[0]
        for _ in range(int(rng.integers(1, 5))):
            value = random_step(rng, value)
        Return(tuple(random_slice(rng, value, most=3) for _ in range(int(rng.integers(1, 3)))))
    function = Function("f", body)
    x = rng.standard_normal((7, 6)).astype(np.float32)
    wanted = evaluate_function(function, x)
    list(compute_needed_parts(function.body, CPU))
    for one, other in zip(evaluate_function(function, x), wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def largest(function: Any, x: Any) -> int:
    """The size of the largest array that the rewritten program computes."""
    module = import_lowered("f", jax.jit(function).lower(x))
    rewrite_function(module.main, catalogue)
    return max(each.tensor.size for op in module.main.body if not isinstance(op, Constant) for each in op.results)


def step(x: Any) -> Any:
    return x.at[1:-1].set(0.5 * (x[:-2] + x[2:]))


X = np.arange(1000, dtype=np.float32)


def test_steps_of_a_stencil_are_computed_around_what_is_wanted() -> None:
    def run(x: Any) -> Any:
        for _ in range(4):
            x = step(x)
        return x[500:504]

    assert largest(run, X) <= 12


def test_what_is_wanted_as_a_whole_is_computed_as_a_whole() -> None:
    def run(x: Any) -> Any:
        y = step(x)
        return y[500:504], jnp.sum(y)

    assert largest(run, X) == 1000


def test_slices_far_apart_need_what_lies_between() -> None:
    def run(x: Any) -> Any:
        y = step(step(x))
        return y[:4] + y[-4:]

    assert largest(run, X) >= 998
