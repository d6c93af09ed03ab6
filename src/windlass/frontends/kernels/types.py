"""The types of values in Python kernels, named and combined as Numba names and combines them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np


class HeldType:
    """A type of a value. Values are held in C++ as zero or more scalars, their leaves."""

    def leaves(self) -> tuple[str, ...]:
        """The C++ types of what a value of this type is made of."""
        raise NotImplementedError


@dataclass(frozen=True)
class KernelNumber(HeldType):
    """A number: `kind` is b (boolean), i, u, f or c, as in NumPy.

    In signatures `float32[:]` is an array of it with one axis, `float32[:, ::1]` one with two axes in C order. Called
    outside a kernel it converts, as NumPy's scalar types do.

    >>> int32[:, ::1], float64(1)
    (array(int32, 2d, C), np.float64(1.0))
    """

    name: str
    kind: str
    bits: int
    cpp: str

    def leaves(self) -> tuple[str, ...]:
        return (self.cpp,)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return np.dtype("bool" if self.kind == "b" else self.name)

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer (booleans are not)."""
        return self.kind in "iu"

    @property
    def is_integral(self) -> bool:
        """Whether it is an integer or a boolean."""
        return self.kind in "biu"

    @property
    def full_bits(self) -> int:
        """In how many bits the absolute value of a number of the type fits."""
        return self.bits - (self.kind == "i") if self.is_integral else 64

    def __call__(self, *values: Any) -> Any:
        if len(values) == 1 and not isinstance(values[0], HeldType):
            return self.dtype.type(values[0])
        return Signature(self, tuple(values))

    def __getitem__(self, axes: Any) -> KernelArray:
        return array_of(self, axes)

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


class NoneType(HeldType):
    """The type of None, and of calls that give nothing."""

    name = "none"

    def leaves(self) -> tuple[str, ...]:
        return ()

    def __call__(self, *arguments: Any) -> Signature:
        return Signature(self, tuple(arguments))

    def __repr__(self) -> str:
        return "none"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoneType)

    def __hash__(self) -> int:
        return hash("none")


@dataclass(frozen=True)
class Record(HeldType):
    """A structure with named fields, as NumPy's structured dtypes. A value is a pointer to where it lies."""

    dtype: np.dtype[Any] = field(compare=True)

    @cached_property
    def cpp(self) -> str:
        """The name of its C++ structure."""
        return f"record_{zlib.crc32(f'{self.dtype.fields} {self.dtype.itemsize}'.encode()):08x}"

    def leaves(self) -> tuple[str, ...]:
        return (f"{self.cpp} *",)

    def __getitem__(self, axes: Any) -> KernelArray:
        return array_of(self, axes)

    def __repr__(self) -> str:
        return f"Record({', '.join(self.dtype.names or ())})"

    __str__ = __repr__


@dataclass(frozen=True)
class KernelArray(HeldType):
    """An array: a pointer, an extent for each axis and, unless its order is C or F, a stride for each, in elements."""

    dtype: KernelNumber | Record
    ndim: int
    layout: str = "A"

    def leaves(self) -> tuple[str, ...]:
        counts = self.ndim * (2 if self.layout == "A" else 1)
        return (f"{self.dtype.cpp} *", *["long long"] * counts)

    def __repr__(self) -> str:
        return f"array({self.dtype}, {self.ndim}d, {self.layout})"

    __str__ = __repr__


@dataclass(frozen=True)
class Tuple(HeldType):
    """A tuple of values."""

    types: tuple[HeldType, ...]
    names: tuple[str, ...] = ()
    """Those of a named tuple's fields."""

    def leaves(self) -> tuple[str, ...]:
        return tuple(leaf for each in self.types for leaf in each.leaves())

    def __call__(self, *arguments: Any) -> Signature:
        return Signature(self, tuple(arguments))

    def __repr__(self) -> str:
        return f"({', '.join(map(str, self.types))}{',' if len(self.types) == 1 else ''})"

    __str__ = __repr__


@dataclass(frozen=True)
class Known(HeldType):
    """Something that is known when the kernel is compiled, and is no number: a function, a module, a type, a text."""

    what: str = "object"

    def leaves(self) -> tuple[str, ...]:
        return ()

    def __repr__(self) -> str:
        return self.what

    __str__ = __repr__


@dataclass(frozen=True)
class Signature:
    """The types of a function's arguments and of its result: `float32(float32, int64)`."""

    result: Any
    arguments: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"({', '.join(map(str, self.arguments))}) -> {self.result}"


boolean = KernelNumber("bool", "b", 8, "bool")
int8 = KernelNumber("int8", "i", 8, "signed char")
int16 = KernelNumber("int16", "i", 16, "short")
int32 = KernelNumber("int32", "i", 32, "int")
int64 = KernelNumber("int64", "i", 64, "long long")
uint8 = KernelNumber("uint8", "u", 8, "unsigned char")
uint16 = KernelNumber("uint16", "u", 16, "unsigned short")
uint32 = KernelNumber("uint32", "u", 32, "unsigned int")
uint64 = KernelNumber("uint64", "u", 64, "unsigned long long")
float32 = KernelNumber("float32", "f", 32, "float")
float64 = KernelNumber("float64", "f", 64, "double")
complex64 = KernelNumber("complex64", "c", 64, "windlass_complex<float>")
complex128 = KernelNumber("complex128", "c", 128, "windlass_complex<double>")
none = NoneType()

NUMBERS = (
    boolean,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float32,
    float64,
    complex64,
    complex128,
)
_BY_NAME: dict[str, KernelNumber | NoneType] = {number.name: number for number in NUMBERS} | {
    "none": none,
    "void": none,
}
_BY_DTYPE = {number.dtype: number for number in NUMBERS}


def from_dtype(dtype: Any) -> KernelNumber | Record:
    """The type of elements of a NumPy dtype.

    Raises TypeError for dtypes that kernels have no numbers of.

    >>> from_dtype(np.float32)
    float32
    """
    found = np.dtype(dtype)
    number = _BY_DTYPE.get(found)
    if number is not None:
        return number
    if found.names is not None:
        return Record(plain_record(found))
    raise TypeError(f"kernels have no values of dtype {found}")


def plain_record(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A structured dtype by nothing but its names, formats and offsets: `numpy.record`'s are the same types."""
    if dtype.fields is None:
        return dtype
    fields: dict[str, Any] = {str(name): found for name, found in dtype.fields.items()}
    formats: list[Any] = []
    for name in dtype.names or ():
        found: Any = fields[name][0]
        if found.subdtype is not None:
            formats.append((plain_record(found.subdtype[0]), found.subdtype[1]))
        else:
            formats.append(plain_record(found))
    offsets = [fields[name][1] for name in dtype.names or ()]
    return np.dtype(
        {"names": list(dtype.names or ()), "formats": formats, "offsets": offsets, "itemsize": dtype.itemsize}
    )


def array_of(dtype: KernelNumber | Record, axes: Any) -> KernelArray:
    """`dtype[axes]`, as in signatures: one slice for each axis, `::1` where neighbours lie side by side.

    >>> float32[:], float32[::1, :]
    (array(float32, 1d, A), array(float32, 2d, F))
    """
    slices = axes if isinstance(axes, tuple) else (axes,)
    if not all(isinstance(each, slice) for each in slices):
        raise TypeError(f"an array type is written with slices, as in {dtype}[:, :]; got {axes!r}")
    steps: Sequence[Any] = [each.step for each in slices]
    layout = "C" if steps[-1] == 1 else "F" if steps[0] == 1 else "A"
    return KernelArray(dtype, len(slices), layout)


def layout_of(array: np.ndarray[Any, Any]) -> str:
    """C, F or A: in which order an array's elements lie."""
    return "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else "A"


def adopted(thing: Any) -> Any:
    """A type or a signature of the real Numba's as one of these; those of these stay; None for other things."""
    if isinstance(thing, HeldType | Signature):
        return thing
    if not type(thing).__module__.startswith("numba."):
        return None
    name = str(getattr(thing, "name", ""))
    if name in _BY_NAME:
        return _BY_NAME[name]
    if hasattr(thing, "return_type"):
        return Signature(adopted(thing.return_type), tuple(adopted(each) for each in thing.args))
    if hasattr(thing, "dtype") and hasattr(thing, "shape"):
        return _Nested(adopted(thing.dtype), tuple(thing.shape))
    if hasattr(thing, "layout") and hasattr(thing, "ndim"):
        return KernelArray(adopted(thing.dtype), thing.ndim, thing.layout)
    if hasattr(thing, "types"):
        return Tuple(tuple(adopted(each) for each in thing.types))
    fields = getattr(thing, "fields", None)
    if isinstance(fields, dict) and hasattr(thing, "size"):
        found: dict[str, Any] = fields
        description: Any = {
            "names": list(found),
            "formats": [_dtype_of(adopted(each.type)) for each in found.values()],
            "offsets": [each.offset for each in found.values()],
            "itemsize": thing.size,
        }
        return Record(plain_record(np.dtype(description)))
    return None


@dataclass(frozen=True)
class _Nested(HeldType):
    """An array inside of a record."""

    element: KernelNumber
    shape: tuple[int, ...]


def _dtype_of(type_: Any) -> Any:
    return (type_.element.dtype, type_.shape) if isinstance(type_, _Nested) else type_.dtype


def type_of(value: Any) -> HeldType:
    """The type that an argument has in a kernel.

    Raises TypeError where there is none.

    >>> type_of(1), type_of(1.5), type_of(np.zeros((2, 3), np.float32)), type_of((1, 2.0))
    (int64, float64, array(float32, 2d, C), (int64, float64))
    """
    match value:
        case bool() | np.bool_():
            return boolean
        case np.ndarray():
            return KernelArray(from_dtype(value.dtype), value.ndim, layout_of(value))
        case np.void():
            return from_dtype(value.dtype)
        case np.generic():
            return from_dtype(value.dtype)
        case int():
            if -(2**63) <= value < 2**63:
                return int64
            if 0 <= value < 2**64:
                return uint64
            raise TypeError(f"{value} does not fit into 64 bits")
        case float():
            return float64
        case complex():
            return complex128
        case None:
            return none
        case tuple():
            return Tuple(tuple(type_of(each) for each in value), tuple(getattr(value, "_fields", ())))
        case _:
            raise TypeError(f"kernels take arrays, numbers, booleans and tuples; got {type(value).__name__}")
