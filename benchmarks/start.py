"""The first second: how long small programs take from the command to the prompt, unchanged and after an edit.

    python -m benchmarks.start                      # this checkout
    python -m benchmarks.start --rounds 5 ../before . # two of them, in turn

Each time is the least of the rounds, in seconds on the clock and of the processors (those of compilers that are run
included). Every checkout gets a cache folder of its own, warm from a first run that is not counted. "unchanged" runs
the same source again, "edited" one with another number in a kernel and in the host's code.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SMALLEST = r"""
#include <cstdio>
__global__ void twice(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 2 * x[i] + @EDIT@;
}
int main() {
    int n = 1000;
    float *x;
    cudaMallocManaged(&x, n * sizeof(float));
    for (int i = 0; i < n; i++) x[i] = i % 17 + @EDIT@;
    twice<<<(n + 255) / 256, 256>>>(x, n);
    cudaDeviceSynchronize();
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    printf("%g\n", sum);
    cudaFree(x);
}
"""

STENCIL = r"""
#include <cstdio>
#include <vector>
__global__ void step(const float *old, float *next, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
    int i = y * n + x;
    next[i] = old[i] + .1f * (old[i - 1] + old[i + 1] + old[i - n] + old[i + n] - 4 * old[i]) + @EDIT@ * 1e-6f;
}
int main() {
    int n = 128, steps = 100;
    std::vector<float> host(n * n, 0.f);
    for (int i = 0; i < n; i++) host[i] = @EDIT@;
    float *old, *next;
    size_t size = n * n * sizeof(float);
    cudaMalloc(&old, size), cudaMalloc(&next, size);
    cudaMemcpy(old, host.data(), size, cudaMemcpyHostToDevice);
    cudaMemcpy(next, old, size, cudaMemcpyDeviceToDevice);
    for (int t = 0; t < steps; t++) {
        step<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(old, next, n);
        std::swap(old, next);
    }
    cudaMemcpy(host.data(), old, size, cudaMemcpyDeviceToHost);
    double sum = 0;
    for (float each : host) sum += each;
    printf("%g\n", sum);
}
"""

REDUCTION = r"""
#include <cstdio>
#include <vector>
__global__ void total(const float *x, float *sums, int n) {
    __shared__ float partial[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    partial[threadIdx.x] = i < n ? x[i] * @EDIT@ : 0;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}
int main() {
    int n = 1 << 16, blocks = n / 256;
    std::vector<float> host(n), sums(blocks);
    for (int i = 0; i < n; i++) host[i] = i % 10 + @EDIT@;
    float *x, *y;
    cudaMalloc(&x, n * sizeof(float)), cudaMalloc(&y, blocks * sizeof(float));
    cudaMemcpy(x, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    total<<<blocks, 256>>>(x, y, n);
    cudaMemcpy(sums.data(), y, blocks * sizeof(float), cudaMemcpyDeviceToHost);
    double sum = 0;
    for (float each : sums) sum += each;
    printf("%g\n", sum);
}
"""

LIBRARIES = r"""
#include <cstdio>
#include <cublas_v2.h>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/transform.h>
struct Square {
    __host__ __device__ float operator()(float x) const { return x * x + @EDIT@; }
};
int main() {
    int n = 64;
    thrust::device_vector<float> a(n * n, 0.5f), b(n * n, 2.f), c(n * n);
    thrust::transform(a.begin(), a.end(), a.begin(), Square());
    cublasHandle_t handle;
    cublasCreate(&handle);
    float one = @EDIT@, zero = 0;
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, thrust::raw_pointer_cast(a.data()), n,
                thrust::raw_pointer_cast(b.data()), n, &zero, thrust::raw_pointer_cast(c.data()), n);
    printf("%g\n", thrust::reduce(c.begin(), c.end(), 0.f));
    cublasDestroy(handle);
}
"""

SCRIPT = """
import numpy as np
from numba import cuda

@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i] + @EDIT@

x = cuda.to_device(np.arange(1000, dtype=np.float32))
y = cuda.to_device(np.ones(1000, dtype=np.float32))
saxpy[4, 256](np.float32(@EDIT@), x, y)
print(y.copy_to_host().sum())
"""

PROGRAMS = {
    "smallest.cu": SMALLEST,
    "stencil.cu": STENCIL,
    "reduction.cu": REDUCTION,
    "libraries.cu": LIBRARIES,
    "saxpy.py": SCRIPT,
}
IMPORTS = {
    "import windlass": "import windlass",
    "import windlass.cuda": "import windlass.cuda",
    "windlass.optimize": "import windlass; windlass.optimize",
    "windlass.jit": "import windlass; windlass.jit",
}


@dataclass
class Times:
    """Seconds on the clock and of the processors; of several runs the least of each."""

    wall: float = float("inf")
    processor: float = float("inf")

    def take(self, other: Times) -> None:
        """Note another run."""
        self.wall, self.processor = min(self.wall, other.wall), min(self.processor, other.processor)


@dataclass(frozen=True)
class Checkout:
    """A checkout of Windlass, with a cache folder of its own."""

    source: Path
    cache: Path

    def run(self, arguments: Sequence[str], folder: Path) -> tuple[Times, str]:
        """Run Python with these arguments; gives what it took and what it printed."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.source / "src"),
            "PYTHONPYCACHEPREFIX": str(self.cache / "bytecode"),
            "WINDLASS_CACHE": str(self.cache),
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        outcome = subprocess.run(
            [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        if outcome.returncode != 0:
            sys.exit(f"{self.source}: {' '.join(arguments)} failed:\n{outcome.stderr}")
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Times(wall, processor), outcome.stdout


def measure(checkouts: Sequence[Checkout], rounds: int, folder: Path) -> dict[str, list[Times]]:
    """By name of what is measured: the least times of each checkout. All have to print the same."""
    found: dict[str, list[Times]] = {}

    def note(name: str, place: int, times: Times) -> None:
        found.setdefault(name, [Times() for _ in checkouts])[place].take(times)

    for number in range(rounds + 1):
        is_counted = number > 0
        for name, statement in IMPORTS.items():
            for place, checkout in enumerate(checkouts):
                times, _ = checkout.run(["-c", statement], folder)
                if is_counted:
                    note(name, place, times)
        for name, text in PROGRAMS.items():
            file = folder / name
            said: dict[str, set[str]] = {"edited": set(), "unchanged": set()}
            # An edit that no run before has seen, of a file that is otherwise the same.
            file.write_text(text.replace("@EDIT@", f"{number + 3}"))
            for place, checkout in enumerate(checkouts):
                for kind in ("edited", "unchanged"):
                    times, printed = checkout.run(["-m", "windlass", "run", str(file)], folder)
                    said[kind].add(printed)
                    if is_counted:
                        note(f"{name}, {kind}", place, times)
            if len(said["edited"] | said["unchanged"]) != 1:
                sys.exit(f"{name}: results differ: {said}")
    return found


def main() -> None:
    """Measure the checkouts that are named, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="*", type=Path, default=[Path(__file__).parent.parent])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="windlass-start-") as name:
        base = Path(name)
        checkouts: list[Checkout] = []
        for number, source in enumerate(options.checkouts):
            cache = base / f"cache{number}"
            cache.mkdir(mode=0o700)
            checkouts.append(Checkout(source.resolve(), cache))
        found = measure(checkouts, options.rounds, base)
    print(f"{'':28}" + "".join(f"{str(each)[-24:]:>26}" for each in options.checkouts))
    print(f"{'':28}" + f"{'wall':>14}{'processor':>12}" * len(checkouts))
    for label, each in found.items():
        print(f"{label:28}" + "".join(f"{times.wall:14.2f}{times.processor:12.2f}" for times in each))


if __name__ == "__main__":
    main()
