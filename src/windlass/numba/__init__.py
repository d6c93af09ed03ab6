"""Numba's interface to CUDA without a GPU: `from windlass.numba import cuda` in place of `from numba import cuda`.

`cuda.jit` compiles kernels written in Python and raises them to tensor programs; device arrays are memory of this
process. The types (`float32`, `int64`, ...) are here too. Where Numba itself is installed, what is not for GPUs
(`njit`, `prange`, ...) is Numba's own; otherwise `njit` and its kin leave functions as they are.

Start reading at `cuda/dispatcher.py`.

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

from typing import Any

from windlass.numba import core, cuda, types
from windlass.numba.core import config, errors
from windlass.numba.functions import generated_jit, guvectorize, jit, njit, prange, stencil, vectorize
from windlass.numba.types import (
    Tuple,
    UniTuple,
    b1,
    bool_,
    boolean,
    byte,
    c8,
    c16,
    char,
    complex64,
    complex128,
    double,
    f4,
    f8,
    float32,
    float64,
    float_,
    from_dtype,
    i1,
    i2,
    i4,
    i8,
    int8,
    int16,
    int32,
    int64,
    int_,
    intc,
    intp,
    long_,
    longlong,
    none,
    short,
    typeof,
    u1,
    u2,
    u4,
    u8,
    uchar,
    uint,
    uint8,
    uint16,
    uint32,
    uint64,
    uintc,
    uintp,
    ulong,
    ulonglong,
    ushort,
    void,
)

__version__ = "0.61.0"

__all__ = [
    "Tuple",
    "UniTuple",
    "b1",
    "bool_",
    "boolean",
    "byte",
    "c8",
    "c16",
    "char",
    "complex64",
    "complex128",
    "config",
    "core",
    "cuda",
    "double",
    "errors",
    "f4",
    "f8",
    "float32",
    "float64",
    "float_",
    "from_dtype",
    "generated_jit",
    "guvectorize",
    "i1",
    "i2",
    "i4",
    "i8",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "intc",
    "intp",
    "jit",
    "long_",
    "longlong",
    "njit",
    "none",
    "prange",
    "short",
    "stencil",
    "typeof",
    "types",
    "u1",
    "u2",
    "u4",
    "u8",
    "uchar",
    "uint",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uintc",
    "uintp",
    "ulong",
    "ulonglong",
    "ushort",
    "vectorize",
    "void",
]


def __getattr__(name: str) -> Any:
    """What Numba has and Windlass has not: Numba's own, where it is installed."""
    from windlass.numba.functions import installed_numba

    real = installed_numba()
    if name.startswith("__") or real is None or not hasattr(real, name):
        raise AttributeError(f"windlass.numba has no '{name}': it has the types, jit and its kin, and cuda")
    return getattr(real, name)
