"""Kernels as pure functions of JAX values."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, PartitionSpec

import windlass as wl

Module = wl.cuda.Module
X = np.arange(8, dtype=np.float32)


def test_one_written_array_is_the_result(module: Module) -> None:
    y = jnp.ones(8)
    result = module["saxpy"].jax(1, 8)(8, 2.0, jnp.asarray(X), y)
    np.testing.assert_array_equal(result, 2 * X + 1)
    np.testing.assert_array_equal(y, np.ones(8))


def test_several_written_arrays_are_a_tuple_in_order_of_parameters(module: Module) -> None:
    a, c = module["two"].jax(1, 8)(jnp.zeros(8), jnp.asarray(X), jnp.zeros(8, jnp.int32), 8)
    np.testing.assert_array_equal(a, X + 1)
    np.testing.assert_array_equal(c, X.astype(np.int32))


def test_array_given_twice_is_two_values(module: Module) -> None:
    x = jnp.asarray(X)
    np.testing.assert_array_equal(module["shift"].jax(1, 8)(x, x, 8), 2 * X)
    np.testing.assert_array_equal(x, X)


def test_within_jit_it_is_one_program(module: Module) -> None:
    saxpy = module["saxpy"].jax(1, 8)

    @jax.jit
    def twice(x: Any, y: Any) -> Any:
        return saxpy(8, 2.0, x, saxpy(8, 3.0, x, y)).sum()

    assert twice(jnp.asarray(X), jnp.ones(8)) == (5 * X + 1).sum()
    assert "custom_call" not in twice.lower(jnp.asarray(X), jnp.ones(8)).as_text()


def test_traced_numbers(module: Module) -> None:
    run = jax.jit(lambda x, y, a, n: module["saxpy"].jax(1, 8)(n, a, x, y))
    for count in (0, 3, 8):
        expected = np.where(np.arange(8) < count, 2 * X + 1, 1)
        np.testing.assert_array_equal(run(jnp.asarray(X), jnp.ones(8), 2.0, count), expected)


def test_doubles_inside_are_exact_without_x64(module: Module) -> None:
    by = 1 / 3 + 1e-12
    result = module["third"].jax(1, 8)(jnp.asarray(X), by, 8)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, (by * X.astype(np.float64) / 3).astype(np.float32))
    traced = jax.jit(lambda x, by: module["third"].jax(1, 8)(x, by, 8))(jnp.asarray(X), jnp.float32(1.5))
    np.testing.assert_array_equal(traced, (1.5 * X.astype(np.float64) / 3).astype(np.float32))
    assert not jax.config.read("jax_enable_x64")


def test_double_arrays_need_x64(module: Module) -> None:
    scale = module["scale_double"].jax(1, 8)
    with pytest.raises(wl.LaunchError, match=r"WL0902.*must be float64, got float32"):
        scale(jnp.asarray(X), 2.0, 8)
    with pytest.raises(wl.LaunchError, match=r"WL0902.*JAX would narrow it to float32"):
        scale(X.astype(np.float64), 2.0, 8)
    with jax.enable_x64(True):
        np.testing.assert_array_equal(scale(np.arange(8.0) / 3, 1 / 7, 8), np.arange(8.0) / 3 * (1 / 7))
        run = jax.jit(lambda x, n: scale(x, 2.0, n))
        np.testing.assert_array_equal(run(jnp.arange(8.0), jnp.int64(3)), [0, 2, 4, 3, 4, 5, 6, 7])


def test_vmap_over_all_or_some_arguments(module: Module) -> None:
    saxpy = module["saxpy"].jax(1, 8)
    xs = jnp.stack([X, 2 * X, 3 * X])
    run = jax.jit(jax.vmap(lambda x, a: saxpy(8, a, x, jnp.ones(8)), (0, None)))
    np.testing.assert_array_equal(run(xs, 2.0), 2 * np.asarray(xs) + 1)
    by_factor = jax.vmap(lambda a: saxpy(8, a, jnp.asarray(X), jnp.ones(8)))(jnp.arange(3.0))
    np.testing.assert_array_equal(by_factor, np.arange(3.0)[:, None] * X + 1)


def test_nested_vmap(module: Module) -> None:
    xs = np.arange(2 * 3 * 8, dtype=np.float32).reshape(2, 3, 8)
    result = jax.vmap(jax.vmap(lambda x: module["shift"].jax(1, 8)(x, x, 8)))(jnp.asarray(xs))
    np.testing.assert_array_equal(result, 2 * xs)


def test_shard_map(module: Module) -> None:
    mesh = jax.make_mesh((1,), ("i",), axis_types=(AxisType.Auto,))
    spec = PartitionSpec("i")
    run = jax.shard_map(lambda x: module["shift"].jax(1, 8)(x, x, 8), mesh=mesh, in_specs=spec, out_specs=spec)
    np.testing.assert_array_equal(jax.jit(run)(jnp.asarray(X)), 2 * X)


def test_within_a_scan(module: Module) -> None:
    saxpy = module["saxpy"].jax(1, 8)
    last, _ = jax.lax.scan(lambda y, _: (saxpy(8, 1.0, jnp.ones(8), y), None), jnp.zeros(8), length=10)
    np.testing.assert_array_equal(last, np.full(8, 10))


def test_gradients_are_those_of_the_kernel(module: Module) -> None:
    saxpy = module["saxpy"].jax(1, 8)
    gradient = jax.grad(lambda a, x: saxpy(8, a, x, jnp.ones(8)).sum(), (0, 1))(2.0, jnp.asarray(X))
    assert gradient[0] == X.sum()
    np.testing.assert_array_equal(gradient[1], np.full(8, 2))


def test_constant_memory_is_read_when_traced(module: Module) -> None:
    module.variables["weights"] = [1, 2, 4]
    result = jax.jit(lambda x: module["weigh"].jax(1, 8)(x, 6))(jnp.ones(6))
    assert result.tolist() == [1, 2, 4, 1, 2, 4]


def test_device_variables_can_not_be_written(module: Module) -> None:
    with pytest.raises(wl.LaunchError, match=r"WL0906.*visit writes the device variable"):
        module["visit"].jax(1, 8)(4)


def test_booleans_complex_and_unsigned_arrays(module: Module) -> None:
    x, y = module["flip"].jax(1, 4)(jnp.array([True, False]), jnp.array([0, 5], jnp.uint32), 2)
    assert (x.tolist(), x.dtype) == ([False, True], np.bool_)
    assert (y.tolist(), y.dtype) == ([2**32 - 1, 4], np.uint32)
    z = module["turn"].jax(1, 4)(jnp.array([1 + 2j, 3 - 1j], jnp.complex64), 2)
    assert z.tolist() == [-2 + 1j, 1 + 3j]


def test_records_and_null_pointers(module: Module) -> None:
    assert module["ripple"].jax(1, 4)(jnp.ones(3), (2.0, 2, 0.5)).tolist() == [2.5, 2.5, 1]
    assert module["maybe"].jax(1, 4)(jnp.ones(2), None, 2).tolist() == [101, 101]


def test_float_results_hold_inside_a_users_program(module: Module) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((2, 4096)).astype(np.float32)
    run = jax.jit(lambda x, y: module["saxpy"].jax(16, 256)(4096, 1.1, x, y) * 2)
    np.testing.assert_array_equal(run(x, y), (np.float32(1.1) * x + y) * 2)


def test_without_a_tensor_form_the_emulator_is_called(module: Module) -> None:
    kernel = module["tickets"]
    with pytest.warns(wl.WindlassWarning, match=r"WL0413.*tickets runs in the emulator"):
        kernel.has_warned = False
        following, taken = jax.jit(lambda a, b: kernel.jax(1, 8)(a, b, 5))(
            jnp.zeros(1, jnp.int32), jnp.zeros(8, jnp.int32)
        )
    assert following.tolist() == [5]
    assert taken.tolist() == [1] * 5 + [0] * 3
