"""What ops write themselves with at the loop level: lines of MLIR text, and the names of values.

Each op spells itself: `write_loop` of its class writes it to a `LoopWriter`. Scalar ops that MLIR's arith and math
dialects have only say what they are called there (`loop_names`); what MLIR has no op for is a call of a function that
bears the op's name.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from windlass.ir import Block, BufferType, Op, TensorType, Type, Value

SPACES = {"global": "", "parameter": "", "constant": ", 4", "shared": ", 3", "local": ", 5"}
"""The memory spaces as NVPTX numbers them."""


class LoopNames(NamedTuple):
    """What an op on scalars is called in MLIR's arith and math dialects, by the kind of its operands."""

    floating: str | None = None
    signed: str | None = None
    unsigned: str | None = None

    @classmethod
    def of(cls, floating: str | None, integer: str | None) -> LoopNames:
        """With one name for signed and unsigned integers."""
        return cls(floating, integer, integer)


class LoopWriter:
    """The lines written so far, the names of the values they define, and the declarations they need.

    `memories` are the types of buffers that are written as memory of elements, and not of bytes.
    """

    def __init__(self, memories: Mapping[Value, str] | None = None) -> None:
        self.names: dict[Value, str] = {}
        self.count = 0
        self.lines: list[str] = []
        self.indent = "  "
        self.declarations: dict[str, str] = {}
        self.shared_bytes: str | None = None
        """What gives the size of dynamic shared memory, if the text says."""
        self.known: dict[str, str] = {}
        """Names of what was computed at this place or around it, by its text."""
        self.memories: Mapping[Value, str] = memories or {}

    # -- lines ----------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def fresh(self) -> str:
        self.count += 1
        return f"%{self.count - 1}"

    def define(self, value: Value, text: str) -> None:
        self.names[value] = self.fresh()
        self.line(f"{self.names[value]} = {text}")

    def temporary(self, text: str) -> str:
        name = self.fresh()
        self.line(f"{name} = {text}")
        return name

    def once(self, text: str) -> str:
        """The name of something without effect, which is computed anew only where it isn't known."""
        if text not in self.known:
            self.known[text] = self.temporary(text)
        return self.known[text]

    def use(self, value: Value) -> str:
        return self.names[value]

    def listed(self, values: tuple[Value, ...]) -> str:
        return ", ".join(self.use(value) for value in values)

    def types(self, values: tuple[Value, ...]) -> str:
        return ", ".join(type_text(value.type) for value in values)

    @contextmanager
    def indented(self) -> Generator[None]:
        """Lines written inside stand two columns further in."""
        outer, self.indent, known = self.indent, self.indent + "  ", dict(self.known)
        yield
        self.indent, self.known = outer, known

    def write_inner(self, block: Block) -> None:
        with self.indented():
            self.write_block(block)

    def write_block(self, block: Block) -> None:
        for op in block:
            self.write(op)

    def write(self, op: Op) -> None:
        """An op as it spells itself."""
        spelled: Any = op
        spelled.write_loop(self)

    def open_results(self, op: Op) -> str:
        """`%3:2 = ` for an op with two results, whose names it notes."""
        results = op.results
        if not results:
            return ""
        name = self.fresh()
        for index, result in enumerate(results):
            self.names[result] = name if len(results) == 1 else f"{name}#{index}"
        return f"{name} = " if len(results) == 1 else f"{name}:{len(results)} = "

    def open_carried(self, arguments: Sequence[Value], initial: Sequence[Value]) -> str:
        """`%4 = %x, %5 = %y` for a loop's carried values, whose names within the body it notes."""
        for argument in arguments:
            self.names[argument] = self.fresh()
        pairs = zip(arguments, initial, strict=True)
        return ", ".join(f"{self.use(argument)} = {self.use(first)}" for argument, first in pairs)

    def call(self, op: Op, name: str, operands: tuple[Value, ...]) -> None:
        """A call of a function with the operation's name."""
        given = ", ".join(type_text(operand.type) for operand in operands)
        results = ", ".join(type_text(result.type) for result in op.results)
        symbol = f'@"{name}({given})"'
        self.declarations[symbol] = f"func.func private {symbol}({given}) -> ({results})"
        prefix = self.open_results(op)
        self.line(f"{prefix}func.call {symbol}({self.listed(operands)}) : ({given}) -> ({results})")

    # -- memory ---------------------------------------------------------------------------------------------------

    def type_of(self, value: Value) -> str:
        """A value's type, as memory of elements where these are known."""
        return self.memories.get(value) or type_text(value.type)

    def view(self, buffer: Value, offset: Value, dtype: str) -> tuple[str, str]:
        """A scalar's place in memory, and its type."""
        place = self.temporary(f"arith.index_cast {self.use(offset)} : i64 to index")
        source = type_text(buffer.type)
        space = SPACES.get(buffer.type.space, "") if isinstance(buffer.type, BufferType) else ""
        target = f"memref<{signless(dtype)}{space}>"
        return self.temporary(f"memref.view {self.use(buffer)}[{place}][] : {source} to {target}"), target

    def address(self, buffer: Value) -> str:
        """Where a buffer begins, as an index."""
        return self.temporary(
            f"memref.extract_aligned_pointer_as_index {self.use(buffer)} : {type_text(buffer.type)} -> index"
        )

    def cast(self, name: str, source: Type, target: Type) -> str:
        """A buffer under another type."""
        assert isinstance(source, BufferType) and isinstance(target, BufferType)
        if SPACES.get(source.space) != SPACES.get(target.space):
            middle = BufferType.of(target.space, None, source.size)
            name = self.temporary(f"memref.memory_space_cast {name} : {type_text(source)} to {type_text(middle)}")
            source = middle
        if type_text(source) == type_text(target):
            return name
        return self.temporary(f"memref.cast {name} : {type_text(source)} to {type_text(target)}")

    # -- scalars --------------------------------------------------------------------------------------------------

    def write_scalar(self, op: Op, names: LoopNames) -> None:
        """An op that has a name in MLIR for the kind of its operands; a call where it has none."""
        operands = op.operands
        type_ = operands[0].tensor
        if type_.is_float:
            name = names.floating
        else:
            name = names.unsigned if is_unsigned(type_.dtype) else names.signed
        if name is None:
            self.call(op, op.name, operands)
        else:
            self.define(op, f"{name} {self.listed(operands)} : {signless(type_.dtype)}")


def is_unsigned(dtype: str) -> bool:
    """Whether MLIR's unsigned ops are the ones that mean the same; true is 1, not -1."""
    return dtype.startswith("u") or dtype == "i1"


def type_text(type_: Type) -> str:
    """A type's MLIR spelling: element types for scalars, memrefs of bytes for buffers."""
    if isinstance(type_, BufferType):
        return f"memref<{'?' if type_.size is None else type_.size}xi8{SPACES.get(type_.space, '')}>"
    if isinstance(type_, TensorType) and type_.rank == 0:
        return signless(type_.dtype)
    raise TypeError(f"a value of type {type_} at the loop level")


def signless(dtype: str) -> str:
    """The element type as arith knows it: unsigned is a property of ops there."""
    return dtype.removeprefix("u")


def quoted(text: str) -> str:
    """A string literal of MLIR."""
    return '"' + "".join(escaped(text)) + '"'


def escaped(text: str) -> Iterator[str]:
    for byte in text.encode():
        is_plain = 32 <= byte < 127 and byte not in (34, 92)
        yield chr(byte) if is_plain else f"\\{byte:02X}"
