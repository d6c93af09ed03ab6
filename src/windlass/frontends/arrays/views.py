"""Views: how an array's elements are found in the array whose memory they share, and put back there.

A view is a chain of steps. Each step can `get` the smaller or rearranged value out of a larger one and `put` a new
value for it back. What a step gives (its shape, and whether it is a view at all) is decided by NumPy itself, on a
*shadow*: a NumPy array with the right shape and strides whose memory is never touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

Shadow: TypeAlias = NDArray[Any]


def shadow_of(shape: tuple[int, ...], dtype: np.dtype) -> Shadow:
    """A NumPy array of this shape with C-order strides, without memory: for questions about layout only."""
    strides: list[int] = []
    step = dtype.itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, tuple(reversed(strides)))


class ViewStep:
    """One step of a view. What it gets of a NumPy array is a view again, of JAX's arrays a value."""

    def get(self, whole: Any) -> Any:
        """The viewed value."""
        raise NotImplementedError

    def put(self, whole: Any, part: Any) -> Any:
        """`whole` with `part` in the place that is viewed."""
        raise NotImplementedError


@dataclass(frozen=True)
class Permute(ViewStep):
    """Axes in another order."""

    axes: tuple[int, ...]

    def get(self, whole: Any) -> Any:
        return whole.transpose(self.axes)

    def put(self, whole: Any, part: Any) -> Any:
        return jnp.transpose(part, tuple(int(axis) for axis in np.argsort(self.axes)))


@dataclass(frozen=True)
class Regroup(ViewStep):
    """The same elements in another shape."""

    shape: tuple[int, ...]

    def get(self, whole: Any) -> Any:
        return whole.reshape(self.shape)

    def put(self, whole: Any, part: Any) -> Any:
        return jnp.reshape(part, whole.shape)


@dataclass(frozen=True)
class ViewPart(ViewStep):
    """Real or imaginary parts."""

    name: str

    def get(self, whole: Any) -> Any:
        return whole.real if self.name == "real" else whole.imag

    def put(self, whole: Any, part: Any) -> Any:
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
        return jax.lax.dynamic_update_slice(whole, new, self._dynamic_starts())

    def _static_slices(self) -> tuple[slice, ...]:
        entries = zip(self.starts, self.steps, self.counts, strict=True)
        return tuple(_static_slice(start, step, count) for start, step, count in entries)

    def _dynamic_starts(self) -> list[Any]:
        """Traced integers where they are, 0 elsewhere."""
        dtype = jnp.result_type(*[start for start in self.starts if not isinstance(start, int)])
        return [jnp.asarray(0 if isinstance(start, int) else start, dtype) for start in self.starts]

    def _dynamic_part(self, whole: Any) -> Any:
        sizes = [
            extent if isinstance(start, int) else 1 for start, extent in zip(self.starts, whole.shape, strict=True)
        ]
        return jax.lax.dynamic_slice(whole, self._dynamic_starts(), sizes)

    def _inner_slices(self) -> list[slice]:
        return [
            _static_slice(start, step, count) if isinstance(start, int) else slice(None)
            for start, step, count in zip(self.starts, self.steps, self.counts, strict=False)
        ]


def _static_slice(start: int, step: int, count: int) -> slice:
    stop = start + step * count
    return slice(start, None if stop < 0 else stop, step)
