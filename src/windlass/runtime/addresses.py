"""Where a NumPy array's elements begin, for launches that take less than asking NumPy for it does.

The C interface of NumPy has an array's address stand first in it, after what begins each of Python's objects; code that
was compiled with NumPy's headers reads it there. What Python is told of it comes with all else that an array says of
itself, which takes eight times as long.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

_word_at = ctypes.c_uint64.from_address
_OFFSET = object.__basicsize__


def address_of(array: Array) -> int:
    """The address of an array's first element.

    >>> x = np.arange(10)
    >>> address_of(x[3:]) - address_of(x)
    24
    """
    return _word_at(id(array) + _OFFSET).value


def asked_address_of(array: Array) -> int:
    """The same as NumPy says it."""
    return int(array.__array_interface__["data"][0])


def _is_as_in_c() -> bool:
    """Whether an array's address is where C reads it: in CPython, and so for arrays that own memory and that do not."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    base = np.zeros((3, 5))
    samples: tuple[Array, ...] = (base, base[1:, 2:], base.T, base[::-1], np.zeros(0), np.zeros((), np.int8))
    return all(address_of(each) == asked_address_of(each) for each in samples)


if not _is_as_in_c():
    address_of = asked_address_of
