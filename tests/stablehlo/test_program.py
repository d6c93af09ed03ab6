"""Programs as JAX operations."""

from __future__ import annotations

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from windlass.facts.cost import CPU
from windlass.stablehlo import code, import_text
from windlass.stablehlo.program import TensorProgram

TEXT = """module {
  func.func public @main(%a: tensor<4xf32>, %b: tensor<f32>) -> tensor<4xf32> {
    %0 = call @square(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %2 = stablehlo.add %0, %1 : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
  func.func private @square(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.multiply %a, %a : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}"""


def square_plus() -> TensorProgram:
    return TensorProgram(import_text(TEXT), "square plus")


def test_program_used_twice_is_merged_once() -> None:
    program = square_plus()

    def twice(x: jax.Array) -> jax.Array:
        return program.bind(program.bind(x, np.float32(1))[0], np.float32(2))[0]

    lowered = jax.jit(twice).lower(jnp.arange(4.0))
    assert lowered.as_text().count("stablehlo.multiply") == 1
    np.testing.assert_array_equal(lowered.compile()(jnp.arange(4.0)), [3, 6, 27, 102])


def test_names_do_not_depend_on_what_ran_before() -> None:
    assert square_plus().code.finished(CPU).symbol == square_plus().code.finished(CPU).symbol


def test_long_texts_are_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "MOST_KEPT", 100)
    program = square_plus()
    finished = program.code.finished(CPU)
    text = program.code.read(CPU)
    assert finished.text is None
    assert program.code.read(CPU) == text
    np.testing.assert_array_equal(program.bind(np.arange(4, dtype=np.float32), np.float32(1))[0], [1, 2, 5, 10])


def test_derived_programs_are_made_once_and_go_with_theirs() -> None:
    program = square_plus()
    derived = program.derived("again", square_plus)
    assert program.derived("again", square_plus) is derived is not program.derived("other", square_plus)
    gone = weakref.ref(derived)
    del program, derived
    gc.collect()
    assert gone() is None


def test_donated_buffers_are_reused() -> None:
    run = square_plus().jitted((0,))
    x = jnp.arange(4.0)
    place = x.unsafe_buffer_pointer()
    (y,) = run(x, np.float32(0))
    assert x.is_deleted()
    assert y.unsafe_buffer_pointer() == place


def test_doubles_with_the_x64_flag_off() -> None:
    program = TensorProgram(import_text(TEXT.replace("f32", "f64")))
    (result,) = program.bind(np.full(4, 1 / 3), np.float64(1e-17))
    assert result.dtype == np.float64
    np.testing.assert_allclose(result, np.full(4, (1 / 3) ** 2 + 1e-17), rtol=1e-15)
    assert not jax.config.read("jax_enable_x64")


def test_result_types_vary_over_a_mesh_as_arguments_do() -> None:
    mesh = jax.make_mesh((1,), ("i",))
    spec = jax.sharding.PartitionSpec("i")
    run = jax.shard_map(lambda x: square_plus().bind(x, jnp.float32(1))[0], mesh=mesh, in_specs=spec, out_specs=spec)
    x = jax.device_put(jnp.arange(4.0), jax.sharding.NamedSharding(mesh, spec))
    np.testing.assert_array_equal(jax.jit(run)(x), [1, 2, 5, 10])


def test_loops_inside_shard_map_keep_their_types() -> None:
    mesh = jax.make_mesh((1,), ("i",))
    spec = jax.sharding.PartitionSpec("i")

    def repeated(x: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda c, _: (square_plus().bind(c, jnp.float32(1))[0], None), x, length=2)[0]

    run = jax.shard_map(repeated, mesh=mesh, in_specs=spec, out_specs=spec)
    x = jax.device_put(jnp.arange(4.0), jax.sharding.NamedSharding(mesh, spec))
    np.testing.assert_array_equal(jax.jit(run)(x), [2, 5, 26, 101])
