"""Memory for device variables, which raised launches, the emulator and host programs share."""

from __future__ import annotations

import mmap
import sys
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics.limits import out_of_memory

Array: TypeAlias = NDArray[Any]

_GUARDS = (16 << 30, 1 << 16)
"""Bytes on either side that nothing else is put in: an index that goes wrong does not meet another variable there."""
_WITHOUT_RESERVE = {"linux": 0x4000, "darwin": 0x40}.get(sys.platform, 0)  # MAP_NORESERVE, which Python does not name
_PAGE = 4096


def place_variable(value: Array) -> Array:
    """A copy of an array in memory of its own, at the start of a page.

    Raises MemoryLimitError (WL0624).

    >>> placed = place_variable(np.arange(3, dtype=np.int32))
    >>> placed, placed.ctypes.data % 4096
    (array([0, 1, 2], dtype=int32), 0)
    """
    pages = max(1, -(-value.nbytes // _PAGE)) * _PAGE
    for guard in _GUARDS:
        try:
            memory = mmap.mmap(-1, pages + 2 * guard, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _WITHOUT_RESERVE)
        except OSError:
            continue
        placed = np.frombuffer(memory, np.uint8, value.nbytes, guard).view(value.dtype).reshape(value.shape)
        placed[...] = value
        return placed
    raise out_of_memory(f"a device variable of {value.nbytes} bytes")
