"""C with OpenMP as tensor programs and as native code, beside gcc -O3 -fopenmp where there is a gcc.

clang's own OpenMP needs libomp, which the wheel of clang does not have.

python -m benchmarks.forkjoin [--size 2048] [--rounds 9]
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import subprocess
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from benchmarks.measuring import Result, Run, compare, show
from rich.console import Console

import windlass as wl

SOURCE = """
void heat(int n, const float *u, float *v) {
#pragma omp parallel for
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            v[i * n + j] = u[i * n + j] + 0.1f * (u[(i - 1) * n + j] + u[(i + 1) * n + j]
                         + u[i * n + j - 1] + u[i * n + j + 1] - 4 * u[i * n + j]);
}
void spmv(int n, const int *rows, const int *columns, const float *values, const float *x, float *y) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int k = rows[i]; k < rows[i + 1]; k++) sum += values[k] * x[columns[k]];
        y[i] = sum;
    }
}
void product(int n, const float *A, const float *B, float *C) {
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) C[i * n + j] += A[i * n + k] * B[k * n + j];
}
"""


def build(folder: Path) -> ctypes.CDLL | None:
    """The source as gcc compiles it; None without a gcc."""
    if shutil.which("gcc") is None:
        return None
    (folder / "peer.c").write_text(SOURCE)
    flags = ["-O3", "-march=native", "-fopenmp", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, str(folder / "peer.c"), "-o", str(folder / "peer.so")], check=True)
    return ctypes.CDLL(str(folder / "peer.so"))


def bound(library: ctypes.CDLL, name: str, arguments: tuple[Any, ...]) -> Run:
    given = [each.ctypes.data_as(ctypes.c_void_p) if isinstance(each, np.ndarray) else each for each in arguments]
    return partial(getattr(library, name), *given)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    draw, n = np.random.default_rng(0), options.size
    m = n // 4
    u = draw.random((n, n), np.float32)
    a, b = draw.random((2, m, m), np.float32)
    count = 100 * n
    rows = np.concatenate([[0], np.cumsum(draw.integers(4, 13, count))]).astype(np.int32)
    columns = draw.integers(0, count, rows[-1]).astype(np.int32)
    values, x = draw.random(rows[-1], np.float32), draw.random(count, np.float32)
    cases: dict[str, tuple[Any, ...]] = {
        "heat": (n, u, np.zeros_like(u)),
        "spmv": (count, rows, columns, values, x, np.zeros_like(x)),
        "product": (m, a, b, np.zeros_like(a)),
    }
    module = wl.c.compile(SOURCE)
    results: list[Result] = []
    with TemporaryDirectory() as folder:
        library = build(Path(folder))
        for name, arguments in cases.items():
            theirs = {} if library is None else {f"gcc, {os.cpu_count()} threads": bound(library, name, arguments)}
            forms = {"raised": module[name], "native": wl.native(module[name])}
            for form, function in forms.items():
                results.append(
                    compare(f"{name}, {form}", partial(function, *arguments), theirs, options.rounds, goal=1.0)
                )
    show(results, Console())


if __name__ == "__main__":
    main()
