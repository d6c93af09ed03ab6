"""Types are interned: equal types are the same object, so comparing them is `is`."""

from __future__ import annotations

import math
from typing import ClassVar

import ml_dtypes
import numpy as np

NUMPY_DTYPES: dict[str, np.dtype] = {
    "i1": np.dtype(np.bool_),
    "i4": np.dtype(ml_dtypes.int4),
    "ui4": np.dtype(ml_dtypes.uint4),
    **{f"i{n}": np.dtype(f"int{n}") for n in (8, 16, 32, 64)},
    **{f"ui{n}": np.dtype(f"uint{n}") for n in (8, 16, 32, 64)},
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E4M3FNUZ": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "f8E5M2FNUZ": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "f8E4M3B11FNUZ": np.dtype(ml_dtypes.float8_e4m3b11fnuz),
    "complex<f32>": np.dtype(np.complex64),
    "complex<f64>": np.dtype(np.complex128),
}
"""Element types by their MLIR name."""

MLIR_DTYPES: dict[np.dtype, str] = {dtype: name for name, dtype in NUMPY_DTYPES.items()}


class Type:
    """What a value is; `text` is its MLIR spelling."""

    __slots__ = ("text",)
    text: str

    def __repr__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("types are interned and are not pickled; send their text")


class TensorType(Type):
    """A dense array of known shape; rank 0 is a scalar. Make it with `tensor_type`."""

    __slots__ = ("dtype", "shape")
    shape: tuple[int, ...]
    dtype: str
    known: ClassVar[dict[tuple[tuple[int, ...], str], TensorType]] = {}

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Size in memory, as NumPy would store it."""
        return self.size * self.numpy_dtype.itemsize

    @property
    def numpy_dtype(self) -> np.dtype:
        return NUMPY_DTYPES[self.dtype]

    @property
    def is_integer(self) -> bool:
        return self.dtype.lstrip("u").startswith("i") and self.dtype != "i1"

    @property
    def is_boolean(self) -> bool:
        return self.dtype == "i1"

    @property
    def is_unsigned(self) -> bool:
        return self.dtype.startswith("ui")

    @property
    def is_float(self) -> bool:
        return self.dtype.startswith(("f", "bf"))

    @property
    def is_complex(self) -> bool:
        return self.dtype.startswith("complex")


def tensor_type(shape: tuple[int, ...], dtype: str) -> TensorType:
    """The type of an array of `shape` with elements `dtype` (an MLIR name: f32, i1, ui8, complex<f32>).

    >>> tensor_type((2, 3), "f32")
    tensor<2x3xf32>
    """
    key = (shape, dtype)
    known = TensorType.known.get(key)
    if known is None:
        known = TensorType()
        known.shape, known.dtype = key
        known.text = f"tensor<{''.join(f'{size}x' for size in shape)}{dtype}>"
        TensorType.known[key] = known
    return known


class BufferType(Type):
    """Memory at the loop level: a region of bytes that pointers go into.

    `space` is "global", "constant", "shared" or "local"; `dtype` is the element type that the source declares
    (None for records and void); `size` is the number of bytes where the declaration fixes it.
    """

    __slots__ = ("dtype", "size", "space")
    space: str
    dtype: str | None
    size: int | None
    known: ClassVar[dict[tuple[str, str | None, int | None], BufferType]] = {}

    @classmethod
    def of(cls, space: str, dtype: str | None = None, size: int | None = None) -> BufferType:
        """The buffer type with these properties.

        >>> BufferType.of("shared", "f32", 1024)
        memref<256xf32, "shared">
        """
        key = (space, dtype, size)
        known = cls.known.get(key)
        if known is None:
            known = cls()
            known.space, known.dtype, known.size = key
            count = "?" if size is None else str(size // (NUMPY_DTYPES[dtype].itemsize if dtype else 1))
            known.text = f'memref<{count}x{dtype or "i8"}, "{space}">'
            cls.known[key] = known
        return known


class OpaqueType(Type):
    """A type that Windlass does not look into (tokens, tuples, dynamic or quantized tensors), kept by its text."""

    __slots__ = ()
    known: ClassVar[dict[str, OpaqueType]] = {}

    @classmethod
    def of(cls, text: str) -> OpaqueType:
        known = cls.known.get(text)
        if known is None:
            known = cls()
            known.text = text
            cls.known[text] = known
        return known
