"""Lists where NumPy takes lists, `kind=` of sorts, rounding of integers: as NumPy, or in our words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays.running import whole
from tests.frontends.arrays.special_values import assert_same

X = np.array([3.0, 1, 2, 5, 4])
I = np.array([3, 1, 2, 0, 4])  # noqa: E741
M = np.arange(12.0).reshape(3, 4) % 5
UNTYPED: Any = np
"""NumPy without what its stubs say of some functions."""
N = np.array([1, np.nan, 3, -np.inf, 0, -0.0, np.inf, 2])


def joined(x: Any, i: Any, m: Any) -> Any:
    return (
        np.concatenate([x, [1, 2]]), np.concatenate([m, [[1, 2, 3, 4]]]), np.stack([x, [1, 2, 3, 4, 5]]),
        np.hstack([x, [1, 2], 3.0]), np.vstack([i, [1, 2, 3, 4, 5.5]]), np.column_stack([x, [1, 2, 3, 4, 5]]),
        np.append(x, [1, 2]), np.append(m, [[1, 2, 3, 4]], axis=0),
        np.select([x > 2, x > 1], [i, [1, 2, 3, 4, 5]], -1.5),
        np.select([i > 2], [i], 1), np.where([True, False, True, False, True], x, 0),
        np.where(i > 2, i, [1, 2, 3, 4, 5.0]),
        np.choose([0, 1, 0, 1, 1], [x, [9, 8, 7, 6, 5]]),
        np.clip(x, [1, 2, 3, 4, 5], [4, 4, 4, 4, 4]), [1, 2, 3, 4, 5] - x,
        np.maximum([1, 2, 3, 4, 9], x), x == [3, 1, 2, 5, 0], np.full_like(x, [1, 2, 3, 4, 5]), np.tile(x, [2, 2]),
        np.roll(m, [1, 2], axis=[0, 1]), np.pad(x, [1, 2], constant_values=7), np.block([[m, m], [m, np.ones((3, 4))]]),
        *np.meshgrid(x, [1, 2]), *np.broadcast_arrays(x, [[1], [2]]), UNTYPED.piecewise(x, [x < 2, x >= 2], [0.0, 1.0]),
    )  # fmt: skip


def multiplied(x: Any, i: Any, m: Any) -> Any:
    return (
        np.dot([1, 2, 3], m), np.dot(m, [1, 2, 3, 4]), np.inner(x, [1, 2, 3, 4, 5]), np.outer([1, 2], x),
        np.matmul(m, [1, 2, 3, 4]), np.cross(x[:3], [1, 2, 3]), np.kron([1, 2], x), np.vdot(x, [1, 2, 3, 4, 5]),
        np.tensordot(m, [1, 2, 3], axes=([0], [0])), np.einsum("ij,j", m, [1, 2, 3, 4]), np.convolve(x, [1, 2, 1]),
        np.correlate(x, [1, 2, 1], "same"), np.linalg.multi_dot([m, m.T, [1.0, 2, 3]]), np.polyval([1, 2, 3], x),
        np.polyadd(x, [1, 2]), np.polymul(x, [1, 2]), np.linalg.solve(m[:, :3] + np.eye(3) * 9, [1, 2, 3]),
        np.polyfit([0, 1, 2, 3, 4], i, 1), np.cov(x, [1, 2, 3, 4, 6]), np.average(x, weights=[1, 2, 3, 4, 5]),
    )  # fmt: skip


def looked_up(x: Any, i: Any, m: Any) -> Any:
    return (
        np.interp(x, [0, 1, 3], [2, 3, 9]), np.interp([0.5, 2.5], [0.0, 1, 3], x[:3]),
        np.interp(i, [0, 1], [2, 3], left=-1),
        np.quantile(x, [0.1, 0.5]), np.percentile(i, [10, 50]), np.quantile(m, 0.3, axis=1),
        np.searchsorted([1, 2, 3], x),
        np.searchsorted(np.sort(x), [1.5, 2.5], side="right"), np.searchsorted(x, [2.5], sorter=np.argsort(x)),
        np.digitize(x, [1, 3]), np.digitize(x, [3, 1], right=True), np.isin(i, [1, 2]),
        np.trapezoid(x, [0, 1, 2, 3, 5]),
        np.diff(x, prepend=0, append=[1, 2]), np.ediff1d(x, to_begin=[0]), np.gradient(x, [0, 1, 2, 4, 5]),
        *np.histogram(x, [0, 2, 4, 6]), *np.histogram(x, bins=3, range=(0, 6)), np.isclose(x, [3, 1, 2.5, 5, 4]),
        np.bincount([0, 1, 1, 2, 3], weights=x), np.bincount([0, 1, 1, 2, 3], x, minlength=6),
        np.allclose(x, [3, 1, 2, 5, 4]),
    )  # fmt: skip


def of_lists_alone(x: Any, i: Any, m: Any) -> Any:
    a, b = x[0], x[1]
    return (
        np.sum([x, x]), np.mean([a, b, 3]), np.max([x, x * 2], axis=0), np.any([a > 2, b > 2]), np.sqrt([a, 4.0]),
        np.linalg.norm([a, b]), np.argmax([a, b]), np.cumsum([a, b, 1.0]), np.linalg.det([[a, 1], [2, b]]),
        np.add([a, b], [1, 2]), np.median((a, b, 2)), np.full(2, a),
    )  # fmt: skip


def sorted_and_rounded(x: Any, i: Any, m: Any) -> Any:
    y, small = x.copy(), (i * 30).astype(np.int8)
    y.sort(kind="stable")
    return (
        y, np.sort(x, kind="stable"), np.sort(m, axis=0, kind="mergesort"), np.sort(m, axis=None),
        np.sort(x, stable=True),
        np.argsort(i, kind="stable"), np.argsort(m, axis=0, kind="heapsort"), x.argsort(kind="quicksort"),
        np.argpartition(x, 2)[2], np.lexsort((x, i)), np.round(i * 37, -1), (i * 37).round(-2), np.round(small, -1),
        np.round(x * 123.456, -1), np.round(x * 1.2345, 2), np.around(x * 0.5), np.round(x > 2), UNTYPED.fix(x * -0.7),
        UNTYPED.fix(i),
        round(x[0] * 1.26, 1), round(x[1] * 1.5), np.round(i, 2), np.round(x.astype(np.float32) * 1.15, 1),
    )  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("function", [joined, multiplied, looked_up, of_lists_alone, sorted_and_rounded])
def test_lists_and_options_are_taken_as_numpy_takes_them(function: Any) -> None:
    assert_same(whole(function)(X, I, M), function(X, I, M), function.__name__, 16)


def nan_functions(n: Any, m: Any) -> Any:
    return (
        np.nanmax(n), np.nanmin(n), np.nanargmax(n), np.nanargmin(n), np.nansum(n[:4]), np.nanprod(n[4:]),
        np.nanmean(m),
        np.nanstd(m), np.nanvar(m, axis=0), np.nanmedian(n), np.nanquantile(n, [0.2, 0.5]), np.nanpercentile(m, 30),
        np.nancumsum(n), np.nancumprod(n), np.nan_to_num(n), np.nan_to_num(n, nan=5, posinf=1, neginf=-1),
        np.max(n), np.min(n), np.argmax(n), np.argmin(n), np.sort(n), np.argsort(n), np.median(n), np.quantile(m, 0.4),
        np.cumsum(n), np.cumprod(n), np.clip(n, -1, None), np.clip(n, np.nan, 3), np.ptp(n), np.sum(n), np.prod(n),
        np.all(n), np.any(n), np.count_nonzero(n), np.isclose(n, n[::-1] * 1.0), np.isclose(n, n, equal_nan=True),
        np.partition(n, 3)[3], np.mean(n), np.std(m), np.diff(n), np.maximum.accumulate(n), np.minimum.accumulate(n),
        np.interp(n, [0.0, 1, 2], [1.0, 5, 2]), np.searchsorted(np.sort(n), n), np.sinc(m), np.i0(m), np.unwrap(m[0]),
        np.isposinf(n), np.isneginf(n), np.average(m, axis=1), np.cumulative_sum(n), np.fmax.reduce(n),
        np.fmin.accumulate(n),
    )  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("code", ["f", "d"])
def test_reductions_meet_special_values_as_numpys(code: str) -> None:
    given = N.astype(code), M.astype(code) / 2
    with np.errstate(all="ignore"):
        wanted = nan_functions(*given)
    for found, expected in zip(whole(nan_functions)(*given), wanted, strict=True):
        assert_same(found, expected, str(expected), 16)


def test_what_is_not_taken_is_said_in_our_words() -> None:
    def function(x: Any) -> Any:
        return np.vectorize(abs)(x)

    with pytest.raises(wl.WindlassError, match=r"WL0909.*numpy.vectorize(?s:.)*test_lists.py:\d+(?s:.)*numpy.where"):
        whole(function)(X)
    with pytest.raises(ValueError, match="sort kind must be one of"):
        whole(lambda x, kind: np.sort(x, kind=kind))(X, "bubble")
