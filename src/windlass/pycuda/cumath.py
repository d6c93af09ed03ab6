"""`pycuda.cumath`: elementwise functions of device arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from windlass.pycuda.gpuarray import GPUArray


def _function(ufunc: np.ufunc) -> Callable[..., GPUArray]:
    def apply(array: GPUArray, *, out: GPUArray | None = None, stream: object = None) -> GPUArray:
        """The function of each element, in a new array or in `out`."""
        result: Any = ufunc(array) if out is None else ufunc(array, out=out)
        return result

    apply.__name__ = ufunc.__name__
    return apply


fabs, ceil, floor, exp, log, log10, sqrt = map(
    _function, (np.fabs, np.ceil, np.floor, np.exp, np.log, np.log10, np.sqrt)
)
sin, cos, tan, asin, acos, atan = map(_function, (np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan))
sinh, cosh, tanh = map(_function, (np.sinh, np.cosh, np.tanh))


def fmod(arg: GPUArray, mod: Any, stream: object = None) -> GPUArray:
    """The remainder of each element, with its sign."""
    result: Any = np.fmod(arg, mod)
    return result
