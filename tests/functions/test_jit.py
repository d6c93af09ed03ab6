"""Functions that mix NumPy, jax.numpy and launches, compiled as one program."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

Module = wl.cuda.Module


def test_launches_in_a_loop_are_one_program(module: Module) -> None:
    heat = module["heat"]

    @wl.jit(whole=True)
    def run(u: Any, new: Any, steps: Any) -> Any:
        for _ in range(steps):
            heat[(3, 2), (16, 16)](new, u, 40, 30, 0.1)
            u, new = new, u
        return np.abs(u).max()

    rng = np.random.default_rng(2)
    u = rng.random((30, 40), np.float32)
    new = u.copy()
    first, second = u.copy(), new.copy()
    for _ in range(31):
        heat[(3, 2), (16, 16)](second, first, 40, 30, 0.1)
        first, second = second, first
    greatest = run(u, new, 31)
    assert greatest == np.abs(first).max()
    np.testing.assert_array_equal(u, second)
    np.testing.assert_array_equal(new, first)
    text = run.lower(u, new, 31).text("optimized")
    assert text.count("stablehlo.while") == 1
    assert "func.call" not in text and " call @" not in text


def test_views_are_launched_on_in_place(module: Module) -> None:
    @wl.jit(whole=True)
    def run(a: Any) -> None:
        module["shift"][1, 32](a[10:20], a[15:25], 10)
        module["shift"][1, 32](a.reshape(4, 10)[0, :5], a[5:10], 5)

    x = np.arange(40, dtype=np.float32)
    y = x.copy()
    run(x)
    module["shift"][1, 32](y[10:20], y[15:25], 10)
    module["shift"][1, 32](y[0:5], y[5:10], 5)
    np.testing.assert_array_equal(x, y)


def test_views_that_are_not_contiguous_are_refused(module: Module) -> None:
    with pytest.raises(wl.LaunchError, match=r"WL0405.*is a view that is not contiguous"):
        wl.jit(whole=True)(lambda a: module["shift"][1, 4](a[::2], a, 4))(np.zeros(10, np.float32))


def test_same_array_given_twice_shares_memory(module: Module) -> None:
    @wl.jit(whole=True)
    def run(a: Any, b: Any) -> None:
        a[0] = 5
        b[1] = a[0] + 1

    x = np.zeros(3, np.float32)
    run(x, x)
    assert x.tolist() == [5, 6, 0]
    with pytest.raises(wl.WindlassError, match=r"WL0912"):
        run(x[:2], x[1:])


def test_kernels_numpy_and_jax_mix(module: Module) -> None:
    @wl.jit(whole=True)
    def run(x: Any, a: Any) -> Any:
        y = np.zeros_like(x)
        module["saxpy"][1, 16](8, a, x, y)
        y += jnp.sin(x)
        module["shift"][1, 16](x, y, 8)
        return {"total": y.sum(), "y": y}

    x = np.arange(8, dtype=np.float32)
    y = 2 * x + np.sin(x)
    result = run(x, 2.0)
    np.testing.assert_allclose(result["y"], y, rtol=1e-6)
    np.testing.assert_allclose(x, 2 * y, rtol=1e-6)
    assert isinstance(result["y"], np.ndarray)


def test_jax_arrays_come_back_as_jax_arrays() -> None:
    @wl.jit(whole=True)
    def run(x: Any) -> Any:
        x += 1
        return x

    x = jnp.zeros(3)
    result = run(x)
    assert isinstance(result, jax.Array) and result.dtype == np.float32
    assert (result.tolist(), x.tolist()) == ([1, 1, 1], [0, 0, 0])


def test_donated_jax_arrays_are_reused() -> None:
    @wl.jit(whole=True, donate="x")
    def run(x: Any, y: Any) -> Any:
        x += y
        return x

    x, y = jnp.zeros(1000), jnp.ones(1000)
    place = x.unsafe_buffer_pointer()
    result = run(x, y)
    assert x.is_deleted() and not y.is_deleted()
    assert result.unsafe_buffer_pointer() == place


def test_returned_arguments_are_the_arrays_themselves() -> None:
    @wl.jit(whole=True)
    def run(x: Any) -> Any:
        x += 1
        return x

    x = np.zeros(3)
    assert run(x) is x


def test_structures_and_static_arguments() -> None:
    @wl.jit(whole=True, static=("flip",))
    def run(fields: Any, flip: bool, name: str = "u") -> Any:
        fields[name][...] = -fields[name] if flip else fields[name] + 1
        return len(name), name

    u = np.ones(2)
    assert run({"u": u, "v": np.zeros(1)}, True) == (1, "u")
    run({"u": u, "v": np.zeros(1)}, flip=False)
    assert u.tolist() == [0, 0]


def test_other_numbers_take_no_compilation() -> None:
    class Trace:
        """Made each time that the function is traced."""

        count = 0

        def __init__(self) -> None:
            Trace.count += 1

    @wl.jit(whole=True)
    def run(x: Any, by: Any) -> Any:
        Trace()
        return x * by

    for by in (1.0, 2.0, 3.0):
        assert run(np.ones(2, np.float32), by).tolist() == [by, by]
    assert Trace.count == 1
    assert run(np.ones(2, np.float32), 2.0).dtype == np.float32


def test_doubles_are_exact_without_x64() -> None:
    x = np.full(3, 1 / 3)
    result = wl.jit(whole=True)(lambda x, a: x * a + a)(x, 1e-17)
    np.testing.assert_array_equal(result, x * 1e-17 + 1e-17)
    assert not jax.config.read("jax_enable_x64")


def test_float_results_are_numpys_to_the_last_bit() -> None:
    rng = np.random.default_rng(4)
    a, b, c = rng.standard_normal((3, 1000)).astype(np.float32)

    def function(a: Any, b: Any, c: Any) -> Any:
        return (a * b + c) / np.float32(3) - a * a

    np.testing.assert_array_equal(wl.jit(whole=True)(function)(a, b, c), function(a, b, c))


def test_within_jax_jit() -> None:
    inner = wl.jit(whole=True)(lambda x: x * 2)
    assert jax.jit(lambda x: inner(x) + 1)(jnp.ones(2)).tolist() == [3, 3]


def test_unknown_parameter_names() -> None:
    with pytest.raises(wl.LaunchError, match=r"WL0911.*has no parameter called 'n'"):
        wl.jit(whole=True, static="n")(lambda x: x)


def test_writing_to_an_outside_array_in_a_launch_is_refused(module: Module) -> None:
    outside = np.zeros(8, np.float32)
    with pytest.raises(wl.LaunchError, match=r"WL0907.*from outside the compiled function"):
        wl.jit(whole=True)(lambda x: module["shift"][1, 8](outside, x, 8))(outside.copy())


def test_pure_functions_take_the_values_of_arrays() -> None:
    module = wl.cuda.compile("""
        __global__ void twice(float *x, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) x[i] *= 2.0f;
        }""")
    twice = module["twice"].jax(1, 32)

    @wl.jit(whole=True)
    def run(x: Any) -> Any:
        doubled = twice(x, 4)
        return x, doubled, twice(doubled, 4)

    x, doubled, quadrupled = run(np.arange(5, dtype=np.float32))
    assert np.asarray(x).tolist() == [0, 1, 2, 3, 4]
    assert np.asarray(doubled).tolist() == [0, 2, 4, 6, 4]
    assert np.asarray(quadrupled).tolist() == [0, 4, 8, 12, 4]
