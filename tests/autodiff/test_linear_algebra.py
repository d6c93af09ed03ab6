"""Derivatives of what LAPACK does, within `wl.jit`: those of JAX, where they are defined and where not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

DRAW = np.random.default_rng(0)
SQUARE, TALL, WEIGHTS = DRAW.normal(size=(4, 4)), DRAW.normal(size=(6, 4)), DRAW.normal(size=(4, 4))
POSITIVE = SQUARE @ SQUARE.T + 4 * np.eye(4)
SINGULAR = np.outer([1.0, 2, 3, 4], np.ones(4))


def lower(xp: Any, a: Any) -> Any:
    """The symmetric matrix of which NumPy reads this triangle; JAX takes the mean of both."""
    return xp.tril(a) + xp.tril(a, -1).T


FUNCTIONS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "cholesky": (lambda xp, a: (xp.linalg.cholesky(lower(xp, a)) * WEIGHTS).sum(), POSITIVE),
    "eigh": (
        lambda xp, a: (
            (xp.linalg.eigh(lower(xp, a))[1] ** 2 * WEIGHTS).sum() + (xp.linalg.eigh(lower(xp, a))[0] ** 3).sum()
        ),
        POSITIVE,
    ),
    "det": (lambda xp, a: xp.linalg.det(a), SQUARE),
    "solve": (lambda xp, a: (xp.linalg.solve(a, a[0]) ** 2).sum(), SQUARE),
    "inv": (lambda xp, a: (xp.linalg.inv(a) * WEIGHTS).sum(), SQUARE),
    "qr": (lambda xp, a: (xp.linalg.qr(a)[0] ** 3).sum() + (xp.linalg.qr(a)[1] ** 3).sum(), TALL),
    "svd": (lambda xp, a: (xp.linalg.svd(a, full_matrices=False)[2] ** 2 * WEIGHTS).sum(), TALL),
    "norm": (lambda xp, a: xp.linalg.norm(a, "nuc") + xp.linalg.norm(a, 2), TALL),
    "lstsq": (lambda xp, a: (xp.linalg.lstsq(a, a[:, 0] ** 2)[0] ** 2).sum(), TALL),
    "eigvals": (lambda xp, a: (xp.abs(xp.linalg.eigvals(a)) ** 2).sum(), SQUARE),
    "cholesky of a batch": (
        lambda xp, a: (xp.linalg.cholesky(xp.stack([lower(xp, a), 2 * lower(xp, a)])) ** 3).sum(),
        POSITIVE,
    ),
    "eigenvectors of the identity": (lambda xp, a: (xp.linalg.eigh(lower(xp, a))[1] * WEIGHTS).sum(), np.eye(4)),
    "eigenvalues of the identity": (lambda xp, a: (xp.linalg.eigh(lower(xp, a))[0] * np.arange(4.0)).sum(), np.eye(4)),
    "singular values of zero": (lambda xp, a: xp.linalg.svd(a, compute_uv=False).sum(), np.zeros((4, 4))),
    "inverse of what has none": (lambda xp, a: xp.linalg.inv(a).sum(), SINGULAR),
    "determinant of what has no inverse": (lambda xp, a: xp.linalg.det(a), SINGULAR),
    "root of what is not positive": (lambda xp, a: xp.linalg.cholesky(a).sum(), -np.eye(4)),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_jax(name: str) -> None:
    function, given = FUNCTIONS[name]
    with jax.enable_x64(True):
        expected = np.asarray(jax.grad(lambda a: function(jnp, a))(given))
    found = wl.grad(lambda a: function(np, a))(given)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    way = np.random.default_rng(1).normal(size=given.shape)
    change = wl.jvp(lambda a: function(np, a), (given,), (way,))[1]
    np.testing.assert_allclose(change, (expected * way).sum(), rtol=1e-7, atol=1e-9)


@pytest.mark.slow
def test_factors_within_a_loop_are_differentiated_twice() -> None:
    @wl.jit(whole=True)
    def factor(a: Any, steps: Any) -> Any:
        for _ in range(steps):
            a = np.linalg.cholesky(a @ a.T + np.eye(3)) / 2
        return a.sum()

    def by_hand(a: Any) -> Any:
        for _ in range(3):
            a = jnp.linalg.cholesky(a @ a.T + jnp.eye(3)) / 2
        return a.sum()

    a = SQUARE[:3, :3]
    with jax.enable_x64(True):
        expected = jax.hessian(by_hand)(jnp.array(a))
    np.testing.assert_allclose(wl.hessian(lambda a: factor(a, 3))(a), expected, rtol=1e-7, atol=1e-10)


def test_eigenvectors_of_what_is_not_symmetric_are_refused_with_the_line() -> None:
    def total(a: Any) -> Any:
        return np.abs(np.linalg.eig(a)[1]).sum()

    with pytest.raises(wl.WindlassError, match="WL0901") as refused:
        wl.grad(total)(SQUARE)
    assert f"test_linear_algebra.py:{total.__code__.co_firstlineno + 1}" in str(refused.value)
    assert "eig can't be differentiated" in str(refused.value)
