"""The names of Numba's that are for hosts, and the real Numba, where it is installed."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from windlass.numba import cuda
from windlass.numba.host_functions import jit, njit, prange
from windlass.numba.stencils import stencil
from windlass.numba.ufuncs import guvectorize, vectorize

__all__ = ["adapt_numba", "guvectorize", "installed_numba", "jit", "njit", "prange", "stencil", "vectorize"]


def installed_numba() -> ModuleType | None:
    """The real Numba; None where it is not installed, or where its name stands for this package."""
    try:
        found = importlib.import_module("numba")
    except ImportError:
        return None
    return None if found.__name__ != "numba" else found


def adapt_numba(module: ModuleType) -> None:
    """Give the real Numba this package's `cuda`, and functions whose target "cuda" is this package's.

    Its other functions and its types stay its own.
    """
    for name, own in (("vectorize", vectorize), ("guvectorize", guvectorize)):
        original = getattr(module, name)

        def either(*given: Any, own: Any = own, original: Any = original, **options: Any) -> Any:
            return (own if options.get("target") == "cuda" else original)(*given, **options)

        setattr(module, name, either)
    setattr(module, "cuda", cuda)  # noqa: B010
