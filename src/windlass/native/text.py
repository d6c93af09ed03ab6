"""LLVM IR as it is written: instructions one after another, names for what they give, and what is declared for them."""

from __future__ import annotations

import struct
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np

from windlass.ops.conversion import bit_width

FLOATS = {"f16": "half", "f32": "float", "f64": "double"}
"""LLVM's names of the floats that native code computes with."""


def scalar_type(dtype: str) -> str:
    """LLVM's type of one element.

    >>> scalar_type("f32"), scalar_type("ui8"), scalar_type("i1")
    ('float', 'i8', 'i1')
    """
    return FLOATS.get(dtype) or f"i{bit_width(dtype)}"


def type_suffix(dtype: str, lanes: int = 1) -> str:
    """How LLVM's intrinsics call a type: `v8f32`.

    >>> type_suffix("f32", 8), type_suffix("ui16")
    ('v8f32', 'i16')
    """
    return (f"v{lanes}" if lanes > 1 else "") + dtype.removeprefix("u")


def constant(number: Any, dtype: str) -> str:
    """A number as LLVM writes it.

    >>> constant(1.5, "f32"), constant(-1, "i32"), constant(True, "i1"), constant(1, "f16")
    ('0x3FF8000000000000', '-1', 'true', '0xH3C00')
    """
    if dtype == "f16":
        return f"0xH{int(np.asarray(number, np.float16).view(np.uint16)):04X}"
    if dtype == "f32":
        return f"0x{_widened(int(np.asarray(number, np.float32).view(np.uint32))):016X}"
    if dtype == "f64":
        return f"0x{struct.unpack('<Q', struct.pack('<d', float(number)))[0]:016X}"
    if dtype == "i1":
        return "true" if number else "false"
    assert not isinstance(number, ml_dtypes.bfloat16)
    return str(int(number))


def _widened(bits: int) -> int:
    """The bits of a float of 32 bits as those of the same number in 64, whatever kind of NaN it is.

    >>> hex(_widened(0x3F800000)), hex(_widened(0xFFA00001))
    ('0x3ff0000000000000', '0xfff4000020000000')
    """
    if bits & 0x7F800000 == 0x7F800000:
        return (bits >> 31) << 63 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29
    number = struct.unpack("<f", struct.pack("<I", bits))[0]
    return int(struct.unpack("<Q", struct.pack("<d", number))[0])


class Text:
    """The instructions of a function so far. `width` is how many lanes a vector has."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self.label = "entry"
        """The block that is being written."""
        self._count = 0

    def fresh(self, name: str = "") -> str:
        """A name that nothing has yet, without its sigil."""
        self._count += 1
        return f"{name or 't'}.{self._count}"

    def put(self, text: str) -> str:
        """The name of what an instruction gives."""
        name = f"%{self.fresh()}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """An instruction that gives nothing."""
        self.lines.append(f"  {text}")

    def open(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.label = label

    def go(self, label: str) -> None:
        self.do(f"br label %{label}")

    def branch(self, condition: str, yes: str, no: str, *, is_rare: bool = False) -> None:
        """Go on at one of two blocks; `is_rare` says that the first is hardly ever the one."""
        self.do(f"br i1 {condition}, label %{yes}, label %{no}" + (", !prof !0" if is_rare else ""))

    def phi(self, type_: str, *incoming: tuple[str, str]) -> str:
        """The value that came with the block it comes from; one of each pair is the label."""
        return self.put(f"phi {type_} " + ", ".join(f"[ {value}, %{label} ]" for value, label in incoming))

    def call(self, type_: str, name: str, *arguments: str) -> str:
        """The result of a function that is declared outside; each argument with its type, and attributes between."""
        return self.put(self._called(type_, name, arguments))

    def do_call(self, name: str, *arguments: str) -> None:
        self.do(self._called("void", name, arguments))

    def _called(self, type_: str, name: str, arguments: Sequence[str]) -> str:
        types = ", ".join(_type_of(each) for each in arguments)
        self.declared.add(f"declare {type_} @{name}({types})")
        return f"call {type_} @{name}({', '.join(arguments)})"

    @contextmanager
    def counted(self, name: str, start: str, stop: str, step: int) -> Generator[str]:
        """A loop around what is written within, of a counter (an i64)."""
        head, body, end = (self.fresh(f"{name}.{part}") for part in ("head", "body", "end"))
        counter = self.fresh(name)
        before = self.label
        self.go(head)
        self.open(head)
        where = len(self.lines)
        self.branch(self.put(f"icmp slt i64 %{counter}, {stop}"), body, end)
        self.open(body)
        yield f"%{counter}"
        following = self.put(f"add nsw i64 %{counter}, {step}")
        self.lines.insert(where, f"  %{counter} = phi i64 [ {start}, %{before} ], [ {following}, %{self.label} ]")
        self.go(head)
        self.open(end)

    # -- vectors ------------------------------------------------------------------------------------------------------

    def vector(self, type_: str) -> str:
        return f"<{self.width} x {type_}>"

    def splat(self, type_: str, value: str) -> str:
        """A vector of one value."""
        if not value.startswith("%"):
            return f"splat ({type_} {value})"
        many = self.vector(type_)
        one = self.put(f"insertelement {many} poison, {type_} {value}, i64 0")
        return self.put(f"shufflevector {many} {one}, {many} poison, <{self.width} x i32> zeroinitializer")

    def any(self, mask: str) -> str:
        """Whether a lane of a mask is set."""
        return self.call("i1", f"llvm.vector.reduce.or.v{self.width}i1", f"{self.vector('i1')} {mask}")

    def all(self, mask: str) -> str:
        return self.call("i1", f"llvm.vector.reduce.and.v{self.width}i1", f"{self.vector('i1')} {mask}")

    def both(self, mask: str | None, other: str) -> str:
        """The lanes of both masks; None is all lanes."""
        return other if mask is None else self.put(f"and {self.vector('i1')} {mask}, {other}")

    def without(self, mask: str | None, other: str) -> str:
        """The lanes of a mask that are not in the other."""
        left = self.put(f"xor {self.vector('i1')} {other}, splat (i1 true)")
        return self.both(mask, left)


ALL = "splat (i1 true)"
"""The mask of all lanes."""


def _type_of(argument: str) -> str:
    """The type of an argument, without attributes: `<8 x ptr> align 4 %p` is of type `<8 x ptr>`."""
    if argument.startswith("<"):
        return argument[: argument.index(">") + 1]
    return argument.split(" ", 1)[0]
