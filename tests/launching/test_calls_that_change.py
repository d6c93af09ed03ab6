"""Calls after the first take a short path; whatever changes between two calls must be seen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

Module = wl.cuda.Module
X = np.arange(1, 9, dtype=np.float32)


def sum_of_first(module: Module, path: str) -> Callable[..., list[float]]:
    """A launch of saxpy on zeros, on one of the two paths, as a function of the arguments `n`, `a` and `x`."""
    pure, launch = module["saxpy"].jax(1, 8), module["saxpy"][1, 8]

    def run(n: Any = 8, a: Any = 1.0, x: Any = X) -> list[float]:
        y = np.full(8, -0.0, np.float32)
        if path == "jax":
            return pure(
                n, a, x if isinstance(x, np.ndarray) and type(x) is not np.ndarray else jnp.asarray(x), y
            ).tolist()
        launch(n, a, x, y)
        return y.tolist()

    return run


def first(n: int, by: float = 1.0) -> list[float]:
    return [*(X[:n] * by).tolist(), *[0.0] * (8 - n)]


@pytest.fixture(name="run", params=["jax", "numpy"])
def run_(module: Module, request: pytest.FixtureRequest) -> Callable[..., list[float]]:
    return sum_of_first(module, request.param)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "kind",
    [int, np.int32, np.int64, np.uint8, np.array, jnp.int32, jnp.uint8, jnp.asarray],
    ids=["int", "int32", "int64", "uint8", "array", "jax_int32", "jax_uint8", "jax_asarray"],
)
def test_value_of_an_integer(run: Callable[..., list[float]], kind: Callable[[int], Any]) -> None:
    for count in (3, 5, 3, 8, 0):
        assert run(kind(count)) == first(count)


def test_booleans_and_integers_of_one_value_are_told_apart(run: Callable[..., list[float]]) -> None:
    for one in (1, True, np.bool_(True), np.int64(1), 1):
        assert run(one) == first(1)
    for none in (0, False, np.bool_(False)):
        assert run(none) == first(0)


@pytest.mark.parametrize(
    "kind",
    [float, np.float32, np.float64, np.float16, np.array, lambda value: np.array(value, np.float32)],
    ids=["float", "float32", "float64", "float16", "array", "array32"],
)
def test_value_of_a_float(run: Callable[..., list[float]], kind: Callable[[float], Any]) -> None:
    for by in (2.0, 0.5, -1.0, 2.0):
        assert run(8, kind(by)) == first(8, by)
    assert np.signbit(run(8, kind(-0.0))).all()
    assert not np.signbit(run(8, kind(0.0))).any()
    assert np.isnan(run(8, kind(np.nan))).all()
    assert np.isinf(run(8, kind(np.inf))).all()


def test_one_object_given_again_and_again(run: Callable[..., list[float]]) -> None:
    half, zero, minus_zero, changing = 0.5, 0.0, -0.0, np.array(1.0)
    for by in (half, half, half, 0.25, half, half, half):
        assert run(8, by) == first(8, by)
    for by in (zero, zero, zero, minus_zero, minus_zero, minus_zero, zero):
        assert np.signbit(run(8, by)).all() == np.signbit(by)
    for value in (1.0, 2.0, 3.0, 4.0):
        changing[...] = value
        assert run(8, changing) == first(8, value)


def test_kept_numbers_are_of_no_trace(module: Module) -> None:
    saxpy = module["saxpy"].jax(1, 8)
    by, x, y = 0.5, jnp.asarray(X), jnp.zeros(8)
    saxpy(8, by, x, y)
    for _ in range(3):
        assert jax.jit(lambda: saxpy(8, by, x, y) + 0)().tolist() == first(8, by)
    with jax.checking_leaks():
        assert jax.jit(lambda: saxpy(8, by, x, y) + 0)().tolist() == first(8, by)
    for _ in range(3):
        assert saxpy(8, by, x, y).tolist() == first(8, by)


def test_doubles_given_again_and_again_stay_doubles(module: Module) -> None:
    by, add = 1 / 7, 2**40 + 1
    for _ in range(4):
        x = np.arange(8.0) / 3
        module["scale_double"][1, 8](x, by, 8)
        np.testing.assert_array_equal(x, np.arange(8.0) / 3 * by)
    kernel = wl.cuda.compile("__global__ void add(long long *x, long long by) { x[0] += by; }")["add"]
    total = np.zeros(1, np.int64)
    for value in range(12):  # after some values it is no longer compiled in
        kernel[1, 1](total, value)
    for _ in range(4):
        kernel[1, 1](total, add)
    assert total[0] == sum(range(12)) + 4 * add


def test_type_of_a_float(run: Callable[..., list[float]]) -> None:
    for value in (2.0, 2, np.float32(2), np.int8(2), np.array(2), True, jnp.float32(2), jnp.asarray(2.0)):
        assert run(8, value) == first(8, float(value))


def test_what_the_first_call_refuses_later_ones_refuse_too(run: Callable[..., list[float]]) -> None:
    def said(*arguments: Any) -> str:
        with pytest.raises(wl.LaunchError) as caught:
            run(*arguments)
        return str(caught.value)

    wrong: list[tuple[Any, ...]] = [
        (2**31,),
        (1.5,),
        (None,),
        ("8",),
        (np.array([8]),),
        (8, 1e300),
        (8, "2"),
        (8, 1j),
        (8, None),
        (8, 1.0, X.astype(np.int32)),
    ]
    before = [said(*arguments) for arguments in wrong]
    run(8, 1.0)
    assert [said(*arguments) for arguments in wrong] == before
    assert run(8, 1.0) == first(8)


def test_shape_of_an_array(module: Module) -> None:
    pure, launch = module["saxpy"].jax(1, 8), module["saxpy"][1, 8]
    for shape in ((8,), (16,), (2, 4), (8,)):
        x, y = np.ones(shape, np.float32), np.ones(shape, np.float32)
        result = pure(8, 1.0, jnp.asarray(x), jnp.asarray(y))
        assert result.shape == shape
        assert result.reshape(-1)[:8].tolist() == [2] * 8
        launch(8, 1.0, x, y)
        np.testing.assert_array_equal(result, y)
    for call in (lambda y: pure(8, 1.0, X, jnp.asarray(y)), lambda y: launch(8, 1.0, X, y)):
        with pytest.raises(wl.LaunchError, match="WL0404"):
            call(np.ones(6, np.float32))


def test_memory_mapped_files(module: Module, tmp_path: Path) -> None:
    maps = [np.memmap(tmp_path / str(size), np.float32, "w+", shape=(size,)) for size in (8, 16)]
    for y in maps:
        y[:] = 1
        module["saxpy"][1, 8](8, 1.0, X, y)
        assert y[:8].tolist() == (X + 1).tolist()
    same = np.memmap(tmp_path / "8", np.float32, "r+", shape=(8,))
    module["saxpy"][1, 8](8, 1.0, same, same)
    assert same.tolist() == (2 * (X + 1)).tolist()
    overlapping = maps[1][4:]
    module["shift"][1, 4](overlapping[1:5], overlapping[0:4], 4)


def test_dtype_of_an_array(module: Module) -> None:
    flip = module["flip"].jax(1, 4)
    for dtype in (jnp.uint32, jnp.int32, jnp.uint32):
        _, y = flip(jnp.array([True, False]), jnp.array([0, 5], dtype), 2)
        assert y.dtype == dtype
        assert y.astype(jnp.uint32).tolist() == [2**32 - 1, 4]
    with pytest.raises(wl.LaunchError, match=r"WL0401.*unsigned int \*, which is uint32, but got float32"):
        flip(jnp.array([True, False]), jnp.ones(2), 2)


def test_layout_of_an_array(module: Module) -> None:
    pure, launch = module["saxpy"].jax(1, 4), module["saxpy"][1, 4]
    wide = np.arange(8, dtype=np.float32)
    for _ in range(2):
        launch(4, 1.0, wide[:4], np.zeros(4, np.float32))
        with pytest.raises(wl.LaunchError, match="WL0405"):
            launch(4, 1.0, wide[::2], np.zeros(4, np.float32))
        for view in (wide[:4], wide[::2], wide[3::-1]):
            assert pure(4, 1.0, view, np.zeros(4, np.float32)).tolist() == view.tolist()


def test_device_variables(module: Module) -> None:
    weigh = module["weigh"].jax(1, 8)
    x = jnp.ones(3)
    module.variables["weights"] = [1, 2, 4]
    before = weigh(x, 3)
    module.variables["weights"] = [3, 5, 7]
    assert weigh(x, 3).tolist() == [3, 5, 7]
    module.variables["weights"][1] = 9
    assert weigh(x, 3).tolist() == [3, 9, 7]
    assert before.tolist() == [1, 2, 4]


def test_x64_flag(module: Module) -> None:
    scale, third = module["scale_double"].jax(1, 8), module["third"].jax(1, 8)
    by = 1 / 3 + 1e-12
    doubles, floats = np.arange(8.0) / 3, jnp.asarray(X)
    expected = (by * X.astype(np.float64) / 3).astype(np.float32)
    for _ in range(2):
        with pytest.raises(wl.LaunchError, match=r"WL0902.*JAX would narrow it to float32"):
            scale(doubles, by, 8)
        np.testing.assert_array_equal(third(floats, by, 8), expected)
        with jax.enable_x64(True):
            wide = scale(doubles, by, 8)
            assert wide.dtype == np.float64
            np.testing.assert_array_equal(wide, doubles * by)
            np.testing.assert_array_equal(third(floats, by, 8), expected)
        # An array of doubles stays one after the flag is off again.
        np.testing.assert_array_equal(np.asarray(scale(wide, 0.5, 8)), doubles * by * 0.5)


def test_records(module: Module) -> None:
    ripple = module["ripple"].jax(1, 4)
    dtype = module["ripple"].signature.parameters[1].dtype
    assert dtype is not None
    for record in ((2.0, 2, 0.5), (2.0, 3, 0.5), (4.0, 3, 0.5), (4.0, 3, 1 / 3)):
        speed, count, phase = record
        expected = [float(np.float32(speed + phase))] * count + [1.0] * (4 - count)
        assert ripple(jnp.ones(4), record).tolist() == expected
        assert ripple(jnp.ones(4), np.array(record, dtype)[()]).tolist() == expected


def test_null_pointers_come_and_go(module: Module) -> None:
    maybe = module["maybe"].jax(1, 4)
    for _ in range(2):
        assert maybe(jnp.ones(2), None, 2).tolist() == [101, 101]
        assert maybe(jnp.ones(2), jnp.ones(2), 2).tolist() == [2, 2]


def test_tracers_after_concrete_values(module: Module) -> None:
    saxpy = module["saxpy"].jax(1, 8)
    x, y = jnp.asarray(X), jnp.zeros(8)
    for _ in range(2):
        assert saxpy(8, 2.0, x, y).tolist() == first(8, 2.0)
        assert jax.jit(lambda x, y: saxpy(8, 2.0, x, y))(x, y).tolist() == first(8, 2.0)
        assert jax.jit(lambda: saxpy(8, 2.0, x, y))().tolist() == first(8, 2.0)
        assert jax.vmap(lambda a: saxpy(8, a, x, y))(jnp.arange(2.0)).tolist() == [first(8, 0.0), first(8)]
        assert jax.grad(lambda x: saxpy(8, 2.0, x, y).sum())(x).tolist() == [2.0] * 8
        assert jax.grad(lambda a: a * saxpy(8, 2.0, x, y)[0])(3.0) == 2
        with jax.disable_jit():
            assert saxpy(8, 2.0, x, y).tolist() == first(8, 2.0)
            assert saxpy(3, 2.0, x, y).tolist() == first(3, 2.0)


def test_deleted_arrays(module: Module) -> None:
    saxpy = module["saxpy"].jax(1, 8)
    for _ in range(2):
        x = jnp.asarray(X)
        saxpy(8, 2.0, x, jnp.zeros(8))
        x.delete()
        with pytest.raises((RuntimeError, ValueError), match="deleted"):
            saxpy(8, 2.0, x, jnp.zeros(8))


def test_inputs_are_never_changed(module: Module) -> None:
    x, y = jnp.asarray(X), jnp.ones(8)
    for _ in range(3):
        module["saxpy"].jax(1, 8)(8, 2.0, x, y)
        module["shift"].jax(1, 8)(x, x, 8)
    assert y.tolist() == [1] * 8
    assert x.tolist() == X.tolist()


def test_functions_of_one_shape_are_one(module: Module) -> None:
    kernel = module["saxpy"]
    assert kernel.jax(1, 8) is kernel.jax((1, 1), (8,))
    assert kernel.jax(1, 8) is not kernel.jax(1, 16)
    assert kernel.jax(1, 8).__name__ == "saxpy"


def test_several_threads(module: Module) -> None:
    saxpy = module["saxpy"].jax(1, 8)
    wrong: list[int] = []

    def work(by: int) -> None:
        for count in (8, 5, by):
            if saxpy(count, float(by), X, np.zeros(8, np.float32)).tolist() != first(count, by):
                wrong.append(by)

    threads = [threading.Thread(target=work, args=(by,)) for by in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
