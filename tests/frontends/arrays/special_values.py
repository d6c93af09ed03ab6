"""Values at which arithmetic is decided: zeros of both signs, extremes, subnormals, ties, infinities, NaN."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

INTEGERS = tuple(map(np.dtype, ("b", "B", "h", "H", "i", "I", "q", "Q")))
FLOATS = tuple(map(np.dtype, ("e", "f", "d")))
COMPLEX = tuple(map(np.dtype, ("F", "D")))
ALL = (np.dtype("?"), *INTEGERS, *FLOATS, *COMPLEX)


def special_values(dtype: np.dtype) -> NDArray[Any]:
    """One array of them in the dtype."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        negative = [-1, -2, -3, -7, -100] if dtype.kind == "i" else []
        found = {0, 1, 2, 3, 7, 8, 31, 33, 63, 64, 100, limits.max, limits.max - 1, limits.min, limits.min + 1}
        return np.array(sorted(found | set(negative)), dtype)
    if dtype.kind == "f":
        ranges: Any = np.finfo(dtype)
        positive = [0.0, 1, 0.5, 1.5, 2, 2.5, 3, 7, 0.1, 65.5, 1e4, ranges.max, ranges.tiny, ranges.smallest_subnormal]
        positive += [np.inf, ranges.eps, 1 + ranges.eps, 1 - ranges.epsneg]
        return np.array([*positive, *(-each for each in positive), np.nan], dtype)
    ranges = np.finfo(dtype)
    parts = np.array([0.0, -0.0, 1, -1, 0.5, -2.5, ranges.tiny, ranges.max, np.inf, -np.inf, np.nan], ranges.dtype)
    found = np.empty((parts.size, parts.size), dtype)
    found.real, found.imag = parts[:, None], parts
    return found.ravel()


def pairs(first: np.dtype, second: np.dtype) -> tuple[NDArray[Any], NDArray[Any]]:
    """Every special value of one dtype with every one of the other."""
    return special_values(first)[:, None], special_values(second)[None, :]


def assert_same(found: Any, wanted: Any, what: str = "", roundings: float = 0, signs_of_zeros: bool = True) -> None:
    """The same dtypes, shapes and values, NaN and signs of zeros included.

    `roundings` allows finite floats to be so many spacings of one apart, relatively, and subnormal ones to be zero.
    """
    results, expectations = jax.tree.leaves(found), jax.tree.leaves(wanted)
    assert len(results) == len(expectations), what
    arrays: list[tuple[Any, Any]] = [(np.asarray(a), np.asarray(b)) for a, b in zip(results, expectations, strict=True)]
    for result, expected in arrays:
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape), what
        is_complex = expected.dtype.kind == "c"
        views = [(each.real, each.imag) if is_complex else (each,) for each in (result, expected)]
        for part, other in zip(*views, strict=True):
            places = np.argwhere(~_is_same(part, other, roundings, signs_of_zeros))
            assert not places.size, (
                f"{what}: {len(places)} of {part.size} values of {expected.dtype}, the first at {places[0]}: "
                f"{part[tuple(places[0])]!r} for {other[tuple(places[0])]!r}"
            )


def _is_same(part: NDArray[Any], other: NDArray[Any], roundings: float, signs_of_zeros: bool) -> NDArray[np.bool_]:
    if part.dtype.kind != "f":
        return np.asarray(part == other)
    is_nan = np.isnan(part) & np.isnan(other)
    same = part == other
    if signs_of_zeros:
        same &= np.signbit(part) == np.signbit(other)
    if roundings:
        ranges: Any = np.finfo(part.dtype)
        with np.errstate(all="ignore"):
            difference = np.abs(part.astype(np.float64) - other.astype(np.float64))
            allowed = roundings * float(ranges.eps) * np.abs(other.astype(np.float64)) + float(ranges.tiny)
            same |= np.isfinite(part) & np.isfinite(other) & (other != 0) & (difference <= allowed)
    return is_nan | same
