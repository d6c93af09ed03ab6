"""Aligned memory for large NumPy arrays on their way into a program.

XLA takes a NumPy array without copying if it begins at a multiple of 64 bytes, which large arrays of NumPy don't (they
begin 16 bytes after a page). Else it copies into fresh memory, whose pages the system has to provide at each call: that
takes longer than the copy. So large arrays are copied into memory that is kept for the next call.
"""

from __future__ import annotations

import threading
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

ALIGNMENT = 64
LARGE = 1 << 18
"""Arrays of fewer bytes are left to XLA, which copies them."""
MOST_KEPT = 1 << 30
"""So many bytes are kept between calls."""


class BufferPool:
    """Aligned buffers, handed out and taken back. For use by several threads."""

    def __init__(self, most_kept: int = MOST_KEPT) -> None:
        self._free: dict[int, list[Array]] = {}
        self._kept = 0
        self._most_kept = most_kept
        self._lock = threading.Lock()

    def copy_of(self, array: Array) -> Array:
        """An array's elements, contiguous in aligned memory, to be given back with `give_back`."""
        copy = self.empty(array.size, array.dtype).reshape(array.shape)
        np.copyto(copy, array)
        return copy

    def empty(self, count: int, dtype: np.dtype) -> Array:
        """Aligned memory for so many elements, to be given back with `give_back`."""
        size = count * dtype.itemsize
        with self._lock:
            waiting = self._free.get(size)
            buffer = waiting.pop() if waiting else None
            if buffer is not None:
                self._kept -= size
        if buffer is None:
            raw = np.empty(size + ALIGNMENT, np.uint8)
            start = -address_of(raw) % ALIGNMENT
            buffer = raw[start : start + size]
        return buffer.view(dtype)

    def give_back(self, copy: Array) -> None:
        """Take memory back whose contents nobody needs any more."""
        buffer = copy.reshape(-1).view(np.uint8)
        with self._lock:
            if self._kept + copy.nbytes <= self._most_kept:
                self._free.setdefault(copy.nbytes, []).append(buffer)
                self._kept += copy.nbytes


def address_of(array: Array) -> int:
    """Where the array's first element lies."""
    return array.__array_interface__["data"][0]


pool = BufferPool()
"""The process's buffers."""
