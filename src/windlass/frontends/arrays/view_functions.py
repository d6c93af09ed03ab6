"""NumPy's functions that give views, or their argument itself: what shares memory in NumPy shares it here.

`view_of` is asked before anything is computed. Which elements a view shows, and how they lie, NumPy itself says, on the
array's shadow (see `views.py`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.frontends.arrays.array import Array, Scalar, strongly_typed
from windlass.frontends.arrays.views import Strided, Windows


def view_of(function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What a function of NumPy gives without a new array; NotImplemented where it makes one."""
    home = (getattr(function, "__module__", "") or "").removeprefix("numpy").strip(".").split(".")[0]
    name = function.__name__ if home != "linalg" else f"linalg.{function.__name__}"
    if name not in PARTS:
        arguments = [Scalar(strongly_typed(each.value)) if isinstance(each, Scalar) else each for each in arguments]
    if name in OF_SEVERAL:
        return OF_SEVERAL[name](*arguments, **options)
    if name == "einsum":
        return _rename_axes(arguments, options)
    if not arguments or not isinstance(arguments[0], Array):
        return NotImplemented
    if name in VIEWS:
        return VIEWS[name](*arguments, **options)
    if name in ITSELF and ITSELF[name](*arguments, **options):
        return arguments[0]
    return NotImplemented


# -- axes -------------------------------------------------------------------------------------------------------------


def _flip(array: Array, axis: Any = None) -> Array:
    axes = range(array.ndim) if axis is None else _axes(axis, array.ndim)
    return array[tuple(slice(None, None, -1) if each in axes else slice(None) for each in range(array.ndim))]


def _axes(axis: Any, rank: int) -> tuple[int, ...]:
    """The axes, counted from 0, as NumPy takes them: one or several.

    Raises numpy.exceptions.AxisError for one that there is not.
    """
    return np.lib.array_utils.normalize_axis_tuple(axis, rank)


def _rotate(array: Array, k: int = 1, axes: Sequence[int] = (0, 1)) -> Array:
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    if array.ndim < 2 or axes[0] % array.ndim == axes[1] % array.ndim:
        raise ValueError("Axes must be different.")
    first, second = (_axes(axis, array.ndim)[0] for axis in axes)
    turns = k % 4
    if turns in (0, 2):
        return _flip(_flip(array, first), second) if turns else array.view()
    return _flip(array, second).swapaxes(first, second) if turns == 1 else _flip(array.swapaxes(first, second), second)


def _expand(array: Array, axis: Any) -> Array:
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    rank = array.ndim + len(cast("Sequence[Any]", axes))
    inserted = _axes(axis, rank)
    return array[tuple(None if each in inserted else slice(None) for each in range(rank))]


def _permuted(how: Callable[..., Any]) -> Callable[..., Array]:
    """A function that moves axes: the permutation is read off what it makes of extents that are all different."""

    def permute(array: Array, *rest: Any, **options: Any) -> Array:
        probe = how(np.broadcast_to(0, tuple(range(1, array.ndim + 1))), *rest, **options)
        return array.transpose(tuple(extent - 1 for extent in probe.shape))

    return permute


def _split(how: Callable[..., Any], array: Array, sections: Any, axis: int) -> list[Array]:
    """The views that NumPy's function gives, by what it gives for the numbers along the axis."""
    (axis,) = _axes(axis, array.ndim)
    parts = how(np.arange(array.shape[axis]), sections)
    starts = [int(part[0]) if part.size else 0 for part in parts]
    return [
        array[(*(slice(None),) * axis, slice(start, start + part.size))]
        for start, part in zip(starts, parts, strict=True)
    ]


def _split_along(axis: int, least: int) -> Callable[..., list[Array]]:
    """`hsplit`, `vsplit`, `dsplit`, of arrays that have at least so many axes."""

    def split(ary: Array, indices_or_sections: Any) -> list[Array]:
        if ary.ndim < least:
            raise ValueError(f"{'hvd'[axis]}split only works on arrays of {least} or more dimensions")
        return _split(np.split, ary, indices_or_sections, min(axis, ary.ndim - 1))

    return split


def _unstack(array: Array, axis: int = 0) -> tuple[Array, ...]:
    if not array.ndim:
        raise ValueError("Input array must be at least 1-d.")
    (axis,) = _axes(axis, array.ndim)
    return tuple(array[(*(slice(None),) * axis, number)] for number in range(array.shape[axis]))


def _rename_axes(arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What `einsum` gives of one array where it only renames axes; NotImplemented otherwise.

    NumPy itself tells, for an array whose strides are powers of two: those of its view are their sums.
    """
    given = [each for each in arguments if isinstance(each, Array)]
    if len(given) != 1 or any(isinstance(each, np.ndarray | jax.Array) for each in arguments):
        return NotImplemented
    (array,) = given
    if options.get("out") is not None or array.is_scalar or not array.size:
        return NotImplemented

    def of(other: Any) -> Any:
        return np.einsum(*(other if each is array else each for each in arguments), **options)

    probe = np.lib.stride_tricks.as_strided(
        np.zeros(1 << array.ndim, np.int8),
        [min(extent, 2) for extent in array.shape],
        [1 << axis for axis in range(array.ndim)],
    )
    found = of(probe)
    if not isinstance(found, np.ndarray) or not np.shares_memory(found, probe):
        return NotImplemented
    groups = [[axis for axis in range(array.ndim) if stride >> axis & 1] for stride in found.strides]
    found, places = array, list(range(array.ndim))
    for group in groups:
        for axis in group[1:]:
            found = found.diagonal(0, places.index(group[0]), places.index(axis))
            places = [each for each in places if each not in (group[0], axis)] + [group[0]]
    found = found.transpose(tuple(places.index(group[0]) for group in groups))
    return Array(None, array.storage, found.steps, of(array.shadow))


# -- extents ----------------------------------------------------------------------------------------------------------


def _at_least(how: Callable[..., Any]) -> Callable[..., Any]:
    """`atleast_1d` and its kin; the array itself where it has the axes."""

    def add_axes(*arrays: Any) -> Any:
        found: list[Any] = []
        for array in arrays:
            given = array if isinstance(array, Array) else Array(np.asarray(array))
            shadow = how(given.shadow)
            found.append(given if shadow is given.shadow else given.reshape(shadow.shape))
        return found[0] if len(found) == 1 else tuple(found)

    return add_axes


def _broadcast_all(*arrays: Any, subok: bool = False) -> tuple[Any, ...]:
    given = [each if isinstance(each, Array) else Array(np.asarray(each)) for each in arrays]
    shape = np.broadcast_shapes(*(each.shape for each in given))
    return tuple(each if each.shape == shape else each.broadcast_to(shape, is_writeable=True) for each in given)


def _mesh(*axes: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """`meshgrid`, whose grids are views with copy=False."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    given = [each if isinstance(each, Array) else Array(np.asarray(each)) for each in axes]
    grids = [
        each.reshape(tuple(-1 if number == place else 1 for number in range(len(given))))
        for place, each in enumerate(given)
    ]
    if indexing == "xy" and len(grids) > 1:
        rest = (1,) * (len(grids) - 2)
        grids[:2] = [grids[0].reshape((1, -1, *rest)), grids[1].reshape((-1, 1, *rest))]
    shown = grids if sparse else _broadcast_all(*grids)
    return tuple(each.copy() if copy else each for each in shown)


def _open_mesh(*arguments: Any) -> tuple[Any, ...]:
    """`ix_`: views of the indices; where they are masks, which elements they pick has to be known."""
    found: list[Any] = []
    for place, each in enumerate(arguments):
        index = each if isinstance(each, Array) else Array(np.asarray(each))
        if index.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if index.dtype == np.bool_:
            (index,) = np.nonzero(cast("Any", index))
        elif not index.size:
            index = index.astype(np.intp)
        found.append(index.reshape(tuple(-1 if number == place else 1 for number in range(len(arguments)))))
    return tuple(found)


# -- windows, and any view --------------------------------------------------------------------------------------------


def _windows(x: Array, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False) -> Array:
    """`sliding_window_view`."""
    shadow = sliding_window_view(x.shadow, window_shape, axis, writeable=writeable)
    extents = window_shape if isinstance(window_shape, tuple | list) else (window_shape,)
    axes = (
        range(x.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    )
    step = Windows(tuple(operator.index(each) for each in cast("Sequence[Any]", extents)), tuple(axes))
    return Array(None, x.storage, (*x.steps, step), shadow)


def strided_view(
    x: Array, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True, **options: Any
) -> Array:
    """`numpy.lib.stride_tricks.as_strided`: the elements at these distances in memory, counted in bytes.

    Raises WindlassError (WL0909) where the memory is not one array in C order, and ArrayIndexError where the view
    would reach beyond it.
    """
    extents = x.shape if shape is None else tuple(operator.index(each) for each in shape)
    distances = x.strides if strides is None else tuple(operator.index(each) for each in strides)
    start = x.first_element()
    if start is None or any(each % x.itemsize for each in distances):
        raise WindlassError(
            Diagnostic(
                "WL0909",
                "numpy.lib.stride_tricks.as_strided of this view is not supported inside wl.jit",
                notes=("where its elements lie is not known, or the strides count parts of elements",),
                help="make it of a copy, a.copy(), or of the array that it is a view of",
            )
        )
    steps = tuple(each // x.itemsize for each in distances)
    reach = [(extent - 1) * step for extent, step in zip(extents, steps, strict=True)]
    low, high = start + sum(min(each, 0) for each in reach), start + sum(max(each, 0) for each in reach)
    if 0 not in extents and (low < 0 or high >= x.storage.value.size):
        raise IndexError(
            f"a strided view of elements {low} to {high} does not fit in the memory of {x.storage.value.size} elements"
        )
    shadow = np.lib.stride_tricks.as_strided(x.shadow, extents, distances, writeable=writeable)
    return Array(None, x.storage, (Strided(start, extents, steps),), shadow)


# -- what is said of memory -------------------------------------------------------------------------------------------


def share_memory(function: Callable[..., Any], first: Any, second: Any, max_work: Any = None) -> bool:
    """What `shares_memory` and `may_share_memory` give.

    Raises WindlassError (WL0904) where it depends on traced indices.
    """
    if not isinstance(first, Array) or not isinstance(second, Array):
        return False
    may_be_one = second.storage in first.storage.may_be
    if first.storage is not second.storage and not may_be_one:
        return False
    if not may_be_one and first.is_static and second.is_static:
        return bool(function(first.shadow, second.shadow, max_work))
    if function is np.may_share_memory:
        return True
    raise WindlassError(
        Diagnostic(
            "WL0904",
            "whether these views share elements is not known while the function is compiled",
            help="ask numpy.may_share_memory",
        )
    )


# -- tables -----------------------------------------------------------------------------------------------------------


def _diag(v: Array, k: int = 0) -> Any:
    return v.diagonal(k) if v.ndim == 2 else NotImplemented


def _without_nan(x: Array, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """`nan_to_num`, in place with copy=False."""
    if copy or x.is_scalar:
        return NotImplemented
    if x.dtype.kind in "fc":
        x.assign(jnp.nan_to_num(x.value, nan=nan, posinf=posinf, neginf=neginf))
    return x


def _real_if_close(a: Array, tol: float = 100) -> Any:
    if a.dtype.kind != "c":
        return a
    raise WindlassError(
        Diagnostic(
            "WL0904",
            "whether numpy.real_if_close gives real or complex numbers is not known while the function is compiled",
            help="take a.real where the imaginary parts do not count",
        )
    )


PARTS = frozenset({"real", "imag"})
"""What gives the attribute of a number as it is."""
VIEWS: dict[str, Callable[..., Any]] = {
    "astype": lambda x, dtype, /, *, copy=True, device=None: x.astype(dtype, copy=copy),
    "array_split": lambda ary, indices_or_sections, axis=0: _split(np.array_split, ary, indices_or_sections, axis),
    "broadcast_to": lambda array, shape, subok=False: array.broadcast_to(shape),
    "copy": lambda a, order="K", subok=False: a.copy(order),
    "diag": _diag,
    "diagonal": lambda a, offset=0, axis1=0, axis2=1: a.diagonal(offset, axis1, axis2),
    "dsplit": _split_along(2, 3),
    "expand_dims": _expand,
    "flip": lambda m, axis=None: _flip(m, axis),
    "fliplr": lambda m: _flip(m, 1),
    "flipud": lambda m: _flip(m, 0),
    "hsplit": _split_along(1, 1),
    "imag": lambda val: val.imag,
    "linalg.diagonal": lambda x, /, *, offset=0: x.diagonal(offset, -2, -1),
    "linalg.matrix_transpose": lambda x, /: x.mT,
    "matrix_transpose": lambda x, /: x.mT,
    "moveaxis": _permuted(np.moveaxis),
    "nan_to_num": _without_nan,
    "permute_dims": lambda a, axes=None: a.transpose(axes),
    "ravel": lambda a, order="C": a.ravel(order),
    "real": lambda val: val.real,
    "real_if_close": _real_if_close,
    "reshape": lambda a, /, shape, order="C", *, copy=None: a.reshape(shape, order=order, copy=copy),
    "rollaxis": _permuted(np.rollaxis),
    "rot90": lambda m, k=1, axes=(0, 1): _rotate(m, k, axes),
    "sliding_window_view": _windows,
    "split": lambda ary, indices_or_sections, axis=0: _split(np.split, ary, indices_or_sections, axis),
    "squeeze": lambda a, axis=None: a.squeeze(axis),
    "swapaxes": lambda a, axis1, axis2: a.swapaxes(axis1, axis2),
    "transpose": lambda a, axes=None: a.transpose(axes),
    "unstack": lambda x, /, *, axis=0: _unstack(x, axis),
    "vsplit": _split_along(0, 2),
}  # fmt: skip
"""Functions whose result shares the memory of their first argument, or lies as it does."""
OF_SEVERAL: dict[str, Callable[..., Any]] = {
    "atleast_1d": _at_least(np.atleast_1d),
    "atleast_2d": _at_least(np.atleast_2d),
    "atleast_3d": _at_least(np.atleast_3d),
    "broadcast_arrays": _broadcast_all,
    "ix_": _open_mesh,
    "meshgrid": _mesh,
}
"""The same of several arrays."""
ITSELF: dict[str, Callable[..., bool]] = {
    "diff": lambda a, n=1, *rest, **options: n == 0,
    "linalg.matrix_power": lambda a, n: n == 1,
    "polyder": lambda p, m=1: m == 0,
    "polyint": lambda p, m=1, k=None: m == 0,
}
"""Functions that give their argument itself where there is nothing to do."""
