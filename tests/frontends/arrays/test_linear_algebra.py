"""numpy.linalg within `wl.jit`: NumPy's results, types and errors, for matrices of all kinds."""

# pyright: basic
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.diagnostics import WindlassError

RANDOM = np.random.default_rng(1)
A = RANDOM.random((3, 3)) + np.eye(3)
MATRICES = {
    "f64": A,
    "f32": A.astype(np.float32),
    "f16": A.astype(np.float16),
    "int": np.array([[4, 1, 2], [0, 3, 1], [1, 0, 5]]),
    "u8": np.array([[4, 1, 2], [0, 3, 1], [1, 0, 5]], np.uint8),
    "bool": np.array([[1, 0, 1], [0, 1, 1], [0, 0, 1]], bool),
    "complex": A + 1j * A[::-1],
    "batch": np.stack([A, A + 1]),
    "singular": np.array([[1.0, 2.0], [2.0, 4.0]]),
    "near": np.diag([1.0, 1e-12, 1e-15]),
    "zero": np.zeros((3, 3)),
    "nan": np.where(np.eye(3) == 1, np.nan, 1.0),
    "inf": np.where(np.eye(3) == 1, np.inf, 1.0),
    "tall": RANDOM.random((4, 3)),
    "vector": RANDOM.random(3),
}


def inverse(a):
    return np.linalg.inv(a)


def solutions(a):
    return np.linalg.solve(a, a), np.linalg.solve(a, a[..., :1])


def powers(a):
    return [np.linalg.matrix_power(a, n) for n in (0, 1, 3)]


def negative_power(a):
    return np.linalg.matrix_power(a, -2)


def determinants(a):
    return np.linalg.det(a), np.linalg.slogdet(a)


def factors(a):
    found = np.linalg.qr(a)
    return found.Q @ found.R, np.abs(np.linalg.qr(a, "r")), type(np.linalg.qr(a, "raw")) is tuple


def one_triangle(a):
    return np.linalg.cholesky(a + 9 * np.eye(a.shape[-1])), np.linalg.cholesky(a + 9 * np.eye(a.shape[-1]), upper=True)


def values_of_one_triangle(a):
    found = np.linalg.eigh(a)
    return np.linalg.eigvalsh(a), np.linalg.eigvalsh(a, "U"), found.eigenvalues, np.abs(found.eigenvectors)


def eigenvalues(a):
    return np.linalg.eigvals(a)


def singular_values(a):
    found = np.linalg.svd(a, full_matrices=False)
    product = (found.U * found.S[..., None, :]) @ found.Vh
    return product, np.linalg.svdvals(a), np.linalg.svd(a, compute_uv=False, hermitian=a.shape[-1] == a.shape[-2])


def pseudo_inverses(a):
    return np.linalg.pinv(a), np.linalg.pinv(a, 0.3), np.linalg.pinv(a, rtol=0.2)


def ranks(a):
    return np.linalg.matrix_rank(a[None]), np.linalg.matrix_rank(a[None], 0.5), np.linalg.matrix_rank(a[None], rtol=0.2)


def conditions(a):
    return [np.linalg.cond(a, p) for p in (None, 1, -2, np.inf, "fro")]


def norms(a):
    return np.linalg.norm(a), [np.linalg.norm(a, p, (-2, -1), True) for p in (2, -2, "nuc", 1, -np.inf, "fro")]


def least_squares(a):
    return np.linalg.lstsq(a, a[:, 0])


def fits(a):
    x, y = a.ravel(), a.ravel() ** 2 + 1
    return [np.polyfit(x, y, 1, full=True), np.polyfit(x, y, 1, cov=True), np.polyfit(x, y, 1, w=np.abs(x) + 1)]


def products(a):
    return np.linalg.vecdot(a, a), np.linalg.trace(a), np.linalg.outer(a[..., 0].ravel(), a[..., 1].ravel())


def others(a):
    return np.vander(a[..., 0].ravel()), np.cov(a[..., 0], a[..., 1]), np.corrcoef(a[..., 0]), np.gradient(a)


FUNCTIONS = [inverse, solutions, powers, negative_power, determinants, factors, one_triangle, values_of_one_triangle,
             eigenvalues, singular_values, pseudo_inverses, ranks, conditions, norms, least_squares, fits, products,
             others]  # fmt: skip


def outcome_of(function, a):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(a)
        except Exception as error:
            return type(error)


def assert_alike(found: Any, wanted: Any, where: object) -> None:
    assert type(found) is type(wanted), (where, found, wanted)
    if isinstance(wanted, tuple | list):
        assert len(found) == len(wanted), where
        for one, other in zip(found, wanted, strict=True):
            assert_alike(one, other, where)
    elif hasattr(wanted, "dtype"):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), where
        tolerance = {2: 2e-2, 4: 1e-4}.get(
            np.finfo(wanted.dtype).dtype.itemsize if wanted.dtype.kind in "fc" else 8, 1e-7
        )
        np.testing.assert_allclose(found, wanted, tolerance, tolerance, err_msg=str(where))
    else:
        assert found == wanted, where


@pytest.mark.one_in(9)
@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_linear_algebra_is_numpys(function, kind):
    matrix = MATRICES[kind]
    wanted = outcome_of(function, matrix)
    assert_alike(outcome_of(wl.jit(function), matrix), wanted, (function.__name__, kind))


def test_the_other_triangle_is_not_read():
    """JAX takes the mean of both."""
    a = np.array([[4.0, np.nan], [1.0, 3.0]])
    for function in (values_of_one_triangle, one_triangle):
        upper = np.triu(a.T)
        lower = wl.jit(lambda a, function=function: function(a)[0])
        np.testing.assert_allclose(lower(a), function(np.where(np.isnan(a), 1.0, a))[0])
        np.testing.assert_allclose(lower(upper.T), function(upper.T + np.triu(upper, 1))[0])


def test_derivatives_by_one_triangle_are_those_of_its_elements():
    def first(a):
        return np.linalg.cholesky(a)[1, 0] + np.linalg.eigvalsh(a)[0]

    a, step = np.array([[4.0, 0.5], [1.0, 3.0]]), 1e-6
    found = wl.grad(wl.jit(first))(a)
    for place in np.ndindex(2, 2):
        change = np.zeros((2, 2))
        change[place] = step
        wanted = (first(a + change) - first(a - change)) / (2 * step)
        np.testing.assert_allclose(found[place], wanted, atol=1e-8)


def test_errors_of_numpy_are_raised_where_they_arise():
    @wl.jit
    def steps(a, out):
        out[0] = 1.0
        return np.linalg.inv(a) * 2

    out = np.zeros(1)
    assert steps(np.eye(2), out).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix") as caught:
        steps(np.ones((2, 2)), out)
    assert "return np.linalg.inv(a) * 2" in [str(each.statement).strip() for each in caught.traceback]
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        wl.jit(whole=True)(inverse)(np.ones((2, 2)))


def test_errors_of_numpy_can_be_caught():
    @wl.jit
    def inverse_or_nothing(a):
        try:
            return np.linalg.inv(a)
        except np.linalg.LinAlgError:
            return np.zeros_like(a)

    assert inverse_or_nothing(np.ones((2, 2))).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert inverse_or_nothing(np.eye(2)).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_one_program_says_that_eigenvalues_are_real():
    compiled = wl.jit(whole=True)(eigenvalues)
    turning = np.array([[0.0, 1.0], [-1.0, 0.0]])
    np.testing.assert_allclose(np.sort(compiled(turning).imag), [-1.0, 1.0])
    with pytest.raises(WindlassError, match=r"numpy\.linalg\.eigvals gives real numbers for this matrix"):
        compiled(np.eye(2))
    assert wl.jit(eigenvalues)(np.eye(2)).dtype == np.float64
