"""LLVM's types and how they lie in memory on nvptx64."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, eq=False)
class LLVMType:
    """A type; equal types are not necessarily the same object, so compare their `text`."""

    text: str

    @property
    def size(self) -> int:
        """Bytes from one array element to the next."""
        raise NotImplementedError(f"{self.text} has no size")

    @property
    def alignment(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False, repr=False)
class IntegerType(LLVMType):
    bits: int

    @cached_property
    def size(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        stored = (self.bits + 7) // 8
        return 1 << (stored - 1).bit_length() if stored <= 8 else -(-stored // 16) * 16


FLOAT_DTYPES = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}
FLOAT_SIZES = {"half": 2, "bfloat": 2, "float": 4, "double": 8}


@dataclass(frozen=True, eq=False, repr=False)
class FloatType(LLVMType):
    @property
    def size(self) -> int:
        return FLOAT_SIZES[self.text]

    @property
    def dtype(self) -> str:
        return FLOAT_DTYPES[self.text]


@dataclass(frozen=True, eq=False, repr=False)
class PointerType(LLVMType):
    space: int

    @property
    def size(self) -> int:
        return 8


@dataclass(frozen=True, eq=False, repr=False)
class ArrayType(LLVMType):
    count: int
    element: LLVMType

    @property
    def size(self) -> int:
        return self.count * self.element.size

    @property
    def alignment(self) -> int:
        return self.element.alignment


@dataclass(frozen=True, eq=False, repr=False)
class VectorType(LLVMType):
    count: int
    element: LLVMType

    @property
    def size(self) -> int:
        if isinstance(self.element, IntegerType) and self.element.bits == 1:
            return max(1, self.count // 8)
        used = self.count * self.element.size
        return 1 << (used - 1).bit_length()


@dataclass(frozen=True, eq=False, repr=False)
class StructType(LLVMType):
    fields: tuple[LLVMType, ...]
    is_packed: bool

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each field begins."""
        found: list[int] = []
        end = 0
        for field in self.fields:
            alignment = 1 if self.is_packed else field.alignment
            begin = -(-end // alignment) * alignment
            found.append(begin)
            end = begin + field.size
        return tuple(found)

    @cached_property
    def size(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        if not self.fields:
            return 0
        end = self.offsets[-1] + self.fields[-1].size
        return -(-end // self.alignment) * self.alignment

    @cached_property
    def alignment(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        return 1 if self.is_packed else max((field.alignment for field in self.fields), default=1)


@dataclass(frozen=True, eq=False, repr=False)
class OtherType(LLVMType):
    """void, label, metadata, function types: types of no values that the importer works with."""


VOID = OtherType("void")
I1 = IntegerType("i1", 1)
I32 = IntegerType("i32", 32)
I64 = IntegerType("i64", 64)


def members_of(type_: LLVMType) -> tuple[tuple[int, LLVMType], ...]:
    """The parts of an aggregate or vector, each with its byte offset; empty for other types.

    >>> members_of(ArrayType("[2 x i32]", 2, I32))
    ((0, i32), (4, i32))
    """
    if isinstance(type_, StructType):
        return tuple(zip(type_.offsets, type_.fields, strict=True))
    if isinstance(type_, ArrayType | VectorType):
        element = type_.element
        return tuple((index * element.size, element) for index in range(type_.count))
    return ()


def scalars_of(type_: LLVMType, base: int = 0) -> list[tuple[int, LLVMType]]:
    """All scalars within a type, each with its byte offset."""
    if isinstance(type_, StructType | ArrayType | VectorType):
        return [inner for offset, member in members_of(type_) for inner in scalars_of(member, base + offset)]
    return [(base, type_)]


def declared_dtype(type_: LLVMType) -> str | None:
    """The dtype of all numbers within a type, where they are floats of one; None otherwise.

    >>> declared_dtype(ArrayType("[4 x float]", 4, FloatType("float")))
    'f32'
    """
    match type_:
        case FloatType():
            return type_.dtype
        case ArrayType() | VectorType():
            return declared_dtype(type_.element)
        case StructType():
            found = {declared_dtype(field) for field in type_.fields}
            return found.pop() if len(found) == 1 else None
        case _:
            return None
