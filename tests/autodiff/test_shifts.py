"""What is subtracted and cancels has no part in a derivative; what does not cancel has."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass.autodiff import stop_shifts
from windlass.ops import CustomDerivative
from windlass.stablehlo.lowered import import_lowered
from windlass.stablehlo.optimizing import inline_module

X = np.random.default_rng(0).uniform(-2, 2, (3, 8)).astype(np.float32)


def most(x: Any) -> Any:
    return x.max(1, keepdims=True)


def softmax(x: Any) -> Any:
    e = jnp.exp(x - most(x))
    return e / e.sum(1, keepdims=True)


def logsumexp(x: Any) -> Any:
    m = most(x)
    return m + jnp.log(jnp.exp(x - m).sum(1, keepdims=True))


def in_parts(x: Any) -> Any:
    m = most(x)
    low, high = jnp.exp(x[:, :4] - m), jnp.exp(x[:, 4:] - m)
    return jnp.concatenate([low, high], 1) / (low + high).sum(1, keepdims=True)


def attention(x: Any) -> Any:
    e = jnp.exp((x - most(x)) * 0.25)
    return (e @ x.T) / e.sum(1, keepdims=True)


def of_two(x: Any) -> Any:
    m = most(x)
    return jnp.exp(x - m) * jnp.exp(2 * m - x) / jnp.exp(m)


def unnormalized(x: Any) -> Any:
    return jnp.exp(x - most(x))


def over_the_rows(x: Any) -> Any:
    e = jnp.exp(x - most(x))
    return e / e.sum(0, keepdims=True)  # of rows that are shifted by different numbers


def added(x: Any) -> Any:
    e = jnp.exp(x - most(x))
    return e / (1 + e.sum(1, keepdims=True))


def squared(x: Any) -> Any:
    e = jnp.exp(x - most(x))
    return e / (e * e).sum(1, keepdims=True)


def also_returned(x: Any) -> Any:
    m = most(x)
    e = jnp.exp(x - m)
    return e / e.sum(1, keepdims=True) + m


def count_stopped(function: Any) -> int:
    module = import_lowered("f", jax.jit(function).lower(X))
    inline_module(module)
    return sum(isinstance(op, CustomDerivative) for op in stop_shifts(module.main).walk())


@pytest.mark.parametrize("function", [softmax, logsumexp, in_parts, attention, of_two])
def test_what_cancels_is_found(function: Any) -> None:
    assert count_stopped(function) == 1


@pytest.mark.parametrize("function", [unnormalized, over_the_rows, added, squared, also_returned])
def test_what_does_not_cancel_is_left(function: Any) -> None:
    assert count_stopped(function) == 0


def test_a_shift_that_does_not_vary_is_itself() -> None:
    def loss(x: Any, y: Any) -> Any:
        m = y.max(1, keepdims=True)
        e = jnp.exp(x - m)
        return jnp.sin(e / e.sum(1, keepdims=True)).sum()

    np.testing.assert_allclose(jax.grad(wl.jit(loss))(X, X + 1), jax.grad(loss)(X, X + 1), 1e-4, 1e-6)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("function", [softmax, attention, squared])
def test_gradients_and_their_derivatives_are_those_of_jax(function: Any) -> None:
    def gradient(function: Any) -> Any:
        return jax.grad(lambda x: (jnp.sin(function(x))).sum())

    def second(function: Any) -> Any:
        return jax.jvp(gradient(function), (X,), (X[::-1],))

    for found, expected in zip(second(wl.jit(function)), second(function), strict=True):
        np.testing.assert_allclose(found, expected, 1e-4, 1e-5)
