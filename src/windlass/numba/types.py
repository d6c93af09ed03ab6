"""`numba.types`: the types that signatures name."""

from __future__ import annotations

from typing import Any

from windlass.frontends.kernels import types as _types
from windlass.frontends.kernels.types import (
    Record,
    Signature,
    boolean,
    complex64,
    complex128,
    float32,
    float64,
    from_dtype,
    int8,
    int16,
    int32,
    int64,
    none,
    type_of,
    uint8,
    uint16,
    uint32,
    uint64,
)

bool_ = b1 = bool = boolean
i1, i2, i4, i8 = int8, int16, int32, int64
u1, u2, u4, u8 = uint8, uint16, uint32, uint64
f4, f8, c8, c16 = float32, float64, complex64, complex128
byte = uchar = uint8
char = int8
short, ushort = int16, uint16
intc, uintc = int32, uint32
int_ = intp = long_ = longlong = int64
uint = uintp = ulong = ulonglong = uint64
float_, double = float32, float64
void = none
unicode_type = string = _types.Known("unicode_type")
typeof = type_of
Type = _types.HeldType
Array = _types.KernelArray
Number = _types.KernelNumber

__all__ = [
    "Array", "Number", "Record", "Signature", "Tuple", "UniTuple", "b1", "bool_", "boolean", "byte", "c8", "c16",
    "char", "complex64", "complex128", "double", "f4", "f8", "float32", "float64", "float_", "from_dtype", "i1", "i2",
    "i4", "i8", "int8", "int16", "int32", "int64", "int_", "intc", "intp", "long_", "longlong", "none", "short",
    "typeof", "u1", "u2", "u4", "u8", "uchar", "uint", "uint8", "uint16", "uint32", "uint64", "uintc", "uintp",
    "ulong", "ulonglong", "unicode_type", "ushort", "void",
]  # fmt: skip


def Tuple(types: Any) -> _types.Tuple:  # noqa: N802
    """The type of a tuple of values of these types.

    >>> Tuple((int32, float32))
    (int32, float32)
    """
    return _types.Tuple(tuple(types))


def UniTuple(dtype: Any, count: int) -> _types.Tuple:  # noqa: N802
    """The type of a tuple of `count` values of one type.

    >>> UniTuple(int32, 2)
    (int32, int32)
    """
    return _types.Tuple((dtype,) * count)


def read_signature(signature: Any) -> Signature | None:
    """The signature that a decorator was given: as text, as a tuple of types, or as a type called with types.

    Raises TypeError for what is none of these.

    >>> read_signature("void(float32[:], int64)")
    (array(float32, 1d, A), int64) -> none
    """
    match signature:
        case None:
            return None
        case str():
            names = {name: value for name, value in globals().items() if not name.startswith("_")}
            return read_signature(eval(signature, {"__builtins__": {}}, names))
        case Signature():
            return signature
        case tuple():
            return Signature(none, tuple(_types.adopted(each) for each in signature))
        case _ if isinstance(signature, _types.HeldType):
            return Signature(none, (signature,))
        case _ if _types.adopted(signature) is not None:
            return read_signature(_types.adopted(signature))
        case _:
            raise TypeError(f"a signature is a text, a tuple of types or a type called with types; got {signature!r}")
