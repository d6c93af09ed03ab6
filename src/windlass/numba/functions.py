"""The names of Numba's that are for hosts, once they are used, and the real Numba, where it is installed."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from windlass.diagnostics.deferral import deferred_names
from windlass.numba import cuda

HOST_FUNCTIONS = {
    "guvectorize": "windlass.numba.ufuncs",
    "get_num_threads": "windlass.numba.host_functions",
    "jit": "windlass.numba.host_functions",
    "literal_unroll": "windlass.numba.host_functions",
    "literally": "windlass.numba.host_functions",
    "njit": "windlass.numba.host_functions",
    "pndindex": "windlass.numba.host_functions",
    "prange": "windlass.numba.host_functions",
    "stencil": "windlass.numba.stencils",
    "vectorize": "windlass.numba.ufuncs",
}
"""By what they are, where they are: kernels alone need none of them, nor JAX."""

host_function = deferred_names("windlass.numba", HOST_FUNCTIONS)


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
    for name in ("vectorize", "guvectorize"):
        original = getattr(module, name)

        def either(*given: Any, name: str = name, original: Any = original, **options: Any) -> Any:
            return (host_function(name) if options.get("target") == "cuda" else original)(*given, **options)

        setattr(module, name, either)
    setattr(module, "cuda", cuda)  # noqa: B010
