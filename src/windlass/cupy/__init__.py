"""CuPy's interface without a GPU: `import windlass.cupy as cp` in place of `import cupy as cp`.

Arrays are NumPy arrays of a subclass that has CuPy's few methods more; functions are NumPy's. Kernels (`RawKernel`,
`RawModule`, `ElementwiseKernel`, `ReductionKernel`, `fuse`) are compiled from their CUDA C++ and raised to tensor
programs, as `windlass.cuda.compile` does.

Start reading at `kernels.py`; `templates.py` has elementwise and reduction kernels, `parameters.py` what they take.

>>> import windlass.cupy as cp
>>> squares = cp.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_difference")
>>> squares(cp.arange(4, dtype=cp.float32), cp.float32(1)).tolist()
[1.0, 0.0, 1.0, 4.0]
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from windlass.cupy import cuda
from windlass.cupy.device_array import array_function, as_device_array, asnumpy, ndarray
from windlass.cupy.kernels import RawKernel, RawModule, fuse
from windlass.cupy.templates import ElementwiseKernel, ReductionKernel
from windlass.dropins.devices import is_available

__all__ = [
    "ElementwiseKernel",
    "RawKernel",
    "RawModule",
    "ReductionKernel",
    "asarray",
    "asnumpy",
    "cuda",
    "fuse",
    "get_array_module",
    "is_available",
    "ndarray",
]

asarray = array_function("asarray")


def get_array_module(*_: object) -> Any:
    """This module: `xp = cp.get_array_module(x)` gives functions for arrays of any kind.

    >>> get_array_module(1).__name__
    'windlass.cupy'
    """
    import windlass.cupy as module

    return module


def __getattr__(name: str) -> Any:
    """NumPy's functions, whose arrays are device arrays; its dtypes and constants as they are."""
    found = getattr(_numpy, name, None)
    if found is None or name.startswith("_"):
        raise AttributeError(
            f"windlass.cupy has no '{name}': it has what NumPy has, and CuPy's kernels, cuda, asnumpy and fuse"
        )
    if callable(found) and not isinstance(found, type):
        return array_function(name)
    return as_device_array(found)
