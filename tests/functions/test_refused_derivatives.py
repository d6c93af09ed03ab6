"""Derivatives that there are not: one clear diagnostic each."""

# pyright: basic
from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import windlass as wl

X = np.array([1.0, 2.0, 3.0])
WRONG: Any = 1.5, (1,), X
"""What types already rule out."""


def positive(x):
    return x > 0


def squares(x):
    return x * x


def total(x):
    return x.sum()


def called(x):
    return jax.pure_callback(lambda each: each, jax.ShapeDtypeStruct(x.shape, x.dtype), x).sum()


REFUSED = [
    (lambda: wl.jacobian(positive)(X), "WL0931", "positive gives bool of shape (3,), which has no derivative"),
    (lambda: wl.jacobian(lambda x: (x, x > 0))(X), "WL0931", "gives bool, which has no derivative"),
    (lambda: wl.hessian(lambda x: (x > 0).sum())(X), "WL0931", "gives int64 of shape (), which has no derivative"),
    (lambda: wl.grad(lambda x: (x > 0).sum())(X), "WL0931", "gives int64 of shape (), which has no derivative"),
    (lambda: wl.jvp(positive, (X,), (X,)), "WL0931", "gives bool of shape (3,), which has no derivative"),
    (lambda: wl.vjp(positive, X), "WL0931", "gives bool of shape (3,), which has no derivative"),
    (lambda: wl.vjp(squares, X)[1](X[:2]), "WL0931", "the cotangent has shape (2,), the value (3,)"),
    (lambda: wl.vjp(squares, X)[1](X * 1j), "WL0931", "the cotangent is of complex128, the value of float64"),
    (lambda: wl.vjp(squares, X)[1]("one"), "WL0931", "the cotangent is of str, the value of float64"),
    (lambda: wl.vjp(lambda x: (x, x), X)[1](X), "WL0931", "the cotangent has the structure"),
    (lambda: wl.vjp(squares, X)[1](X, X), "WL0931", "the pullback is given 2 cotangents, and takes one"),
    (lambda: wl.jvp(squares, WRONG[2], WRONG[2]), "WL0931", "wl.jvp: the primals are ndarray, no tuple"),
    (lambda: wl.grad(total)(X.astype(np.longdouble)), "WL0911", "can't be traced: programs have no such elements"),
    (lambda: wl.jvp(squares, (X,), (X * 1j,)), "WL0931", "the tangent of argument 0 is of complex128"),
    (lambda: wl.jvp(squares, (X,), (None,)), "WL0931", "wl.jvp: no argument has a tangent"),
    (lambda: wl.hvp(total, (X,), (X, X)), "WL0931", "wl.hvp: 1 primals and 2 tangents"),
    (lambda: wl.hvp(squares, (X,), (X,)), "WL0931", "squares gives float64 of shape (3,)"),
    (lambda: wl.vjp(lambda k: k + 1, np.arange(3)), "WL0931", "no argument is of floats"),
    (lambda: wl.grad(total, 3)(X), "WL0931", "was given no argument number 3"),
    (lambda: wl.grad(total, -2)(X), "WL0931", "was given no argument number -2"),
    (lambda: wl.grad(total, (0, 0))(X), "WL0931", "argument 0 of total is chosen twice"),
    (lambda: wl.grad(total, (0, -1))(X), "WL0931", "argument 0 of total is chosen twice"),
    (lambda: wl.grad(total, ()), "WL0931", "argnums=() chooses no arguments"),
    (lambda: wl.grad(total, WRONG[0]), "WL0931", "argnums=1.5 chooses no arguments"),
    (lambda: wl.grad(total, True), "WL0931", "argnums=True chooses no arguments"),
    (lambda: wl.grad(total, argnames=WRONG[1]), "WL0931", "argnames=(1,) chooses no arguments"),
    (lambda: wl.grad(called)(X), "WL0901", "called can't be differentiated"),
    (lambda: wl.grad(jax.jit(called))(X), "WL0901", "called can't be differentiated: it calls a function of Python"),
    (lambda: wl.vjp(jax.jit(called), X), "WL0901", "called can't be differentiated: it calls a function of Python"),
    (lambda: wl.audit(total, X, directions=0), "WL0931", "asked for in no direction"),
    (
        lambda: wl.jit(whole=True)(lambda x: wl.jacobian(squares, sparse=True)(x) + 1)(X),
        "WL0931",
        "a sparse matrix of SciPy is made of numbers",
    ),
]


@pytest.mark.parametrize(("ask", "code", "told"), REFUSED, ids=[told for *_, told in REFUSED])
def test_what_has_no_derivative_is_refused(ask, code, told):
    with pytest.raises(wl.WindlassError) as failure:
        ask()
    (diagnostic,) = failure.value.diagnostics
    assert diagnostic.code == code and told in diagnostic.headline
    assert (X == [1, 2, 3]).all()


def test_calls_that_print_have_no_part_in_a_derivative(capfd):
    def loud(x):
        jax.debug.print("total {}", x.sum())
        return (x * x).sum()

    assert wl.grad(loud)(X).tolist() == [2, 4, 6]
    assert "total 6.0" in capfd.readouterr().out


def test_integers_among_results_have_no_tangents():
    (_, _), (change, none) = wl.jvp(lambda x: (x * x, x > 0), (X,), (X,))
    assert none is None and change.tolist() == [2, 8, 18]


@wl.jit(whole=True)
def double(u):
    u[:] = u * 2


def loss_of_numbers(u):
    v = np.zeros(3)
    fill(u, v)
    return jax.numpy.sum(v)


@wl.jit(whole=True)
def fill(u, v):
    v[:] = u * 2


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: jax.grad(double)(jax.numpy.ones(3)), "double writes its argument 'u', which is an array of JAX's"),
        (lambda: double(jax.numpy.ones(3)), "double writes its argument 'u', which is an array of JAX's"),
        (lambda: jax.grad(loss_of_numbers)(jax.numpy.ones(3)), "fill writes its argument 'v', which is a NumPy array"),
    ],
)
def test_what_nobody_would_see_is_not_written(ask, told):
    with pytest.raises(wl.LaunchError) as failure:
        ask()
    (diagnostic,) = failure.value.diagnostics
    assert diagnostic.code == "WL0406" and told in diagnostic.headline


def test_a_kernel_is_told_in_its_own_words_and_a_function_in_its_own():
    text = (
        'extern "C" __global__ void k(const double *x, double *y) {'
        " y[0] = __longlong_as_double(__double_as_longlong(x[0]) * 3); }"
    )
    kernel = wl.cuda.compile(text)["k"].jax(1, 1)
    with pytest.raises(wl.WindlassError, match=r"(?s)computed with here \(\*\).*@kernel.defvjp"):
        wl.grad(lambda x: kernel(x, x)[0])(X[:1])
    with pytest.raises(wl.WindlassError, match=r"(?s)computed with here \(\*\).*wl.custom_vjp"):
        wl.grad(lambda x: (x.view(np.int64) * 3).view(np.float64).sum())(X)
