# pyright: basic
"""`njit`, `vectorize`, `guvectorize` and `stencil`: what users of Numba have, against the real one."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from tests.numba.host_programs import PROGRAMS, floats
from windlass.diagnostics import LaunchError
from windlass.numba import float64, guvectorize, int64, jit, njit, objmode, prange, stencil, vectorize

real: Any = pytest.importorskip("numba")


def expect_alike(found: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple):
        assert isinstance(found, tuple) and len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            expect_alike(one, other)
        return
    assert type(found) is type(wanted), (found, wanted)
    if isinstance(wanted, np.ndarray):
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
    if wanted is not None:
        is_single = getattr(wanted, "dtype", None) == np.float32
        np.testing.assert_allclose(found, wanted, rtol=2e-7 if is_single else 1e-13)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_give_and_write_what_numba_s_do(name: str):
    function, make = PROGRAMS[name]
    for _ in range(2):
        ours, theirs = make(), make()
        expect_alike(njit(parallel=True)(function)(*ours), real.njit(function)(*theirs))
        for one, other in zip(ours, theirs, strict=True):
            expect_alike(one, other)


@njit
def twice(x):
    return x * 2


@njit(["int64(int64)", "float64(float64)"])
def doubled(x):
    return twice(x)


@jit(nopython=True, nogil=True, cache=True, fastmath=True, boundscheck=False, error_model="numpy")
def weighted(x, scale=0.5):
    total = 0.0
    for i in prange(x.size):
        total += doubled(x[i]) * scale
    return total


def test_functions_call_one_another_by_signatures():
    assert weighted(np.array([1.0, 2.0])) == 3.0 and weighted(np.array([1.0]), scale=2.0) == 4.0
    assert (type(doubled(3)), type(doubled(np.float32(1.5)))) == (int, float)
    assert doubled.signatures[0] == (int64,) and doubled.py_func(1.0) == 2.0
    with pytest.raises(LaunchError, match="no signature takes str"):
        doubled("a")


def test_what_can_not_be_compiled_is_python_s():
    @njit
    def names(x, seen):
        seen.append(x.size)
        with objmode(found="float64"):
            found = float(sorted(map(str, x))[0])
        return found + x.sum()

    seen: list[int] = []
    assert names(np.array([2.0, 1.0]), seen) == 4.0 and seen == [2]


def larger_or_product(x, y):
    return x - y if x > y else x * y


def plus(x, y):
    return x + y


@pytest.mark.one_in(2)
def test_vectorized_functions_are_numba_s():
    ours, theirs = vectorize(larger_or_product), real.vectorize(larger_or_product)
    a = floats(3, 4)
    for given in ((a, 0.25), (a, a[:1]), (3, 4.5), (np.arange(3), a[:, :3])):
        np.testing.assert_allclose(ours(*given), theirs(*given))
        assert (type(ours(*given)), ours(*given).dtype) == (type(theirs(*given)), theirs(*given).dtype)
    assert ours(np.array([1, 2], np.float32), np.float32(2)).dtype == np.float32
    typed = vectorize([int64(int64, int64), float64(float64, float64)], identity=0)(plus)
    assert typed(np.arange(3, dtype=np.int8), 2).dtype == np.int64
    out = np.zeros((3, 4))
    assert typed(a, a, out=out) is out and np.array_equal(out, 2 * a)
    for axis in (0, 1, None, (0, 1)):
        np.testing.assert_allclose(typed.reduce(a, axis=axis), np.add.reduce(a, axis=axis))
    assert typed.reduce(a, axis=1, keepdims=True).shape == (3, 1) and typed.reduce(np.arange(0)) == 0
    np.testing.assert_allclose(typed.accumulate(a, 1), np.add.accumulate(a, 1))
    assert typed.outer([1, 2], [3, 4]).tolist() == [[4, 5], [5, 6]]
    with pytest.raises(LaunchError, match="'at' of a vectorized function"):
        typed.at(a, 0, 1)
    with pytest.raises(TypeError, match="takes 2 arguments"):
        typed(a)


def of_matrices(a, x, y):
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] * x[j]
        y[i] = s


def moved(x, by, found):
    for i in range(x.shape[0]):
        found[i] = x[i] + by


def test_functions_of_inner_arrays():
    matrices = guvectorize(["(float64[:,:], float64[:], float64[:])"], "(m,n),(n)->(m)")(of_matrices)
    a, x = floats(4, 3, 5), floats(4, 5)
    np.testing.assert_allclose(matrices(a, x), (a @ x[..., None])[..., 0])
    assert matrices(a[0], x[0]).shape == (3,)
    by = guvectorize([(int64[:], int64, int64[:])], "(n),()->(n)")(moved)
    assert by(np.arange(6).reshape(2, 3), np.array([10, 20])).tolist() == [[10, 11, 12], [23, 24, 25]]


def cross(a):
    return 0.25 * (a[0, 1] + a[1, 0] + a[0, -1] + a[-1, 0])


def window(a, w):
    s = 0.0
    for k in range(-2, 3):
        s += a[k] * w[k + 2]
    return s


def edges(a, b):
    if a[-1] > b[2]:
        return a[-1]
    return b[0] * 2


@pytest.mark.one_in(4)
def test_stencils_are_numba_s():
    cases: list[Any] = [
        (cross, {}, (floats(5, 6),)),
        (cross, {"cval": 3.0}, (floats(3, 3),)),
        (window, {"neighborhood": ((-2, 2),), "standard_indexing": ("w",)}, (floats(9), np.arange(5.0))),
        (edges, {}, (floats(7), floats(8))),
    ]
    for function, options, arguments in cases:
        ours, theirs = stencil(**options)(function), real.stencil(**options)(function)
        expect_alike(ours(*arguments), theirs(*arguments))
        first, second = np.full(arguments[0].shape, 7.0), np.full(arguments[0].shape, 7.0)
        ours(*arguments, out=first)
        theirs(*arguments, out=second)
        np.testing.assert_allclose(first, second)
    around = stencil("constant")(cross)

    @njit
    def smooth(u, steps):
        for _ in range(steps):
            u = around(u)
        return u

    np.testing.assert_allclose(smooth(floats(5, 6), 2), around(around(floats(5, 6))))


def test_what_there_is_not_says_what_helps():
    package = importlib.import_module("windlass.numba")
    for name in ("experimental", "generated_jit", "cfunc", "set_num_threads"):
        with pytest.raises(LaunchError, match=f"numba.{name} is not supported"):
            getattr(package, name)
    for refused in (
        lambda: njit(fast=True),
        lambda: njit(locals={"x": float64}),
        lambda: stencil("wrap"),
        lambda: stencil(window)(floats(5), floats(5)),
    ):
        with pytest.raises(LaunchError, match="WL0911"):
            refused()
