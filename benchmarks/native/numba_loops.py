"""The loops of kernels.cu in Numba, on the threads of `prange`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def numba_loops() -> dict[str, Callable[..., None]]:
    """The loops by name; none where Numba is not installed."""
    try:
        import numba
    except ImportError:
        return {}
    from math import exp, log, sqrt

    import numpy as np

    parallel = numba.njit(parallel=True, fastmath=False)
    f4 = np.float32

    @parallel
    def heat(u: Any, v: Any, n: Any, c: Any) -> None:
        for j in numba.prange(1, n - 1):
            for i in range(1, n - 1):
                around = u[j, i - 1] + u[j, i + 1] + u[j - 1, i] + u[j + 1, i]
                v[j, i] = u[j, i] + c * (around - f4(4) * u[j, i])

    @parallel
    def clamped(u: Any, v: Any, n: Any, c: Any) -> None:
        for j in numba.prange(n):
            north, south = max(j - 1, 0), min(j + 1, n - 1)
            for i in range(n):
                west, east = max(i - 1, 0), min(i + 1, n - 1)
                around = u[j, west] + u[j, east] + u[north, i] + u[south, i]
                v[j, i] = u[j, i] + c * (around - f4(4) * u[j, i])

    @parallel
    def periodic(u: Any, v: Any, n: Any, c: Any) -> None:
        for j in numba.prange(n):
            north, south = (j + n - 1) % n, (j + 1) % n
            for i in range(n):
                west, east = (i + n - 1) % n, (i + 1) % n
                around = u[j, west] + u[j, east] + u[north, i] + u[south, i]
                v[j, i] = u[j, i] + c * (around - f4(4) * u[j, i])

    @parallel
    def seven_points(u: Any, v: Any, n: Any, a: Any, b: Any) -> None:
        for k in numba.prange(1, n - 1):
            for j in range(1, n - 1):
                for i in range(1, n - 1):
                    around = u[k, j, i - 1] + u[k, j, i + 1] + u[k, j - 1, i] + u[k, j + 1, i]
                    v[k, j, i] = a * u[k, j, i] + b * (around + u[k - 1, j, i] + u[k + 1, j, i])

    @parallel
    def hotspot(
        power: Any, before: Any, after: Any, rows: Any, columns: Any, step: Any, rx: Any, ry: Any, rz: Any
    ) -> None:
        for j in numba.prange(rows):
            for i in range(columns):
                here = before[j, i]
                west = before[j, i - 1] if i > 0 else here
                east = before[j, i + 1] if i < columns - 1 else here
                north = before[j - 1, i] if j > 0 else here
                south = before[j + 1, i] if j < rows - 1 else here
                along_y, along_x = (north + south - f4(2) * here) * ry, (east + west - f4(2) * here) * rx
                after[j, i] = here + step * (power[j, i] + along_y + along_x + (f4(80) - here) * rz)

    @parallel
    def srad_slopes(
        image: Any, north: Any, south: Any, west: Any, east: Any, dn: Any, ds: Any, dw: Any, de: Any, c: Any,
        rows: Any, columns: Any, q0: Any,
    ) -> None:  # fmt: skip
        for j in numba.prange(rows):
            for i in range(columns):
                here = image[j, i]
                n, s = image[north[j], i] - here, image[south[j], i] - here
                w, e = image[j, west[i]] - here, image[j, east[i]] - here
                g2 = (n * n + s * s + w * w + e * e) / (here * here)
                slope = (n + s + w + e) / here
                num, den = f4(0.5) * g2 - f4(0.0625) * (slope * slope), f4(1) + f4(0.25) * slope
                q = num / (den * den)
                den = (q - q0) / (q0 * (f4(1) + q0))
                found = f4(1) / (f4(1) + den)
                dn[j, i], ds[j, i], dw[j, i], de[j, i] = n, s, w, e
                c[j, i] = f4(0) if found < f4(0) else f4(1) if found > f4(1) else found

    @parallel
    def srad_update(
        image: Any, south: Any, east: Any, dn: Any, ds: Any, dw: Any, de: Any, c: Any, rows: Any, columns: Any,
        rate: Any,
    ) -> None:  # fmt: skip
        for j in numba.prange(rows):
            for i in range(columns):
                cn, cs, ce = c[j, i], c[south[j], i], c[j, east[i]]
                change = cn * dn[j, i] + cs * ds[j, i] + cn * dw[j, i] + ce * de[j, i]
                image[j, i] = image[j, i] + f4(0.25) * rate * change

    @parallel
    def lattice(f: Any, g: Any, n: Any, rate: Any) -> None:
        for j in numba.prange(n):
            s, t = (j + n - 1) % n, (j + 1) % n
            for i in range(n):
                w, e = (i + n - 1) % n, (i + 1) % n
                f0, f1, f2, f3, f4_ = f[0, j, i], f[1, j, w], f[2, s, i], f[3, j, e], f[4, t, i]
                f5, f6, f7, f8 = f[5, s, w], f[6, s, e], f[7, t, e], f[8, t, w]
                rho = f0 + f1 + f2 + f3 + f4_ + f5 + f6 + f7 + f8
                ux, uy = (f1 + f5 + f8 - f3 - f6 - f7) / rho, (f2 + f5 + f6 - f4_ - f7 - f8) / rho
                p, q, u = ux + uy, uy - ux, f4(1) - f4(1.5) * (ux * ux + uy * uy)
                a, b, three, half = rho / f4(9), rho / f4(36), f4(3), f4(4.5)
                g[0, j, i] = f0 + rate * (rho * f4(4) / f4(9) * u - f0)
                g[1, j, i] = f1 + rate * (a * (u + three * ux + half * ux * ux) - f1)
                g[2, j, i] = f2 + rate * (a * (u + three * uy + half * uy * uy) - f2)
                g[3, j, i] = f3 + rate * (a * (u - three * ux + half * ux * ux) - f3)
                g[4, j, i] = f4_ + rate * (a * (u - three * uy + half * uy * uy) - f4_)
                g[5, j, i] = f5 + rate * (b * (u + three * p + half * p * p) - f5)
                g[6, j, i] = f6 + rate * (b * (u + three * q + half * q * q) - f6)
                g[7, j, i] = f7 + rate * (b * (u - three * p + half * p * p) - f7)
                g[8, j, i] = f8 + rate * (b * (u - three * q + half * q * q) - f8)

    @parallel
    def bodies(x: Any, y: Any, z: Any, mass: Any, ax: Any, ay: Any, az: Any, n: Any, soft: Any) -> None:
        for i in numba.prange(n):
            px, py, pz, sx, sy, sz = x[i], y[i], z[i], f4(0), f4(0), f4(0)
            for j in range(n):
                dx, dy, dz = x[j] - px, y[j] - py, z[j] - pz
                r = f4(1) / f4(sqrt(dx * dx + dy * dy + dz * dz + soft))
                f = mass[j] * (r * r * r)
                sx += f * dx
                sy += f * dy
                sz += f * dz
            ax[i], ay[i], az[i] = sx, sy, sz

    @numba.njit
    def normal(d: Any) -> Any:
        k = f4(1) / (f4(1) + f4(0.2316419) * abs(d))
        p = f4(1.781477937) + k * (f4(-1.821255978) + k * f4(1.330274429))
        p = f4(0.31938153) + k * (f4(-0.356563782) + k * p)
        w = f4(0.39894228) * f4(exp(f4(-0.5) * d * d)) * (k * p)
        return f4(1) - w if d > 0 else w

    @parallel
    def black_scholes(s: Any, k: Any, t: Any, call: Any, put: Any, n: Any, r: Any, v: Any) -> None:
        for i in numba.prange(n):
            q = f4(sqrt(t[i]))
            d1 = (f4(log(s[i] / k[i])) + (r + f4(0.5) * v * v) * t[i]) / (v * q)
            d2 = d1 - v * q
            a, b, e = normal(d1), normal(d2), f4(exp(-r * t[i]))
            call[i] = s[i] * a - k[i] * e * b
            put[i] = k[i] * e * (f4(1) - b) - s[i] * (f4(1) - a)

    @parallel
    def mandelbrot(out: Any, n: Any, limit: Any) -> None:
        for j in numba.prange(n):
            for i in range(n):
                x0, y0, x, y = f4(3) * f4(i) / f4(n) - f4(2), f4(2) * f4(j) / f4(n) - f4(1), f4(0), f4(0)
                k = 0
                while k < limit and x * x + y * y < f4(4):
                    x, y = x * x - y * y + x0, f4(2) * x * y + y0
                    k += 1
                out[j, i] = k

    @parallel
    def spmv(n: Any, start: Any, column: Any, value: Any, x: Any, y: Any) -> None:
        for i in numba.prange(n):
            total = f4(0)
            for k in range(start[i], start[i + 1]):
                total += value[k] * x[column[k]]
            y[i] = total

    @parallel
    def bfs_visit(start: Any, edge: Any, frontier: Any, following: Any, visited: Any, cost: Any, n: Any) -> None:
        for i in numba.prange(n):
            if frontier[i]:
                frontier[i] = False
                for k in range(start[i], start[i + 1]):
                    other = edge[k]
                    if not visited[other]:
                        cost[other] = cost[i] + 1
                        following[other] = True

    @parallel
    def bfs_advance(frontier: Any, following: Any, visited: Any, again: Any, n: Any) -> None:
        for i in numba.prange(n):
            if following[i]:
                frontier[i] = True
                visited[i] = True
                again[0] = True
                following[i] = False

    @parallel
    def histogram(x: Any, counts: Any, n: Any) -> None:
        parts = numba.get_num_threads()  # Numba has no atomics on CPUs: each thread counts for itself
        own = np.zeros((parts, len(counts)), np.int32)
        for part in numba.prange(parts):
            for i in range(n * part // parts, n * (part + 1) // parts):
                own[part, x[i]] += 1
        counts += own.sum(0)

    found = (
        heat, clamped, periodic, seven_points, hotspot, srad_slopes, srad_update, lattice, bodies, black_scholes,
        mandelbrot, spmv, bfs_visit, bfs_advance, histogram,
    )  # fmt: skip
    return {each.__name__: each for each in found}
