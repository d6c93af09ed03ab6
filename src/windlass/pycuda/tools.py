"""`pycuda.tools`: contexts, memory pools and dtypes as C names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from windlass.dropins.templates import C_TYPES
from windlass.pycuda.autoinit import context
from windlass.pycuda.driver import Context, DeviceAllocation, mem_alloc

_NAMES = {**C_TYPES, "int64": "long", "uint64": "unsigned long"}
del _NAMES["float16"]


def make_default_context(ctx_maker: Callable[..., Any] | None = None) -> Context:
    """The one context there is."""
    return context


def clear_context_caches() -> None:
    """Forget what was kept for the context: nothing is."""


def context_dependent_memoize(function: Callable[..., Any]) -> Callable[..., Any]:
    """Keep a function's results, as there is one context only."""
    return functools.cache(function)


def dtype_to_ctype(dtype: Any) -> str:
    """The C type of a dtype's numbers.

    Raises ValueError for dtypes that have none.

    >>> dtype_to_ctype(np.uint32)
    'unsigned int'
    """
    name = np.dtype(dtype).name
    if name not in _NAMES:
        raise ValueError(f"there is no C type for dtype {name}")
    return _NAMES[name]


class DeviceMemoryPool:
    """A pool that keeps nothing."""

    def allocate(self, size: int) -> DeviceAllocation:
        """New memory."""
        return mem_alloc(size)

    def free_held(self) -> None:
        """Give back what is held: nothing is."""

    def stop_holding(self) -> None:
        """Hold nothing from now on."""
