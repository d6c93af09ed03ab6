"""A kernel that is too large for the compiler runs in the emulator, with the usual warning."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass import pipeline
from windlass.raising import state


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


@pytest.mark.parametrize("stage", ["structure", "raise_launch", "optimize_and_note"])
def test_a_kernel_that_nests_too_deeply_is_emulated(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def recurse(*_: Any) -> Any:
        return recurse()

    monkeypatch.setattr(pipeline, stage, recurse)
    kernel = wl.cuda.compile("__global__ void k(int *x) { x[threadIdx.x] += 1; }")["k"]
    x = np.arange(8, dtype=np.int32)
    with pytest.warns(wl.WindlassWarning, match=r"WL0413[^$]*nest more deeply than the compiler goes"):
        kernel[1, 8](x)
    assert x.tolist() == list(range(1, 9))
    kernel[1, 8](x)
    assert x.tolist() == list(range(2, 10))
