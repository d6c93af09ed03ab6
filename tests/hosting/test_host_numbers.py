"""What host code does with numbers of the device while it is traced is followed or refused, never mistaken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import windlass as wl
from windlass.diagnostics import LaunchError
from windlass.hosting.host_numbers import NAMES, HostNumbers
from windlass.hosting.program import Program

FOLLOWED = {
    "round_": "roundf(d * 1.3f)", "trunc_": "truncf(d * 1.3f)", "rint_": "rintf(d * 1.3f)", "fmod_": "fmodf(d, 3.0f)",
    "nearbyint_": "nearbyintf(d * 1.3f)", "negative": "-d", "most": "fmaxf(d, 3.0f)", "signed_": "copysignf(d, -1.0f)",
    "added": "(float)(((double)d + 1) * ((double)d + 2))",
}  # fmt: skip
REFUSED = {
    "remainder_": "remainderf(d, 7.0f)", "lgamma_": "lgammaf(d)", "ldexp_": "ldexpf(d, 3)", "fdim_": "fdimf(d, 3.0f)",
    "nextafter_": "nextafterf(d, 1e9f)", "logb_": "logbf(d)", "bessel": "(float)j0(d)", "chosen": "d > 3 ? d : -d",
    "whole": "(float)(int)d", "half_": "(float)(_Float16)d", "sign": "__builtin_signbit(d) ? 1.0f : 2.0f",
    "next_bits": "__builtin_bit_cast(float, __builtin_bit_cast(int, d) + 1)", "infinite": "isinf(d) ? 1.0f : 2.0f",
}  # fmt: skip
HEAD = """
#include <cublas_v2.h>
#include <math.h>
__global__ void scale(float *y, const float *x, float a, int n) { int i = threadIdx.x; if (i < n) y[i] = a * x[i]; }
static float square(const float *x, int n) {
    cublasHandle_t handle; cublasCreate(&handle);
    float d; cublasSdot(handle, n, x, 1, x, 1, &d); cublasDestroy(handle);
    return d;
}
#define FUNCTION(name, expression) \\
    void name(float *y, const float *x, int n) { float d = square(x, n); scale<<<1, 32>>>(y, x, expression, n); }
void split(float *y, const float *x, int n) {
    float whole, part = modff(square(x, n), &whole);
    scale<<<1, 32>>>(y, x, part + 2 * whole, n);
}
void wide(float *y, const float *x, int n) {
    volatile long double q = square(x, n);
    q = q * q + 1;
    scale<<<1, 32>>>(y, x, (float)q, n);
}
"""
X = np.array([0.7, 1.4, 2.1], np.float32)


@pytest.fixture(scope="module", name="program")
def program_(tmp_path_factory: pytest.TempPathFactory) -> Program:
    file = tmp_path_factory.mktemp("numbers") / Path("numbers.cu")
    functions = [f"FUNCTION({name}, {text})" for name, text in {**FOLLOWED, **REFUSED}.items()]
    file.write_text("\n".join([HEAD, *functions]))
    return wl.cuda.program(file)


def scaled(program: Program, name: str) -> Callable[[Any], Any]:
    function = program[name]

    def run(x: Any) -> Any:
        y = np.zeros_like(x)
        function(y, x, 3)
        return y

    return run


@pytest.mark.parametrize("name", FOLLOWED)
def test_functions_of_numbers_are_followed(program: Program, name: str) -> None:
    run = scaled(program, name)
    np.testing.assert_allclose(wl.jit(whole=True)(run)(X), run(X), rtol=1e-6)


@pytest.mark.parametrize("name", [*REFUSED, "split", "wide"])
def test_what_is_not_followed_is_refused(program: Program, name: str) -> None:
    with pytest.raises(LaunchError, match="WL0422"):
        wl.jit(whole=True)(scaled(program, name))(X)


@pytest.mark.parametrize("dtype", NAMES, ids=str)
def test_what_is_made_of_a_name_names_nothing(dtype: np.dtype[Any]) -> None:
    numbers = HostNumbers()
    names = np.array([numbers.name(np.float32(each), dtype) for each in (1.5, 2.5, 3.5)], dtype)
    with jax.enable_x64(True):
        np.testing.assert_array_equal(numbers.resolve(names), [1.5, 2.5, 3.5])
    words = names.view(NAMES[dtype].bits)
    sign = NAMES[dtype].bits.type(1 << (8 * dtype.itemsize - 1))
    other = next(each for each in NAMES if each != dtype)
    with np.errstate(invalid="ignore"):
        computed = [names * 2, names - names, names.astype(other)]
    for made in (*computed, *(each.view(dtype) for each in (words + 1, words - 1, words ^ 1, words ^ sign))):
        with pytest.raises(LaunchError, match="WL0422"):
            numbers.resolve(made[1:2])
    assert numbers.are_named(np.array([np.nan, -np.nan, np.inf, 1.0], dtype)) is None
