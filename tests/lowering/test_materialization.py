"""Values that XLA:CPU's loops would compute several times over are settled; others are left to be fused."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from windlass import stablehlo
from windlass.catalogue import catalogue
from windlass.ir import Module
from windlass.lowering.materialization import materialize_shared
from windlass.lowering.settling import is_settling
from windlass.ops import Add, DynamicUpdateSlice
from windlass.rewriting import rewrite_function
from windlass.stablehlo.lowered import import_lowered


def lower(function: Any, *arrays: Any) -> Module:
    return import_lowered("f", jax.jit(function).lower(*arrays))


def count_settled(function: Any, *arrays: Any) -> int:
    module = lower(function, *arrays)
    count = materialize_shared(module)
    assert count == sum(is_settling(op) for each in module.functions.values() for op in each.walk())
    return count


def smooth(x: Any) -> Any:
    return 0.5 * x + 0.125 * (jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0) + jnp.roll(x, 1, 1) + jnp.roll(x, -1, 1))


def repeat(times: int) -> Any:
    def run(x: Any) -> Any:
        for _ in range(times):
            x = smooth(x)
        return x

    return run


X = np.random.default_rng(0).random((256, 256), np.float32)


@pytest.mark.parametrize("times", [2, 3, 6])
def test_steps_of_a_stencil_are_each_written_once(times: int) -> None:
    assert count_settled(repeat(times), X) == times - 1


def test_one_step_is_fused_as_a_whole() -> None:
    assert count_settled(smooth, X) == 0


def test_elementwise_readers_at_one_place_need_no_settling() -> None:
    def run(x: Any) -> Any:
        y = jnp.sin(x) * 2 + 1
        return y * y + y

    assert count_settled(run, X) == 0


def test_small_arrays_are_not_worth_a_loop_of_their_own() -> None:
    assert count_settled(repeat(2), X[:4, :4]) == 0


def test_loops_bodies_are_looked_into() -> None:
    def run(x: Any) -> Any:
        return jax.lax.fori_loop(0, 3, lambda _, y: repeat(3)(y), x)

    assert count_settled(run, X) == 2


def test_settled_programs_keep_their_results() -> None:
    text = jax.jit(repeat(4)).lower(X).as_text()
    optimized = stablehlo.optimize(text, device="cpu")
    assert "inlineable" in optimized
    np.testing.assert_allclose(stablehlo.run(optimized, X)[0], repeat(4)(X), rtol=1e-5)
    assert "inlineable" not in stablehlo.optimize(text, device="gpu")


def test_what_several_loops_compute_is_written_once() -> None:
    def run(x: Any) -> Any:
        y = sum((abs(x - k) for k in range(1, 20)), x)
        half = 0.5 * y
        return smooth(half) + 0.25 * y

    module = lower(run, X)
    assert materialize_shared(module) == 1
    (settled,) = (op.operands[0] for op in module.main.walk() if is_settling(op))
    assert isinstance(settled, Add)


def test_arrays_that_are_updated_in_place_are_not_settled_here() -> None:
    def run(x: Any) -> Any:
        for _ in range(3):
            x = x.at[1:-1].set(0.5 * (x[:-2] + x[2:]))
        return x

    module = lower(run, X)
    rewrite_function(module.main, catalogue)
    assert any(isinstance(op, DynamicUpdateSlice) for op in module.main.walk())
    assert materialize_shared(module) == 0
