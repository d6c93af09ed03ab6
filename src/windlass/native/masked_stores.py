"""Rows of which some lanes are stored: by halves of halves that are stored whole.

Processors without AVX-512 store under masks slowly (those of AMD take as long as for ten plain stores), and most masks
are those of a border: a few lanes at one end.
"""

from __future__ import annotations

from windlass.native.machine import has_masked_stores
from windlass.native.text import Text, scalar_type, type_suffix
from windlass.ops.conversion import byte_width

LEAST_CALLED = 8
"""Stores of so many lanes and more are functions of their own, lest code grows by all their halves."""


def store_lanes(text: Text, dtype: str, value: str, pointer: str, mask: str, align: int) -> None:
    """Store the lanes of a vector that a mask names, and touch nothing of the others."""
    width, type_ = text.width, scalar_type(dtype)
    many, flags = text.vector(type_), text.vector("i1")
    if has_masked_stores():
        name = f"llvm.masked.store.{type_suffix(dtype, width)}.p0"
        text.do_call(name, f"{many} {value}", f"ptr align {align} {pointer}", f"{flags} {mask}")
        return
    halves = width
    while halves:
        text.declared.add(_definition(halves, type_, byte_width(dtype), align))
        halves //= 2
    bits = text.put(f"bitcast {flags} {mask} to i{width}")
    text.do(f"call void @{_name(width, type_, align)}({many} {value}, ptr {pointer}, i{width} {bits})")


def _name(width: int, type_: str, align: int) -> str:
    return f"store.{width}.{type_}.{align}"


def _definition(width: int, type_: str, size: int, align: int) -> str:
    """A function that stores those lanes of a vector whose bits are set."""
    many = f"<{width} x {type_}>"
    kind = "noinline" if width >= LEAST_CALLED else "alwaysinline"
    head = f"define internal void @{_name(width, type_, align)}({many} %value, ptr %place, i{width} %bits)"
    if width == 1:
        return f"""{head} {kind} {{
  br i1 %bits, label %some, label %end
some:
  store {many} %value, ptr %place, align {align}
  br label %end
end:
  ret void
}}"""
    half = width // 2
    part, name = f"<{half} x {type_}>", _name(half, type_, align)
    first, second = (", ".join(f"i32 {lane}" for lane in range(begin, begin + half)) for begin in (0, half))
    return f"""{head} {kind} {{
  %is.whole = icmp eq i{width} %bits, -1
  br i1 %is.whole, label %whole, label %parts
whole:
  store {many} %value, ptr %place, align {align}
  ret void
parts:
  %is.none = icmp eq i{width} %bits, 0
  br i1 %is.none, label %end, label %halves
halves:
  %first = shufflevector {many} %value, {many} poison, <{half} x i32> <{first}>
  %second = shufflevector {many} %value, {many} poison, <{half} x i32> <{second}>
  %first.bits = trunc i{width} %bits to i{half}
  %shifted = lshr i{width} %bits, {half}
  %second.bits = trunc i{width} %shifted to i{half}
  %second.place = getelementptr i8, ptr %place, i64 {half * size}
  call void @{name}({part} %first, ptr %place, i{half} %first.bits)
  call void @{name}({part} %second, ptr %second.place, i{half} %second.bits)
  ret void
end:
  ret void
}}"""
