"""Element types: their names in the notation, and which one two operands meet in.

A number that is written, a size and an index have no element type of their own: `INTEGER` and `NUMBER` take that of
what they stand beside.
"""

from __future__ import annotations

from windlass.ir.types import NUMPY_DTYPES

INTEGER = "integer"
"""Of integers that are written, of sizes and indices: exact until it meets an element type."""
NUMBER = "number"
"""Of numbers that are written with a point."""
BOOLEAN = "i1"

TYPES: dict[str, str] = {
    "float": "f32",
    "double": "f64",
    "half": "f16",
    "bfloat16": "bf16",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"ui{bits}" for bits in (8, 16, 32, 64)},
    "bool": BOOLEAN,
    "int": "i32",
}
SPELLED: dict[str, str] = {INTEGER: "an integer", NUMBER: "a number"}
for _name, _dtype in TYPES.items():
    SPELLED.setdefault(_dtype, _name)

FLOATS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}


def is_weak(type_: str) -> bool:
    """Whether it takes the element type of what it stands beside."""
    return type_ in (INTEGER, NUMBER)


def is_float(type_: str) -> bool:
    """Whether it is a float, or a number that is written as one."""
    return type_ in FLOATS or type_ == NUMBER


def is_integer(type_: str) -> bool:
    return not is_float(type_) and type_ != BOOLEAN


def own_type(type_: str) -> str:
    """The element type of what stands beside nothing that has one.

    >>> own_type(INTEGER), own_type(NUMBER), own_type("f16")
    ('i32', 'f32', 'f16')
    """
    return {INTEGER: "i32", NUMBER: "f32"}.get(type_, type_)


def join(left: str, right: str) -> str | None:
    """The type in which two operands meet; None for signed and unsigned integers that no type holds both of.

    It is the wider of two floats or integers, the float of a float and an integer, and anything but a boolean.

    >>> join("f16", "i32"), join("f16", "bf16"), join("i8", "ui8"), join("ui64", "i8"), join("i32", NUMBER)
    ('f16', 'f32', 'i16', None, 'f32')
    """
    if left == right:
        return left
    if is_weak(left) and is_weak(right):
        return NUMBER
    if is_weak(right):
        left, right = right, left
    if is_weak(left):
        if right == BOOLEAN:
            return own_type(left)
        return right if is_float(right) or left == INTEGER else "f32"
    if BOOLEAN in (left, right):
        return left if right == BOOLEAN else right
    if is_float(left) and is_float(right):
        return "f32" if FLOATS[left] == FLOATS[right] else max(left, right, key=FLOATS.__getitem__)
    if is_float(left) or is_float(right):
        return left if is_float(left) else right
    return _join_integers(left, right)


def _join_integers(left: str, right: str) -> str | None:
    widths = {type_: NUMPY_DTYPES[type_].itemsize * 8 for type_ in (left, right)}
    if left.startswith("u") == right.startswith("u"):
        return max(widths, key=widths.__getitem__)
    signed, unsigned = (right, left) if left.startswith("u") else (left, right)
    if widths[signed] > widths[unsigned]:
        return signed
    wide = 2 * widths[unsigned]
    return f"i{wide}" if wide <= 64 else None
