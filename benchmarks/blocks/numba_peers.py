"""The same by Numba's `prange`, as one writes it for a CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import numba

f4 = np.float32
parallel = numba.njit(parallel=True, fastmath=False)


@parallel
def product(a: Any, b: Any, c: Any, n: Any) -> None:
    for i in numba.prange(n):
        for j in range(n):
            c[i, j] = f4(0)
        for k in range(n):
            for j in range(n):
                c[i, j] += a[i, k] * b[k, j]


@parallel
def transpose(x: Any, y: Any, n: Any) -> None:
    for tile in numba.prange(n // 32 * (n // 32)):
        j, i = tile // (n // 32) * 32, tile % (n // 32) * 32
        for b in range(32):
            for a in range(32):
                y[i + b, j + a] = x[j + a, i + b]


@parallel
def histogram(x: Any, counts: Any) -> None:
    parts = numba.get_num_threads()
    own = np.zeros((parts, 256), np.int32)
    for part in numba.prange(parts):
        for i in range(part * len(x) // parts, (part + 1) * len(x) // parts):
            own[part, x[i]] += 1
    counts += own.sum(0)


@parallel
def sums(x: Any, found: Any) -> None:
    for i in numba.prange(len(found)):
        total = f4(0)
        for j in range(256):
            total += x[i * 256 + j]
        found[i] = total


@parallel
def compact(x: Any, counts: Any) -> None:
    for i in numba.prange(len(counts)):
        count = 0
        for j in range(32):
            count += x[i * 32 + j] & 1
        counts[i] = count


@parallel
def scan(x: Any, y: Any, rows: Any, length: Any, is_exclusive: Any) -> None:
    for i in numba.prange(rows):
        total = f4(0)
        for j in range(length):
            if is_exclusive:
                y[i * length + j] = total
            total += x[i * length + j]
            if not is_exclusive:
                y[i * length + j] = total


@parallel
def align(reference: Any, score: Any, n: Any, penalty: Any) -> None:
    tiles = n // 16
    for d in range(2 * tiles - 1):
        for bx in numba.prange(max(0, d - tiles + 1), min(d, tiles - 1) + 1):
            by = d - bx
            for y in range(16 * by + 1, 16 * by + 17):
                for x in range(16 * bx + 1, 16 * bx + 17):
                    match = score[y - 1, x - 1] + reference[y, x]
                    gap = max(score[y, x - 1], score[y - 1, x]) - penalty
                    score[y, x] = max(match, gap)


@parallel
def path(wall: Any, start: Any, to: Any, columns: Any, rows: Any) -> None:
    one, other = start.copy(), np.empty_like(start)
    for row in range(rows):
        for x in numba.prange(columns):
            found = one[x]
            if x > 0:
                found = min(found, one[x - 1])
            if x < columns - 1:
                found = min(found, one[x + 1])
            other[x] = wall[row, x] + found
        one, other = other, one
    to[:] = one


@parallel
def hotspot(power: Any, start: Any, to: Any, n: Any, steps: Any, cap: Any, rx: Any, ry: Any, rz: Any) -> None:
    source = start
    between = np.empty_like(start)
    for step in range(steps):
        target = to if step == steps - 1 else between
        for y in numba.prange(n):
            up, down = max(y - 1, 0), min(y + 1, n - 1)
            for x in range(n):
                c = source[y, x]
                left, right = max(x - 1, 0), min(x + 1, n - 1)
                target[y, x] = c + cap * (
                    power[y, x]
                    + (source[down, x] + source[up, x] - f4(2) * c) * ry
                    + (source[y, right] + source[y, left] - f4(2) * c) * rx
                    + (f4(80) - c) * rz
                )
        source = target


@parallel
def srad(image: Any, north: Any, south: Any, west: Any, east: Any, c: Any, n: Any, q0: Any) -> None:
    one = f4(1)
    for y in numba.prange(n):
        for x in range(n):
            j = image[y, x]
            no, so = image[max(y - 1, 0), x] - j, image[min(y + 1, n - 1), x] - j
            we, ea = image[y, max(x - 1, 0)] - j, image[y, min(x + 1, n - 1)] - j
            g = (no * no + so * so + we * we + ea * ea) / (j * j)
            slope = (no + so + we + ea) / j
            num = f4(0.5) * g - (one / f4(16)) * (slope * slope)
            den = one + f4(0.25) * slope
            den = (num / (den * den) - q0) / (q0 * (one + q0))
            c[y, x] = min(max(one / (one + den), f4(0)), one)
            north[y, x], south[y, x], west[y, x], east[y, x] = no, so, we, ea


@parallel
def lu(m: Any, n: Any) -> None:
    for k in range(n):
        for i in numba.prange(k + 1, n):
            m[i, k] /= m[k, k]
            for j in range(k + 1, n):
                m[i, j] -= m[i, k] * m[k, j]


@parallel
def normalize(x: Any, y: Any) -> None:
    total = f4(0)
    for i in range(len(x)):
        total += x[i]
    for i in numba.prange(len(x)):
        y[i] = x[i] / total


@parallel
def largest(x: Any, most: Any) -> None:
    found = most[0]
    for i in numba.prange(len(x)):
        found = max(found, x[i])
    most[0] = found


PEERS: dict[str, Callable[..., None]] = {
    each.__name__: each
    for each in (
        product, transpose, histogram, sums, compact, scan, align, path, hotspot, srad, lu, normalize, largest,
    )
}  # fmt: skip
