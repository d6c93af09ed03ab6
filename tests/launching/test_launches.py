"""Launches on NumPy arrays."""

from __future__ import annotations

import numpy as np
import pytest

import windlass as wl

Module = wl.cuda.Module


def test_arrays_are_updated_in_place(module: Module) -> None:
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    expected = np.float32(2.5) * x + y
    module["saxpy"][4, 256](1000, 2.5, x, y)
    np.testing.assert_array_equal(y, expected)


def test_arguments_may_be_named(module: Module) -> None:
    x, y = np.ones(4, np.float32), np.ones(4, np.float32)
    module["saxpy"][1, 4](4, y=y, x=x, a=3)
    assert y.tolist() == [4, 4, 4, 4]


def test_grids_of_several_dimensions(module: Module) -> None:
    rng = np.random.default_rng(0)
    u = rng.random((30, 50), np.float32)
    new = u.copy()
    module["heat"][(4, 2), (16, 16)](new, u, 50, 30, 0.1)
    expected = u.copy()
    around = u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1]
    expected[1:-1, 1:-1] = u[1:-1, 1:-1] + np.float32(0.1) * (around - 4 * u[1:-1, 1:-1])
    np.testing.assert_allclose(new, expected, rtol=1e-6)


def test_doubles_and_long_integers_keep_their_precision(module: Module) -> None:
    x = np.arange(5, dtype=np.float64) / 3
    expected = x * (1 / 7)
    module["scale_double"][1, 8](x, 1 / 7, 5)
    np.testing.assert_array_equal(x, expected)


def test_same_array_twice_is_one_memory(module: Module) -> None:
    x = np.arange(8, dtype=np.float32)
    expected = 3 * x
    module["saxpy"][1, 8](8, 2.0, x, x)
    np.testing.assert_array_equal(x, expected)


def test_overlapping_views_are_one_memory(module: Module) -> None:
    x = np.arange(20, dtype=np.float32)
    emulated = x.copy()
    module["shift"][1, 4](x[2:6], x[6:10], 4)
    wl.emulate(module["shift"])[1, 4](emulated[2:6], emulated[6:10], 4)
    np.testing.assert_array_equal(x, emulated)
    module["saxpy"][1, 5](5, 1.0, x[0:5], x[0:5])
    wl.emulate(module["saxpy"])[1, 5](5, 1.0, emulated[0:5], emulated[0:5])
    np.testing.assert_array_equal(x, emulated)


def test_views_that_overlap_in_part(module: Module) -> None:
    x = np.arange(10, dtype=np.float32)
    module["two"][1, 2](x[0:4], x[2:6], np.zeros(2, np.int32), 2)
    assert x.tolist() == [3, 4, 2, 3, 4, 5, 6, 7, 8, 9]


def test_constant_memory_can_be_set_and_read(module: Module) -> None:
    x = np.ones(6, np.float32)
    module.variables["weights"] = [1, 2, 3]
    module["weigh"][1, 8](x, 6)
    assert x.tolist() == [1, 2, 3, 1, 2, 3]
    module.variables["weights"] = np.array([5, 6, 7], np.float32)
    module["weigh"][1, 8](x, 6)
    assert x.tolist() == [5, 12, 21, 5, 12, 21]
    assert module.variables["weights"].tolist() == [5, 6, 7]


def test_device_variables_keep_what_kernels_write(module: Module) -> None:
    module.variables["visits"] = 7
    module["visit"][1, 64](40)
    module["visit"][1, 64](2)
    assert int(module.variables["visits"]) == 49


def test_records_go_by_value(module: Module) -> None:
    dtype = module["ripple"].signature.parameters[1].dtype
    assert dtype is not None
    x = np.arange(4, dtype=np.float32)
    module["ripple"][1, 8](x, np.array((2.0, 3, 0.5), dtype)[()])
    assert x.tolist() == [0.5, 2.5, 4.5, 3]
    module["ripple"][1, 8](x, (1.0, 1, 1.0))
    assert x.tolist() == [1.5, 2.5, 4.5, 3]


def test_booleans_and_unsigned_integers(module: Module) -> None:
    x, y = np.array([True, False, True]), np.array([0, 1, 2], np.uint32)
    module["flip"][1, 4](x, y, 3)
    assert x.tolist() == [False, True, False]
    assert y.tolist() == [2**32 - 1, 0, 1]


@pytest.mark.parametrize("form", ["records", "complex numbers", "pairs"])
def test_vector_types_take_several_dtypes(module: Module, form: str) -> None:
    pairs = np.arange(6, dtype=np.float32).reshape(3, 2)
    expected = np.stack([-pairs[:, 1], pairs[:, 0]], -1)
    dtype = module["turn"].signature.parameters[0].dtype
    assert dtype is not None
    given = {"records": pairs.view(dtype), "complex numbers": pairs.view(np.complex64), "pairs": pairs}[form]
    module["turn"][1, 4](given, 3)
    np.testing.assert_array_equal(pairs, expected)


def test_null_pointers(module: Module) -> None:
    x = np.zeros(3, np.float32)
    module["maybe"][1, 4](x, None, 3)
    module["maybe"][1, 4](x, np.ones(3, np.float32), 3)
    assert x.tolist() == [101, 101, 101]


def test_template_instances_are_made_when_asked_for(module: Module) -> None:
    x = np.arange(3.0)
    module["axpy<double>"][1, 4](2, x, 3)
    assert x.tolist() == [0, 2, 4]
    assert "axpy<double>" in module.kernels
    assert module["axpy<double>"] is module["axpy<double>"]


def test_zero_dimensional_arrays_are_scalars_or_memory_of_one(module: Module) -> None:
    x = np.array(3, np.float32)
    module["shift"][1, 1](x, x, np.array(1))
    assert x == 6


def test_many_values_of_an_integer_share_one_program(module: Module) -> None:
    kernel = wl.cuda.compile(
        """__global__ void add(float *x, int value, int n) { int i = threadIdx.x; if (i < n) x[i] += value; }"""
    )["add"]
    launch = kernel[1, 32]
    x = np.zeros(8, np.float32)
    for value in range(40):
        launch(x, value, 8)
    assert x.tolist() == [sum(range(40))] * 8
    assert len(launch._forms) == 1  # pyright: ignore[reportPrivateUsage]


def test_results_are_the_sources_to_the_last_bit(module: Module) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 4096)).astype(np.float32)
    expected = np.float32(1.1) * x + y
    module["saxpy"][16, 256](4096, 1.1, x, y)
    np.testing.assert_array_equal(y, expected)


def test_module_can_be_looked_at(module: Module) -> None:
    assert "saxpy" in module and "heat" in list(module)
    assert repr(module["shift"]) == "<windlass kernel shift(float * to, const float * from, int n)>"


def test_jax_and_numpy_launches_agree(module: Module) -> None:
    import jax.numpy as jnp

    x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    result = module["saxpy"].jax(1, 128)(100, 0.3, jnp.asarray(x), jnp.asarray(y))
    module["saxpy"][1, 128](100, 0.3, x, y)
    np.testing.assert_array_equal(np.asarray(result), y)
