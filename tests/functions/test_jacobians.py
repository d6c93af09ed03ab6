"""Jacobians and Hessians that are mostly zero are found by colours; they are what JAX finds column by column."""

# pyright: basic
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

import windlass as wl

MODULE = wl.cuda.compile("""
__global__ void ell(const double *x, const int *column, const double *a, double *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = 0;
    for (int k = 0; k < 2; k++) sum += a[2 * i + k] * x[column[2 * i + k]] * x[i];
    y[i] = sum;
}
""")
X = np.sin(np.arange(30.0)) + 2


def colours(jacobian, *arguments):
    found = jacobian.colouring(*arguments)
    assert found is not None
    return found


def step(u):
    v = u.copy()
    v[1:-1] += 0.1 * u[1:-1] * (u[:-2] - 2 * u[1:-1] + u[2:])
    return v


def step_by_hand(u):
    return u.at[1:-1].add(0.1 * u[1:-1] * (u[:-2] - 2 * u[1:-1] + u[2:]))


def march(u, steps):
    for _ in range(steps):
        u[:] = step(u)


def by_hand(function, *arguments):
    with jax.enable_x64(True):
        return np.asarray(function(*arguments))


def test_a_stencil_has_three_colours():
    jacobian = wl.jacobian(step)
    colouring = colours(jacobian, X)
    assert colouring.count == 3 and colouring.mode == "forward" and "3 colours" in str(colouring)
    assert colouring.pattern.nnz == 28 * 3 + 2
    expected = by_hand(jax.jacfwd(step_by_hand), X)
    np.testing.assert_allclose(jacobian(X), expected, 1e-12)
    found = wl.jacobian(step, sparse=True)(X)
    assert scipy.sparse.issparse(found) and found.nnz == colouring.pattern.nnz
    np.testing.assert_array_equal(found.toarray(), jacobian(X))


def test_rounds_of_a_loop_widen_the_band():
    jacobian = wl.jacobian(wl.jit(whole=True)(march))
    assert [colours(jacobian, X, steps).count for steps in (1, 2, 3)] == [3, 5, 7]
    expected = by_hand(jax.jacfwd(lambda u: step_by_hand(step_by_hand(u))), X)
    np.testing.assert_allclose(jacobian(X, 2), expected, 1e-12)


def test_columns_of_a_sparse_matrix_are_read():
    generator = np.random.default_rng(0)
    launch = MODULE["ell"][1, 32]
    a, zeros = generator.standard_normal((30, 2)), np.zeros(30)
    jacobian = wl.jacobian(launch)
    for _ in range(2):
        column = generator.integers(0, 30, (30, 2)).astype(np.int32)
        expected = np.zeros((30, 30))
        for i in range(30):
            for k in range(2):
                expected[i, column[i, k]] += a[i, k] * X[i]
                expected[i, i] += a[i, k] * X[column[i, k]]
        np.testing.assert_allclose(jacobian(X, column, a, zeros, 30), expected, 1e-12)
        colouring = colours(jacobian, X, column, a, zeros, 30)
        assert colouring.count < 12
        np.testing.assert_array_equal(colouring.pattern.toarray() != 0, (expected != 0) | np.eye(30, dtype=bool))


def test_few_rows_that_meet_are_coloured_in_reverse():
    def pieces(x):
        return jnp.concatenate([x[:15], jnp.sum(x[15:], keepdims=True)])

    def mostly(x):
        return np.concatenate([np.sum(x[:20] ** 2, keepdims=True), x[20:] ** 2])

    reverse = colours(wl.jacobian(mostly), X)
    assert reverse.mode == "reverse" and reverse.count == 1
    np.testing.assert_allclose(wl.jacobian(mostly)(X)[0, :20], 2 * X[:20])
    assert wl.jacobian(jax.jit(pieces), mode="forward").colouring(X) is None  # fifteen meet in a row: as good as all
    np.testing.assert_array_equal(wl.jacobian(jax.jit(pieces))(X), by_hand(jax.jacfwd(pieces), X))


def test_trees_of_results_and_arguments_have_parts():
    def function(x, other):
        return {"a": x[1:] * other["c"], "b": (other["d"] ** 2, x)}

    def plain(x, other):
        return {"a": x[1:] * other["c"], "b": (other["d"] ** 2, x)}

    other = {"c": X[1:] + 1, "d": X[:9].reshape(3, 3)}
    found = wl.jacobian(function, (0, 1))(X, other)
    with jax.enable_x64(True):
        expected = jax.jacrev(plain, (0, 1))(X, other)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    jax.tree.map(lambda one, two: np.testing.assert_allclose(one, two, 1e-12), found, expected)
    assert colours(wl.jacobian(function, (1, 0)), X, other).count == 2
    swapped = wl.jacobian(function, (1, 0), sparse=True)(X, other)
    np.testing.assert_allclose(swapped["a"][1].toarray(), expected["a"][0], 1e-12)
    assert swapped["b"][0][0]["d"].shape == (9, 9)


def test_hessians_have_colours_too():
    def rosenbrock(x):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    hessian = wl.hessian(rosenbrock)
    assert colours(hessian, X).count == 3
    expected = by_hand(jax.hessian(rosenbrock), X)
    np.testing.assert_allclose(hessian(X), expected, 1e-10)
    np.testing.assert_allclose(wl.hessian(rosenbrock, sparse=True)(X).toarray(), expected, 1e-10)
    np.testing.assert_allclose(wl.hvp(rosenbrock, (X,), (np.cos(X),)), expected @ np.cos(X), 1e-10)
    with_aux = wl.hessian(lambda x: (rosenbrock(x), x[0]), has_aux=True)
    assert colours(with_aux, X).count == 3
    np.testing.assert_allclose(with_aux(X)[0], expected, 1e-10)


def test_products_by_several_arguments_are_tuples():
    def loss(x, y):
        return (x * y).sum()

    by_x, by_y = wl.hvp(loss, (X, X), (np.ones(30), np.zeros(30)))
    assert not by_x.any() and (by_y == 1).all()
    assert not wl.hvp(loss, (X, X), (np.ones(30), None)).any()
    with pytest.raises(wl.WindlassError, match="no argument has a tangent"):
        wl.hvp(loss, (X, X), (None, None))


def test_colours_hold_within_compiled_functions():
    @wl.jit(whole=True)
    def whole(x):
        return wl.jacobian(step)(x).sum(0)

    expected = wl.jacobian(step)(X).sum(0)
    np.testing.assert_allclose(whole(X), expected, 1e-12)
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.jit(wl.jacobian(step))(jnp.asarray(X)).sum(0), expected, 1e-12)


def test_dense_and_unknown_jacobians_are_found_one_by_one():
    matrix = np.cos(np.arange(900.0)).reshape(30, 30)
    assert wl.jacobian(lambda x: matrix @ x).colouring(X) is None
    np.testing.assert_allclose(wl.jacobian(lambda x: matrix @ x)(X), matrix, 1e-12)
    assert wl.jacobian(lambda x: np.sort(x) * 2).colouring(X) is None
    assert isinstance(wl.jacobian(lambda x: matrix @ x, sparse=True)(X), scipy.sparse.csr_array)

    def until(x):  # how often is not known: the band may be of any width
        while x.sum() < 100:
            x = x + np.roll(x, 1) ** 2
        return x

    assert wl.jacobian(until).colouring(X) is None
    assert wl.jacobian(until)(X).shape == (30, 30)
