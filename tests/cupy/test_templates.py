"""Kernels made of expressions see what CuPy's own see: references, raw arrays, indices, float16 and complex numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windlass as wl
import windlass.cupy as cp

ROW = cp.arange(4.0)
TABLE = cp.arange(12.0).reshape(3, 4)


def test_results_are_references() -> None:
    early = cp.ElementwiseKernel("T x", "T z", "if (x < 2) { z = -1; continue; } z = x; if (x > 2) return; z += 1", "a")
    assert early(ROW).tolist() == [-1, -1, 3, 3]
    # What an operation does not write stays; results may lie apart, and be inputs too.
    partly = cp.ElementwiseKernel("T x", "T z", "if (i % 2) continue; z += x", "b")
    target = cp.full(8, 7.0)
    partly(ROW, target[::2])
    assert target.tolist() == [7, 7, 7, 7, 9, 7, 7, 7]
    both = cp.arange(4.0)
    partly(both, both)
    assert both.tolist() == [0, 1, 4, 3]


def test_raw_arrays_know_their_shapes() -> None:
    kernel = cp.ElementwiseKernel(
        "T x, raw T y, raw int32 none",
        "T z, raw T w",
        """
        int at[] = {int(i % 3), int(i / 3)};
        w[at] = y[at] + none[0];
        z = 1000 * y.size() + 100 * y.shape()[0] + 10 * y.shape()[1] + y.ndim + y[_ind.size() - i - 1];
        if (y.strides()[0] != 32 || y.strides()[1] != 8 || none.size() != 1) z = 0;
        """,
        "shapes",
    )
    z, w = cp.zeros((4, 3)), cp.zeros((3, 4))
    kernel(cp.ones((4, 3)), TABLE, cp.asarray(5, dtype=cp.int32), z, w)
    np.testing.assert_array_equal(z, 12342 + np.arange(12)[::-1].reshape(4, 3))
    np.testing.assert_array_equal(w, TABLE + 5)


@pytest.mark.parametrize("reduce_dims", [True, False])
def test_elements_know_their_indices(reduce_dims: bool) -> None:
    kernel = cp.ElementwiseKernel(
        "T x, raw T y", "T z", "z = _ind.ndim * 100 + _ind.get()[0] * 10 + y[i]", "indices", reduce_dims=reduce_dims
    )
    # Axes of arrays in C order are one, unless they are kept; those of transposed arrays are not.
    first = np.arange(12).reshape(3, 4) if reduce_dims else np.arange(3)[:, None]
    np.testing.assert_array_equal(kernel(TABLE, TABLE), 10 * first + TABLE + (100 if reduce_dims else 200))
    np.testing.assert_array_equal(kernel(TABLE.T, TABLE.T), 200 + 10 * np.arange(4)[:, None] + TABLE.get().T)


def test_float16_computes_as_float_does() -> None:
    x = cp.asarray([0.1, 1.5, 300], dtype=cp.float16)
    kernel = cp.ElementwiseKernel("T x, T y", "T z, float32 w", "z = max(x, y) + 1; z *= 2; w = x * x", "halves")
    z, w = kernel(x, cp.float16(1.25))
    wide = x.get().astype(np.float32)
    np.testing.assert_array_equal(w, wide * wide)
    np.testing.assert_array_equal(z, (np.maximum(wide, 1.25) + 1).astype(np.float16) * 2)


def test_complex_numbers() -> None:
    z = (cp.arange(4) - 2j).astype(cp.complex64)
    kernel = cp.ElementwiseKernel(
        "T x, T by, float32 r", "T z, complex128 w", "z = x * by + conj(x) + r; w = complex<double>(x.imag(), 1)", "c"
    )
    first, second = kernel(z, cp.complex64(1j), 2)
    np.testing.assert_array_equal(first, z.get() * 1j + z.get().conj() + 2)
    np.testing.assert_array_equal(second, [-2 + 1j] * 4)
    product = cp.ReductionKernel("T x", "T y", "x", "a * b", "y = a", "1", "product")
    assert product(z) == np.prod(z.get())


def test_complex_functions_of_raw_modules() -> None:
    names = "exp log sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh conj log2".split()  # noqa: SIM905
    calls = "".join(f"out[{at} * n + i] = {name}(x[i]); " for at, name in enumerate(names))
    module = cp.RawModule(
        code="#include <cupy/complex.cuh>\n"
        "template <class T> __global__ void all(const complex<T> *x, complex<T> *out, int n) "
        f"{{ int i = threadIdx.x; {calls} if (isnan(x[i]) || x[i] < x[i]) out[i] = norm(x[i]); }}",
        name_expressions=["all<double>"],
    )
    x = np.array([0.5 + 0.25j, -1.5 + 2j, 3 - 0.125j, -0.75 - 1e-3j])
    out = cp.zeros((len(names), 4), dtype=cp.complex128)
    module.get_function("all<double>")((1,), (4,), (cp.asarray(x), out, 4))
    numpy_names = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
    numpy_names |= {f"{name}h": f"{known}h" for name, known in numpy_names.items()}
    expected = [getattr(np, numpy_names.get(name, name))(x) for name in names]
    np.testing.assert_allclose(out.get(), expected, rtol=1e-14)


def test_parameters_may_be_called_n() -> None:
    kernel = cp.ElementwiseKernel(
        "T x, int32 n", "T z", "z = x * n + shift + BY", "k", loop_prep="T shift = 1", options=("-DBY=10",)
    )
    assert kernel(ROW, 3).tolist() == [11, 14, 17, 20]
    with pytest.raises(wl.LaunchError, match="no parameter may be called i"):
        cp.ElementwiseKernel("T i", "T z", "z = i")


def test_reductions_know_their_indices() -> None:
    kernel = cp.ReductionKernel(
        "T x, raw T w",
        "T y, int64 z",
        "x * w[_in_ind.get()[0]] + 0 * (_J + _j)",
        "a + b",
        "y = a; z = _in_ind.size(); if (_out_ind.get()[0] == 1) return; z = _out_ind.size()",
        "0",
        "weighted",
        reduce_dims=False,
    )
    weights = np.array([1.0, 10, 100, 1000])
    y, z = kernel(TABLE, cp.asarray(weights), axis=1)
    np.testing.assert_array_equal(y, TABLE.get() @ weights)
    assert z.tolist() == [3, 12, 3]
    out = cp.zeros((1, 4))
    last = cp.ReductionKernel("T x", "T y", "_J", "max(a, b)", "y = a", None, "last", reduce_type="int")
    assert last(TABLE, axis=0, out=out, keepdims=True) is out and out.tolist() == [[2, 2, 2, 2]]
    with pytest.raises(wl.LaunchError, match="last has no identity"):
        last(cp.zeros((0, 3)), axis=0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((ROW, cp.zeros((3,))), r"the arrays of same do not broadcast: they have shapes \(4,\), \(3,\)"),
        ((TABLE, cp.zeros(4)), r"the result z has shape \(4,\), the elements \(3, 4\)"),
        ((ROW.astype(cp.float32),), "x is float32, not float64"),
    ],
)
def test_arrays_that_do_not_fit_are_an_error(arguments: tuple[Any, ...], message: str) -> None:
    same = cp.ElementwiseKernel("float64 x", "float64 z", "z = x", "same")
    with pytest.raises(wl.LaunchError, match=message):
        same(*arguments)


def test_errors_stand_at_the_users_text() -> None:
    broken = cp.ElementwiseKernel(
        "T x",
        "T z",
        """
        z = x;
        z = missing(x);  // is not there
        """,
        "broken",
    )
    with pytest.raises(wl.CompilationError) as caught:
        broken(ROW)
    (found,) = caught.value.diagnostics
    assert found.position is not None and Path(found.position.file) == Path(__file__)
    line = Path(__file__).read_text().splitlines()[found.position.line - 1]
    assert line[found.position.column - 1 :].startswith("missing(x);  // is not there")
    # A text that stands in no file counts its own lines.
    made = cp.ReductionKernel("T x", "T y", " + ".join(("x", "other")), "a + b", "y = a", "0", "made")
    with pytest.raises(wl.CompilationError) as caught:
        made(ROW)
    assert " --> <map_expr of made>:1:5\n   |\n 1 | x + other\n   |     ^^^^^" in str(caught.value)


def test_values_scatter_into_elements_named_often() -> None:
    from windlass import cupyx

    x = cp.zeros(3)
    cp.add.at(x, [0, 2, 2], 1)
    x.scatter_add([0], 4)
    cupyx.scatter_add(x, [1, 1], cp.asarray([2.0, 3.0]))
    cupyx.scatter_max(x, [2, 2], [1, 9])
    cupyx.scatter_min(x, [0], 0.5)
    assert x.tolist() == [0.5, 5, 9]
    assert isinstance(cp.maximum.accumulate(x), cp.ndarray) and cp.add.nin == 2
