"""Functions where C leaves open what they give, or where a form may lose it: all forms give what a GPU gives."""

from __future__ import annotations

import math

import numpy as np
import pytest

import windlass as wl

ROUNDINGS = ("lround", "llround", "lrint", "llrint")


def test_rounding_to_integers_saturates_in_all_forms() -> None:
    body = "".join(
        f"o[{2 * k} * n + i] = {f}(x[i]); o[{2 * k + 1} * n + i] = {f}f(x[i]);" for k, f in enumerate(ROUNDINGS)
    )
    kernel = wl.cuda.compile(
        f"__global__ void f(const double *x, long long *o, int n) {{ int i = threadIdx.x; if (i < n) {{ {body} }} }}"
    )["f"]
    x = np.array([1e300, -1e300, math.inf, -math.inf, 2.0**63, -(2.0**63), 1.5, -2.5])
    limits = [2**63 - 1, -(2**63)] * 3
    wanted = [
        limits + (nearest if "rint" in name else away)
        for name in ROUNDINGS
        for _ in "df"
        for nearest, away in [([2, -2], [2, -3])]
    ]
    for form in (kernel, wl.emulate(kernel), wl.native(kernel)):
        out = np.zeros((8, len(x)), np.int64)
        form[1, 32](x, out, len(x))
        assert out.tolist() == wanted


@pytest.mark.parametrize("sign", [1, -1])
def test_lgamma_of_subnormal_doubles_is_the_logarithm(sign: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_NATIVE", "0")
    kernel = wl.cuda.compile("__global__ void f(double *x) { x[threadIdx.x] = lgamma(x[threadIdx.x]); }")["f"]
    x = np.array([5e-324, 1.5e-323, 1e-310, 2.3e-308, 1e-300])
    out = sign * x
    kernel[1, len(x)](out)
    np.testing.assert_allclose(out, -np.log(x), rtol=1e-14)


@pytest.mark.parametrize("define", [{}, {"NDEBUG": None}])
def test_assert_needs_no_include(define: dict[str, None]) -> None:
    source = "__global__ void f(int *x) { assert(x[threadIdx.x] > 0); x[threadIdx.x]++; }"
    emulated = wl.emulate(wl.cuda.compile(source, define=define)["f"])
    x = np.array([1, 0], np.int32)
    if define:
        emulated[1, 2](x)
        assert x.tolist() == [2, 1]
    else:
        with pytest.raises(wl.EmulationError, match="WL0607"):
            emulated[1, 2](x)
