# pyright: basic
"""Functions that users of Numba write, and arguments for them; `twice_compiled` has each by Numba and by Windlass."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from windlass.numba import prange

PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = {}


def program(*make: Any):
    def add(function: Any):
        PROGRAMS[function.__name__] = function, make[0]
        return function

    return add


def floats(*shape: int, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


@program(lambda: (np.zeros((12, 16), np.int64), 16, 12, 30))
def mandelbrot(out, width, height, rounds):
    for i in prange(height):
        for j in range(width):
            c = complex(-2.0 + 3.0 * j / width, -1.5 + 3.0 * i / height)
            z = 0.0j
            n = 0
            for _ in range(rounds):
                if z.real * z.real + z.imag * z.imag > 4.0:
                    break
                z = z * z + c
                n += 1
            out[i, j] = n


@program(lambda: (floats(10, 3), np.zeros((10, 3)), np.ones(10), 0.01, 10))
def bodies(pos, vel, mass, dt, steps):
    n = pos.shape[0]
    for _ in range(steps):
        for i in range(n):
            ax, ay = 0.0, 0.0
            for j in range(n):
                if i != j:
                    dx, dy = pos[j, 0] - pos[i, 0], pos[j, 1] - pos[i, 1]
                    d2 = dx * dx + dy * dy + 1e-9
                    inv = mass[j] / (d2 * math.sqrt(d2))
                    ax += dx * inv
                    ay += dy * inv
            vel[i, 0] += ax * dt
            vel[i, 1] += ay * dt
        for i in range(n):
            for d in range(3):
                pos[i, d] += vel[i, d] * dt


@program(lambda: (np.abs(floats(50)), np.abs(floats(50)[::-1])))
def pi_by_points(xs, ys):
    count = 0
    for i in prange(xs.size):
        if xs[i] * xs[i] + ys[i] * ys[i] < 1.0:
            count += 1
    return 4.0 * count / xs.size, count


@program(lambda: (floats(14, 13), np.zeros((14, 13)), 0.1, 12))
def heat(u, v, k, steps):
    n, m = u.shape
    for _ in range(steps):
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = u[i, j] + k * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j])
        u[:, :] = v
    return u.sum()


@program(lambda: (floats(11, 3), np.zeros((11, 11))))
def distances(x, d):
    n, m = x.shape
    for i in prange(n):
        for j in range(n):
            s = 0.0
            for k in range(m):
                t = x[i, k] - x[j, k]
                s += t * t
            d[i, j] = np.sqrt(s)
    return d


@program(lambda: (floats(40, dtype=np.float32), np.zeros(40, np.float32)))
def halves_in_doubles(x, y):
    total = 0.0
    for i in range(x.size):
        total += x[i] * 0.1
        y[i] = total * 2 + x[i]
    return total


@program(lambda: (np.arange(100, 255, 9, dtype=np.uint8), np.zeros(18, np.int64)))
def sums_of_bytes(x, y):
    for i in range(x.size - 1):
        y[i] = x[i] + x[i + 1]
        y[i + 1] = x[i] * x[i + 1] - (x[i] << 3)
    return x[0] + x[1], -x[3]


@program(lambda: (np.array([2_000_000_000, 2_000_000_000, 5], np.int32),))
def sum_of_short_integers(x):
    s = 0
    for i in range(x.size):
        s += x[i]
    return s


@program(lambda: (np.array([7, 3_000_000_000], np.uint32), np.uint64(3), np.int64(-4), np.float32(0.1)))
def mixed_numbers(x, u, i, f):
    return x[0] + x[1], x[0] * x[1], u + i, u - u, f + 1, f * f, f * 0.5, x[0] * f, i // 3, i % 3, i**2, f**2


@program(lambda: (np.array([True, False, True]), np.array([3, 200], np.uint8)))
def booleans(b, x):
    count = 0
    for i in range(b.size):
        count += b[i]
    return count, b[0] + b[2], b[0] & b[1], b[0] | b[1], ~x[1], x[0] & x[1]


@program(lambda: (floats(6, dtype=np.float32), np.arange(6, dtype=np.int8)))
def whole_arrays(x, n):
    return x * 2.0, x + 1, n + 1, n * n, n / 2, x + n, np.sqrt(x * x), np.where(n > 2, n, 0), x.sum(), np.sin(x) - x


@program(lambda: (12345, 20))
def congruential(seed, count):
    found = np.zeros(count, np.int64)
    for i in range(count):
        seed = (seed * 1103515245 + 12345) % 2147483648
        found[i] = seed
    return found


@program(lambda: (floats(30), 0.5))
def first_above(x, limit):
    for i in range(x.size):
        if x[i] > limit:
            return i, x[i]
    return -1, 0.0


@program(lambda: (2.0, 1e-12))
def newton(a, tolerance):
    x = a
    rounds = 0
    while True:
        y = 0.5 * (x + a / x)
        rounds += 1
        if abs(y - x) < tolerance:
            break
        x = y
    return y, rounds


@program(lambda: (np.array([3.0, 1.0, 2.0, -4.0]),))
def sorted_by_insertion(x):
    for i in range(1, x.size):
        key = x[i]
        j = i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = key


@program(lambda: (floats(12, 10), floats(10, 11)))
def product(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in prange(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


@program(lambda: (floats(25), 5))
def moving_mean(x, width):
    y = np.empty_like(x)
    for i in range(x.size):
        low, high = max(0, i - width), min(x.size, i + width + 1)
        y[i] = x[low:high].mean()
    return y
