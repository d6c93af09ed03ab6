"""What nobody asks for is never computed: operations of compiled derivatives, counted."""

# pyright: basic
from __future__ import annotations

import re
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

MODULE = wl.cuda.compile("""
__global__ void two(const double *x, const double *y, double *tanhs, double *sines) {
    int i = threadIdx.x;
    tanhs[i] = tanh(x[i]);
    sines[i] = sin(y[i]);
}
""")


def operations(function, *arguments):
    """The operations that XLA computes, by name."""
    with jax.enable_x64(True):
        given = [jnp.asarray(argument, jnp.float64) for argument in arguments]
        text = jax.jit(function).lower(*given).compile().as_text()
    assert text is not None
    return Counter(re.findall(r" = \S+ ([a-z\-]+)\(", text))


def launched(x, y):
    tanhs, sines = np.zeros_like(x), np.zeros_like(y)
    MODULE["two"][1, 32](x, y, tanhs, sines)
    return tanhs.sum() + sines.sum()


@pytest.mark.parametrize(
    "function", [lambda x, y: np.tanh(x).sum() + np.sin(y).sum(), launched], ids=["a function", "a launch"]
)
def test_of_other_arguments_nothing_is_computed(function):
    x, y = np.ones(32), np.ones(32)
    by_x, by_y = operations(wl.grad(function, 0), x, y), operations(wl.grad(function, 1), x, y)
    assert by_x["tanh"] and not by_x["cosine"] and not by_x["sine"]
    assert by_y["cosine"] and not by_y["tanh"] and not by_y["sine"]
    forwards = operations(lambda x, y: wl.jvp(function, (x, y), (None, y))[1], x, y)
    assert forwards["cosine"] and not forwards["tanh"] and not forwards["sine"]


def test_results_beside_have_no_derivatives():
    counted = operations(wl.jacobian(lambda x: (np.sin(x), np.tanh(x)), has_aux=True), np.ones(32))
    assert counted["tanh"] == 1 and counted["cosine"] == 1


def test_a_loop_goes_back_only_for_what_is_asked():
    def march(u, d):
        total = np.zeros_like(u)
        for _ in range(50):
            u = np.tanh(u) * 0.9
            total = total + d * u
        return total.sum()

    by_u, by_d = (operations(wl.grad(march, place), np.ones(32), 0.3) for place in (0, 1))
    assert by_d["multiply"] < by_u["multiply"] and by_d["fusion"] <= by_u["fusion"] + 1
    assert by_u["tanh"] == by_d["tanh"] == 1


def test_shadows_that_nobody_has_are_not_computed():
    x, y, tanhs, sines = (np.ones(32) for _ in range(4))
    dy = np.zeros(32)
    wl.autodiff(
        wl.Reverse,
        MODULE["two"][1, 32],
        wl.Const(x),
        wl.Duplicated(y, dy),
        wl.Const(tanhs),
        wl.Duplicated(sines, np.ones(32)),
    )
    np.testing.assert_allclose(dy, np.cos(1.0))
    np.testing.assert_allclose(tanhs, np.tanh(1.0))
