"""`pycuda.tools`: contexts, memory pools and dtypes as C names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from windlass.dropins.templates import C_TYPES
from windlass.pycuda.autoinit import context
from windlass.pycuda.driver import Context, DeviceAllocation, mem_alloc
from windlass.pycuda.vectors import name_of_vector

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
    found = np.dtype(dtype)
    name = _NAMES.get(found.name) or name_of_vector(found)
    if name is None:
        raise ValueError(f"there is no C type for dtype {found}")
    return name


@dataclass(frozen=True)
class VectorArg:
    """An array among a kernel's arguments.

    >>> VectorArg(np.float32, "x").declarator()
    'float *x'
    """

    dtype: Any
    name: str

    def declarator(self) -> str:
        """As C++ declares it."""
        return f"{dtype_to_ctype(self.dtype)} *{self.name}"


@dataclass(frozen=True)
class ScalarArg:
    """A number among a kernel's arguments.

    >>> ScalarArg(np.int64, "n").declarator()
    'long n'
    """

    dtype: Any
    name: str

    def declarator(self) -> str:
        """As C++ declares it."""
        return f"{dtype_to_ctype(self.dtype)} {self.name}"


def declared(arguments: str | Sequence[VectorArg | ScalarArg]) -> str:
    """A list of arguments as C++ declares them, which a text does already."""
    return arguments if isinstance(arguments, str) else ", ".join(each.declarator() for each in arguments)


class DeviceMemoryPool:
    """A pool that keeps nothing."""

    def allocate(self, size: int) -> DeviceAllocation:
        """New memory."""
        return mem_alloc(size)

    def free_held(self) -> None:
        """Give back what is held: nothing is."""

    def stop_holding(self) -> None:
        """Hold nothing from now on."""
