"""Launches of native code from many threads, in child processes, and within one another: right, and nothing is left."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass.native import running

SOURCE = """
__global__ void steps(const int *x, int *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { int v = x[i]; while (v & 15) v = v * 5 + 1; y[i] = v; }
}
__global__ void turn(int *x) {
    __shared__ int tile[64];
    int t = threadIdx.x, base = blockIdx.x * 64;
    tile[t] = x[base + t];
    __syncthreads();
    x[base + t] = tile[63 - t] + __shfl_xor_sync(~0u, t, 1);
}
__global__ void place(int *x, const int *at) { x[at[threadIdx.x]] = 1; }
"""
MODULE = wl.cuda.compile(SOURCE)
N = 640


def emulated(name: str, grid: int, *arguments: Any) -> Any:
    given = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
    wl.emulate(MODULE[name])[grid, 64](*given)
    return given


X = np.arange(N, dtype=np.int32) * 7
STEPS, TURNED = emulated("steps", 10, X, X, N)[1], emulated("turn", 10, X)[0]
FAR = np.where(np.arange(64) == 40, 1000, np.arange(64)).astype(np.int32)


def launch_all(count: int, wrong: list[str]) -> None:
    """Launches of each kernel, some of which go wrong, with what is not as it should be."""
    native = {name: wl.native(MODULE[name]) for name in MODULE.kernels}
    run = jax.jit(native["turn"].jax(10, 64))
    for number in range(count):
        match number % 4:
            case 0:
                found = np.zeros(N, np.int32)
                native["steps"][10, 64](X, found, N)
                wanted = STEPS
            case 1:
                found, wanted = X.copy(), TURNED
                native["turn"][10, 64](found)
            case 2:
                found, wanted = np.asarray(run(jnp.asarray(X))), TURNED
            case _:
                found = wanted = X
                try:
                    native["place"][1, 64](np.zeros(64, np.int32), FAR)
                    wrong.append("nothing was said")
                except wl.EmulationError as error:
                    if "thread (40, 0, 0)" not in str(error):
                        wrong.append(str(error))
        if not np.array_equal(found, wanted):
            wrong.append(f"launch {number}: {found} for {wanted}")


def resident_pages() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1])


def on_threads(count: int, threads: int) -> list[str]:
    wrong: list[str] = []
    workers = [threading.Thread(target=launch_all, args=(count // threads, wrong)) for _ in range(threads)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    return wrong


def test_launches_from_eight_threads_are_right_and_leave_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "SECONDS_WORTH_HELP", -1.0)  # so that all of them want the pool's helpers
    assert not on_threads(64, 8)
    before = resident_pages()
    assert not on_threads(10_000, 8)
    assert (resident_pages() - before) * os.sysconf("SC_PAGE_SIZE") < 24 << 20


def _in_child(told: Any) -> None:
    wrong: list[str] = []
    native = wl.native(MODULE["steps"])
    for _ in range(3):
        found = np.zeros(N, np.int32)
        native[10, 64](X, found, N)
        wrong += [] if np.array_equal(found, STEPS) else ["wrong"]
    told.put(wrong)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_a_forked_child_has_native_code_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "SECONDS_WORTH_HELP", -1.0)
    assert not on_threads(8, 1)  # the helpers run
    context = multiprocessing.get_context("fork")
    told = context.Queue()
    child = context.Process(target=_in_child, args=(told,))
    child.start()
    assert told.get(timeout=60) == []
    child.join(60)
    assert child.exitcode == 0


def test_a_launch_within_a_callback_of_a_launch_runs() -> None:
    native = wl.native(MODULE["turn"])

    def inner(x: Any) -> Any:
        found = np.array(x)
        native[10, 64](found)
        return found

    @jax.jit
    def outer(x: Any) -> Any:
        x = native.jax(10, 64)(x)
        x = jax.pure_callback(inner, jax.ShapeDtypeStruct((N,), jnp.int32), x)
        return native.jax(10, 64)(x)

    wanted = emulated("turn", 10, emulated("turn", 10, TURNED)[0])[0]
    np.testing.assert_array_equal(outer(jnp.asarray(X)), wanted)
