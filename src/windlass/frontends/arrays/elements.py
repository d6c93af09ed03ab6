"""What NumPy's arrays give of themselves as objects of their own: `array.flat` and `array.flags`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import EllipsisType
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from windlass.frontends.arrays import indexing


class Flat:
    """All elements in C order, one after the other: `array.flat`."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    def __len__(self) -> int:
        return self._array.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self._array.flatten())

    def __getitem__(self, index: Any) -> Any:
        return self._array.flatten()[index if not isinstance(index, tuple) else index[0]].copy()

    def __setitem__(self, index: Any, value: Any) -> None:
        elements = self._array.flatten()
        place = elements[index] if isinstance(index, slice | EllipsisType) else None
        if place is not None and np.ndim(indexing.plain(value)) and np.size(indexing.plain(value)) != place.size:
            given = indexing.plain(value)  # again and again
            value = (jnp if isinstance(given, jax.Array) else np).resize(given, place.shape)
        elements[index] = value
        self._array.assign(elements.reshape(self._array.shape))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*_without_flat(inputs), **options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        return function(*_without_flat(arguments), **options)

    def copy(self) -> Any:
        return self._array.flatten()


def _without_flat(values: Any) -> Any:
    """The values, of which those that are some array's elements are arrays."""
    if isinstance(values, list | tuple):
        items = [_without_flat(each) for each in cast("Sequence[Any]", values)]
        return items if isinstance(values, list) else tuple(items)
    return values.copy() if isinstance(values, Flat) else values


class Flags:
    """`array.flags`: how an array lies in memory, and whether it may be written."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        object.__setattr__(self, "_array", array)

    def __getattr__(self, name: str) -> Any:
        if name == "owndata":
            return self._array.is_whole
        return getattr(self._array.shadow.flags, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "writeable":
            raise AttributeError(f"flags.{name} can not be set")
        self._array.setflags(write=value)

    def __getitem__(self, name: str) -> Any:
        return self._array.is_whole if name in ("O", "OWNDATA") else self._array.shadow.flags[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in ("W", "WRITEABLE"):
            raise KeyError(f"flag {name} can not be set")
        self._array.setflags(write=value)
