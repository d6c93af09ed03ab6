"""`gpuarray.vec`: CUDA's vector types as dtypes with the fields x, y, z and w, and functions that make vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from windlass.dropins.arrays import Array

_BASES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8", "ulong": "u8",
    "longlong": "i8", "ulonglong": "u8", "float": "f4", "double": "f8",
}  # fmt: skip


def _vector_types() -> Mapping[str, np.dtype[Any]]:
    return {
        f"{base}{count}": np.dtype(list(zip("xyzw"[:count], [kind] * count, strict=True)))
        for base, kind in _BASES.items()
        for count in range(1, 5)
    }


class Vectors:
    """`vec.float3` is a dtype, `vec.make_float3(x, y, z)` one vector, an array without axes.

    >>> vec = Vectors()
    >>> vec.float2, vec.make_float2(1, 2).item()
    (dtype([('x', '<f4'), ('y', '<f4')]), (1.0, 2.0))
    """

    types: Mapping[str, np.dtype[Any]] = _vector_types()

    def __getattr__(self, name: str) -> Any:
        dtype = self.types.get(name.removeprefix("make_"))
        if dtype is None:
            raise AttributeError(f"there is no vector type {name.removeprefix('make_')}")
        return _maker(name, dtype) if name.startswith("make_") else dtype


def _maker(name: str, dtype: np.dtype[Any]) -> Callable[..., Array]:
    def make(*numbers: Any) -> Array:
        """One vector of these numbers."""
        wanted = len(dtype.names or ())
        if len(numbers) != wanted:
            raise TypeError(f"{name} takes {wanted} numbers, got {len(numbers)}")
        return np.array(numbers, dtype)

    make.__name__ = name
    return make


def name_of_vector(dtype: np.dtype[Any]) -> str | None:
    """What CUDA calls a vector type; None for other dtypes.

    >>> name_of_vector(Vectors().uchar4), name_of_vector(np.dtype(np.float32))
    ('uchar4', None)
    """
    return next((name for name, known in Vectors.types.items() if known == dtype), None)
