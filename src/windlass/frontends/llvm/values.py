"""What LLVM values become: scalars are values; pointers, aggregates and addresses as integers are Python objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from windlass.ir import Value


@dataclass(frozen=True, slots=True)
class PointerValue:
    """A place in memory: a buffer and a byte offset (i64)."""

    buffer: Value
    offset: Value


@dataclass(frozen=True, slots=True)
class AddressNumber:
    """An integer (i64) made from a pointer. The buffer's own address is unknown but aligned to 256 bytes."""

    pointer: PointerValue


LLVMValue: TypeAlias = "Value | PointerValue | AddressNumber | tuple[LLVMValue, ...]"


def flatten(value: LLVMValue) -> list[LLVMValue]:
    """The scalars and pointers within an aggregate, in order."""
    if isinstance(value, tuple):
        return [inner for each in value for inner in flatten(each)]
    return [value]
