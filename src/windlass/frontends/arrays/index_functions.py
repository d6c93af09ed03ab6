"""NumPy's functions that read or write at indices: every index becomes one of 32 bits or more, and is checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from windlass.diagnostics import ArrayIndexError, ArrayValueError, WindlassError
from windlass.frontends.arrays.array import Array, wrapped
from windlass.frontends.arrays.indexing import as_one_array, as_wide
from windlass.frontends.arrays.operands import (
    shape_from_data,
    unwrapped,
    unwrapped_all,
    written_outside,
)
from windlass.frontends.arrays.promotion import promoted_alike
from windlass.frontends.arrays.tracing import Check, current_tracing, note_needed, position_now


def _array(value: Any) -> Array:
    """What NumPy takes for an array: lists too."""
    if isinstance(value, Array):
        return value
    return Array(unwrapped(as_one_array(value)) if isinstance(value, list | tuple) else np.asarray(value))


def _indices(value: Any) -> Any:
    """Integers as a JAX or NumPy value, wide enough for all places.

    Raises TypeError for what holds no integers.
    """
    found = _array(value).value
    if found.size == 0 and isinstance(value, list | tuple):
        return np.zeros(found.shape, np.int64)
    if np.dtype(found.dtype).kind not in "iub":
        raise TypeError(
            f"Cannot cast array data from dtype('{found.dtype}') to dtype('int64') according to the rule 'safe'"
        )
    return as_wide(found.astype(np.int64) if found.dtype == np.bool_ else found)


def _in_mode(index: Any, extent: int, mode: str) -> Any:
    """Indices as `mode=` has them: moved to places that there are; for 'raise' as they are, to be checked.

    Raises ValueError for a mode that NumPy has not.
    """
    if mode == "raise":
        return index
    if mode not in ("clip", "wrap"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got '{mode}')")
    if isinstance(index, np.ndarray):
        return np.clip(index, 0, extent - 1) if mode == "clip" else index % extent
    if extent > np.iinfo(index.dtype).max:
        index = index.astype(jnp.int64)
    return jnp.clip(index, 0, extent - 1) if mode == "clip" else index % extent


def _require_entries(
    index: Any, extent: int, text: str, kind: type[WindlassError] = ArrayValueError, told: Any = None
) -> Any:
    """The indices, none of which may count from the end.

    Raises ValueError or IndexError where one is known to have no place, and lets the program raise it where it is
    traced; `told` are the indices as the user wrote them.
    """
    told = index if told is None else told
    is_outside = (index < 0) | (index >= extent)
    if not isinstance(index, Tracer):
        if np.any(is_outside):
            python_kind = IndexError if kind is ArrayIndexError else ValueError
            raise python_kind(text.replace("{index}", str(np.asarray(told)[is_outside].flat[0])))
        return index
    tracing = current_tracing()
    if tracing is not None and index.size:
        position, length = position_now()
        first = told.ravel()[jnp.argmax(is_outside.ravel())]
        code = "WL0913" if kind is ArrayIndexError else "WL0916"
        tracing.require_never(jnp.any(is_outside), Check(text, position, None, code, length, kind), first)
    return jnp.clip(index, 0, max(extent - 1, 0))


# -- reading ----------------------------------------------------------------------------------------------------------


def _take(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    array = _array(a)
    if axis is None:
        array, axis = array.reshape(-1), 0
    axis = range(array.ndim)[axis]
    places = _in_mode(_indices(indices), array.shape[axis], mode)
    if not np.ndim(places):
        found = array[(*(slice(None),) * axis, wrapped(places) if isinstance(places, jax.Array) else int(places))]
        return found.copy() if isinstance(found, Array) else found
    return array[(*(slice(None),) * axis, places)]


def _places_along(array: Array, indices: Any, axis: Any) -> tuple[Any, ...]:
    """The advanced index of `take_along_axis`: the given places along one axis, all places along the others.

    Raises ValueError where the indices have another number of axes, IndexError where they are no integers.
    """
    places = _array(indices)
    if places.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if places.ndim != array.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    axis = range(array.ndim)[axis]
    return tuple(
        places
        if number == axis
        else np.arange(extent).reshape([-1 if each == number else 1 for each in range(array.ndim)])
        for number, extent in enumerate(array.shape)
    )


def _take_along(arr: Any, indices: Any, axis: Any = -1) -> Any:
    array = _array(arr)
    if axis is None:
        array, axis = array.flatten(), 0
    return array[_places_along(array, indices, axis)]


def _choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    options = list(choices) if isinstance(choices, list | tuple) else [choices[each] for each in range(len(choices))]
    cases = promoted_alike([unwrapped(_array(each) if isinstance(each, list) else each) for each in options])
    which = _in_mode(_indices(a), len(cases), mode)
    if mode == "raise":
        which = _require_entries(which, len(cases), "invalid entry in choice array")
    which, *cases = jnp.broadcast_arrays(which, *cases)
    if len(cases) == 1:
        return Array(cases[0])
    return Array(jax.lax.select_n(which.astype(jnp.int32) if len(cases) > 2 else which != 0, *cases))


def _compress(condition: Any, a: Any, axis: Any = None) -> Any:
    picked = unwrapped(_array(condition))
    if isinstance(picked, Tracer):
        raise shape_from_data("compress")
    return _take(a, np.flatnonzero(np.asarray(picked)), axis)


def _extract(condition: Any, arr: Any) -> Any:
    return _compress(_array(condition).reshape(-1), _array(arr).reshape(-1), 0)


def _repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    array = _array(a)
    counts = unwrapped_all(repeats)
    if isinstance(counts, Tracer):
        note_needed(counts)
        raise shape_from_data("repeat")
    if axis is None:
        array, axis = array.reshape(-1), 0
    axis = range(array.ndim)[axis]
    places = np.repeat(np.arange(array.shape[axis]), np.asarray(counts))
    return Array(jnp.take(jnp.asarray(array.value), places, axis=axis, mode="clip"))


def _insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    array = _array(arr)
    if axis is None:
        array, axis = array.reshape(-1), 0
    axis = range(array.ndim)[axis]
    places = _checked_places(obj, array.shape[axis], array.shape[axis] + 1, axis)
    whole, extent = jnp.asarray(array.value), array.shape[axis]
    new = jnp.asarray(unwrapped(_array(values) if isinstance(values, list | tuple) else values)).astype(array.dtype)
    if places.ndim and isinstance(places, Tracer):
        return Array(jnp.insert(whole, places, new, axis=axis))
    if not places.ndim:  # the values stand behind each other at one place
        new = jnp.reshape(new, (1,) * (array.ndim - new.ndim) + new.shape)
        new = jnp.moveaxis(new, 0, axis)
    count = places.size if places.ndim else new.shape[axis]
    shape = (*array.shape[:axis], count, *array.shape[axis + 1 :])
    both = jnp.concatenate([whole, jnp.broadcast_to(new, shape)], axis=axis)
    if isinstance(places, Tracer):
        number = jnp.arange(extent + count)
        behind = jnp.where(number < places + count, extent + number - places, number - count)
        source = jnp.where(number < places, number, behind)
    else:
        source = np.insert(np.arange(extent), places, extent + np.arange(count))
    return Array(jnp.take(both, source, axis=axis, mode="clip"))


def _delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    array = _array(arr)
    if axis is None:
        array, axis = array.reshape(-1), 0
    axis = range(array.ndim)[axis]
    extent = array.shape[axis]
    places = _checked_places(obj, extent, extent, axis)
    if not isinstance(places, Tracer):
        left = np.delete(np.arange(extent), places)
    elif places.size != 1:
        raise shape_from_data("delete")
    else:
        left = jnp.arange(extent - 1)
        left = left + (left >= places.reshape(()))
    return Array(jnp.take(jnp.asarray(array.value), left, axis=axis, mode="clip"))


def _checked_places(obj: Any, extent: int, count: int, axis: int) -> Any:
    """Where `insert` and `delete` do it: places from 0 on, of which there are `count`; those from the end count from
    the extent.

    Raises WindlassError (WL0904) for a traced mask, IndexError for an integer that is no place.
    """
    if isinstance(obj, slice):
        return np.arange(*obj.indices(extent))
    given = _array(obj)
    if given.dtype == np.bool_ and given.ndim:
        if given.is_traced:
            raise shape_from_data("insert or delete with a mask")
        return np.flatnonzero(np.asarray(given.value))
    places = _indices(obj)
    shifted = (np if isinstance(places, np.ndarray) else jnp).where(places < 0, places + extent, places)
    text = f"index {{index}} is out of bounds for axis {axis} with size {extent}"
    return _require_entries(shifted, count, text, ArrayIndexError, places)


def _bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    places = _indices(x)
    if isinstance(places, Tracer):
        raise shape_from_data("bincount")
    if (places < 0).any():
        raise ValueError("'list' argument must have no negative elements")
    length = max(int(minlength), int(places.max()) + 1 if places.size else 0)
    values = jnp.asarray(unwrapped(_array(weights))).astype(np.float64)
    return Array(jnp.zeros(length).at[places].add(values))


# -- places as numbers ------------------------------------------------------------------------------------------------


def _ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    extents = [int(each) for each in dims] if isinstance(dims, list | tuple) else [int(dims)]
    coordinates = [multi_index[each] for each in range(len(multi_index))]
    modes: Sequence[str] = mode if isinstance(mode, tuple) else (mode,) * len(extents)
    if len(coordinates) != len(extents):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(extents)}")
    found: Any = 0
    axes = list(zip(coordinates, extents, modes, strict=True))
    for coordinate, extent, how in axes if order == "C" else reversed(axes):
        place = _in_mode(_indices(coordinate), extent, how)
        if how == "raise":
            place = _require_entries(place, extent, "invalid entry in coordinates array")
        found = found * extent + place.astype(np.int64)
    return wrapped(found)


def _unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    extents = tuple(int(each) for each in shape) if isinstance(shape, list | tuple) else (int(shape),)
    size = math.prod(extents)
    left = _require_entries(_indices(indices), size, f"index {{index}} is out of bounds for array with size {size}")
    left = left.astype(np.int64)
    found: list[Any] = []
    for extent in reversed(extents) if order == "C" else extents:
        found.append(wrapped(left % extent))
        left = left // extent
    return tuple(reversed(found) if order == "C" else found)


# -- writing ----------------------------------------------------------------------------------------------------------


def _put_along(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    if not isinstance(arr, Array):
        raise written_outside()
    if axis is None:
        arr.flat[_indices(indices)] = values
    else:
        arr[_places_along(arr, indices, axis)] = values


def _put_values(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    if not isinstance(a, Array):
        raise written_outside()
    places = _in_mode(_indices(ind), a.size, mode).ravel()
    values = unwrapped(_array(v))
    if np.size(values) == 0 or places.size == 0:
        return
    a.flat[places] = jnp.resize(jnp.asarray(values), places.shape)


def _place(arr: Any, mask: Any, vals: Any) -> None:
    if not isinstance(arr, Array):
        raise written_outside()
    values = jnp.ravel(jnp.asarray(unwrapped(_array(vals)))).astype(arr.dtype)
    picked = jnp.reshape(jnp.asarray(unwrapped(_array(mask))) != 0, arr.shape)
    if values.size == 0:
        raise ValueError("Cannot insert from an empty array!")
    number = jnp.reshape(jnp.cumsum(jnp.ravel(picked)) - 1, arr.shape)
    arr.assign(jnp.where(picked, values[number % values.size], arr.value))


def _put_mask(a: Any, mask: Any, values: Any) -> None:
    if not isinstance(a, Array):
        raise written_outside()
    new = jnp.asarray(unwrapped(_array(values)))
    if new.shape != a.shape:
        new = jnp.resize(new, a.shape)
    a.assign(jnp.where(jnp.reshape(jnp.asarray(unwrapped(_array(mask))) != 0, a.shape), new.astype(a.dtype), a.value))


def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    if not isinstance(a, Array):
        raise written_outside()
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    # As NumPy has it: every so many elements of all in C order, in a matrix no further than its last column.
    step = 1 + sum(math.prod(a.shape[axis:]) for axis in range(1, a.ndim))
    end = None if wrap or a.ndim > 2 else a.shape[1] * a.shape[1]
    a.flat[:end:step] = val


INDEXED: dict[str, Callable[..., Any]] = {
    "take": _take, "take_along_axis": _take_along, "choose": _choose, "compress": _compress, "extract": _extract,
    "repeat": _repeat, "insert": _insert, "delete": _delete, "ravel_multi_index": _ravel_multi_index,
    "unravel_index": _unravel_index, "bincount": _bincount,
}  # fmt: skip
"""Functions that read at indices, which have to be checked."""
CHANGING: dict[str, Callable[..., Any]] = {
    "put": _put_values, "putmask": _put_mask, "fill_diagonal": _fill_diagonal, "put_along_axis": _put_along,
    "place": _place,
}  # fmt: skip
"""Functions that write to their first argument."""
