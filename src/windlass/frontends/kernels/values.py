"""Values in the middle of translation: a type, and the C++ expressions of its leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from windlass.frontends.kernels import promotion
from windlass.frontends.kernels.types import (
    HeldType,
    KernelArray,
    KernelNumber,
    Known,
    NoneType,
    Record,
    Tuple,
    boolean,
    none,
)

UNKNOWN: Any = type("Unknown", (), {"__repr__": lambda self: "unknown", "__bool__": lambda self: False})()
"""The constant of values that are known only when the kernel runs."""


@dataclass(frozen=True)
class HeldValue:
    """A value: expressions without side effects that stay what they are until a variable is assigned again.

    `constant` is what it is, where that is known; `is_nonnegative` says that an integer can't be below zero;
    `bits` that its size is below 2**bits.
    """

    type: HeldType
    leaves: tuple[str, ...] = ()
    constant: Any = UNKNOWN
    is_nonnegative: bool = False
    bits: int = 64

    @property
    def text(self) -> str:
        """The expression of a value with one leaf."""
        return self.leaves[0]

    @property
    def is_constant(self) -> bool:
        return self.constant is not UNKNOWN

    @property
    def number(self) -> KernelNumber:
        """The type, of a number."""
        assert isinstance(self.type, KernelNumber)
        return self.type

    def parts(self) -> list[HeldValue]:
        """The elements of a tuple."""
        assert isinstance(self.type, Tuple)
        found: list[HeldValue] = []
        at = 0
        constants = self.constant if self.is_constant else [UNKNOWN] * len(self.type.types)
        for each, constant in zip(self.type.types, constants, strict=True):
            count = len(each.leaves())
            found.append(HeldValue(each, self.leaves[at : at + count], _inner_constant(constant)))
            at += count
        return found

    # -- arrays: pointer, extents, strides ----------------------------------------------------------------------------

    @property
    def array(self) -> KernelArray:
        """The type, of an array."""
        assert isinstance(self.type, KernelArray)
        return self.type

    @property
    def pointer(self) -> str:
        return self.leaves[0]

    @property
    def extents(self) -> tuple[str, ...]:
        return self.leaves[1 : 1 + self.array.ndim]

    @property
    def strides(self) -> tuple[str, ...]:
        """The strides, in elements; those of C and F order are products of extents."""
        array, extents = self.array, self.extents
        if array.layout == "A":
            return self.leaves[1 + array.ndim :]
        order = range(array.ndim - 1, -1, -1) if array.layout == "C" else range(array.ndim)
        strides = [""] * array.ndim
        product = "1LL"
        for axis in order:
            strides[axis] = product
            product = extents[axis] if product == "1LL" else f"({product} * {extents[axis]})"
        return tuple(strides)


def _inner_constant(constant: Any) -> Any:
    return constant


@dataclass(frozen=True)
class Unusable(HeldType):
    """The type of a variable that holds different things on different ways, or nothing on one of them."""

    reason: str

    def leaves(self) -> tuple[str, ...]:
        return ()


def tuple_of(values: list[HeldValue], names: tuple[str, ...] = ()) -> HeldValue:
    """A tuple of values, with names for a named one."""
    constant = tuple(each.constant for each in values) if all(each.is_constant for each in values) else UNKNOWN
    leaves = tuple(leaf for each in values for leaf in each.leaves)
    return HeldValue(Tuple(tuple(each.type for each in values), names), leaves, constant)


def known(thing: object, what: str = "") -> HeldValue:
    """Something that is known when the kernel is compiled and is no number."""
    return HeldValue(Known(what or type(thing).__name__), (), thing)


NONE = HeldValue(none, (), None)


def unified(first: HeldType, second: HeldType) -> HeldType:
    """The type of a variable that holds either; `Unusable` where there is none."""
    if first == second:
        return first
    match first, second:
        case KernelNumber(), KernelNumber():
            return promotion.unify(first, second)
        case KernelArray(), KernelArray() if first.dtype == second.dtype and first.ndim == second.ndim:
            return KernelArray(first.dtype, first.ndim, "A")
        case Tuple(), Tuple() if len(first.types) == len(second.types):
            parts = tuple(unified(a, b) for a, b in zip(first.types, second.types, strict=True))
            bad = next((part for part in parts if isinstance(part, Unusable)), None)
            return bad or Tuple(parts, first.names if first.names == second.names else ())
        case Unusable(), _:
            return first
        case _, Unusable():
            return second
        case _:
            return Unusable(f"it is {first} on one way and {second} on another")


def converted(value: HeldValue, wanted: HeldType) -> tuple[str, ...]:
    """The leaves of a value as those of another type that it can be unified with."""
    if value.type == wanted:
        return value.leaves
    match value.type, wanted:
        case KernelNumber(), KernelNumber():
            return (convert_number(value, wanted),)
        case KernelArray(), KernelArray():
            return (value.pointer, *value.extents, *value.strides)
        case Tuple(), Tuple():
            pairs = zip(value.parts(), wanted.types, strict=True)
            return tuple(leaf for part, each in pairs for leaf in converted(part, each))
        case _:
            raise AssertionError(f"{value.type} as {wanted}")


def convert_number(value: HeldValue, wanted: KernelNumber) -> str:
    """A number as another type of number: integers wrap, floats are cut off."""
    have, text = value.number, value.text
    if have == wanted:
        return text
    if value.is_constant and wanted.is_integer and isinstance(value.constant, int):
        constant = int(value.constant) & ((1 << wanted.bits) - 1)
        if wanted.kind == "i" and constant >> (wanted.bits - 1):
            constant -= 1 << wanted.bits
        return literal(constant, wanted)
    if wanted.kind == "c":
        part = "float" if wanted.bits == 64 else "double"
        if have.kind == "c":
            return f"windlass_make<{part}>({text}.x, {text}.y)"
        return f"windlass_make<{part}>({text}, 0)"
    if wanted.kind == "b":
        return f"({text}.x != 0 || {text}.y != 0)" if have.kind == "c" else f"({text} != 0)"
    if have.kind == "c":
        raise AssertionError("a complex number is no real one")
    return f"(({wanted.cpp}){text})"


def literal(value: Any, number: KernelNumber) -> str:
    """The C++ text of a number."""
    match number.kind:
        case "b":
            return "true" if value else "false"
        case "i":
            if int(value) == -(2**63):
                return "(-9223372036854775807LL - 1)"
            suffix = "LL" if number.bits == 64 else ""
            text = f"{int(value)}{suffix}" if number.bits >= 32 else f"({number.cpp}){int(value)}"
            if int(value) == -(2**31) and number.bits == 32:
                text = "-2147483647 - 1"
            return text if int(value) >= 0 and number.bits >= 32 else f"({text})"
        case "u":
            suffix = "ULL" if number.bits == 64 else "U"
            return f"{int(value)}{suffix}" if number.bits >= 32 else f"(({number.cpp}){int(value)})"
        case "f":
            return _float_text(float(value), number.bits)
        case _:
            part, bits = ("float", 32) if number.bits == 64 else ("double", 64)
            found = complex(value)
            return f"windlass_make<{part}>({_float_text(found.real, bits)}, {_float_text(found.imag, bits)})"


def _float_text(value: float, bits: int) -> str:
    import math

    suffix = "f" if bits == 32 else ""
    if math.isnan(value):
        return f'__builtin_nan{suffix}("")'
    if math.isinf(value):
        return f"({'-' if value < 0 else ''}__builtin_inf{suffix}())"
    text = value.hex() + suffix
    return f"({text})" if value < 0 or text.startswith("-") else text


def constant_number(value: Any, number: KernelNumber) -> HeldValue:
    """A number that is known."""
    plain = value if number.kind != "b" else bool(value)
    if number.is_integer:
        plain = int(value)
        return HeldValue(number, (literal(plain, number),), plain, plain >= 0, max(1, abs(plain).bit_length()))
    return HeldValue(number, (literal(plain, number),), plain, number == boolean, 1)


def as_unknown(value: HeldValue) -> HeldValue:
    """The value without what is known of it: variables that are assigned on several ways hold no constants."""
    return value if isinstance(value.type, Known | NoneType | Record) else replace(value, constant=UNKNOWN)
