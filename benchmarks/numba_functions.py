# pyright: basic
"""Programs of Numba's users by `windlass.numba.njit`, beside `numba.njit(parallel=True)`: the same functions.

Times are of a processor, of all threads together, the least of several calls taken in turn; first calls compile.

python -m benchmarks.numba_functions [--rounds 5] [names…]
"""

from __future__ import annotations

import argparse
import functools
import math
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import numba
from windlass.numba import njit, prange

PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = {}


def program(make: Callable[[], tuple[Any, ...]]) -> Any:
    def add(function: Any) -> Any:
        PROGRAMS[function.__name__] = function, make
        return function

    return add


def floats(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).random(shape)


@program(lambda: (np.zeros((300, 400), np.int64), 400, 300, 100))
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


@program(lambda: (floats(200, 300) * 3 - 1.5 + 1j * (floats(300, 200).T * 2 - 1), np.zeros((200, 300)), -0.7 + 0.27j))
def julia(start, out, c):
    for i in prange(start.shape[0]):
        for j in range(start.shape[1]):
            z = start[i, j]
            n = 0
            while abs(z) < 2.0 and n < 60:
                z = z**2 + c
                n += 1
            out[i, j] = n + abs(z)


@program(lambda: (floats(300, 3), np.zeros((300, 3)), floats(300), 1e-3, 10))
def bodies(pos, vel, mass, dt, steps):
    n = pos.shape[0]
    for _ in range(steps):
        for i in prange(n):
            ax, ay, az = 0.0, 0.0, 0.0
            for j in range(n):
                if i != j:
                    dx = pos[j, 0] - pos[i, 0]
                    dy = pos[j, 1] - pos[i, 1]
                    dz = pos[j, 2] - pos[i, 2]
                    d2 = dx * dx + dy * dy + dz * dz + 1e-9
                    inv = mass[j] / (d2 * math.sqrt(d2))
                    ax += dx * inv
                    ay += dy * inv
                    az += dz * inv
            vel[i, 0] += ax * dt
            vel[i, 1] += ay * dt
            vel[i, 2] += az * dt
        for i in prange(n):
            for d in range(3):
                pos[i, d] += vel[i, d] * dt


@program(lambda: (floats(2_000_000), floats(1_000_000, 2).ravel()))
def pi_by_points(xs, ys):
    count = 0
    for i in prange(xs.size):
        if xs[i] * xs[i] + ys[i] * ys[i] < 1.0:
            count += 1
    return 4.0 * count / xs.size


@program(lambda: (floats(500, 500), np.zeros((500, 500)), 0.1, 20))
def heat(u, v, k, steps):
    n, m = u.shape
    for _ in range(steps):
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = u[i, j] + k * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j])
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = v[i, j]


@program(lambda: (floats(1000, 3), np.zeros((1000, 1000))))
def distances(x, d):
    n, m = x.shape
    for i in prange(n):
        for j in range(n):
            s = 0.0
            for k in range(m):
                t = x[i, k] - x[j, k]
                s += t * t
            d[i, j] = np.sqrt(s)


@program(lambda: (floats(300_000) * 40 + 10, floats(300_001)[1:] * 40 + 10, floats(300_002)[2:] * 2 + 0.1, 0.02, 0.3))
def black_scholes(price, strike, years, rate, volatility):
    calls = np.empty_like(price)
    for i in prange(price.size):
        root = volatility * math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / root
        d2 = d1 - root
        n1 = 0.5 * (1.0 + math.erf(d1 / math.sqrt(2.0)))
        n2 = 0.5 * (1.0 + math.erf(d2 / math.sqrt(2.0)))
        calls[i] = price[i] * n1 - strike[i] * math.exp(-rate * years[i]) * n2
    return calls


def rows_of(count: int, most: int) -> tuple[Any, ...]:
    draw = np.random.default_rng(count)
    lengths = draw.integers(2, most, count)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    columns = draw.integers(0, count, starts[-1])
    return draw.random(starts[-1]), columns, starts, draw.random(count), np.zeros(count)


@program(lambda: rows_of(50_000, 20))
def sparse_product(values, columns, starts, x, y):
    for i in prange(y.size):
        s = 0.0
        for k in range(starts[i], starts[i + 1]):
            s += values[k] * x[columns[k]]
        y[i] = s


@program(lambda: (np.arange(1, 100_001), np.zeros(100_000, np.int64)))
def collatz(start, steps):
    for i in prange(start.size):
        n = start[i]
        count = 0
        while n != 1:
            if n % 2 == 0:
                n //= 2
            else:
                n = 3 * n + 1
            count += 1
        steps[i] = count


@program(lambda: (floats(200, 200) * 10,))
def shortest_paths(d):
    n = d.shape[0]
    for k in range(n):
        for i in prange(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])


@program(lambda: (floats(100_000, 4), floats(16, 4), np.zeros(100_000, np.int64)))
def nearest_centres(points, centres, labels):
    total = 0.0
    for i in prange(points.shape[0]):
        best, label = np.inf, 0
        for c in range(centres.shape[0]):
            s = 0.0
            for k in range(points.shape[1]):
                t = points[i, k] - centres[c, k]
                s += t * t
            if s < best:
                best, label = s, c
        labels[i] = label
        total += best
    return total


@program(lambda: ((floats(400, 400) < 0.3).astype(np.uint8), np.zeros((400, 400), np.uint8), 10))
def life(cells, after, steps):
    n, m = cells.shape
    for _ in range(steps):
        for i in prange(n):
            for j in range(m):
                around = 0
                for a in range(-1, 2):
                    for b in range(-1, 2):
                        if a != 0 or b != 0:
                            around += cells[(i + a) % n, (j + b) % m]
                after[i, j] = 1 if around == 3 or (around == 2 and cells[i, j] == 1) else 0
        for i in prange(n):
            for j in range(m):
                cells[i, j] = after[i, j]


def by_numba(function: Any) -> Any:
    """The same function compiled by Numba, with its own `prange`."""
    return numba.njit(parallel=True)(
        types.FunctionType(function.__code__, {**function.__globals__, "prange": numba.prange}, function.__name__)
    )


def seconds(run: Callable[[], Any]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


def measure(name: str, rounds: int) -> tuple[float, float, float, float]:
    """Seconds of Windlass and of Numba: of the first call, and the least of later ones. Raises where results differ."""
    function, make = PROGRAMS[name]
    ours, theirs = njit(parallel=True)(function), by_numba(function)
    given, also = make(), make()
    found: dict[str, Any] = {}
    first = seconds(lambda: found.update(ours=ours(*given)))
    numbas_first = seconds(lambda: found.update(theirs=theirs(*also)))
    for one, other in zip((*given, found["ours"]), (*also, found["theirs"]), strict=True):
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-9)
    times: list[tuple[float, float]] = []
    for _ in range(rounds):
        times.append((seconds(functools.partial(ours, *make())), seconds(functools.partial(theirs, *make()))))
    mine, numbas = zip(*times, strict=True)
    return first, min(mine), numbas_first, min(numbas)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(PROGRAMS))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    table = Table("", "windlass, ms", "numba, ms", "of numba", "first, s", "numba's first, s", box=None)
    ratios: list[float] = []
    for name in options.names:
        first, mine, numbas_first, numbas = measure(name, options.rounds)
        ratios.append(mine / numbas)
        table.add_row(
            name, f"{mine * 1e3:.3g}", f"{numbas * 1e3:.3g}", f"{ratios[-1]:.2f}", f"{first:.2f}", f"{numbas_first:.2f}"
        )
    Console(width=120).print(table)
    print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}")


if __name__ == "__main__":
    main()
