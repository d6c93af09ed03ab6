"""NumPy's functions on `Array`s: computed by jax.numpy, with NumPy's result types, `out=` and views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.frontends.arrays.array import ANSWERS, Array
from windlass.frontends.arrays.index_functions import CHANGING, INDEXED
from windlass.frontends.arrays.operands import deliver, is_known, shape_from_data, unsupported, unwrapped, unwrapped_all
from windlass.frontends.arrays.promotion import dtype_or_number, typed_call
from windlass.frontends.arrays.ufuncs import apply_ufunc

VIEWS: dict[str, Callable[..., Any]] = {
    "transpose": lambda a, axes=None: a.transpose(axes),
    "reshape": lambda a, shape, order="C", copy=None: a.reshape(shape, order=order, copy=copy),
    "ravel": lambda a, order="C": a.ravel(order),
    "squeeze": lambda a, axis=None: a.squeeze(axis),
    "swapaxes": lambda a, axis1, axis2: a.swapaxes(axis1, axis2),
    "real": lambda val: val.real,
    "imag": lambda val: val.imag,
    "flip": lambda m, axis=None: _flip(m, axis),
    "expand_dims": lambda a, axis: _expand(a, axis),  # noqa: PLW0108 (defined below)
    "atleast_1d": lambda a: a if a.ndim else a.reshape(1),
    "atleast_2d": lambda a: a if a.ndim > 1 else a.reshape(1, -1),
    "flipud": lambda m: _flip(m, 0),
    "fliplr": lambda m: _flip(m, 1),
    "permute_dims": lambda a, axes=None: a.transpose(axes),
    "matrix_transpose": lambda x: x.swapaxes(-1, -2),
    "rollaxis": lambda a, axis, start=0: a.transpose(_rolled_axes(a.ndim, axis, start)),
    "array_split": lambda ary, sections, axis=0: _split(np.array_split, ary, sections, axis),
    "split": lambda ary, sections, axis=0: _split(np.split, ary, sections, axis),
    "hsplit": lambda ary, sections: _split(np.split, ary, sections, 0 if ary.ndim == 1 else 1),
    "vsplit": lambda ary, sections: _split(np.split, ary, sections, 0),
    "diagonal": lambda a, offset=0, axis1=0, axis2=1: a.diagonal(offset, axis1, axis2),
    "linalg.diagonal": lambda x, offset=0: x.diagonal(offset, -2, -1),
    "broadcast_to": lambda array, shape, subok=False: array.broadcast_to(shape),
    "rot90": lambda m, k=1, axes=(0, 1): _rotate(m, k, axes),
    "moveaxis": lambda a, source, destination: _move_axis(a, source, destination),  # noqa: PLW0108
}
"""Functions whose result shares the memory of their argument."""


def apply_function(function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What a function of NumPy gives where an `Array` is among its arguments."""
    name = function.__name__
    view = _view(function, arguments, options)
    if view is not NotImplemented:
        return view
    if name == "where" and len(arguments) == 1 and not is_known(arguments[0]):
        raise shape_from_data("where with one argument")
    if name == "copyto":
        return _copy_to(*arguments, **options)
    if name in ("shape", "ndim", "size"):
        return getattr(np, name)(np.broadcast_to(np.zeros(()), jnp.shape(unwrapped(arguments[0]))), *arguments[1:])
    if name in ("may_share_memory", "shares_memory"):
        return _share_memory(function, *arguments, **options)
    if name == "result_type":
        return np.result_type(*(dtype_or_number(each) for each in arguments))
    options = dict(options)
    out = options.pop("out", None)
    if name in INDEXED:
        return deliver(INDEXED[name](*arguments, **options), out, True, "same_kind")
    if all(is_known(each) for each in (*arguments, *options.values())) and name not in CHANGING:
        plain = [unwrapped_all(each) for each in arguments]
        return deliver(
            function(*plain, **{key: unwrapped_all(each) for key, each in options.items()}), out, True, "unsafe"
        )
    if name in CHANGING:
        return CHANGING[name](*arguments, **options)
    if name in WITHOUT_SHAPE and not (name == "bincount" and "length" in options):
        raise shape_from_data(name)
    target = _find(function)
    plain = [unwrapped_all(each) for each in arguments]
    named = {key: unwrapped_all(value) for key, value in options.items() if value is not np._NoValue}  # pyright: ignore[reportPrivateUsage]
    if name.endswith("_like") and "dtype" not in named and len(plain) < 2 and name != "full_like":
        named["dtype"] = np.dtype(plain[0].dtype)
    result = typed_call(name, target, plain, named)
    return deliver(result, out, True, "same_kind", is_array=name in GIVES_ARRAYS or name.endswith("_like"))


def _find(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of jax.numpy with the same name, in the same submodule."""
    submodule = (getattr(function, "__module__", "") or "").removeprefix("numpy").strip(".").split(".")[0]
    home = getattr(jnp, submodule, jnp) if submodule in ("linalg", "fft") else jnp
    found = getattr(home, function.__name__, None) or getattr(jnp, function.__name__, None)
    if found is None:
        raise unsupported(f"numpy.{function.__name__}")
    return found


# -- functions with effects, and views --------------------------------------------------------------------------------


def _copy_to(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    value = jnp.broadcast_to(jnp.asarray(unwrapped(src)), dst.shape)
    deliver(value, dst, where, casting)


WITHOUT_SHAPE = frozenset({"unique", "unique_values", "unique_counts", "unique_inverse", "unique_all", "nonzero",
                           "flatnonzero", "argwhere", "extract", "compress", "union1d", "intersect1d", "setdiff1d",
                           "setxor1d", "trim_zeros", "bincount"})  # fmt: skip
"""The shape of what they give depends on the elements."""
GIVES_ARRAYS = frozenset({"where", "copy", "squeeze", "reshape", "broadcast_to", "select", "choose", "array", "asarray",
                          "atleast_1d", "piecewise", "block"})  # fmt: skip
"""What they give is an array even where it has no axes."""


def _view(function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """The view that a function of NumPy gives; NotImplemented where it gives a new array."""
    name = function.__name__
    full_name = f"linalg.{name}" if function.__module__ == "numpy.linalg" else name
    how = VIEWS.get(full_name) or (VIEWS.get(name) if name != "diagonal" else None)
    if how is not None and arguments and isinstance(arguments[0], Array):
        return how(*arguments, **options)
    if name == "diag" and arguments and isinstance(arguments[0], Array) and arguments[0].ndim == 2:
        return arguments[0].diagonal(*arguments[1:], *options.values())
    return _einsum_view(arguments, options) if name == "einsum" else NotImplemented


def _share_memory(function: Callable[..., Any], first: Any, second: Any, max_work: Any = None) -> bool:
    """What `shares_memory` and `may_share_memory` give.

    Raises WindlassError (WL0904) where it depends on traced indices.
    """
    if not isinstance(first, Array) or not isinstance(second, Array) or first.storage is not second.storage:
        return False
    if first.is_static and second.is_static:
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


def _einsum_view(arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
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
        return np.einsum(*(other if each is array else unwrapped_all(each) for each in arguments), **options)

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


def _rotate(array: Array, k: int, axes: Sequence[int]) -> Array:
    first, second = axes
    if first % array.ndim == second % array.ndim:
        raise ValueError("Axes must be different.")
    turns = k % 4
    if turns in (0, 2):
        return _flip(_flip(array, first), second) if turns else array.view()
    return _flip(array, second).swapaxes(first, second) if turns == 1 else _flip(array.swapaxes(first, second), second)


def _flip(array: Array, axis: Any) -> Array:
    axes = range(array.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    flipped = {each % array.ndim for each in axes}
    return array[tuple(slice(None, None, -1) if each in flipped else slice(None) for each in range(array.ndim))]


def _expand(array: Array, axis: Any) -> Array:
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    rank = array.ndim + len(axes)
    inserted = {each % rank for each in axes}
    return array[tuple(None if each in inserted else slice(None) for each in range(rank))]


def _rolled_axes(rank: int, axis: int, start: int) -> tuple[int, ...]:
    return tuple(extent - 1 for extent in np.rollaxis(np.empty(tuple(range(1, rank + 1))), axis, start).shape)


def _split(how: Callable[..., Any], array: Array, sections: Any, axis: int) -> list[Array]:
    """The views that NumPy's function gives, by what it gives for the numbers along the axis."""
    axis = range(array.ndim)[axis]
    parts = how(np.arange(array.shape[axis]), sections)
    starts = [int(part[0]) if part.size else 0 for part in parts]
    return [
        array[(*(slice(None),) * axis, slice(start, start + part.size))]
        for start, part in zip(starts, parts, strict=True)
    ]


def _move_axis(array: Array, source: Any, destination: Any) -> Array:
    return array.transpose(_moved_axes(array.ndim, source, destination))


def _moved_axes(rank: int, source: Any, destination: Any) -> tuple[int, ...]:
    """The permutation that moves axes, read off the extents of an array whose extents are all different."""
    probe = np.moveaxis(np.empty(tuple(range(1, rank + 1))), source, destination)
    return tuple(extent - 1 for extent in probe.shape)


ANSWERS.update(ufunc=apply_ufunc, function=apply_function)
