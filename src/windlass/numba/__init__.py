"""Numba's names: `from windlass.numba import njit, prange, cuda` in place of `from numba import njit, prange, cuda`.

`njit`, `vectorize`, `guvectorize` and `stencil` capture functions of NumPy's arrays as `wl.jit` does. `cuda.jit`
compiles kernels written in Python and raises them to tensor programs, without a GPU; device arrays are memory of this
process. The types (`float32`, `int64`, ...) are here too. What else Numba has is Numba's own, where it is installed.

Start reading at `host_functions.py` for hosts, at `cuda/dispatcher.py` for kernels.

>>> import numpy as np
>>> from windlass.numba import cuda
>>> @cuda.jit
... def twice(x):
...     i = cuda.grid(1)
...     if i < x.size:
...         x[i] *= 2
>>> x = np.arange(3.0)
>>> twice[1, 32](x)
>>> x.tolist()
[0.0, 2.0, 4.0]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from windlass.numba import core, cuda, typed, types
from windlass.numba.core import config, errors
from windlass.numba.functions import HOST_FUNCTIONS, host_function, installed_numba
from windlass.numba.missing import MISSING, objmode, refuse
from windlass.numba.types import *  # noqa: F403

if TYPE_CHECKING:
    from windlass.numba.host_functions import (
        get_num_threads,
        jit,
        literal_unroll,
        literally,
        njit,
        pndindex,
        prange,
    )
    from windlass.numba.stencils import stencil
    from windlass.numba.ufuncs import guvectorize, vectorize

__version__ = "0.61.0"

__all__ = [
    "config",
    "core",
    "cuda",
    "errors",
    "get_num_threads",
    "guvectorize",
    "jit",
    "literal_unroll",
    "literally",
    "njit",
    "objmode",
    "pndindex",
    "prange",
    "stencil",
    "typed",
    "types",
    "vectorize",
]
__all__ += types.__all__


def __getattr__(name: str) -> Any:
    """What Numba has and Windlass has not: Numba's own, where it is installed.

    Raises LaunchError (WL0909) for what functions captured here could not use.
    """
    if name in HOST_FUNCTIONS:
        return host_function(name)
    if name in MISSING:
        raise refuse(name)
    real = installed_numba()
    if name.startswith("__") or real is None or not hasattr(real, name):
        raise AttributeError(f"windlass.numba has no '{name}': it has the types, jit and its kin, and cuda")
    return getattr(real, name)
