"""Views: how an array's elements are found in the array whose memory they share, and put back there.

A view is a chain of steps. Each step can `get` the smaller or rearranged value out of a larger one and `put` a new
value for it back. What a step gives (its shape, and whether it is a view at all) is decided by NumPy itself, on a
*shadow*: a NumPy array with the right shape and strides whose memory is never touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, cast

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

FEW_WINDOWS = 32
"""Windows of so many elements are slices that are stacked, larger ones are gathered."""

Shadow: TypeAlias = NDArray[Any]
Order: TypeAlias = Literal["C", "F", "A", "K"]


def shadow_of(shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] | None = None) -> Shadow:
    """A NumPy array of this shape and these strides (C order's if none), without memory: for questions about layout
    only."""
    if strides is None:
        steps = [dtype.itemsize]
        for extent in reversed(shape[1:]):
            steps.append(steps[-1] * max(extent, 1))
        strides = tuple(reversed(steps[: len(shape)]))
    if dtype.isbuiltin == 2:  # floats and integers that NumPy hasn't: it may not know the letter of their kind
        words = np.lib.stride_tricks.as_strided(np.empty(1, f"V{dtype.itemsize}"), shape, strides)
        return words.view(dtype)
    return np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, strides)


def shadow_of_copy(shadow: Shadow, dtype: np.dtype, order: Order) -> Shadow:
    """The shadow of what NumPy gives for a copy in this memory order."""
    # NumPy allocates the copy and says how it lies; nothing is read or written.
    return shadow_of(shadow.shape, dtype, np.empty_like(shadow, dtype, order).strides)


def lies_in(shadow: Shadow, order: Order) -> bool:
    """Whether the elements lie in memory as a copy in this order asks for, so that NumPy makes none."""
    flags = shadow.flags
    return order == "K" or (order in "CA" and flags.c_contiguous) or (order in "FA" and flags.f_contiguous)


def known_order(order: Any) -> Order:
    """The memory order as one of NumPy's letters.

    Raises ValueError where it is none.
    """
    found = "C" if order is None else str(order).upper()
    if found not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got '{order}')")
    return found


def strides_of_result(shadows: Sequence[Shadow], dtype: np.dtype) -> tuple[int, ...]:
    """The strides of what NumPy allocates for an elementwise function of such arrays: order 'K' of all together."""
    flags: Any = [["readonly"]] * len(shadows) + [["writeonly", "allocate"]]
    types = [shadow.dtype for shadow in shadows] + [dtype]
    walk: Any = np.nditer([*shadows, cast("Any", None)], ["zerosize_ok"], flags, types)
    return walk.operands[-1].strides


def axes_in_memory(shadow: Shadow) -> tuple[int, ...]:
    """The axes from the one whose elements lie farthest apart to the one whose elements lie closest: order 'K'."""
    strides = strides_of_result([shadow], shadow.dtype)
    return tuple(sorted(range(shadow.ndim), key=lambda axis: -strides[axis]))


def run_of(shadow: Shadow, order: Order) -> tuple[tuple[int, ...], bool]:
    """The axes from slow to fast that the order asks for, and whether NumPy's `ravel` gives a view for it."""
    flags = shadow.flags
    if order == "C" or (order in "AK" and flags.c_contiguous) or (order == "A" and not flags.f_contiguous):
        return tuple(range(shadow.ndim)), flags.c_contiguous
    if order in "FA" or flags.f_contiguous:
        return tuple(reversed(range(shadow.ndim))), flags.f_contiguous
    axes = axes_in_memory(shadow)
    return axes, shadow.transpose(axes).flags.c_contiguous


class ViewStep:
    """One step of a view. What it gets of a NumPy array is a view again, of JAX's arrays a value."""

    may_be_written: ClassVar[bool] | property = True
    """Whether each of its elements has a place of its own in what is viewed."""

    def get(self, whole: Any) -> Any:
        """The viewed value."""
        raise NotImplementedError

    def put(self, whole: Any, part: Any) -> Any:
        """`whole` with `part` in the place that is viewed; NumPy's if both are."""
        raise NotImplementedError

    def put_known(self, whole: Shadow, part: Shadow) -> Shadow:
        """`put` of NumPy's arrays, for steps whose `get` gives a view of them."""
        found = whole.copy()
        self.get(found)[...] = part
        return found


@dataclass(frozen=True)
class Permute(ViewStep):
    """Axes in another order."""

    axes: tuple[int, ...]

    def get(self, whole: Any) -> Any:
        return whole.transpose(self.axes)

    def put(self, whole: Any, part: Any) -> Any:
        return part.transpose(tuple(int(axis) for axis in np.argsort(self.axes)))


@dataclass(frozen=True)
class Regroup(ViewStep):
    """The same elements in another shape."""

    shape: tuple[int, ...]

    def get(self, whole: Any) -> Any:
        return whole.reshape(self.shape)

    def put(self, whole: Any, part: Any) -> Any:
        return part.reshape(whole.shape)


@dataclass(frozen=True)
class Diagonal(ViewStep):
    """The elements whose indices along two axes differ by `offset`, as a last axis in their place."""

    offset: int
    first: int
    second: int

    def get(self, whole: Any) -> Any:
        found = whole.diagonal(self.offset, self.first, self.second)
        if isinstance(whole, np.ndarray) and whole.flags.writeable:
            found.flags.writeable = True  # whether it may be written is the shadow's to say
        return found

    def put(self, whole: Any, part: Any) -> Any:
        if isinstance(whole, np.ndarray):
            return self.put_known(whole, part)
        ends = (self.first, self.second)
        places = jnp.arange(part.shape[-1])
        rows, columns = places + max(-self.offset, 0), places + max(self.offset, 0)
        moved = jnp.moveaxis(whole, ends, (-2, -1)).at[..., rows, columns].set(part, unique_indices=True)
        return jnp.moveaxis(moved, (-2, -1), ends)


@dataclass(frozen=True)
class Broadcast(ViewStep):
    """The elements again and again along new axes, or along those of one element."""

    shape: tuple[int, ...]
    may_be_written = False

    def get(self, whole: Any) -> Any:
        return (
            np.broadcast_to(whole, self.shape) if isinstance(whole, np.ndarray) else jnp.broadcast_to(whole, self.shape)
        )


@dataclass(frozen=True)
class Windows(ViewStep):
    """All windows of these extents along these axes, whose elements get axes at the end. They overlap."""

    extents: tuple[int, ...]
    axes: tuple[int, ...]
    may_be_written = False

    def get(self, whole: Any) -> Any:
        if isinstance(whole, np.ndarray):
            return np.lib.stride_tricks.sliding_window_view(whole, self.extents, self.axes)
        for extent, axis in zip(self.extents, self.axes, strict=True):
            count = whole.shape[axis] - extent + 1
            if extent <= FEW_WINDOWS:
                parts = [jax.lax.slice_in_dim(whole, start, start + count, axis=axis) for start in range(extent)]
                whole = jnp.stack(parts, axis=-1)
            else:
                places = jnp.arange(count)[:, None] + jnp.arange(extent)
                whole = jnp.moveaxis(jnp.take(whole, places, axis=axis), axis + 1, -1)
        return whole


@dataclass(frozen=True)
class Strided(ViewStep):
    """The elements of a memory from number `start` on, at these distances: any view of an array in C order."""

    start: int
    extents: tuple[int, ...]
    distances: tuple[int, ...]

    def get(self, whole: Any) -> Any:
        if isinstance(whole, np.ndarray):
            flat = whole.reshape(-1)
            steps = [distance * whole.itemsize for distance in self.distances]
            return np.lib.stride_tricks.as_strided(flat[self.start :], self.extents, steps)
        return whole.reshape(-1)[self._places()]

    def put(self, whole: Any, part: Any) -> Any:
        if isinstance(whole, np.ndarray):
            return self.put_known(whole, part)
        flat = whole.reshape(-1).at[self._places()].set(part, unique_indices=True)
        return flat.reshape(whole.shape)

    @property
    def may_be_written(self) -> bool:
        reach = 0
        for distance, extent in sorted((abs(d), e) for d, e in zip(self.distances, self.extents, strict=True) if e > 1):
            if distance <= reach:
                return False
            reach += distance * (extent - 1)
        return True

    def _places(self) -> Any:
        places = jnp.full(self.extents, self.start)
        for axis, distance in enumerate(self.distances):
            places = places + jax.lax.broadcasted_iota(places.dtype, self.extents, axis) * distance
        return places


@dataclass(frozen=True)
class Reinterpret(ViewStep):
    """The same bytes as elements of another dtype; those of other sizes along the last axis."""

    dtype: np.dtype

    def get(self, whole: Any) -> Any:
        return whole.view(self.dtype) if isinstance(whole, np.ndarray) else _reinterpreted(whole, self.dtype)

    def put(self, whole: Any, part: Any) -> Any:
        if isinstance(whole, np.ndarray):
            return self.put_known(whole, part)
        new = _reinterpreted(part, np.dtype(whole.dtype))
        # A boolean is one bit of its byte: the other bits stay as they are where it does.
        return jnp.where(self.get(whole) == part, whole, new) if self.dtype == np.bool_ else new


def _reinterpreted(value: Any, dtype: np.dtype) -> Any:
    """The bytes of a JAX array as another dtype; XLA knows none of booleans and complex numbers."""
    before = np.dtype(value.dtype)
    if before == dtype:
        return value
    if before.kind == "b":
        return _reinterpreted(value.astype(np.uint8), dtype)
    if dtype.kind == "b":
        return _reinterpreted(value, np.dtype(np.uint8)) != 0
    if before.kind == "c":
        parts = jnp.stack([value.real, value.imag], -1)
        return _reinterpreted(parts.reshape(*value.shape[:-1], -1) if value.ndim else parts, dtype)
    if dtype.kind == "c":
        parts = _reinterpreted(value, np.dtype(f"f{dtype.itemsize // 2}"))
        parts = parts.reshape(*parts.shape[:-1], -1, 2)
        return jax.lax.complex(parts[..., 0], parts[..., 1])
    if dtype.itemsize == before.itemsize:
        return jax.lax.bitcast_convert_type(value, dtype)
    if dtype.itemsize < before.itemsize:
        found = jax.lax.bitcast_convert_type(value, dtype)
        return found.reshape(*value.shape[:-1], -1)
    ratio = dtype.itemsize // before.itemsize
    return jax.lax.bitcast_convert_type(value.reshape(*value.shape[:-1], -1, ratio), dtype)


@dataclass(frozen=True)
class ViewPart(ViewStep):
    """Real or imaginary parts."""

    name: str

    def get(self, whole: Any) -> Any:
        return whole.real if self.name == "real" else whole.imag

    def put(self, whole: Any, part: Any) -> Any:
        if isinstance(whole, np.ndarray):
            return self.put_known(whole, part)
        if self.name == "real":
            return jax.lax.complex(part, jnp.imag(whole))
        return jax.lax.complex(jnp.real(whole), part)


@dataclass(frozen=True)
class ViewTake(ViewStep):
    """Basic indexing: one entry per axis, an integer (which drops the axis; it may be traced) or a slice.

    `starts`, `steps` and `counts` have one entry per axis of the whole; `dropped` are the axes with an integer. Traced
    starts are not negative, and what is beyond the end is clamped: whoever makes a step checks that.
    """

    starts: tuple[Any, ...]
    steps: tuple[int, ...]
    counts: tuple[int, ...]
    dropped: tuple[int, ...]
    result_shape: tuple[int, ...]

    @property
    def is_static(self) -> bool:
        return all(isinstance(start, int) for start in self.starts)

    def get(self, whole: Any) -> Any:
        if self.is_static:
            return whole[self._static_slices()].reshape(self.result_shape)
        found = self._dynamic_part(whole)
        return jnp.reshape(found[tuple(self._inner_slices())], self.result_shape)

    def put(self, whole: Any, part: Any) -> Any:
        if isinstance(whole, np.ndarray):
            return self.put_known(whole, part)
        part = jnp.reshape(part, self.counts)
        if self.is_static:
            if all(step == 1 for step in self.steps):
                if self.counts == whole.shape:
                    return part
                if 0 in self.counts:
                    return whole
                return jax.lax.dynamic_update_slice(whole, part, self.starts)
            entries = self._static_slices()
            return whole.at[entries].set(part, unique_indices=True)
        inner = self._dynamic_part(whole)
        slices = self._inner_slices()
        if inner.shape == self.counts and all(step == 1 for step in self.steps):
            new = part
        else:
            new = inner.at[tuple(slices)].set(part, unique_indices=True)
        return jax.lax.dynamic_update_slice(whole, new, self._dynamic_starts(), allow_negative_indices=False)

    def _static_slices(self) -> tuple[slice, ...]:
        entries = zip(self.starts, self.steps, self.counts, strict=True)
        return tuple(_static_slice(start, step, count) for start, step, count in entries)

    def _dynamic_starts(self) -> list[Any]:
        """Traced integers where they are, 0 elsewhere."""
        dtype = jnp.result_type(*[start for start in self.starts if not isinstance(start, int)])
        return [dtype.type(0) if isinstance(start, int) else jnp.asarray(start, dtype) for start in self.starts]

    def _dynamic_part(self, whole: Any) -> Any:
        sizes = [
            extent if isinstance(start, int) else (count - 1) * step + 1
            for start, step, count, extent in zip(self.starts, self.steps, self.counts, whole.shape, strict=True)
        ]
        return jax.lax.dynamic_slice(whole, self._dynamic_starts(), sizes, allow_negative_indices=False)

    def _inner_slices(self) -> list[slice]:
        return [
            _static_slice(start, step, count) if isinstance(start, int) else slice(None, None, step)
            for start, step, count in zip(self.starts, self.steps, self.counts, strict=False)
        ]


def _static_slice(start: int, step: int, count: int) -> slice:
    stop = start + step * count
    return slice(start, None if stop < 0 else stop, step)
