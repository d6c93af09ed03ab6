"""Updates in place: right where XLA:CPU alone is wrong, and without copies that nobody needs."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import windlass as wl
from windlass import stablehlo
from windlass.facts.cost import CPU, Device
from windlass.ir import Block, Builder, Function, Module, Value
from windlass.ir.values import tensor
from windlass.lowering.in_place import settle_updates
from windlass.lowering.settling import is_settling
from windlass.ops import Add, Constant, DynamicUpdateSlice, Gather, Reshape, Return, Slice
from windlass.ops.evaluation import evaluate_function
from windlass.stablehlo.program import TensorProgram

Array = np.ndarray[Any, Any]
SHAPES = ((256,), (64, 4), (16, 16), (8, 8, 4), (128, 2))


def at(*starts: int) -> tuple[Value, ...]:
    return tuple(Constant.of(start, "i32") for start in starts)


def make_function(build: Any, *shapes: tuple[int, ...]) -> Function:
    body = Block([tensor("f32", *shape).type for shape in shapes])
    with Builder(body):
        Return((build(*body.arguments),))
    return Function("f", body)


def run(function: Function, *arrays: Array) -> Array:
    return np.asarray(TensorProgram(Module([function])).jitted()(*arrays)[0])


WITHOUT_OVERHEAD = replace(CPU, call=0.0)
"""On which a call is worth it for the smallest of arrays."""


def count_settled(function: Function, device: Device = WITHOUT_OVERHEAD) -> int:
    module = Module([function.clone()])
    settle_updates(module, device=device)
    return sum(is_settling(op) for op in module.main.walk())


def pick(x: Any, indices: Any) -> jax.Array:
    x, indices = jnp.asarray(x), jnp.asarray(indices)
    return lax.dynamic_update_slice(x.reshape(64, 4), x[indices].reshape(64, 1), (0, 1))


MESHES = {
    "": True,
    "sdy.mesh @empty_mesh = <[]>": True,
    "sdy.mesh @maximal_mesh_0 = <[], device_ids=[0]>": True,
    'sdy.mesh @mesh = <["x"=2]>': False,
}


@pytest.mark.parametrize("mesh", MESHES)
def test_updates_are_settled_where_meshes_have_no_axes(mesh: str) -> None:
    text = jax.jit(pick).lower(np.zeros(256, "f4"), np.arange(64)).as_text()
    found = stablehlo.optimize(text.replace("  func.func public", f"{mesh}\n  func.func public", 1), device="cpu")
    assert ("windlass_settle" in found) == MESHES[mesh]


def test_gather_of_the_array_that_is_updated_through_a_reshape() -> None:
    x = np.arange(256, dtype=np.float32)
    indices = np.random.default_rng(0).permutation(256)[:64]
    wanted = x.reshape(64, 4).copy()
    wanted[:, 1] = x[indices]
    np.testing.assert_array_equal(wl.jit(pick)(jnp.asarray(x), jnp.asarray(indices)), wanted)


def test_two_arguments_may_be_reshapes_of_one_array_in_the_program_around() -> None:
    module = wl.cuda.compile("""
        __global__ void pick(float *y, const float *x, const int *indices, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) y[4 * i + 1] = x[indices[i]];
        }""")
    kernel = module["pick"].jax(2, 32)
    x = jnp.arange(256, dtype=jnp.float32)
    indices = np.random.default_rng(0).permutation(256)[:64].astype(np.int32)
    found = jax.jit(lambda x: kernel(x.reshape(64, 4), x.reshape(8, 32), jnp.asarray(indices), 64))(x)
    wanted = np.asarray(x).reshape(64, 4).copy()
    wanted[:, 1] = np.asarray(x)[indices]
    np.testing.assert_array_equal(found, wanted)


def random_program(rng: np.random.Generator) -> Function:
    """One to four updates of one array, each computed from some version of it through some shape."""

    def build(x: Value) -> Value:
        versions = [x]
        for _ in range(int(rng.integers(1, 5))):
            target, source = (SHAPES[int(rng.integers(len(SHAPES)))] for _ in range(2))
            sizes = tuple(int(rng.integers(1, size + 1)) for size in target)
            starts = at(*(int(rng.integers(0, size - part + 1)) for size, part in zip(target, sizes, strict=True)))
            count = int(np.prod(sizes))
            seen: Value = Reshape(versions[-1 - int(rng.integers(0, min(3, len(versions))))], source)
            if rng.random() < 0.5:
                seen = Add(seen, seen)
            flat = Reshape(seen, (256,))
            if rng.random() < 0.5:
                indices = Constant.of(rng.integers(0, 256, (count, 1)).astype(np.int32))
                update: Value = Gather(flat, indices, (), (0,), (), (), (0,), 1, (1,))
            else:
                first = int(rng.integers(0, 256 - count + 1))
                update = Slice(flat, (first,), (first + count,), (1,))
            updated = DynamicUpdateSlice(Reshape(versions[-1], target), Reshape(update, sizes), starts)
            versions.append(Reshape(updated, (256,)))
        return versions[-1]

    return make_function(build, (256,))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(24))
def test_random_updates_of_one_array_keep_their_meaning(seed: int) -> None:
    function = random_program(np.random.default_rng(seed))
    x = np.random.default_rng(seed).standard_normal(256).astype(np.float32)
    wanted = evaluate_function(function, x)[0]
    np.testing.assert_array_equal(run(function, x), wanted)
    module = Module([function.clone()])
    settle_updates(module, device=WITHOUT_OVERHEAD)
    np.testing.assert_array_equal(stablehlo.run(stablehlo.export_text(module), x)[0], wanted)


def test_updates_in_loops_are_settled_too() -> None:
    def body(_: Any, x: jax.Array) -> jax.Array:
        return pick(x, (jnp.arange(64) * 37 + 11) % 256).reshape(-1)

    wanted = np.arange(256, dtype=np.float32)
    for _ in range(5):
        picked = wanted[(np.arange(64) * 37 + 11) % 256]
        wanted.reshape(64, 4)[:, 1] = picked
    found = wl.jit(lambda x: lax.fori_loop(0, 5, body, jnp.asarray(x)))(jnp.arange(256, dtype=jnp.float32))
    np.testing.assert_array_equal(found, wanted)


def test_update_that_reads_other_arrays_is_not_settled() -> None:
    def build(x: Value, y: Value) -> Value:
        inside = Slice(y, (0, 0), (2, 4), (1, 1))
        return DynamicUpdateSlice(Add(x, x), Add(inside, inside), at(1, 0))

    assert count_settled(make_function(build, (4, 4), (4, 4))) == 0


def test_update_that_reads_its_array_is_settled() -> None:
    def build(x: Value) -> Value:
        doubled = Add(x, x)
        return DynamicUpdateSlice(doubled, Slice(doubled, (0, 0), (2, 4), (1, 1)), at(1, 0))

    assert count_settled(make_function(build, (4, 4))) == 1


def test_small_arrays_are_rather_copied_than_settled() -> None:
    def build(x: Value) -> Value:
        updated = DynamicUpdateSlice(Add(x, x), Slice(x, (0, 0), (2, 4), (1, 1)), at(1, 0))
        return Add(updated, updated)

    small, large = (make_function(build, (rows, 4)) for rows in (4, 4000))
    assert count_settled(small, CPU) == 0
    assert count_settled(large, CPU) == count_settled(small) == 1


def test_halo_fill_copies_nothing() -> None:
    module = wl.cuda.compile("""
        __global__ void wrap(float *field, int rows, int columns) {
            int j = blockIdx.x * blockDim.x + threadIdx.x;
            if (j >= rows) return;
            float *row = field + j * columns;
            row[0] = row[columns - 2];
            row[columns - 1] = row[1];
        }""")
    kernel = module["wrap"].jax(4, 32)

    def fill(field: jax.Array) -> jax.Array:
        return kernel(field, 100, 200)

    text = jax.jit(fill, donate_argnums=0).lower(jnp.ones((100, 200))).compile().as_text()
    assert not re.findall(r"f32\[100,200\]\S* copy\(|f32\[20000\]\S* copy\(", str(text))


def test_only_xla_cpu_gets_calls_that_are_not_inlined() -> None:
    program = wl.jit(pick)
    traced = jax.jit(program).trace(jnp.zeros(256, jnp.float32), jnp.zeros(64, jnp.int32))
    assert "inlineable" in traced.lower(lowering_platforms=("cpu",)).as_text()
    assert "inlineable" not in traced.lower(lowering_platforms=("cuda",)).as_text()


def test_arguments_of_a_whole_program_are_not_settled() -> None:
    function = make_function(lambda x, u: DynamicUpdateSlice(x, u, at(1, 2)), (16, 16), (2, 2))
    function.name = "main"
    assert count_settled(function) == 1
    module = Module([function])
    settle_updates(module, is_whole=True)
    assert not any(is_settling(op) for op in module.main.walk())


def test_loops_may_update_a_reshaped_array_from_outside() -> None:
    module = stablehlo.import_text("""
    func.func @main(%x: tensor<16xf32>, %n: tensor<i32>) -> tensor<4x4xf32> {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %twice = stablehlo.add %x, %x : tensor<16xf32>
      %table = stablehlo.reshape %twice : (tensor<16xf32>) -> tensor<4x4xf32>
      %all:2 = stablehlo.while(%i = %zero, %sum = %table) : tensor<i32>, tensor<4x4xf32>
      cond {
        %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %go : tensor<i1>
      } do {
        %row = stablehlo.dynamic_slice %sum, %i, %zero, sizes = [1, 4]
          : (tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
        %new = stablehlo.dynamic_update_slice %table, %row, %zero, %zero
          : (tensor<4x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
        %next = stablehlo.add %i, %one : tensor<i32>
        %more = stablehlo.add %sum, %new : tensor<4x4xf32>
        stablehlo.return %next, %more : tensor<i32>, tensor<4x4xf32>
      }
      return %all#1 : tensor<4x4xf32>
    }""")
    table = np.arange(16, dtype=np.float32).reshape(4, 4) * 2
    wanted = table.copy()
    for row in range(3):
        update = table.copy()
        update[0] = wanted[row]
        wanted = wanted + update
    found = run(module.main, np.arange(16, dtype=np.float32), np.array(3, np.int32))
    np.testing.assert_array_equal(found, wanted)
