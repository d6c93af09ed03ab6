"""Indices as NumPy takes them: which are basic, what they give, and whether they are inside of the array.

An index that is known is looked at now, as NumPy would; one that is traced is looked at as the program runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.frontends.arrays.integers import range_of
from windlass.frontends.arrays.tracing import Check, current_tracing, note_needed, position_now
from windlass.frontends.arrays.views import Shadow, ViewStep, ViewTake, shadow_of

MASK_HELP = (
    "numpy.where(mask, a, b) chooses element by element, a[mask] = number leaves the others as they are, and "
    "numpy.sum(a, where=mask) sums over those that the mask picks"
)


def is_basic(entry: Any) -> bool:
    """Whether it is an integer, a slice, `...` or None: what gives views."""
    if entry is None or isinstance(entry, slice | EllipsisType):
        return True
    return not isinstance(entry, bool | np.bool_) and is_integer(entry)


def is_integer(entry: Any) -> bool:
    """Whether NumPy takes it for one integer."""
    if isinstance(entry, bool | np.bool_):
        return False
    if isinstance(entry, int | np.integer):
        return True
    dtype = getattr(entry, "dtype", None)
    return dtype is not None and _kind(dtype) in "iu" and getattr(entry, "shape", None) == ()


def is_zero_dimensional_array(entry: Any) -> bool:
    """Whether it is an array of no axes, not a number: NumPy gives copies for such indices."""
    return getattr(entry, "shape", None) == () and not getattr(entry, "is_scalar", isinstance(entry, np.generic))


def plain(value: Any) -> Any:
    """The JAX or NumPy value of an array, or what it is otherwise."""
    return value.value if hasattr(value, "is_scalar") else value


def known_integer(entry: Any) -> int | None:
    """The integer, or None if it is traced."""
    if isinstance(entry, int | np.integer):
        return int(entry)
    value = plain(entry)
    return None if isinstance(value, Tracer) else int(value)


def for_each_axis(entries: Sequence[Any], rank: int) -> list[Any]:
    """Basic indices with an entry for each axis, and None for new ones.

    Raises IndexError for too many indices, or several ellipses.
    """
    count = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if count > rank:
        raise IndexError(f"too many indices for array: array is {rank}-dimensional, but {count} were indexed")
    if sum(entry is Ellipsis for entry in entries) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if not any(entry is Ellipsis for entry in entries):
        entries = (*entries, Ellipsis)
    full: list[Any] = []
    for entry in entries:
        full += [slice(None)] * (rank - count) if entry is Ellipsis else [entry]
    return full


def basic_step(whole: Shadow, entries: Sequence[Any]) -> tuple[ViewStep | None, Shadow]:
    """The step for basic indexing of an array with this shadow, and the shadow of the view; no step where the program
    fails, there being no elements.

    Raises IndexError for too many indices.
    """
    full = for_each_axis(entries, whole.ndim)
    starts: list[Any] = []
    steps: list[int] = []
    counts: list[int] = []
    dropped: list[int] = []
    static: list[Any] = []
    shape: list[int] = []
    is_there = True
    axis = 0
    for entry in full:
        if entry is None:
            static.append(None)
            shape.append(1)
            continue
        extent = whole.shape[axis]
        if isinstance(entry, slice):
            start, stop, step = static_bounds(entry).indices(extent)
            found = range(start, stop, step)
            if not found:
                start, stop, step = 0, 0, 1
            static.append(slice(start, None if stop < 0 else stop, step))
            starts.append(start)
            steps.append(step)
            counts.append(len(found))
            shape.append(len(found))
        else:
            number = inside(entry, extent, axis)
            is_there = is_there and extent > 0
            static.append(number if isinstance(number, int) else 0)
            starts.append(number)
            steps.append(1)
            counts.append(1)
            dropped.append(axis)
        axis += 1
    if not is_there:
        return None, shadow_of(tuple(shape), whole.dtype)
    shadow = whole[(*static, ...)]
    return ViewTake(tuple(starts), tuple(steps), tuple(counts), tuple(dropped), shadow.shape), shadow


def static_bounds(entry: slice) -> slice:
    """The slice with numbers for bounds.

    Raises WindlassError (WL0904) where they are traced.
    """
    bounds: list[int | None] = []
    for bound in (entry.start, entry.stop, entry.step):
        if bound is not None and not is_integer(bound) and not hasattr(bound, "__index__"):
            raise TypeError("slice indices must be integers or None or have an __index__ method")
        known = None if bound is None else known_integer(bound)
        if bound is not None and known is None:
            note_needed(plain(bound))
            raise WindlassError(
                Diagnostic(
                    "WL0904",
                    "a slice's bounds have to be known while the function is compiled",
                    notes=("the size of what it gives would depend on them",),
                    help="compile the number in, with @windlass.jit(static=...), or use the whole array with a mask: "
                    "numpy.where(numpy.arange(a.size) < n, a, 0)",
                )
            )
        bounds.append(known)
    return slice(*bounds)


def inside(index: Any, extent: int, axis: int) -> Any:
    """One integer as a place along an axis: a Python int from 0, or a traced integer that the program checks.

    Raises IndexError where it is known to be outside.
    """
    number = known_integer(index)
    if number is not None:
        if -extent <= number < extent:
            return number % extent
        tracing = current_tracing()
        if tracing is None or not tracing.is_within_branch():
            raise IndexError(f"index {number} is out of bounds for axis {axis} with size {extent}")
        # Within a branch or a loop, which may not be reached.
        _require_inside(True, number, extent, axis)
        return 0
    least, greatest = range_of(plain(index))
    if least is not None and greatest is not None and least >= 0 and greatest < extent:
        return plain(index)
    return _places(plain(index), extent, axis)


def _require_inside(fails: Any, index: Any, extent: int, axis: int) -> None:
    tracing = current_tracing()
    if tracing is not None:
        headline = f"index {{index}} is out of bounds for axis {axis} with size {extent}"
        position, length = position_now()
        tracing.require_never(fails, Check(headline, position, length=length), index)


def as_wide(index: Any) -> Any:
    """Integers in a type that has all places of an array: what is of 8 or 16 bits may not have its extent."""
    if not isinstance(index, jax.Array):
        index = np.asarray(index)
        return index if index.dtype == np.uint64 else index.astype(np.int64)
    return index.astype(jnp.int32) if index.dtype.itemsize < 4 else index


def _places(index: Any, extent: int, axis: int) -> Any:
    """Traced integers, which may count from the end, as places from 0; what is outside is clamped, and checked."""
    index = as_wide(index)
    is_signed = jnp.issubdtype(index.dtype, jnp.signedinteger)
    wide = index if 2 * extent <= np.iinfo(index.dtype).max else index.astype(jnp.int64)
    if wide.size and is_signed:
        # From 0 to twice the extent, where all that is outside is beyond the end: one comparison, one maximum.
        shifted = (wide + extent).astype(f"uint{wide.dtype.itemsize * 8}")
        greatest = jnp.max(shifted) if wide.shape else shifted
        _require_inside(greatest >= 2 * extent, greatest.astype(wide.dtype) - extent, extent, axis)
    elif wide.size:
        greatest = jnp.max(wide) if wide.shape else wide
        _require_inside(greatest >= extent, greatest, extent, axis)
    return jnp.where(wide < 0, wide + extent, wide) if is_signed else wide


def checked_index(index: Any, shape: Sequence[int]) -> tuple[Any, ...]:
    """An advanced index with all places from 0, and checked, as JAX takes it.

    Raises IndexError as NumPy does, and WindlassError (WL0904) for masks that are traced.
    """
    entries = [_as_entry(each) for each in (index if isinstance(index, tuple) else (index,))]
    used = sum(_axes_of(each) for each in entries)
    if used > len(shape):
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {used} were indexed")
    checked: list[Any] = []
    axis = 0
    for entry in entries:
        if entry is Ellipsis:
            axis += len(shape) - used
            checked.append(entry)
            continue
        count = _axes_of(entry)
        if entry is None:
            checked.append(None)
        elif isinstance(entry, slice):
            checked.append(static_bounds(entry))
        elif is_mask(entry):
            expect_mask_fits(entry, shape, axis)
            if isinstance(entry, Tracer):
                raise WindlassError(
                    Diagnostic(
                        "WL0904",
                        "how many elements a mask picks is not known while the function is compiled",
                        notes=("the size of what it gives would depend on it",),
                        help=MASK_HELP,
                    )
                )
            checked.append(np.asarray(entry))
        elif isinstance(entry, Tracer):
            checked.append(_places(entry, shape[axis], axis))
        else:
            checked.append(_known_places(as_wide(entry), shape[axis], axis))
        axis += count
    return tuple(checked)


def _as_entry(entry: Any) -> Any:
    """One entry of an advanced index: an array, a slice, None or `...`."""
    if entry is None or isinstance(entry, slice | EllipsisType):
        return entry
    if isinstance(entry, list | tuple):
        entry = as_one_array(entry)
    value = plain(entry)
    if not hasattr(value, "dtype"):
        value = np.asarray(value)
        if value.size == 0:
            value = value.astype(np.intp)
    if _kind(value.dtype) not in "iub":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return value


def as_one_array(items: Any) -> Any:
    """Nested lists of numbers and arrays as one array: NumPy's where all is known, else JAX's."""
    leaves = jax.tree.leaves(items)
    if not any(isinstance(plain(each), Tracer) for each in leaves):
        return np.array(_plain_lists(items))

    def joined(item: Any) -> Any:
        if isinstance(item, list | tuple):
            return np.stack([joined(each) for each in item]) if item else np.array([])  # pyright: ignore[reportUnknownVariableType]
        return item

    return joined(items)


def _plain_lists(item: Any) -> Any:
    if isinstance(item, list | tuple):
        return [_plain_lists(each) for each in item]  # pyright: ignore[reportUnknownVariableType]
    return plain(item)


def _known_places(index: Any, extent: int, axis: int) -> Any:
    outside = (index < -extent) | (index >= extent)
    if outside.any():
        return jnp.broadcast_to(jnp.asarray(inside(int(index[outside].ravel()[0]), extent, axis)), index.shape)
    return np.where(index < 0, index + extent, index)


def expect_mask_fits(mask: Any, shape: Sequence[int], axis: int) -> None:
    """Raises IndexError for a mask that has other extents than the axes from `axis` on."""
    for offset, extent in enumerate(mask.shape):
        if shape[axis + offset] != extent:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + offset}; size of axis is "
                f"{shape[axis + offset]} but size of corresponding boolean axis is {extent}"
            )


def is_mask(entry: Any) -> bool:
    """Whether it is an array of booleans."""
    return getattr(entry, "dtype", None) == np.bool_


def _axes_of(entry: Any) -> int:
    """How many axes an entry is for."""
    if entry is None or entry is Ellipsis:
        return 0
    return entry.ndim if is_mask(entry) else 1


def _kind(dtype: Any) -> str:
    return np.dtype(dtype).kind if not jnp.issubdtype(dtype, jax.dtypes.extended) else "V"
