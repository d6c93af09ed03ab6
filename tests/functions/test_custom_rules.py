"""Derivative rules of the user's own: `wl.custom_vjp`, `wl.custom_jvp`, `kernel.defvjp`."""

# pyright: basic
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

SOURCE = """
__global__ void cube(const double *x, double *y, double c, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = c * x[i] * x[i] * x[i];
}
__global__ void cube_adjoint(const double *x, const double *dy, double *dx, double c, int n) {
    int i = threadIdx.x;
    if (i < n) dx[i] = 3 * c * x[i] * x[i] * dy[i];
}
"""
X = np.array([1.0, 2.0, 3.0])


@pytest.fixture
def kernel():
    """A kernel with a rule that another kernel computes, and how often that was asked."""
    module = wl.cuda.compile(SOURCE)
    cube = module["cube"]
    asked = []

    @cube.defvjp
    def backwards(launch, arguments, cotangents):
        asked.append(launch.shape)
        dx = np.zeros_like(arguments["x"])
        module["cube_adjoint"][launch.shape.grid, launch.shape.block](
            arguments["x"], cotangents["y"], dx, arguments["c"], arguments["n"]
        )
        return {"x": dx, "c": (cotangents["y"] * arguments["x"] ** 3).sum()}

    return cube, asked


def test_a_kernel_has_its_rule_wherever_it_is_differentiated(kernel):
    cube, asked = kernel

    @wl.jit(whole=True)
    def loss(x, c):
        y = np.zeros_like(x)
        cube[1, 32](x, y, c, 3)
        return (y * y).sum()

    by_x, by_c = wl.grad(loss, (0, 1))(X, 2.0)
    np.testing.assert_allclose(by_x, 24 * X**5)
    np.testing.assert_allclose(by_c, 4 * (X**6).sum())
    assert asked
    np.testing.assert_allclose(loss(X, 2.0), 4 * (X**6).sum())
    for function in (cube[1, 32], cube.jax(1, 32)):
        asked.clear()
        result, pullback = wl.vjp(function, X, np.ones(3), 2.0, 3)
        by_x, by_y, _, _ = pullback(np.ones(3))
        np.testing.assert_allclose(result, 2 * X**3)
        np.testing.assert_allclose(by_x, 6 * X**2)
        assert not by_y.any() and asked
    shadow = np.zeros(3)
    wl.autodiff(
        wl.Reverse,
        cube[1, 32],
        wl.Duplicated(X.copy(), shadow),
        wl.Duplicated(np.zeros(3), np.ones(3)),
        wl.Const(2.0),
        wl.Const(3),
    )
    np.testing.assert_allclose(shadow, 6 * X**2)
    with jax.enable_x64(True):
        np.testing.assert_allclose(
            jax.jacrev(jax.grad(lambda x: cube.jax(1, 32)(x, jnp.zeros(3), 2.0, 3).sum()))(X), np.diag(12 * X)
        )


def test_a_right_rule_passes_the_audit_and_a_wrong_one_does_not(kernel):
    cube, _ = kernel
    arguments = X, np.zeros(3), 2.0, 3
    assert wl.audit(cube[1, 32], *arguments, directions=1).agrees

    @cube.defvjp
    def wrong(launch, arguments, cotangents):
        return {"x": 2 * arguments["x"] ** 2 * cotangents["y"]}

    report = wl.audit(cube[1, 32], *arguments, directions=1)
    assert not report.agrees and "custom rule" in str(report) and "cube" in str(report)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, "has to return a dictionary"),
        ({"z": X}, "gives a cotangent of 'z': there is no such parameter"),
        ({"x": np.ones(2)}, r"gives a cotangent of 'x' with shape \(2,\), not \(3,\)"),
    ],
)
def test_rules_of_kernels_that_do_not_fit_are_refused(kernel, given, told):
    cube, _ = kernel
    cube.defvjp(lambda *_: given)
    with pytest.raises(wl.WindlassError, match=f"WL0933.*kernel 'cube' {told}"):
        wl.vjp(cube[1, 32], X, np.zeros(3), 2.0, 3)[1](np.ones(3))


def test_arrays_that_share_memory_have_no_rule(kernel):
    cube, _ = kernel

    @wl.jit(whole=True)
    def run(x):
        cube[1, 32](x, x, 1.0, 3)

    with pytest.raises(wl.WindlassError, match=r"WL0933.*share memory"):
        run(X.copy())


def test_a_kernel_of_structs_with_pointers_takes_no_rule():
    module = wl.cuda.compile("struct P { float *x; }; __global__ void f(P p) { p.x[threadIdx.x] *= 2; }")
    with pytest.raises(wl.WindlassError, match=r"WL0933.*pointers"):
        module["f"].defvjp(lambda *_: {})


def newton(count):
    """The square root of an array by steps of Newton, with its own derivative."""

    @wl.custom_vjp
    def root(x, steps):
        y = np.ones_like(x)
        for _ in range(steps):
            y[:] = (y + x / y) / 2
        return y

    def forward(x, steps):
        y = root(x, steps)
        return y, y

    def backward(y, cotangent):
        count.append(cotangent)
        return cotangent / (2 * y), None

    root.defvjp(forward, backward)
    return root


def test_a_function_has_its_rule():
    count = []
    root = newton(count)
    before = X.copy()
    np.testing.assert_allclose(root(X, 30), np.sqrt(X))
    np.testing.assert_array_equal(X, before)
    expected = 0.5 / np.sqrt(X)
    np.testing.assert_allclose(wl.grad(lambda x: root(x, 30).sum())(X), expected)
    assert count
    np.testing.assert_allclose(wl.grad(root_sum := wl.jit(whole=True)(lambda x: root(x, 30).sum()))(X), expected)
    np.testing.assert_allclose(root_sum(X), np.sqrt(X).sum())
    np.testing.assert_allclose(wl.vjp(root, X, 30)[1](np.ones(3))[0], expected)
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.grad(lambda x: root(x, 30).sum())(jnp.asarray(X)), expected)
    assert wl.audit(root, X, 30, directions=1).agrees


def test_a_rule_forwards_serves_both_modes():
    @wl.custom_jvp
    def steep(x, k):
        y = np.array(x)
        y[1:] *= k
        return y, x.sum()

    @steep.defjvp
    def steep_moves(primals, tangents):
        (x, k), (dx, dk) = primals, tangents
        assert dk is None
        dy = dx.copy()
        dy[1:] *= 10 * k
        return steep(x, k), (dy, dx.sum())

    (y, total), (dy, _) = wl.jvp(lambda x: steep(x, 2), (X,), (np.ones(3),))
    np.testing.assert_allclose(y, [1, 4, 6])
    np.testing.assert_allclose(dy, [1, 20, 20])
    assert total == 6
    np.testing.assert_allclose(wl.grad(lambda x: steep(x, 2)[0].sum())(X), [1, 20, 20])
    assert not wl.audit(steep, X, 2, directions=1).agrees


@pytest.mark.parametrize(
    ("backward", "told"),
    [
        (lambda kept, given: given, "tuple of 2"),
        (lambda kept, given: (given,), "tuple of 2"),
        (lambda kept, given: (given[:2], None), r"cotangent of argument 0 has shape \(2,\)"),
        (lambda kept, given: ((given, given), None), "another structure"),
    ],
)
def test_rules_that_do_not_fit_are_refused(backward, told):
    @wl.custom_vjp
    def twice(x, k):
        return 2 * x

    with pytest.raises(wl.WindlassError, match=r"WL0933.*no rule yet"):
        twice(X, 1)
    twice.defvjp(lambda x, k: (2 * x, None), backward)
    with pytest.raises(wl.WindlassError, match=f"WL0933.*{told}"):
        wl.grad(lambda x: twice(x, 1).sum())(X)


def test_rules_of_jax_are_kept_by_optimize():
    @jax.custom_vjp
    def clipped(x):
        return x * x

    clipped.defvjp(lambda x: (x * x, x), lambda x, given: (jnp.clip(given * 2 * x, -1, 1),))

    @jax.custom_jvp
    def strange(x):
        return x

    strange.defjvp(lambda x, moved: (x[0], 7 * moved[0]))

    @wl.optimize
    def function(x):
        return jnp.sum(clipped(x) + strange(x) + x * jax.lax.stop_gradient(x))

    np.testing.assert_allclose(jax.grad(function)(jnp.float32([0.25, 3])), [0.5 + 7 + 0.25, 1 + 7 + 3])
