"""Templates, classes, references, lambdas and overloads of C++; and how functions meet JAX, `wl.jit` and the rest."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path

import jax
import numpy as np
import pytest

import windlass as wl

FILE = Path(__file__).parent / "functions.cpp"
N = 20
X = np.random.default_rng(2).standard_normal(N)


@cache
def functions() -> wl.c.CModule:
    return wl.c.compile(FILE)


def test_template_instances_are_called_by_their_types() -> None:
    for name, dtype in (("axpy<double>", np.float64), ("axpy<float>", np.float32)):
        y = np.ones(N, dtype)
        functions()[name](N, 2.0, X.astype(dtype), y)
        np.testing.assert_allclose(y, 1 + 2 * X, rtol=1e-5)


def test_methods_of_classes_are_inlined() -> None:
    before = np.random.default_rng(3).standard_normal((5, 6))
    after = np.zeros((5, 6))
    total = functions()["smooth"](5, 6, before, after)
    expected = np.zeros((5, 6))
    expected[1:-1, 1:-1] = 0.25 * (before[:-2, 1:-1] + before[2:, 1:-1] + before[1:-1, :-2] + before[1:-1, 2:])
    np.testing.assert_allclose(after, expected)
    assert total == pytest.approx(expected.sum())
    assert functions()["grids::smooth"] is functions()["smooth"]


def test_references_are_arrays() -> None:
    total, count = np.zeros(1), np.zeros(1, np.int32)
    functions()["by_reference"](N, X, total, count)
    assert (total[0], count[0]) == (pytest.approx(X[X > 0].sum()), (X > 0).sum())
    eight = np.arange(8.0)
    functions()["range"](eight)
    np.testing.assert_array_equal(eight, 2 * np.arange(8))


def test_lambdas_and_algorithms_of_the_library_are_inlined() -> None:
    y = np.zeros(N, np.float32)
    functions()["lambdas"](N, X.astype(np.float32), y)
    np.testing.assert_allclose(y, np.maximum(X, 0) * 2, rtol=1e-6)
    roots = np.zeros(N)
    functions()["transform"](N, X, roots)
    np.testing.assert_allclose(roots, np.sqrt(np.abs(X)))


def test_overloads_are_told_apart_by_their_parameters() -> None:
    assert functions()["overloaded(int)"](3) == 4
    assert functions()["overloaded(double)"](3) == 3.5
    with pytest.raises(wl.CompilationError, match="'overloaded' names 2 functions"):
        functions()["overloaded"]


def test_structs_with_methods_are_structured_arrays() -> None:
    points = np.random.default_rng(4).standard_normal((N, 3))
    norms = np.zeros(N)
    functions()["norms"](N, points.view([("x", "f8"), ("y", "f8"), ("z", "f8")]).ravel(), norms)
    np.testing.assert_allclose(norms, np.linalg.norm(points, axis=1))


def test_memory_from_the_heap_is_emulated() -> None:
    x = X.copy()
    with pytest.warns(wl.WindlassWarning, match="runs in the emulator"):
        functions()["with_vector"](N, x)
    np.testing.assert_array_equal(x, X[::-1])


SOURCE = """
float energy(int n, const float *x, float *force) {
    float total = 0;
    #pragma omp parallel for reduction(+ : total)
    for (int i = 0; i < n; i++) { total += x[i] * x[i]; force[i] = -2 * x[i]; }
    return total;
}
float total(int n, const float *x) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i] * x[i];
    return sum;
}
void shift(int n, const float *x, float *y) { for (int i = 0; i < n; i++) y[i] = x[i] + 1; }
struct triple { float x, y, z; };
float weigh(struct triple t, short by) { return (t.x + 10 * t.y + 100 * t.z) * by; }
struct field { int n; float *values; };
void scale(struct field f, float by) {
    #pragma omp parallel for
    for (int i = 0; i < f.n; i++) f.values[i] *= by;
}
"""
FEW = np.arange(4, dtype=np.float32)


@cache
def small() -> wl.c.CModule:
    return wl.c.compile(SOURCE)


def test_structs_by_value_are_records_with_arrays_in_them() -> None:
    triple = np.array((1, 2, 3), [("x", "f4"), ("y", "f4"), ("z", "f4")])
    assert small()["weigh"](triple, 2) == 642
    for call in (small()["scale"], wl.native(small()["scale"])):
        values = FEW.copy()
        call({"n": 4, "values": values}, 3.0)
        np.testing.assert_array_equal(values, 3 * FEW)


def test_function_of_jax_gives_arrays_and_what_is_returned() -> None:
    force, total = jax.jit(lambda x: small()["energy"].jax(4, x, np.zeros(4, np.float32)))(FEW)
    np.testing.assert_array_equal(force, -2 * FEW)
    assert total == 14
    np.testing.assert_allclose(jax.grad(lambda x: small()["total"].jax(4, x))(FEW), 3 * FEW**2)


def test_functions_are_called_within_what_is_compiled() -> None:
    @wl.jit(whole=True)
    def run(x: np.ndarray) -> np.ndarray:
        y = x * 1
        total = small()["energy"](4, y, x)
        small()["shift"](3, y[:-1], y[1:])
        return y * total

    x = FEW.copy()
    np.testing.assert_array_equal(run(x), np.arange(4) * 14.0)
    np.testing.assert_array_equal(x, -2 * FEW)


def test_functions_are_emulated_explained_and_pickled() -> None:
    energy, force = small()["energy"], np.zeros(4, np.float32)
    with pytest.raises(wl.LaunchError, match="energy was not called yet"):
        wl.c.compile(SOURCE)["energy"].explain()
    assert wl.emulate(energy)(4, FEW, force) == 14
    np.testing.assert_array_equal(force, -2 * FEW)
    assert wl.explain(energy, 4, FEW, force).error is None
    assert energy(n=4, x=FEW, force=force) == pickle.loads(pickle.dumps(energy))(4, FEW, force) == 14
    assert "windlass.is_independent" in energy.lower(4, FEW, force).text("loops")
