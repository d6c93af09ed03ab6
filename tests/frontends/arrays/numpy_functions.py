"""Every public function of NumPy, called as people call it, on a handful of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view


class Samples(NamedTuple):
    """The arrays that functions are called on."""

    v: Any
    m: Any
    b: Any
    z: Any
    i: Any
    t: Any


SAMPLES = Samples(
    v=np.array([1.0, 3.0, 2.0, 5.0, 4.0, 6.0]),
    m=np.array([[4.0, 1.0, 2.0], [1.0, 5.0, 3.0], [2.0, 3.0, 6.0]]),
    b=np.arange(24.0).reshape(2, 3, 4),
    z=np.array([1 + 2j, 3 - 1j]),
    i=np.array([2, 0, 1, 2], np.int32),
    t=np.array([True, False, True, False]),
)

Call = Callable[[Any], Any]


def _makes(function: Any, **options: Any) -> list[Call]:
    """Calls of a function that gives its argument as an array."""

    def as_it_is(s: Any) -> Any:
        return function(s.b, **options)

    def of_transposed(s: Any) -> Any:
        return function(s.b.T, **options)

    def of_integers(s: Any) -> Any:
        return function(s.i, dtype=np.float64, **options)

    def of_slices(s: Any) -> Any:
        return function(s.v[::2], **options)

    return [as_it_is, of_transposed, of_integers, of_slices]


def as_array_without_copy(s: Any) -> Any:
    return [np.array(s.v, copy=None), np.array(s.m, copy=False), np.array(s.v, ndmin=3, copy=None), np.array(s.m.T)]


def as_array_in_order(s: Any) -> Any:
    return [
        np.asarray(s.m, order="F"),
        np.asarray(s.m.T, order="F"),
        np.asarray(s.m, order="C"),
        np.asarray(s.m, float),
    ]


def as_required(s: Any) -> Any:
    return [
        np.require(s.m, requirements="C"), np.require(s.m, requirements=["F", "W"]), np.require(s.m[0], None, "O"),
        np.require(np.broadcast_to(s.v, (2, 6)), None, "W"), np.require(s.m.T, None, "F"),
    ]  # fmt: skip


def as_strided_views(s: Any) -> Any:
    return [as_strided(s.v, (3, 2), (16, 8)), as_strided(s.v[1:], (4, 2), (8, 8), writeable=False)]


def enumerated(s: Any) -> Any:
    return [a * i[0] for i, a in np.ndenumerate(s.m)]


CALLS: dict[str, list[Call]] = {
    "allclose": [],
    "apply_along_axis": [lambda s: np.apply_along_axis(lambda a: a[::-1], 0, s.m)],
    "append": [lambda s: np.append(s.m, s.m, 0), lambda s: np.append(s.v, s.v)],
    "array": [*_makes(np.array), as_array_without_copy],
    "array_split": [lambda s: np.array_split(s.v, 4), lambda s: np.array_split(s.b, [1, 2], 2)],
    "asanyarray": _makes(np.asanyarray),
    "asarray": [*_makes(np.asarray), *_makes(np.asarray, order="F"), as_array_in_order],
    "asarray_chkfinite": _makes(np.asarray_chkfinite),
    "ascontiguousarray": _makes(np.ascontiguousarray),
    "asfortranarray": _makes(np.asfortranarray),
    "astype": [
        lambda s: np.astype(s.m, np.float64, copy=False),
        lambda s: np.astype(s.m, np.float64),
        lambda s: np.astype(s.i, np.int64, copy=False),
    ],
    "atleast_1d": [lambda s: np.atleast_1d(s.v[2:3].reshape(()), s.v), lambda s: np.atleast_1d(s.m)],
    "atleast_2d": [lambda s: np.atleast_2d(s.v, s.m), lambda s: np.atleast_2d(s.b)],
    "atleast_3d": [lambda s: np.atleast_3d(s.v, s.m), lambda s: np.atleast_3d(s.b)],
    "block": [lambda s: np.block([s.m, s.m]), lambda s: np.block([s.v])],
    "broadcast_arrays": [lambda s: np.broadcast_arrays(s.v, s.v), lambda s: np.broadcast_arrays(s.m, s.v[:3], 1.0)],
    "broadcast_to": [lambda s: np.broadcast_to(s.v, (2, 6)), lambda s: np.broadcast_to(s.v, (6,))],
    "copy": [lambda s: np.copy(s.m), lambda s: np.copy(s.b.T)],
    "diag": [lambda s: np.diag(s.m), lambda s: np.diag(s.v), lambda s: np.diag(s.m, -1)],
    "diagonal": [lambda s: np.diagonal(s.b, 1, 2, 0), lambda s: s.b.diagonal()],
    "diff": [lambda s: np.diff(s.v, n=0), lambda s: np.diff(s.v)],
    "dsplit": [lambda s: np.dsplit(s.b, 2)],
    "einsum": [
        lambda s: np.einsum("ii->i", s.m),
        lambda s: np.einsum("abc->cab", s.b),
        lambda s: np.einsum("ab,bc", s.m, s.m),
    ],
    "expand_dims": [lambda s: np.expand_dims(s.v, 1), lambda s: np.expand_dims(s.m, (0, -1))],
    "flip": [lambda s: np.flip(s.b), lambda s: np.flip(s.b, (0, -1))],
    "fliplr": [lambda s: np.fliplr(s.m)],
    "flipud": [lambda s: np.flipud(s.m)],
    "hsplit": [lambda s: np.hsplit(s.v, 3), lambda s: np.hsplit(s.b, [1])],
    "imag": [lambda s: np.imag(s.z), lambda s: np.imag(s.v)],
    "ix_": [lambda s: np.ix_(s.i, s.i[:2])],
    "matrix_transpose": [lambda s: np.matrix_transpose(s.b), lambda s: np.linalg.matrix_transpose(s.m)],
    "meshgrid": [
        lambda s: np.meshgrid(s.v, s.v, copy=False),
        lambda s: np.meshgrid(s.v, s.v),
        lambda s: np.meshgrid(s.v, s.i, s.v, sparse=True, copy=False, indexing="ij"),
    ],
    "moveaxis": [lambda s: np.moveaxis(s.b, 0, -1), lambda s: np.moveaxis(s.b, [0, 1], [1, 2])],
    "nan_to_num": [
        lambda s: np.nan_to_num(s.m, copy=False),
        lambda s: np.nan_to_num(s.m),
        lambda s: np.nan_to_num(s.i, copy=False),
    ],
    "permute_dims": [lambda s: np.permute_dims(s.b, (1, 2, 0))],
    "polyder": [lambda s: np.polyder(s.v, 0), lambda s: np.polyder(s.v)],
    "polyint": [lambda s: np.polyint(s.v, 0)],
    "ravel": [lambda s: np.ravel(s.b), lambda s: np.ravel(s.b.T, "F"), lambda s: np.ravel(s.b.T)],
    "real": [lambda s: np.real(s.z), lambda s: np.real(s.v)],
    "real_if_close": [lambda s: np.real_if_close(s.v)],
    "require": [as_required],
    "reshape": [
        lambda s: np.reshape(s.b, (4, 6)),
        lambda s: np.reshape(s.b.T, (6, 4), copy=None),
        lambda s: np.reshape(s.b, -1, copy=True),
    ],
    "rollaxis": [lambda s: np.rollaxis(s.b, 2), lambda s: np.rollaxis(s.b, 1, 1)],
    "rot90": [lambda s: np.rot90(s.b, 3, (1, 2))],
    "split": [lambda s: np.split(s.v, 3), lambda s: np.split(s.b, [1, 3, 5], -1)],
    "squeeze": [lambda s: np.squeeze(s.b[:1]), lambda s: np.squeeze(s.b), lambda s: np.squeeze(s.b[:, :1], 1)],
    "swapaxes": [lambda s: np.swapaxes(s.b, 0, -1)],
    "transpose": [lambda s: np.transpose(s.b), lambda s: np.transpose(s.b, (-1, 0, 1))],
    "unstack": [lambda s: np.unstack(s.b), lambda s: np.unstack(s.b, axis=-1)],
    "vsplit": [lambda s: np.vsplit(s.m, 3)],
}
"""Those that may give a view, or their argument itself; and some that look as if they would."""

NEW: dict[str, Call] = {
    "all": lambda s: np.all(s.m, 0),
    "amax": lambda s: np.amax(s.m, 0),
    "amin": lambda s: np.amin(s.m, 0),
    "angle": lambda s: np.angle(s.z),
    "any": lambda s: np.any(s.m, 0),
    "allclose": lambda s: np.allclose(s.m, s.m),
    "apply_over_axes": lambda s: np.apply_over_axes(np.sum, s.b, [0, 2]),
    "argmax": lambda s: np.argmax(s.m, 0),
    "argmin": lambda s: np.argmin(s.m, 0),
    "argpartition": lambda s: np.argpartition(s.v, 2),
    "argsort": lambda s: np.argsort(s.v),
    "around": lambda s: np.around(s.i),
    "array_equal": lambda s: np.array_equal(s.m, s.m),
    "array_equiv": lambda s: np.array_equiv(s.m, s.m),
    "average": lambda s: np.average(s.m, 0),
    "choose": lambda s: np.choose(s.i % 2, [s.v[:4], s.v[2:]]),
    "clip": lambda s: np.clip(s.m, 0, 9),
    "column_stack": lambda s: np.column_stack([s.v]),
    "concat": lambda s: np.concat([s.v]),
    "concatenate": lambda s: np.concatenate([s.m]),
    "convolve": lambda s: np.convolve(s.v, s.v[:2]),
    "corrcoef": lambda s: np.corrcoef(s.m),
    "correlate": lambda s: np.correlate(s.v, s.v[:2]),
    "count_nonzero": lambda s: np.count_nonzero(s.m, 0),
    "cov": lambda s: np.cov(s.m),
    "cross": lambda s: np.cross(s.m, s.m[0]),
    "cumprod": lambda s: np.cumprod(s.v),
    "cumsum": lambda s: np.cumsum(s.m, 0),
    "cumulative_prod": lambda s: np.cumulative_prod(s.v),
    "cumulative_sum": lambda s: np.cumulative_sum(s.v),
    "delete": lambda s: np.delete(s.v, []),
    "diagflat": lambda s: np.diagflat(s.v),
    "diag_indices_from": lambda s: np.diag_indices_from(s.m),
    "digitize": lambda s: np.digitize(s.v, np.arange(3.0)),
    "dot": lambda s: np.dot(s.m, s.m),
    "dstack": lambda s: np.dstack([s.m]),
    "ediff1d": lambda s: np.ediff1d(s.v),
    "empty_like": lambda s: np.empty_like(s.m),
    "fix": lambda s: vars(np)["fix"](s.v),
    "full_like": lambda s: np.full_like(s.m, 1),
    "gradient": lambda s: np.gradient(s.v),
    "histogram": lambda s: np.histogram(s.v, 3, (0, 6)),
    "histogram2d": lambda s: np.histogram2d(s.v, s.v, 3, [[0, 6], [0, 6]]),
    "histogram_bin_edges": lambda s: np.histogram_bin_edges(s.v, 3, (0, 6)),
    "histogramdd": lambda s: np.histogramdd(s.m, 3, [(0, 6), (0, 6), (0, 6)]),
    "hstack": lambda s: np.hstack([s.v]),
    "i0": lambda s: np.i0(s.v),
    "inner": lambda s: np.inner(s.m, s.m),
    "insert": lambda s: np.insert(s.v, 0, s.v[0]),
    "interp": lambda s: np.interp(s.v, np.arange(3.0), np.arange(3.0)),
    "isclose": lambda s: np.isclose(s.m, s.m),
    "iscomplex": lambda s: np.iscomplex(s.z),
    "iscomplexobj": lambda s: np.iscomplexobj(s.z),
    "isin": lambda s: np.isin(s.i, s.i),
    "isneginf": lambda s: np.isneginf(s.v),
    "isposinf": lambda s: np.isposinf(s.v),
    "isreal": lambda s: np.isreal(s.v),
    "isrealobj": lambda s: np.isrealobj(s.v),
    "kron": lambda s: np.kron(s.m, s.m),
    "lexsort": lambda s: np.lexsort((s.v, s.v)),
    "linspace": lambda s: np.linspace(s.v, s.v, 3),
    "max": lambda s: np.max(s.m, ()),
    "mean": lambda s: np.mean(s.m, 0),
    "median": lambda s: np.median(s.m, 0),
    "min": lambda s: np.min(s.m, 0),
    "nanargmax": lambda s: np.nanargmax(s.m, 0),
    "nanargmin": lambda s: np.nanargmin(s.m, 0),
    "nancumprod": lambda s: np.nancumprod(s.v),
    "nancumsum": lambda s: np.nancumsum(s.v),
    "nanmax": lambda s: np.nanmax(s.m, 0),
    "nanmean": lambda s: np.nanmean(s.m, 0),
    "nanmedian": lambda s: np.nanmedian(s.m, 0),
    "nanmin": lambda s: np.nanmin(s.m, 0),
    "nanpercentile": lambda s: np.nanpercentile(s.m, 20, 0),
    "nanprod": lambda s: np.nanprod(s.m, 0),
    "nanquantile": lambda s: np.nanquantile(s.m, 0.2, 0),
    "nanstd": lambda s: np.nanstd(s.m, 0),
    "nansum": lambda s: np.nansum(s.m, ()),
    "nanvar": lambda s: np.nanvar(s.m, 0),
    "ones_like": lambda s: np.ones_like(s.m),
    "outer": lambda s: np.outer(s.v, s.v),
    "packbits": lambda s: np.packbits(s.t),
    "pad": lambda s: np.pad(s.v, 0),
    "partition": lambda s: np.partition(s.v, 2),
    "percentile": lambda s: np.percentile(s.m, 20, 0),
    "poly": lambda s: np.poly(s.v),
    "polyadd": lambda s: np.polyadd(s.v, s.v),
    "polydiv": lambda s: np.polydiv(s.v, s.v[:2]),
    "polyfit": lambda s: np.polyfit(s.v, s.v, 1),
    "polymul": lambda s: np.polymul(s.v, s.v),
    "polysub": lambda s: np.polysub(s.v, s.v),
    "polyval": lambda s: np.polyval(s.v, s.v),
    "prod": lambda s: np.prod(s.m, 0),
    "ptp": lambda s: np.ptp(s.m, 0),
    "quantile": lambda s: np.quantile(s.m, 0.2, 0),
    "ravel_multi_index": lambda s: np.ravel_multi_index((s.i, s.i), (3, 3)),
    "repeat": lambda s: np.repeat(s.v, 1),
    "resize": lambda s: np.resize(s.v, (6,)),
    "roll": lambda s: np.roll(s.v, 0),
    "round": lambda s: np.round(s.i),
    "searchsorted": lambda s: np.searchsorted(s.v, s.v),
    "select": lambda s: np.select([s.t], [s.i]),
    "sinc": lambda s: np.sinc(s.v),
    "sort": lambda s: np.sort(s.m, 0),
    "stack": lambda s: np.stack([s.m]),
    "std": lambda s: np.std(s.m, 0),
    "sum": lambda s: np.sum(s.m, ()),
    "take": lambda s: np.take(s.m, 1, 0),
    "take_along_axis": lambda s: np.take_along_axis(s.v, s.i, 0),
    "tensordot": lambda s: np.tensordot(s.m, s.m, 1),
    "tile": lambda s: np.tile(s.v, 1),
    "trace": lambda s: np.trace(s.b),
    "trapezoid": lambda s: np.trapezoid(s.m),
    "tril": lambda s: np.tril(s.m),
    "tril_indices_from": lambda s: np.tril_indices_from(s.m),
    "triu": lambda s: np.triu(s.m),
    "triu_indices_from": lambda s: np.triu_indices_from(s.m),
    "unpackbits": lambda s: np.unpackbits(s.i.astype(np.uint8)),
    "unravel_index": lambda s: np.unravel_index(s.i, (3, 3)),
    "unwrap": lambda s: np.unwrap(s.v),
    "vander": lambda s: np.vander(s.v),
    "var": lambda s: np.var(s.m, 0),
    "vdot": lambda s: np.vdot(s.v, s.v),
    "vstack": lambda s: np.vstack([s.m]),
    "where": lambda s: np.where(s.t, s.i, s.i),
    "zeros_like": lambda s: np.zeros_like(s.m),
    "geomspace": lambda s: np.geomspace(s.v, s.v, 3),
    "logspace": lambda s: np.logspace(s.v, s.v, 3),
    "extract": lambda s: np.extract(s.t, s.i),
    "compress": lambda s: np.compress(s.t, s.i),
    "argwhere": lambda s: np.argwhere(s.v),
    "bincount": lambda s: np.bincount(s.i),
    "flatnonzero": lambda s: np.flatnonzero(s.v),
    "nonzero": lambda s: np.nonzero(s.v),
    "intersect1d": lambda s: np.intersect1d(s.v, s.v),
    "setdiff1d": lambda s: np.setdiff1d(s.v, s.v),
    "setxor1d": lambda s: np.setxor1d(s.v, s.v),
    "union1d": lambda s: np.union1d(s.v, s.v),
    "unique": lambda s: np.unique(s.v),
    "unique_all": lambda s: np.unique_all(s.v),
    "unique_counts": lambda s: np.unique_counts(s.v),
    "unique_inverse": lambda s: np.unique_inverse(s.v),
    "unique_values": lambda s: np.unique_values(s.v),
    "trim_zeros": lambda s: np.trim_zeros(s.v),
    "roots": lambda s: np.roots(s.v),
    "sort_complex": lambda s: np.sort_complex(s.z),
    "piecewise": lambda s: np.piecewise(s.v, [s.v > 2], [1, lambda v: v * 2]),
}
"""Those that give new arrays, numbers or nothing that is an array; some can't be had while a function is compiled."""

CALLS.update(
    {
        "lib.stride_tricks.as_strided": [as_strided_views],
        "lib.stride_tricks.sliding_window_view": [
            lambda s: sliding_window_view(s.v, 3),
            lambda s: sliding_window_view(s.m, (2, 2), writeable=True),
            lambda s: sliding_window_view(s.b, 2, -1)[::2],
        ],
        "linalg.diagonal": [lambda s: np.linalg.diagonal(s.b), lambda s: np.linalg.diagonal(s.b, offset=-1)],
        "linalg.matrix_power": [lambda s: np.linalg.matrix_power(s.m, 1), lambda s: np.linalg.matrix_power(s.m, 2)],
        "ndenumerate": [enumerated],
    }
)

WRITES: dict[str, Call] = {
    "copyto": lambda s: np.copyto(s.b.T[1:], s.v[:2]),
    "fill_diagonal": lambda s: [np.fill_diagonal(s.m.T, s.v[:2]), np.fill_diagonal(s.b[0], 7, wrap=True)],
    "place": lambda s: np.place(s.v[::-1], s.v > 3, s.v[:2]),
    "put": lambda s: [np.put(s.m[::-1], s.i, s.v), np.put(s.v, s.i + 5, 1, mode="clip")],
    "put_along_axis": lambda s: np.put_along_axis(s.m[:, ::2], s.m[:, :1].astype(int) % 2, 9, 1),
    "putmask": lambda s: np.putmask(s.v[::-1], s.v > 3, s.v[:4]),
    "ndarray.fill": lambda s: s.b[:, 1, ::2].fill(7),
    "ndarray.partition": lambda s: s.m[:, ::-1].partition(1),
    "ndarray.put": lambda s: s.v[::2].put([0, -1], 9),
    "ndarray.setfield": lambda s: s.z.setfield(s.v[:2], np.float64, 8),
    "ndarray.sort": lambda s: s.m.T[::2].sort(),
    "ndarray.take": lambda s: s.v.take([1, 0, 2], out=s.m.T[1]),
    "ndarray.compress": lambda s: s.m.compress([True, False, True], 0, out=s.b[0, 1:, 1:]),
    "ndarray.__setitem__": lambda s: [s.b[:, s.i[:2]].__setitem__(0, 5), s.b[0].T[s.i, 1:].__setitem__(0, 5)],
    "ufunc": lambda s: [np.add(s.v[1:], s.v[:-1], out=s.v[1:]), np.multiply(s.m, s.m.T, out=s.m[::-1])],
    "ufunc.at": lambda s: np.add.at(s.v[::-1], s.i, 10),
    "view": lambda s: [
        s.v[1:].view(np.int64).__ior__(1),
        s.i.view(np.int8)[1::4].__iadd__(3),
        s.t.view(np.uint8).fill(0),
    ],
    "view of complex numbers": lambda s: [s.z.view(float)[1:].__imul__(2), s.v[:4].view(complex).__isub__(1j)],
    "getfield": lambda s: [s.v.getfield(np.int32, 4).__iand__(0x7FF00000), s.b.T.getfield(np.float64).__iadd__(1)],
}
"""Functions and methods that write to views."""

METHODS: dict[str, list[Call]] = {
    "T": [lambda s: s.b.T, lambda s: s.v.T],
    "mT": [lambda s: s.b.mT],
    "astype": [
        lambda s: s.m.astype(float, copy=False),
        lambda s: s.m.T.astype(float, "C", copy=False),
        lambda s: s.t.astype(int),
    ],
    "conj": [lambda s: s.v.conj(), lambda s: s.z.conj()],
    "conjugate": [lambda s: s.i.conjugate(), lambda s: s.z.conjugate()],
    "copy": [lambda s: s.b.copy(), lambda s: s.b.T.copy("K")],
    "diagonal": [lambda s: s.b.diagonal(0, 1, 2)],
    "flatten": [lambda s: s.v.flatten(), lambda s: s.b.T.flatten("A")],
    "flat": [lambda s: [np.sum(s.m.T.flat), s.m.flat[1:3], s.m.flat.copy()]],
    "flags": [
        lambda s: [s.m.T.flags.f_contiguous, s.m.flags["C_CONTIGUOUS"], s.b[::2].flags.contiguous, np.isfortran(s.m.T)]
    ],
    "getfield": [lambda s: s.v.getfield(np.int16, 2), lambda s: s.z.T.getfield(np.float64, 8)],
    "imag": [lambda s: s.z.imag, lambda s: s.v.imag],
    "real": [lambda s: s.z.real, lambda s: s.v.real],
    "ravel": [
        lambda s: s.b.ravel(),
        lambda s: s.b.T.ravel("K"),
        lambda s: s.v[::2].ravel(),
        lambda s: s.v[::2].ravel("K"),
    ],
    "reshape": [
        lambda s: s.v[::2].reshape(-1, 1),
        lambda s: s.b.T.reshape(-1, order="F"),
        lambda s: s.b.swapaxes(0, 1).reshape(-1),
    ],
    "round": [lambda s: s.i.round()],
    "squeeze": [lambda s: s.v.squeeze(), lambda s: s.b[:1].squeeze(0)],
    "swapaxes": [lambda s: s.b.swapaxes(-1, 0)],
    "transpose": [lambda s: s.b.transpose(), lambda s: s.b.transpose(2, 0, 1), lambda s: s.b.transpose((-1, 0, 1))],
    "view": [
        lambda s: s.v.view(),
        lambda s: s.v.view(np.int64),
        lambda s: s.b.view(np.float32),
        lambda s: s.b.view(np.complex128),
        lambda s: s.z.view(np.float64),
        lambda s: s.t.view(np.int8),
        lambda s: s.i.view(np.uint8)[3:],
        lambda s: s.b[::-1].view(np.int16),
    ],
    "__getitem__": [
        lambda s: s.b[..., None, ::-1, 1],
        lambda s: s.b[0, s.i[:2]],
        lambda s: s.b[:, 1:2, s.i],
        lambda s: s.b[...],
        lambda s: s.v[()],
        lambda s: s.m[s.m[0] > 100, 0] if False else s.m[[True, False, True]],
        lambda s: s.v[s.i[0] : s.i[0] + 0] if False else s.v[0:0],
    ],
    "__pos__": [lambda s: +s.v],
    "__copy__": [lambda s: s.v.__copy__()],
    "__deepcopy__": [lambda s: s.v.__deepcopy__({})],
    "__contains__": [lambda s: 2 in np.arange(3)],
}
"""Methods that may give a view, or the array itself."""

ORDERS: dict[str, list[Call]] = {
    "ufuncs": [
        lambda s: s.b.T + 1,
        lambda s: s.m.T + s.m.T,
        lambda s: s.m.T + s.m,
        lambda s: s.b.transpose(1, 0, 2) * s.b.transpose(1, 0, 2)[:1],
        lambda s: np.add(s.b, 1, order="F"),
        lambda s: np.sqrt(s.b[::-1].T),
        lambda s: np.divmod(s.b.T, 2),
        lambda s: np.modf(s.b.T),
        lambda s: np.matmul(s.b.T[..., :], s.b.transpose(2, 0, 1)),
        lambda s: s.m.T @ s.m,
        lambda s: np.add.reduce(s.b.T, axis=1),
        lambda s: np.add.accumulate(s.b.T, axis=1),
        lambda s: np.multiply.outer(s.m.T, s.v),
        lambda s: -np.broadcast_to(s.b[:, :1], (2, 3, 4)),
        lambda s: s.b.T > 3,
        lambda s: np.where(s.b.T > 3, s.b.T, 0),
        lambda s: s.b.swapaxes(0, 1) ** 2 + s.v[:4],
    ],
    "advanced indices": [
        lambda s: s.b[:, [0, 2]],
        lambda s: s.b[[0, 1]],
        lambda s: s.b.T[[0, 1]],
        lambda s: s.b[..., s.i],
        lambda s: s.b[:, s.i[:2], 1:3],
        lambda s: s.b[s.i[:2] % 2, :, s.i[:2]],
        lambda s: s.b[0, :, s.i],
        lambda s: s.b[:, np.array([[0, 1], [1, 2]]).T],
        lambda s: s.m[:, np.array([True, False, True])],
        lambda s: s.m[np.array([True, False, True])],
        lambda s: s.b[None, :, [0, 1]],
        lambda s: s.b[:, None, [0, 1]],
        lambda s: s.b.T[1:, ::-1][:, s.i],
        lambda s: s.b[:, 0][:, s.i.reshape(2, 2)],
        lambda s: s.b[np.array([[True, False, True], [False, True, True]])],
        lambda s: s.b[s.i[0] % 2, :, s.i],
    ],
    "copies": [
        lambda s: s.b.T.copy(),
        lambda s: np.copy(s.b.T),
        lambda s: s.b.T.astype(np.float32),
        lambda s: np.zeros_like(s.b.T),
        lambda s: np.empty_like(s.b.transpose(1, 2, 0)),
        lambda s: np.full_like(s.b.T, 2, order="C"),
        lambda s: np.ones_like(s.b, order="F"),
        lambda s: np.sort(s.b.T, 0),
        lambda s: np.cumsum(s.b.T, 0),
        lambda s: np.clip(s.b.T, 0, 9),
        lambda s: np.round(s.b.T),
        lambda s: np.concatenate([s.m.T, s.m.T]),
        lambda s: np.stack([s.m.T, s.m.T], 1),
        lambda s: np.roll(s.b.T, 1, 0),
        lambda s: np.tile(s.m.T, 2),
        lambda s: np.repeat(s.m.T, 2, 1),
        lambda s: np.pad(s.m.T, 1),
        lambda s: np.take(s.b.T, [0, 1], 1),
        lambda s: np.sum(s.b.T, 0),
        lambda s: s.b.T.mean(1),
        lambda s: np.mean(s.b.transpose(1, 0, 2), 2),
        lambda s: np.max(s.b.T, 2, keepdims=True),
        lambda s: np.argsort(s.b.T, 1),
        lambda s: np.cross(s.m.T, s.m.T),
        lambda s: np.cross(s.b, s.b, axis=1),
        lambda s: np.linspace(s.v, s.v, 3, axis=1),
        lambda s: np.einsum("ij,jk->ki", s.m, s.m),
        lambda s: np.tensordot(s.b.T, s.m[:, :2].T, 0),
        lambda s: np.linalg.inv(s.m.T),
        lambda s: np.linalg.solve(s.m.T, s.m.T),
        lambda s: np.dot(s.m.T, s.m),
        lambda s: np.tril(s.m.T),
        lambda s: np.diff(s.b.T, axis=0),
        lambda s: np.gradient(s.m.T),
        lambda s: np.fft.fft(s.b.T, axis=0).real,
        lambda s: np.median(s.b.T, 0),
        lambda s: np.quantile(s.b.T, np.array([0.1, 0.2]), 0),
        lambda s: np.nan_to_num(s.b.T),
        lambda s: np.isclose(s.m.T, s.m.T),
        lambda s: np.take_along_axis(s.m.T, s.m.T.astype(int) % 3, 0),
        lambda s: np.compress([True, False, True], s.m.T, 1),
        lambda s: np.delete(s.b.T, 1, 0),
        lambda s: np.insert(s.m.T, 0, 1, 1),
        lambda s: np.append(s.m.T, s.m.T, 1),
        lambda s: np.kron(s.m.T, s.m),
        lambda s: np.outer(s.v, s.v),
        lambda s: np.select([s.m.T > 1], [s.m.T]),
        lambda s: np.choose(s.m.T.astype(int) % 2, [s.m.T, s.m.T]),
        lambda s: np.linalg.svd(s.m.T),
        lambda s: np.linalg.qr(s.m.T),
        lambda s: np.linalg.eigh(s.m.T),
        lambda s: np.linalg.cholesky(s.m.T),
        lambda s: np.vander(s.v),
        lambda s: np.meshgrid(s.v, s.i),
        lambda s: np.nanmedian(s.b.T, 1),
        lambda s: np.nanpercentile(s.b, np.array([10, 20]), 0),
        lambda s: np.partition(s.b.T, 1, 0),
        lambda s: np.diagflat(s.v),
        lambda s: np.block([[s.m.T, s.m]]),
        lambda s: np.hstack([s.m.T, s.m.T]),
        lambda s: np.interp(s.m.T, s.v, s.v),
        lambda s: np.digitize(s.m.T, s.v[:1]),
        lambda s: np.unwrap(s.m.T),
        lambda s: np.ptp(s.b.T, 0),
        lambda s: np.average(s.b.T, 0),
        lambda s: np.resize(s.m.T, (4, 4)),
        lambda s: s.m.T.flatten().reshape(3, 3),
        lambda s: np.triu_indices_from(s.m),
        lambda s: np.searchsorted(s.v, s.m.T),
        lambda s: np.angle(s.b.T),
        lambda s: np.trace(s.b.transpose(2, 1, 0)),
        lambda s: s.b.T.var(0),
        lambda s: np.cov(s.m.T),
        lambda s: np.isin(s.m.T, s.m),
        lambda s: np.sinc(s.m.T),
        lambda s: np.real(s.b.T + 1j),
        lambda s: np.count_nonzero(s.b.T, 0),
    ],
}
"""Functions that give new arrays, of arrays that do not lie in C order, and those that give arrays in another order."""
