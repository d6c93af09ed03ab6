"""Functions of JAX within compiled functions: they are given values, whatever they are."""

# pyright: basic
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays.running import whole

X = np.array([1.0, 2.0, 3.0])


def elements(x, n):
    return jax.nn.sigmoid(x) + jax.lax.rsqrt(x) + jax.lax.add(x, x) + jax.nn.softmax(x)


def parts(x, n):
    return jax.lax.dynamic_slice(x, (1,), (2,)) + jax.lax.dynamic_update_slice(x, x[:1], (n - 2,))[:2]


def gradient(x, n):
    return jax.grad(lambda v: (v * v * x).sum())(x)


def rounds(x, n):
    return jax.lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 1, c[1] * x), (n, x))[1]


def rows(x, n):
    starts = np.array([0, 1, 3])
    one = jax.vmap(lambda i: jax.lax.fori_loop(jnp.asarray(starts)[i], n, lambda k, v: v + x[k], 0.0))
    return one(jnp.arange(3))


def sizes(x, n):
    return jax.lax.broadcast(x[0], (n,)) + jax.nn.one_hot(1, n)


def carried_sum(x, n):
    return jax.lax.scan(lambda c, v: (c + v, c * x), x, x)[1]


def trees(x, n):
    def twice(v):
        w = v.copy() if isinstance(v, jax.Array) else np.copy(v)
        return w * 2

    return jax.tree.map(twice, {"a": x})["a"]


@pytest.mark.parametrize("function", [elements, parts, gradient, rounds, rows, sizes, carried_sum, trees])
def test_functions_of_jax_take_arrays_and_numbers(function):
    with jax.enable_x64(True):
        expected = function(jnp.asarray(X), 3)
    np.testing.assert_allclose(whole(function)(X, 3), expected, 1e-15)


def test_where_they_can_not_it_is_said_what_to_write():
    with pytest.raises(wl.WindlassError, match=r"(?s)takes values.*put it into a file"):
        whole(eval("lambda x: jax.nn.sigmoid(x) + 1"))(X)


def root(x):
    v = x * 0 + 1.0
    while abs(v * v - x) > 1e-9:
        v = (v + x / v) / 2
    return v


def test_functions_without_a_name_are_captured_too():
    double, triple = (lambda x: jax.lax.mul(x, 2.0)), (lambda x: x * 3)
    assert whole(double)(X).tolist() == [2, 4, 6] and whole(triple)(X).tolist() == [3, 6, 9]
    assert [whole(lambda x, k=k: x * k)(X).tolist() for k in range(2)] == [[0, 0, 0], [1, 2, 3]]
    assert whole(lambda *given, **named: given[0] + named["b"])(X, b=X).tolist() == [2, 4, 6]
    value, change = wl.jvp(lambda x: root(x) * 2, (4.0,), (1.0,))
    np.testing.assert_allclose([value, change], [4.0, 0.5], 1e-6)


@pytest.mark.parametrize("name", ["float8_e5m2", "float8_e4m3fn", "bfloat16"])
def test_floats_that_numpy_has_not_are_elements_too(name):
    def turned(x):
        return x.T[::-1].reshape(-1)[1:].astype(np.float32)

    for x in (np.arange(8).reshape(2, 4).astype(name), jnp.arange(8).reshape(2, 4).astype(name)):
        np.testing.assert_array_equal(whole(turned)(x), turned(np.asarray(x)))
