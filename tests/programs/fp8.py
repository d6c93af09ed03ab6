"""What the kernels of fp8.cu do, by ml_dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from .program import Array, Draw, launch, program

E4M3, E5M2 = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)
ALL = (launch(2, 128, n=256), launch(1, 32, n=7))


def every(dtype: Any, count: int = 256) -> Array:
    """All numbers of an 8-bit type, again and again."""
    return np.arange(count).astype(np.uint8).view(dtype)


def saturated(x: Array, dtype: Any) -> Array:
    """The nearest 8-bit numbers, with ties to even; what is too large becomes the greatest."""
    most = float(ml_dtypes.finfo(dtype).max)
    with np.errstate(all="ignore"):
        return np.clip(x, -most, most).astype(dtype)


def nearest(x: Array, dtype: Any) -> Array:
    """As `saturated`, found by looking among all numbers of the type: ml_dtypes rounds doubles twice."""
    codes = every(dtype)[:128].astype(np.float64)
    finite = codes[np.isfinite(codes)]
    size = np.minimum(np.abs(x), finite[-1])
    above = np.clip(np.searchsorted(finite, size), 1, len(finite) - 1)
    low, high = finite[above - 1], finite[above]
    is_up = (size - low > high - size) | ((size - low == high - size) & (above % 2 == 0))
    return np.where(np.isnan(x), x, np.copysign(np.where(is_up, high, low), x)).astype(dtype)


def around_all(draw: Draw, dtype: Any = np.float32) -> Array:
    """Numbers of both 8-bit types, those halfway between two of them, their neighbours, and any others."""
    found = [np.array([np.nan, 0.0, -0.0, np.inf, -np.inf, 464, 465, 480, 61439, 61440, 65536, 1e30, 1e-30], dtype)]
    for narrow in (E4M3, E5M2):
        values = every(narrow).astype(np.float64)
        values = np.sort(values[np.isfinite(values)])
        halfway = ((values[1:] + values[:-1]) / 2).astype(dtype)
        found += [values.astype(dtype), halfway]
        found += [np.nextafter(halfway, dtype(limit)) for limit in (np.inf, -np.inf)]
    found.append((draw.random.standard_normal(600) * 10.0 ** draw.random.integers(-7, 7, 600)).astype(dtype))
    return np.concatenate(found)


@program(
    ALL,
    lambda draw, n: (
        every(E4M3),
        np.zeros(256, np.float32),
        np.zeros(256, np.float16),
        np.zeros(256, ml_dtypes.bfloat16),
        np.zeros(256),
        n,
    ),
)
def widen_e4m3(x: Array, wide: Array, half: Array, brain: Array, longest: Array, n: int) -> None:
    for out in (wide, half, brain, longest):
        out[:n] = x[:n].astype(out.dtype)


@program(
    ALL,
    lambda draw, n: (
        every(E5M2),
        np.zeros(256, np.float32),
        np.zeros(256, np.float16),
        np.ones(256, np.int32),
        np.ones(256, np.uint8),
        n,
    ),
)
def widen_e5m2(x: Array, wide: Array, half: Array, whole: Array, byte: Array, n: int) -> None:
    wide[:n], half[:n] = x[:n].astype(np.float32), x[:n].astype(np.float16)
    number = np.trunc(np.nan_to_num(x[:n].astype(np.float64), nan=0.0, posinf=1e30, neginf=-1e30))
    whole[:n] = np.clip(number, -(2**31), 2**31 - 1)
    byte[:n] = np.clip(number, 0, 255)


@program(
    (launch(20, 128, n=2400), launch(1, 32, n=7)),
    lambda draw, n: (
        around_all(draw),
        *(np.ones(2560, dtype) for dtype in (E4M3, E5M2, np.uint8, np.uint8)),
        min(n, len(around_all(draw))),
    ),
)
def narrow_floats(x: Array, a: Array, b: Array, c: Array, d: Array, n: int) -> None:
    a[:n], b[:n] = saturated(x[:n], E4M3), saturated(x[:n], E5M2)
    with np.errstate(all="ignore"):
        c[:n], d[:n] = x[:n].astype(E4M3).view(np.uint8), x[:n].astype(E5M2).view(np.uint8)


@program(
    (launch(20, 128, n=2400),),
    lambda draw, n: (
        around_all(draw, np.float64),
        np.ones(2560, E4M3),
        np.ones(2560, E5M2),
        min(n, len(around_all(draw))),
    ),
)
def narrow_doubles(x: Array, a: Array, b: Array, n: int) -> None:
    a[:n], b[:n] = nearest(x[:n], E4M3), nearest(x[:n], E5M2)


@program(
    (launch(16, 128, n=2000),),
    lambda draw, n: (
        (draw.floats(n) * 300).astype(np.float16),
        (draw.floats(n) * 1e5).astype(ml_dtypes.bfloat16),
        draw.any_bits(n) >> draw.random.integers(0, 31, n).astype(np.int32),
        np.ones(n, E4M3),
        np.ones(n, E5M2),
        np.ones(n, E5M2),
        n,
    ),
)
def narrow_other_types(x: Array, y: Array, z: Array, a: Array, b: Array, c: Array, n: int) -> None:
    a[:], b[:] = saturated(x.astype(np.float32), E4M3), saturated(y.astype(np.float32), E5M2)
    c[:] = saturated(z.astype(np.float32), E5M2)


@program(
    (launch(1, 64, n=64), launch(2, 32, n=37)),
    lambda draw, n: (every(E4M3), np.ones(256, E5M2), np.ones(256, E4M3), 1.5, n),
)
def scale_by_twos_and_fours(x: Array, pairs: Array, fours: Array, scale: float, n: int) -> None:
    rows = x.astype(np.float32).reshape(-1, 4)[:n]
    narrow = saturated(rows * np.float32(scale), E5M2)
    narrow[:, 2:] = saturated(rows[:, 2:], E5M2)
    pairs.reshape(-1, 4)[:n] = narrow
    fours.reshape(-1, 4)[:n] = saturated(rows[:, ::-1] * np.float32(scale), E4M3)


@program(
    (launch((2, 2), (8, 8), n=13),),
    lambda draw, n: (draw.floats(n * n).astype(E4M3), draw.floats(n * n).astype(E4M3), np.zeros(n * n, np.float32), n),
    1e-5,
)
def product_of_fp8(a: Array, b: Array, c: Array, n: int) -> None:
    c.reshape(n, n)[:] = a.astype(np.float32).reshape(n, n) @ b.astype(np.float32).reshape(n, n)
