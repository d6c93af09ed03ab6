"""On a machine with an NVIDIA GPU and nvcc: raised kernels against the same source compiled by nvcc."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from measuring import Result, time_interleaved
from rich.console import Console

import windlass as wl

KERNELS = Path(__file__).with_name("kernels.cu")
LAUNCHERS = """
#include "kernels.cu"
extern "C" float run_heat(const float *now, float *next, int n, float c, int times) {
    cudaEvent_t begin, end;
    cudaEventCreate(&begin); cudaEventCreate(&end);
    dim3 block(32, 8), grid((n + 31) / 32, (n + 7) / 8);
    heat<<<grid, block>>>(now, next, n, n, c);
    cudaEventRecord(begin);
    for (int k = 0; k < times; k++) heat<<<grid, block>>>(now, next, n, n, c);
    cudaEventRecord(end); cudaEventSynchronize(end);
    float ms; cudaEventElapsedTime(&ms, begin, end);
    return ms / times;
}
extern "C" float run_matmul(const float *a, const float *b, float *c, int n, int times) {
    cudaEvent_t begin, end;
    cudaEventCreate(&begin); cudaEventCreate(&end);
    dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
    matmul<<<grid, block>>>(a, b, c, n);
    cudaEventRecord(begin);
    for (int k = 0; k < times; k++) matmul<<<grid, block>>>(a, b, c, n);
    cudaEventRecord(end); cudaEventSynchronize(end);
    float ms; cudaEventElapsedTime(&ms, begin, end);
    return ms / times;
}
extern "C" float *device_array(long count) {
    float *p; cudaMalloc(&p, count * sizeof(float)); cudaMemset(p, 0, count * sizeof(float));
    return p;
}
"""
TIMES = 50


def measure_accelerator(console: Console, rounds: int) -> list[Result]:
    """Heat and matmul on the GPU, both ways; nothing where there is no GPU, or no nvcc."""
    if not any(device.platform in ("gpu", "cuda") for device in jax.devices()):
        console.print("  no GPU here: not measured there", style="dim")
        return []
    library = _compile_with_nvcc(console)
    n = 4096
    now = jnp.asarray(np.random.default_rng(0).random((n, n), np.float32))
    module = wl.cuda.compile(KERNELS)
    heat = module["heat"].jax((n // 32, n // 8), (32, 8))
    matmul = module["matmul"].jax((n // 16, n // 16), (16, 16))
    steps = jax.jit(
        lambda u, v: jax.lax.fori_loop(0, TIMES // 2, lambda _, s: _twice(heat, s, n), (u, v)), donate_argnums=(0, 1)
    )
    product = jax.jit(lambda a, b, c: matmul(a, b, c, n))
    state: list[Any] = [now + 0, jnp.zeros_like(now)]

    def run_heat() -> None:
        state[:] = jax.block_until_ready(steps(*state))

    times = time_interleaved(
        {"heat": run_heat, "matmul": lambda: jax.block_until_ready(product(now, now, now))}, rounds
    )
    raised = {"heat 4096²": times["heat"] / TIMES, "naive matmul 4096": times["matmul"]}
    if library is None:
        return [Result(f"gpu: {name}, raised", seconds) for name, seconds in raised.items()]
    pointers = [library.device_array(ctypes.c_long(n * n)) for _ in range(3)]
    native = {
        "heat 4096²": min(
            library.run_heat(pointers[0], pointers[1], n, ctypes.c_float(0.2), TIMES) for _ in range(rounds)
        ),
        "naive matmul 4096": min(library.run_matmul(*pointers, n, 3) for _ in range(3)),
    }
    return [
        Result(f"gpu: {name}", raised[name], native[name] / 1000, None, f"nvcc {native[name]:.3g} ms")
        for name in raised
    ]


def _twice(heat: Any, state: Any, n: int) -> Any:
    u, v = state
    v = heat(u, v, n, n, np.float32(0.2))
    return heat(v, u, n, n, np.float32(0.2)), v


def _compile_with_nvcc(console: Console) -> Any:
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        console.print("  no nvcc here: raised kernels are timed alone", style="dim")
        return None
    folder = Path(tempfile.mkdtemp(prefix="windlass-bench-"))
    source = folder / "launchers.cu"
    source.write_text(LAUNCHERS)
    target = folder / "launchers.so"
    subprocess.run(
        [nvcc, "-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-I", KERNELS.parent, source, "-o", target],
        check=True,
    )
    library = ctypes.CDLL(str(target))
    library.run_heat.restype = library.run_matmul.restype = ctypes.c_float
    library.device_array.restype = ctypes.c_void_p
    library.run_heat.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_float, ctypes.c_int]
    library.run_matmul.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
    return library
