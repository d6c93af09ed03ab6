"""A kernel that is too large for the compiler, or takes it too long, runs in the emulator, with the usual warning."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass.raising import state


@pytest.fixture(autouse=True)
def without_native_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_NATIVE", "0")


def expected(function: Any, x: Any) -> list[int]:
    with pytest.warns(wl.WindlassWarning, match="WL0413"):
        result = function(x)
    return np.asarray(x if result is None else result).tolist()


def test_a_kernel_over_the_limit_of_ops_is_emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "MOST_OPS", 10)
    source = "__global__ void k(int *x) { int i = threadIdx.x; x[i] = x[i] * x[i] % 7 + (x[i] ^ 3) * (x[i] | 4); }"
    x = np.arange(8, dtype=np.int32)
    wanted = (x * x % 7 + (x ^ 3) * (x | 4)).tolist()
    assert expected(wl.cuda.compile(source)["k"][1, 8], x.copy()) == wanted
    assert expected(wl.cuda.compile(source)["k"].jax(1, 8), jnp.asarray(x)) == wanted


@pytest.mark.parametrize(
    "stage", ["frontends.llvm.import_kernel", "pipeline.raise_launch", "pipeline.optimize_and_note"]
)
def test_a_kernel_that_nests_too_deeply_is_emulated(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def recurse(*_: Any) -> Any:
        return recurse()

    monkeypatch.setattr(f"windlass.{stage}", recurse)
    kernel = wl.cuda.compile("__global__ void k(int *x) { x[threadIdx.x] += 1; }")["k"]
    x = np.arange(8, dtype=np.int32)
    with pytest.warns(wl.WindlassWarning, match=r"WL0413[^$]*nest more deeply than the compiler goes"):
        kernel[1, 8](x)
    assert x.tolist() == list(range(1, 9))
    kernel[1, 8](x)
    assert x.tolist() == list(range(2, 10))


def test_a_kernel_that_takes_too_long_to_raise_is_emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    body = "".join(
        f"for (int j = 0; j < n; j++) if (x[j] > {k}) v = v * {2 * k + 3} + x[(i + j + {k}) % n] / 3; "
        for k in range(40)
    )
    source = f"__global__ void k(const int *x, int *y, int n) {{ int i = threadIdx.x, v = i; {body} y[i] = v; }}"
    x = np.arange(8, dtype=np.int32)
    wanted, found = np.zeros((2, 8), np.int32)
    kernel = wl.cuda.compile(source)["k"]
    wl.emulate(kernel)[1, 8](x, wanted, 8)
    monkeypatch.setenv("WINDLASS_RAISING_SECONDS", "0.05")
    message = r"WL0413(.*\n)*.*takes longer than 0.05 seconds(.*\n)*.*WINDLASS_RAISING_SECONDS=600"
    with pytest.warns(wl.WindlassWarning, match=message):
        kernel[1, 8](x, found, 8)
    assert found.tolist() == wanted.tolist()
    found = np.asarray(kernel.jax(1, 8)(x, found, 8))
    assert found.tolist() == wanted.tolist()
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    with pytest.raises(wl.RaisingError, match=r"WL0434.*\n(.*\n)*.*<source>:1:"):
        kernel[1, (8, 1, 1), 4](x, found, 8)
