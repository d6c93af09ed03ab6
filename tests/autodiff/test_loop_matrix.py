"""Loops of each kind, at each place where they can stand, in each mode: differences of the function in Python agree."""

# pyright: basic
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import windlass as wl

N = 6
STARTS = np.array([0, 2, 3, 3, 7, 8, 12], np.int32)
COLUMNS = np.array([0, 3, 1, 0, 2, 4, 5, 3, 1, 2, 4, 5], np.int32)
X = np.array([0.61, 1.32, 0.87, 1.45, 0.55, 1.11])
DIRECTION = np.array([0.3, -0.8, 0.5, 0.9, -0.4, 0.7])
WEIGHTS = np.array([1.2, 0.7, 1.4, 0.6, 0.9, 1.1])


def by_a_constant(x, n):
    for _ in range(5):
        x = np.sin(x) * 1.1
    return x


def by_an_argument(x, n):
    total, count = x * 0, 0
    for i in range(n):
        count += i * i + 1
        total = np.sin(total) * count * 0.2 + x
    return total


def by_an_array(x, n):
    y = np.zeros(N)
    for i in range(N):
        for k in range(STARTS[i], STARTS[i + 1]):
            y[i] += np.sin(x[COLUMNS[k]]) * (1 + y[i])
    return y


def left_early(x, n):
    y = np.zeros(N)
    for i in range(N):
        v = x[i]
        for _ in range(50):
            v = v * 1.3 + 0.1 * np.sin(v)
            if v > 10:
                break
        y[i] = v
    return y


def until_small(x, n):
    y = np.zeros(N)
    for i in range(N):
        a = x[i]
        for _ in range(n - 2):
            v = a * 0 + 1.0
            while abs(v * v - a) > 1e-3:
                v = 0.5 * (v + a / v)
            a = v + 0.3 * x[i]
        y[i] = a
    return y


def within_another(x, n):
    v = x
    for i in range(n):
        w = v
        for _ in range(n - i):
            w = np.sin(w) * 1.1 + 0.1 * v
        v = w * v
    return v


def rows_of_an_array(x, n):
    h = x * np.ones((3, 1)) * np.arange(1.0, 4.0)[:, None]
    s = x * 0
    for t in range(n):
        for j in range(3):
            h[j] = np.sin(h[j]) + s
        s = s + h[t % 3]
    return s * h[0] + h[1]


KERNELS = r"""
#define KERNEL(name) __global__ void name(const double *x, double *y, int n, const int *starts, const int *columns)
KERNEL(by_a_constant) { int i = threadIdx.x; double v = x[i]; for (int j = 0; j < 5; j++) v = sin(v) * 1.1; y[i] = v; }
KERNEL(by_an_argument) { int i = threadIdx.x, count = 0; double v = 0;
    for (int j = 0; j < n; j++) { count += j * j + 1; v = sin(v) * count * 0.2 + x[i]; } y[i] = v; }
KERNEL(by_an_array) { int i = threadIdx.x; double v = 0;
    for (int k = starts[i]; k < starts[i + 1]; k++) v += sin(x[columns[k]]) * (1 + v); y[i] = v; }
KERNEL(left_early) { int i = threadIdx.x; double v = x[i];
    for (int j = 0; j < 50; j++) { v = v * 1.3 + 0.1 * sin(v); if (v > 10) break; } y[i] = v; }
KERNEL(until_small) { int i = threadIdx.x; double a = x[i];
    for (int j = 0; j < n - 2; j++) {
        double v = 1; while (fabs(v * v - a) > 1e-3) v = 0.5 * (v + a / v); a = v + 0.3 * x[i]; } y[i] = a; }
KERNEL(within_another) { int i = threadIdx.x; double v = x[i];
    for (int o = 0; o < n; o++) {
        double w = v; for (int j = 0; j < n - o; j++) w = sin(w) * 1.1 + 0.1 * v; v = w * v; } y[i] = v; }
KERNEL(rows_of_an_array) { int i = threadIdx.x; double h[3], s = 0; for (int j = 0; j < 3; j++) h[j] = x[i] * (j + 1);
    for (int t = 0; t < n; t++) { for (int j = 0; j < 3; j++) h[j] = sin(h[j]) + s; s += h[t % 3]; }
    y[i] = s * h[0] + h[1]; }
"""

ROWS = jnp.asarray(STARTS), jnp.asarray(COLUMNS)


def of_rows(one):
    return lambda x, n: lax.fori_loop(0, N, lambda i, y: y.at[i].set(one(x, x[i], i, n)), jnp.zeros(N))


def leaving(v):
    def step(state):
        number, v = state
        return number + 1, v * 1.3 + 0.1 * jnp.sin(v)

    return lax.while_loop(lambda state: (state[0] < 50) & (state[1] <= 10), step, (0, v))[1]


def root(a):
    return lax.while_loop(lambda v: abs(v * v - a) > 1e-3, lambda v: 0.5 * (v + a / v), jnp.ones_like(a))


def product(x, _, i, n):
    return lax.fori_loop(
        ROWS[0][i], ROWS[0][i + 1], lambda k, v: v + jnp.sin(x[ROWS[1][k]]) * (1 + v), jnp.zeros_like(x[0])
    )


def step_of_rows(t, state):
    h, s = state
    h = jnp.sin(h) + s
    return h, s + h[t % 3]


def rows_by_jax(x, n):
    h, s = lax.fori_loop(0, n, step_of_rows, (x * jnp.arange(1.0, 4.0)[:, None], x * 0))
    return s * h[0] + h[1]


def counted(i, state):
    total, count, x = state
    count = count + i * i + 1
    return jnp.sin(total) * count * 0.2 + x, count, x


BY_JAX = {
    "by_a_constant": lambda x, n: lax.fori_loop(0, 5, lambda _, v: jnp.sin(v) * 1.1, x),
    "by_an_argument": lambda x, n: lax.fori_loop(0, n, counted, (x * 0, 0, x))[0],
    "by_an_array": of_rows(product),
    "left_early": of_rows(lambda x, v, i, n: leaving(v)),
    "until_small": of_rows(lambda x, v, i, n: lax.fori_loop(0, n - 2, lambda _, a: root(a) + 0.3 * v, v)),
    "within_another": lambda x, n: lax.fori_loop(
        0, n, lambda o, v: v * lax.fori_loop(0, n - o, lambda _, w: jnp.sin(w) * 1.1 + 0.1 * v, v), x
    ),
    "rows_of_an_array": rows_by_jax,
}
KINDS = {
    each.__name__: each
    for each in (by_a_constant, by_an_argument, by_an_array, left_early, until_small, within_another, rows_of_an_array)
}
PLACES = ("kernel", "kernel with a traced number", "wl.jit", "plain", "wl.optimize")
MODES = ("forward", "reverse", "forward over reverse", "reverse over reverse", "batch of reverse")
ROUNDS = 5


@pytest.fixture(scope="module")
def module():
    return wl.cuda.compile(KERNELS)


def function_of(kind, place, module):
    """The function of an array of JAX's, or for `wl.grad` of NumPy's."""
    if place == "plain":
        return lambda x: KINDS[kind](x, ROUNDS)
    if place == "wl.jit":
        compiled = wl.jit(KINDS[kind])
        return lambda x: compiled(x, ROUNDS)
    if place == "wl.optimize":
        optimized = wl.optimize(BY_JAX[kind])
        return lambda x: optimized(x, ROUNDS)
    kernel = module[kind].jax(1, N)
    if place == "kernel":
        return lambda x: kernel(x, jnp.zeros(N), ROUNDS, STARTS, COLUMNS)
    launch = jax.jit(lambda x, n: kernel(x, jnp.zeros(N), n, STARTS, COLUMNS))
    return lambda x: launch(x, jnp.int32(ROUNDS))


def differences(function, x, step=1e-6):
    """The derivatives of all elements by all elements."""
    return np.stack([(function(x + step * e) - function(x - step * e)) / (2 * step) for e in np.eye(N)], 1)


@pytest.mark.one_in(90)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_loops_of_each_kind_have_their_derivatives(kind, place, mode, module):
    def by_python(x):
        return np.asarray(KINDS[kind](x.copy(), ROUNDS))

    def expected_gradient(x):
        return (WEIGHTS * np.cos(by_python(x))) @ differences(by_python, x)

    with jax.enable_x64(True):
        function = function_of(kind, place, module)
        of_jax = place != "plain"
        x, along = (jnp.asarray(X), jnp.asarray(DIRECTION)) if of_jax else (X, DIRECTION)
        grad, jvp = (jax.grad, jax.jvp) if of_jax else (wl.grad, wl.jvp)

        def loss(x):
            return (WEIGHTS * (jnp if of_jax else np).sin(function(x))).sum()

        gradient = grad(loss)
        if mode == "forward":
            found, expected = jvp(function, (x,), (along,))[1], differences(by_python, X) @ DIRECTION
        elif mode == "reverse":
            found, expected = gradient(x), expected_gradient(X)
        elif mode == "batch of reverse":
            found = jax.vmap(gradient)(jnp.stack([jnp.asarray(X), jnp.asarray(X) * 1.01]))
            expected = np.stack([expected_gradient(X), expected_gradient(X * 1.01)])
        else:
            expected = (gradient(x + 1e-5 * along) - gradient(x - 1e-5 * along)) / 2e-5
            if mode == "forward over reverse":
                found = jvp(gradient, (x,), (along,))[1]
            else:
                found = grad(lambda x: (gradient(x) * along).sum())(x)
        np.testing.assert_allclose(found, expected, 2e-5, 2e-5)
