"""Loops over elements in `wl.jit`, beside the same in plain NumPy, by Numba's `njit` and in C by gcc -O3.

The programs are those of NPBench in their plainest form: one element at a time. Windlass copies NumPy's arrays in and
out; the others work in place.

python -m benchmarks.element_loops [--rounds 3] [--dtype f64] [names…]
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import windlass as wl

SOURCE = r"""
#include <math.h>
typedef long I;
void cholesky(R *A, I n) {
    for (I i = 0; i < n; i++) {
        for (I j = 0; j < i; j++) {
            for (I k = 0; k < j; k++) A[i*n+j] -= A[i*n+k] * A[j*n+k];
            A[i*n+j] /= A[j*n+j];
        }
        for (I k = 0; k < i; k++) A[i*n+i] -= A[i*n+k] * A[i*n+k];
        A[i*n+i] = SQRT(A[i*n+i]);
    }
}
void lu(R *A, I n) {
    for (I i = 0; i < n; i++) {
        for (I j = 0; j < i; j++) {
            for (I k = 0; k < j; k++) A[i*n+j] -= A[i*n+k] * A[k*n+j];
            A[i*n+j] /= A[j*n+j];
        }
        for (I j = i; j < n; j++)
            for (I k = 0; k < i; k++) A[i*n+j] -= A[i*n+k] * A[k*n+j];
    }
}
void ludcmp(R *A, R *b, R *x, R *y, I n) {
    for (I i = 0; i < n; i++) {
        for (I j = 0; j < i; j++) {
            R w = A[i*n+j];
            for (I k = 0; k < j; k++) w -= A[i*n+k] * A[k*n+j];
            A[i*n+j] = w / A[j*n+j];
        }
        for (I j = i; j < n; j++) {
            R w = A[i*n+j];
            for (I k = 0; k < i; k++) w -= A[i*n+k] * A[k*n+j];
            A[i*n+j] = w;
        }
    }
    for (I i = 0; i < n; i++) {
        R w = b[i];
        for (I j = 0; j < i; j++) w -= A[i*n+j] * y[j];
        y[i] = w;
    }
    for (I i = n - 1; i > -1; i--) {
        R w = y[i];
        for (I j = i + 1; j < n; j++) w -= A[i*n+j] * x[j];
        x[i] = w / A[i*n+i];
    }
}
void trisolv(R *L, R *x, R *b, I n) {
    for (I i = 0; i < n; i++) {
        x[i] = b[i];
        for (I j = 0; j < i; j++) x[i] -= L[i*n+j] * x[j];
        x[i] = x[i] / L[i*n+i];
    }
}
void durbin(R *r, R *y, R *z, I n) {
    R beta = 1, alpha = -r[0];
    y[0] = -r[0];
    for (I k = 1; k < n; k++) {
        beta = (1 - alpha * alpha) * beta;
        R s = 0;
        for (I i = 0; i < k; i++) s += r[k-i-1] * y[i];
        alpha = -(r[k] + s) / beta;
        for (I i = 0; i < k; i++) z[i] = y[i] + alpha * y[k-i-1];
        for (I i = 0; i < k; i++) y[i] = z[i];
        y[k] = alpha;
    }
}
void gauss_seidel(R *A, I t, I n) {
    for (I s = 0; s < t; s++)
        for (I i = 1; i < n - 1; i++)
            for (I j = 1; j < n - 1; j++)
                A[i*n+j] = (A[(i-1)*n+j-1] + A[(i-1)*n+j] + A[(i-1)*n+j+1] + A[i*n+j-1] + A[i*n+j] + A[i*n+j+1]
                            + A[(i+1)*n+j-1] + A[(i+1)*n+j] + A[(i+1)*n+j+1]) / 9;
}
void needleman_wunsch(int *M, int *a, int *b, int penalty, I n) {
    for (I i = 1; i < n; i++)
        for (I j = 1; j < n; j++) {
            int best = M[(i-1)*n+j-1] + (a[i-1] == b[j-1] ? 1 : -1);
            int up = M[(i-1)*n+j] - penalty, left = M[i*n+j-1] - penalty;
            best = best > up ? best : up;
            M[i*n+j] = best > left ? best : left;
        }
}
void floyd_warshall(R *D, I n) {
    for (I k = 0; k < n; k++)
        for (I i = 0; i < n; i++)
            for (I j = 0; j < n; j++) {
                R d = D[i*n+k] + D[k*n+j];
                if (d < D[i*n+j]) D[i*n+j] = d;
            }
}
void crc16(long *data, long *out, I n) {
    long crc = 0xFFFF;
    for (I i = 0; i < n; i++) {
        long b = data[i] & 0xFF;
        for (int k = 0; k < 8; k++) {
            if ((crc & 1) ^ (b & 1)) crc = (crc >> 1) ^ 0x8408; else crc >>= 1;
            b >>= 1;
        }
    }
    out[0] = crc;
}
"""


def cholesky(a: Any) -> None:
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = np.sqrt(a[i, i])


def lu(a: Any) -> None:
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            for k in range(i):
                a[i, j] -= a[i, k] * a[k, j]


def ludcmp(a: Any, b: Any, x: Any, y: Any) -> None:
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            w = a[i, j]
            for k in range(j):
                w -= a[i, k] * a[k, j]
            a[i, j] = w / a[j, j]
        for j in range(i, n):
            w = a[i, j]
            for k in range(i):
                w -= a[i, k] * a[k, j]
            a[i, j] = w
    for i in range(n):
        w = b[i]
        for j in range(i):
            w -= a[i, j] * y[j]
        y[i] = w
    for i in range(n - 1, -1, -1):
        w = y[i]
        for j in range(i + 1, n):
            w -= a[i, j] * x[j]
        x[i] = w / a[i, i]


def trisolv(lower: Any, x: Any, b: Any) -> None:
    n = lower.shape[0]
    for i in range(n):
        x[i] = b[i]
        for j in range(i):
            x[i] -= lower[i, j] * x[j]
        x[i] = x[i] / lower[i, i]


def durbin(r: Any, y: Any, z: Any) -> None:
    n = r.shape[0]
    beta = r.dtype.type(1)
    alpha = -r[0]
    y[0] = -r[0]
    for k in range(1, n):
        beta = (1 - alpha * alpha) * beta
        s = r[0] * 0
        for i in range(k):
            s += r[k - i - 1] * y[i]
        alpha = -(r[k] + s) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha


def gauss_seidel(a: Any, t: Any) -> None:
    n = a.shape[0]
    for _ in range(t):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = (
                    a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1] + a[i, j - 1] + a[i, j] + a[i, j + 1]
                    + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                ) / 9  # fmt: skip


def needleman_wunsch(m: Any, x: Any, y: Any, penalty: Any) -> None:
    n = m.shape[0]
    for i in range(1, n):
        for j in range(1, n):
            best = m[i - 1, j - 1] + (1 if x[i - 1] == y[j - 1] else -1)
            best = max(best, m[i - 1, j] - penalty)
            m[i, j] = max(best, m[i, j - 1] - penalty)


def floyd_warshall(d: Any) -> None:
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])


def crc16(data: Any, out: Any) -> None:
    crc = 0xFFFF
    for i in range(data.shape[0]):
        b = data[i] & 0xFF
        for _ in range(8):
            if (crc & 1) ^ (b & 1):
                crc = (crc >> 1) ^ 0x8408
            else:
                crc >>= 1
            b >>= 1
    out[0] = crc


PROGRAMS: tuple[Callable[..., None], ...] = (
    cholesky, lu, ludcmp, trisolv, durbin, gauss_seidel, needleman_wunsch, floyd_warshall, crc16,
)  # fmt: skip


def arguments_of(name: str, dtype: Any) -> list[Any]:
    """Arguments with which plain NumPy takes about a second."""
    draw = np.random.default_rng(0)

    def floats(*shape: int) -> Any:
        return draw.random(shape).astype(dtype)

    def definite(n: int) -> Any:
        return floats(n, n) + (n * np.eye(n)).astype(dtype)

    match name:
        case "cholesky":
            a = floats(240, 240)
            return [a + a.T + (240 * np.eye(240)).astype(dtype)]
        case "lu":
            return [definite(200)]
        case "ludcmp":
            return [definite(220), floats(220), floats(220), floats(220)]
        case "trisolv":
            return [definite(2000), floats(2000), floats(2000)]
        case "durbin":
            return [floats(1200) / 2400, floats(1200), floats(1200)]
        case "gauss_seidel":
            return [floats(200, 200), 12]
        case "needleman_wunsch":
            n = 1000
            edges = np.zeros((n, n), np.int32)
            edges[0], edges[:, 0] = -np.arange(n), -np.arange(n)
            words = [draw.integers(0, 4, n).astype(np.int32) for _ in range(2)]
            return [edges, *words, np.int32(1)]
        case "floyd_warshall":
            return [floats(150, 150)]
        case _:
            return [draw.integers(0, 256, 400_000), np.zeros(1, np.int64)]


def compiled_by_gcc(dtype: Any, folder: Path) -> Any:
    """The source as a library; None without a gcc."""
    if shutil.which("gcc") is None:
        return None
    (folder / "peer.c").write_text(SOURCE)
    real = ("-DR=float", "-DSQRT=sqrtf") if dtype is np.float32 else ("-DR=double", "-DSQRT=sqrt")
    flags = ("-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC", *real)
    subprocess.run(["gcc", *flags, str(folder / "peer.c"), "-o", str(folder / "peer.so"), "-lm"], check=True)
    return ctypes.CDLL(str(folder / "peer.so"))


def bound(library: Any, name: str, arguments: Sequence[Any]) -> Callable[[], object]:
    given: list[Any] = []
    for each in arguments:
        if isinstance(each, np.ndarray):
            given.append(each.ctypes.data_as(ctypes.c_void_p))
        else:
            kind = ctypes.c_long if isinstance(each, int) else ctypes.c_int
            given.append(kind(int(each)))
    first = arguments[0]
    return lambda: getattr(library, name)(*given, ctypes.c_long(first.shape[0]))


def copied(arguments: Sequence[Any]) -> list[Any]:
    return [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]


def processor_times(runs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The least time that a call of each takes a processor: all of them compute on one thread."""
    found: dict[str, float] = {}
    for run in runs.values():
        run()
    for _ in range(rounds):
        for name, run in runs.items():
            begin = time.process_time()
            run()
            seconds = time.process_time() - begin
            found[name] = min(found.get(name, seconds), seconds)
    return found


def measure(program: Callable[..., None], dtype: Any, rounds: int, library: Any, table: Table) -> None:
    """One line: times of one call, Windlass's over the best of the others, whether the bits are NumPy's."""
    name = program.__name__
    arguments = arguments_of(name, dtype)
    expected = copied(arguments)
    begin = time.perf_counter()
    program(*expected)
    plain = time.perf_counter() - begin

    compiled = wl.jit(program)
    found = copied(arguments)
    begin = time.process_time()
    compiled(*found)
    first = time.process_time() - begin
    results = list(zip(found, expected, strict=True))
    is_same = all(np.array_equal(one, other) for one, other in results)
    is_close = all(np.allclose(one, other, rtol=1e-4) for one, other in results)

    changed = [
        place for place, (one, other) in enumerate(zip(arguments, expected, strict=True)) if np.any(one != other)
    ]

    def from_the_start(run: Callable[[], object], own: list[Any]) -> Callable[[], object]:
        """A run on arguments as they were at first."""

        def both() -> None:
            for place in changed:
                own[place][...] = arguments[place]
            run()

        return both

    ours, theirs, in_c = (copied(arguments) for _ in range(3))
    runs: dict[str, Callable[[], object]] = {"windlass": from_the_start(lambda: compiled(*ours), ours)}
    try:
        import numba

        by_numba = numba.njit(program)
        runs["numba"] = from_the_start(lambda: by_numba(*theirs), theirs)
    except ImportError:
        pass
    if library is not None:
        runs["gcc"] = from_the_start(bound(library, name, in_c), in_c)
    times = processor_times(runs, rounds)
    others = {each: seconds for each, seconds in times.items() if each != "windlass"}
    spelled = [f"{1e3 * times[each]:.3f}" if each in times else "" for each in ("windlass", "numba", "gcc")]
    ratio = f"{times['windlass'] / min(others.values()):.2f}" if others else ""
    bits = "same" if is_same else "close" if is_close else "OTHER"
    table.add_row(name, f"{1e3 * plain:.0f}", *spelled, ratio, f"{first:.2f}", bits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtype", choices=("f32", "f64"), default="f64")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    dtype = np.float32 if options.dtype == "f32" else np.float64
    table = Table("", "NumPy, ms", "windlass", "numba", "gcc -O3", "ratio to best", "first call, s", "bits", box=None)
    with tempfile.TemporaryDirectory() as folder:
        library = compiled_by_gcc(dtype, Path(folder))
        for program in PROGRAMS:
            if not options.names or program.__name__ in options.names:
                measure(program, dtype, options.rounds, library, table)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
