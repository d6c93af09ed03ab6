"""Does memory stay flat? `python -m benchmarks.soak [minutes]` launches, compiles and drops for so long, and says.

Phases follow each other, and begin anew while there is time: one kernel on ever new shapes (what is old is evicted),
ever new modules that are launched, emulated and dropped, ever new functions of `wl.jit`, StableHLO programs that are
optimized and run, and eight threads that do all of it at once. Each line tells how much memory the process has. Memory
counts as flat if the second half of the lines has not grown by more than 5 % and 40 MB over the first, the rounds in
which stores fill left out.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import numpy as np

import windlass as wl

SHAPES, MODULES, FUNCTIONS, PROGRAMS, THREADS = 300, 40, 40, 40, 8
SOURCE = """__global__ void k(float *x, const float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = x[i] * FACTOR + y[i]; }"""
TEXT = """func.func @main(%a: tensor<{n}xf32>) -> tensor<{n}xf32> {{
  %0 = stablehlo.sine %a : tensor<{n}xf32>
  %1 = stablehlo.add %0, %a : tensor<{n}xf32>
  return %1 : tensor<{n}xf32>
}}"""


def megabytes() -> float:
    """Memory of the process, after all that is free has been given back."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def check(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def launch(kernel: wl.cuda.Kernel, size: int, factor: int) -> None:
    x, y = np.ones(size, np.float32), np.full(size, 2, np.float32)
    kernel[-(-size // 32), 32](x, y, size)
    check(x, np.full(size, factor + 2, np.float32))


def run_shapes(numbers: Iterator[int], count: int) -> None:
    kernel = wl.cuda.compile(SOURCE, define={"FACTOR": "3"})["k"]
    for _ in range(count):
        launch(kernel, 100 + next(numbers) % 5000, 3)
        launch(kernel, 100, 3)


def run_modules(numbers: Iterator[int], count: int) -> None:
    for _ in range(count):
        number = next(numbers)
        kernel = wl.cuda.compile(SOURCE, define={"FACTOR": str(number)})["k"]
        launch(kernel, 64, number)
        x = np.ones(64, np.float32)
        wl.emulate(kernel)[2, 32](x, x.copy(), 64)
        check(x, np.full(64, number + 1, np.float32))


def run_functions(numbers: Iterator[int], count: int) -> None:
    for _ in range(count):
        number = next(numbers)

        @wl.jit
        def scale(x: np.ndarray, number: int = number) -> None:
            x[1:] = x[:-1] * number

        x = np.ones(33, np.float32)
        scale(x)
        assert x[5] == number


def run_programs(numbers: Iterator[int], count: int) -> None:
    for _ in range(count):
        size = 1 + next(numbers) % 5000
        x = np.ones(size, np.float32)
        (result,) = wl.stablehlo.run(wl.stablehlo.optimize(TEXT.format(n=size)), x)
        check(result, np.sin(x) + x)


def run_threads(numbers: Iterator[int], count: int) -> None:
    failures: list[BaseException] = []
    works = (run_shapes, run_modules, run_functions, run_programs)

    def work(index: int) -> None:
        try:
            works[index % len(works)](numbers, count)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


PHASES: tuple[tuple[str, Callable[[Iterator[int], int], None], int], ...] = (
    ("shapes", run_shapes, SHAPES),
    ("modules", run_modules, MODULES),
    ("functions", run_functions, FUNCTIONS),
    ("programs", run_programs, PROGRAMS),
    ("threads", run_threads, 8),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("minutes", nargs="?", type=float, default=60)
    end = time.monotonic() + 60 * parser.parse_args().minutes
    numbers = itertools.count(2)
    done: dict[str, int] = {}
    seen: list[float] = []
    print("| round | phase | done in all | MB | executables |\n|---|---|---|---|---|")
    for number in itertools.count():
        for name, run, count in PHASES:
            run(numbers, count)
            done[name] = done.get(name, 0) + count * (THREADS if name == "threads" else 1)
            now = megabytes()
            executables = len(jax.devices()[0].client.live_executables())
            print(f"| {number} | {name} | {done[name]} | {now:.1f} | {executables} |")
            if number > 0:
                seen.append(now)
        if time.monotonic() > end and number > 1:
            break
    half = len(seen) // 2
    early, late = max(seen[:half]), max(seen[half:])
    grown = late - early
    verdict = "flat" if grown < 40 and grown < 0.05 * early else "GROWING"
    print(f"\nmemory is {verdict}: at most {early:.1f} MB in the first half, {late:.1f} MB in the second")
    raise SystemExit(verdict != "flat")


if __name__ == "__main__":
    main()
