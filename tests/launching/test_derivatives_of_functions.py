"""The derivative of each of CUDA's mathematical functions, in a kernel of one line: as differences show, or refused."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

ONE = (
    *("sqrt", "rsqrt", "cbrt", "rcbrt", "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "logb"),
    *("sin", "cos", "tan", "sinpi", "cospi", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("erf", "erfc", "erfinv", "erfcinv", "erfcx", "normcdf", "normcdfinv", "lgamma", "tgamma"),
    *("cyl_bessel_i0", "cyl_bessel_i1"),
    *("fabs", "floor", "ceil", "trunc", "rint", "nearbyint", "round"),
)
TWO = ("pow", "atan2", "hypot", "rhypot", "fmod", "remainder", "copysign", "fmax", "fmin", "fdim", "nextafter")
OTHERS = {
    "fma": "fma(x[i], z[i], x[i])",
    "ldexp": "ldexp(x[i], 3)",
    "scalbn": "scalbn(x[i], -2)",
    "frexp": "frexp(x[i], &e) + e",
    "modf": "modf(x[i], &p) + 2 * p",
    "sincos": "(sincos(x[i], &p, &q), 2 * p + q)",
    "norm3d": "norm3d(x[i], 2 * x[i], z[i])",
    "select": "x[i] > z[i] ? x[i] * z[i] : z[i] / x[i]",
}

EXPRESSIONS = {name: f"{name}(x[i])" for name in ONE} | {name: f"{name}(x[i], z[i])" for name in TWO} | OTHERS
X = np.array([0.31, 0.72, 0.93, 0.55])
Z = np.array([0.6, 0.45, 1.7, 0.25])
STEP = 1e-6


@pytest.fixture(scope="module")
def module() -> wl.cuda.Module:
    kernels = (
        f"__global__ void k_{name}(const double *x, const double *z, double *y) {{\n"
        f"    int i = threadIdx.x, e = 0; double p = 0, q = 0;\n    y[i] = {expression};\n}}\n"
        for name, expression in EXPRESSIONS.items()
    )
    return wl.cuda.compile("".join(kernels))


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_derivative_is_what_differences_show(module: wl.cuda.Module, name: str) -> None:
    given = (X + 1 if name == "acosh" else X, Z)
    with jax.enable_x64(True):
        kernel = module[f"k_{name}"].jax(1, 4)

        def result(*arrays: Any) -> Any:
            return kernel(*map(jnp.asarray, arrays), jnp.zeros(4))

        def gradient() -> Any:
            return jax.grad(lambda *arrays: result(*arrays).sum(), (0, 1))(*given)

        for position, found in enumerate(gradient()):
            moved = [
                [array + (step if place == position else 0) for place, array in enumerate(given)]
                for step in (STEP, -STEP)
            ]
            after, before = (np.asarray(result(*arrays)) for arrays in moved)
            np.testing.assert_allclose(found, (after - before) / (2 * STEP), 1e-5, 1e-6)


AT_EIGHTHS = [name for name in ONE if name not in ("floor", "ceil", "trunc", "rint", "nearbyint", "round", "logb")]
EIGHTHS = np.array([*np.arange(-24, 25) / 8, 4.0, 5.0, 10.0, 20.0])


@pytest.mark.one_in(8)
@pytest.mark.parametrize("suffix", ["", "f"], ids=["double", "float"])
@pytest.mark.parametrize("part", range(6))
def test_derivatives_hold_at_poles_ties_and_breakpoints(suffix: str, part: int) -> None:
    names = AT_EIGHTHS[part::6]
    count, number = len(EIGHTHS), "float" if suffix else "double"
    lines = [f"y[{row * count} + i] = {name}{suffix}(x[{row * count} + i]);" for row, name in enumerate(names)]
    source = f"__global__ void k(const {number} *x, {number} *y) {{ int i = threadIdx.x; {' '.join(lines)} }}"
    with jax.enable_x64(True):
        kernel = wl.cuda.compile(source)["k"].jax(1, count)
        dtype = np.float32 if suffix else np.float64
        x = jnp.asarray(np.tile(EIGHTHS, (len(names), 1)), dtype)

        def results(x: Any) -> Any:
            return kernel(x, jnp.zeros_like(x))

        forward = np.asarray(jax.jvp(results, (x,), (jnp.ones_like(x),))[1])
        reverse = np.asarray(jax.grad(lambda x: results(x).sum())(x))
        step = 1e-6
        middle, after, before = (np.asarray(results(x + each)) for each in (0, step, -step))
    for row, name in enumerate(names):
        known = np.isfinite(forward[row])
        np.testing.assert_allclose(reverse[row][known], forward[row][known], 1e-5 if suffix else 1e-12, err_msg=name)
        if suffix:
            continue
        with np.errstate(invalid="ignore"):
            right, left = (after[row] - middle[row]) / step, (middle[row] - before[row]) / step
            central = (right + left) / 2
        # Where both differences agree, the function is smooth.
        smooth = np.isclose(right, left, 1e-3, 1e-6) & (np.abs(central) < 1e3)
        np.testing.assert_allclose(forward[row][smooth], central[smooth], 1e-4, 1e-5, err_msg=name)


def test_ties_are_those_of_jax() -> None:
    source = "__global__ void k(const double *x, double *y) { int i = threadIdx.x; y[i] = fabs(x[i]); }"
    with jax.enable_x64(True):
        x = jnp.array([-1.0, -0.0, 0.0, 1.0])
        kernel = wl.cuda.compile(source)["k"].jax(1, 4)
        pairs = {
            "fabs": (lambda x: kernel(x, jnp.zeros(4)), jnp.abs),
            "abs": (wl.jit(np.abs), jnp.abs),
            "clip": (wl.jit(lambda x: np.clip(x, 0.0, 1.0)), lambda x: jnp.clip(x, 0.0, 1.0)),
            "maximum": (wl.jit(lambda x: np.maximum(x, 0.0)), lambda x: jnp.maximum(x, 0.0)),
        }
        for name, (ours, theirs) in pairs.items():
            found, expected = (jax.grad(lambda x, f=f: f(x).sum())(x) for f in (ours, theirs))
            np.testing.assert_array_equal(found, expected, err_msg=name)
