"""How the arrays that NumPy's functions give lie in memory, which decides later what is a view and what a copy.

`x.T + 1` lies as `x.T` does, `x[:, [0, 2]]` with its columns one after the other; what functions give of arrays in C
order is in C order but for a few. NumPy itself says so: the function runs on small arrays, the *stand-ins*, whose axes
lie as those of the arguments do, and whose extents are equal where those of the arguments are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import jax
import numpy as np
from jax.core import Tracer

from windlass.frontends.arrays.array import Array
from windlass.frontends.arrays.views import Shadow, shadow_of

REORDERING = frozenset(
    {"apply_along_axis", "cross", "einsum", "linspace", "logspace", "geomspace", "nanpercentile", "nanquantile"}
)
"""Functions that give arrays in another order than C's also of those in C order."""


class StandIns:
    """Small arrays that stand for large ones in one call."""

    def __init__(self) -> None:
        self._extents = {extent: extent for extent in range(5)}

    def extent(self, extent: int) -> int:
        """The small extent, the same for the same one and no other's; those of fewer than 5 stay as they are."""
        return self._extents.setdefault(extent, len(self._extents))

    def of(self, value: Any) -> Any:
        """The value with small arrays for arrays; what else there is stays."""
        if isinstance(value, Array):
            return self.array(value.shadow) if value.ndim or not value.is_scalar else value.dtype.type(1)
        if isinstance(value, np.ndarray):
            return self.array(cast("Shadow", value))
        if isinstance(value, jax.Array):
            return self.array(shadow_of(value.shape, np.dtype(value.dtype)))
        if isinstance(value, list | tuple):
            items = [self.of(each) for each in cast("Sequence[Any]", value)]
            return items if isinstance(value, list) else tuple(items)
        return value

    def array(self, shadow: Shadow) -> Shadow:
        """A small array whose axes lie as the shadow's do, with elements that most functions take."""
        shape = [self.extent(extent) for extent in shadow.shape]
        axes = sorted(range(shadow.ndim), key=lambda axis: -abs(shadow.strides[axis]))
        is_repeated = [shadow.strides[axis] == 0 and shadow.shape[axis] > 1 for axis in range(shadow.ndim)]
        extents = [1 if is_repeated[axis] else shape[axis] for axis in axes]
        has_gaps = not (shadow.flags.c_contiguous or shadow.flags.f_contiguous) and extents
        held = np.ones([*extents[:-1], extents[-1] + 1] if has_gaps else extents, shadow.dtype)
        if shadow.dtype.kind in "fc":
            held += (np.arange(held.size) ** 2 % 7 / 8).reshape(held.shape).astype(shadow.dtype)
        elif shadow.dtype.kind in "iu":
            held -= 1
        found = (held[..., :-1] if has_gaps else held).transpose([axes.index(axis) for axis in range(len(axes))])
        return np.broadcast_to(found, shape)


def laid_as_in_numpy(
    found: Any, function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """What a function gave, each new array lying in memory as what NumPy gives does."""
    results = jax.tree.leaves(found, is_leaf=lambda each: isinstance(each, Array))
    if not any(isinstance(each, Array) and each.ndim > 1 for each in results):
        return found
    given = jax.tree.leaves((tuple(arguments), dict(options)), is_leaf=lambda each: isinstance(each, Array))
    if function is np.apply_along_axis and callable(arguments[0]):
        # A function of the user's is not called more often than NumPy does; only the number of axes counts.
        rank = results[0].ndim - np.ndim(arguments[2]) + 1
        arguments = (lambda *_, **__: np.ones((2,) * rank), *arguments[1:])
    elif any(callable(each) and not isinstance(each, type) for each in given):
        return found
    is_plain = all(each.flags.c_contiguous for each in given if isinstance(each, Array | np.ndarray))
    if is_plain and function.__name__ not in REORDERING and options.get("order") is None:
        return found
    stand_ins = StandIns()
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            told = function(
                *(stand_ins.of(each) for each in arguments),
                **{name: stand_ins.of(each) for name, each in options.items()},
            )
    except Exception:
        return found  # what the stand-ins can't show is taken to be in C order
    shown = jax.tree.leaves(told)
    storages = [each.storage for each in given if isinstance(each, Array)]
    if len(shown) == len(results):
        for each, other in zip(results, shown, strict=True):
            if isinstance(each, Array) and not any(each.storage is storage for storage in storages):
                lay_as(each, other)
    return found


def lay_as(array: Any, other: Any) -> None:
    """Let a new array lie in memory as another one of as many axes."""
    if not isinstance(array, Array) or not isinstance(other, np.ndarray) or array.ndim != other.ndim or array.ndim < 2:
        return
    if not array.is_whole:
        return
    axes = sorted(range(array.ndim), key=lambda axis: (-abs(other.strides[axis]), axis))
    strides = [0] * array.ndim
    step = array.itemsize
    for axis in reversed(axes):
        strides[axis] = step
        step *= max(array.shape[axis], 1)
    array.lie(tuple(strides))


def laid_as_indexed(found: Array, array: Array, index: Any) -> Array:
    """What an advanced index gave, lying in memory as NumPy lays it."""
    if found.ndim < 2 or not found.size:
        return found
    stand_ins = StandIns()
    slices: list[Any] = []
    entries: list[Any] = []
    for entry in index if isinstance(index, tuple) else (index,):
        if entry is None or entry is Ellipsis or isinstance(entry, slice):
            slices += [] if entry is None else [entry]
            entries.append(entry if not isinstance(entry, slice) else slice(None))
            continue
        value: Any = entry if isinstance(entry, Array | jax.Array | np.ndarray) else np.asarray(_known_items(entry))
        if value.dtype == np.bool_ and value.ndim:
            if isinstance(value, Array | Tracer) and isinstance(getattr(value, "value", value), Tracer):
                return found
            known = np.asarray(value)
            slices += [slice(None)] * known.ndim
            entries += [np.zeros(stand_ins.extent(int(np.count_nonzero(known))), np.intp)] * known.ndim
        else:
            slices.append(slice(None))
            entries.append(np.multiply(stand_ins.of(value), 0, dtype=np.intp, casting="unsafe") if value.ndim else 0)
    small = stand_ins.array(array.shadow[tuple(_basic(slices))])
    if 0 not in small.shape:
        lay_as(found, small[tuple(entries)])
    return found


def _basic(slices: list[Any]) -> list[Any]:
    return [
        slice(*(None if each is None else int(each) for each in (entry.start, entry.stop, entry.step)))
        if isinstance(entry, slice)
        else entry
        for entry in slices
    ]


def _known_items(entry: Any) -> Any:
    """Nested lists of indices, with 0 for those that are traced."""
    if isinstance(entry, list | tuple):
        return [_known_items(each) for each in cast("Sequence[Any]", entry)]
    return 0 if isinstance(entry, Array | jax.Array) else entry
