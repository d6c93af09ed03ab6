"""Barriers between loops that would not fit into a GPU's registers."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from windlass import stablehlo
from windlass.facts.cost import GPU
from windlass.ir import Module
from windlass.lowering.splitting import REGISTERS, Reads, registers, split_fusions
from windlass.ops import OptimizationBarrier
from windlass.stablehlo.optimizing import inline_module


def step(u: jax.Array) -> jax.Array:
    inner = 0.5 * u[1:-1, 1:-1] + 0.125 * (u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1])
    return jnp.pad(inner, 1)


def program(steps: int, size: int, dtype: str = "float32") -> str:
    def run(u: jax.Array) -> jax.Array:
        for _ in range(steps):
            u = step(u)
        return u

    return jax.jit(run).lower(jax.ShapeDtypeStruct((size, size), dtype)).as_text()


def module_of(text: str) -> Module:
    module = stablehlo.import_text(text)
    inline_module(module)
    return module


def count_barriers(text: str) -> int:
    return text.count("optimization_barrier")


def test_long_chain_of_stencils_is_split_for_gpus() -> None:
    assert 1 <= count_barriers(stablehlo.optimize(program(9, 2048), device="gpu")) < 9


@pytest.mark.parametrize("device", ["cpu", "tpu"])
def test_nothing_is_split_for_other_devices(device: str) -> None:
    assert not count_barriers(stablehlo.optimize(program(9, 2048), device=device))


def test_short_chains_and_small_arrays_stay_whole() -> None:
    assert not count_barriers(stablehlo.optimize(program(2, 2048), device="gpu"))
    assert not count_barriers(stablehlo.optimize(program(9, 64), device="gpu"))


def test_split_loops_fit_into_registers() -> None:
    module = module_of(program(9, 2048))
    assert split_fusions(module, GPU)
    reads = Reads()
    for op in module.main.body:
        if op.is_elementwise and op.tensor.rank:
            # A few too many are cheaper to spill than a value is to write.
            assert registers(op, reads) <= 1.2 * REGISTERS


def test_cuts_lie_between_steps() -> None:
    module = module_of(program(9, 2048))
    split_fusions(module, GPU)
    barriers = [op for op in module.main.body if isinstance(op, OptimizationBarrier)]
    # What is kept is one step's result, which all of its neighbours' readers share.
    assert all(len(barrier.results[0].uses) == 1 for barrier in barriers)
    assert len(barriers) <= 4


def test_split_program_keeps_its_meaning() -> None:
    text = program(9, 40)
    module = module_of(text)
    u = np.random.default_rng(0).random((40, 40), np.float32)
    expected = stablehlo.run(text, u)
    assert split_fusions(module, replace(GPU, launch=0.0))
    np.testing.assert_array_equal(stablehlo.run(stablehlo.export_text(module), u)[0], expected[0])


def test_rows_of_arguments_count_once_for_each_place() -> None:
    text = jax.jit(lambda x: x[1:] + x[:-1] + x[1:]).lower(jax.ShapeDtypeStruct((64,), "float32")).as_text()
    main = stablehlo.import_text(text).main
    assert len(Reads().of(main.results[0])) == 2
