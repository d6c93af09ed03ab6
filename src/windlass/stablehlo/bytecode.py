"""How MLIR's bytecode is laid out, as far as walking over its ops needs it.

The bindings hand out one Python object for each op, operand, type and attribute. The same module as bytecode is one
string of small numbers that index tables of everything that occurs in it, so that equal attributes and types are equal
numbers. `importing` walks both side by side: the numbers tell what is the same as before, the bindings what is new.

The format is documented in MLIR's "Bytecode Format"; `FORMAT_VERSION` is asked for when writing, and every later MLIR
can write it.
"""

from __future__ import annotations

import io
from typing import Any

FORMAT_VERSION = 6

HAS_ATTRIBUTES = 0x01
HAS_RESULTS = 0x02
HAS_OPERANDS = 0x04
HAS_SUCCESSORS = 0x08
HAS_REGIONS = 0x10
HAS_USE_ORDERS = 0x20
HAS_PROPERTIES = 0x40
"""The bits of the byte that says which parts of an op follow."""

_MAGIC = b"ML\xefR"
_STRING_SECTION = 0
_IR_SECTION = 4
_IS_ALIGNED = 0x80


class BytecodeError(Exception):
    """The bytes are not laid out as this file expects: an error in Windlass, or a change in MLIR."""


def _width_of(first: int) -> int:
    """Bytes that a number takes: its first byte ends in as many zeros as there are bytes more."""
    return 9 if first == 0 else (first & -first).bit_length()


WIDTHS = bytes(_width_of(first) for first in range(256))
"""How many bytes a number takes, by its first byte."""


def read_number(data: bytes, at: int) -> tuple[int, int]:
    """The number at `at`, and where the next begins.

    >>> read_number(b"\\x0b", 0), read_number(b"\\x02\\x02", 0)
    ((5, 1), (128, 2))
    """
    width = WIDTHS[data[at]]
    end = at + width
    return int.from_bytes(data[at:end], "little") >> (width if width < 9 else 8), end


def encode(operation: Any) -> bytes:
    """The bytecode of an op of the bindings, with all that it holds."""
    buffer = io.BytesIO()
    operation.write_bytecode(buffer, FORMAT_VERSION)
    return buffer.getvalue()


def has_only_text(data: bytes) -> bool:
    """Whether all names and strings of the program are UTF-8."""
    start, end = _section(data, _STRING_SECTION)
    count, at = read_number(data, start)
    for _ in range(count):
        at += WIDTHS[data[at]]
    try:
        data[at:end].decode()
    except UnicodeDecodeError:
        return False
    return True


def ir_start(data: bytes) -> int:
    """Where the ops begin: the block that holds the outermost one.

    Raises BytecodeError where the data is of another version, or has no ops.
    """
    return _section(data, _IR_SECTION)[0]


def _section(data: bytes, wanted: int) -> tuple[int, int]:
    version, at = read_number(data, len(_MAGIC))
    if data[: len(_MAGIC)] != _MAGIC or version != FORMAT_VERSION:
        raise BytecodeError(f"expected MLIR bytecode of version {FORMAT_VERSION}, got {version}")
    at = data.index(0, at) + 1  # the producer's name
    while at < len(data):
        kind, start, end = read_section(data, at)
        if kind == wanted:
            return start, end
        at = end
    raise BytecodeError(f"there is no section {wanted}")


def read_section(data: bytes, at: int) -> tuple[int, int, int]:
    """What kind of section begins at `at`, and where its content begins and ends."""
    kind = data[at]
    length, at = read_number(data, at + 1)
    if kind & _IS_ALIGNED:
        alignment, at = read_number(data, at)
        at += -at % alignment
    return kind & ~_IS_ALIGNED, at, at + length


def enter_regions(data: bytes, at: int) -> tuple[int, bool, int]:
    """How many regions an op has, whether they see no values from around them, and where the first begins."""
    number, at = read_number(data, at)
    is_isolated = bool(number & 1)
    if is_isolated:
        kind, at, _ = read_section(data, at)
        if kind != _IR_SECTION:
            raise BytecodeError("expected a section of ops within an op")
    return number >> 1, is_isolated, at


def skip_use_orders(data: bytes, at: int, count: int) -> int:
    """Pass over the order in which the uses of an op's results, or of a block's parameters, are listed."""
    entries = 1
    if count > 1:
        entries, at = read_number(data, at)
    for _ in range(entries):
        if count > 1:
            at += WIDTHS[data[at]]
        number, at = read_number(data, at)
        for _ in range(number >> 1):
            at += WIDTHS[data[at]]
    return at


def skip_numbers(data: bytes, at: int) -> int:
    """Pass over a list of numbers that begins with its length."""
    count, at = read_number(data, at)
    for _ in range(count):
        at += WIDTHS[data[at]]
    return at


def skip_header(data: bytes, at: int) -> tuple[int, bool]:
    """Pass over all of an op but its regions, which it may have."""
    at += WIDTHS[data[at]]
    parts = data[at]
    at += 1
    at += WIDTHS[data[at]]  # where it is from
    if parts & HAS_ATTRIBUTES:
        at += WIDTHS[data[at]]
    if parts & HAS_PROPERTIES:
        at += WIDTHS[data[at]]
    results = 0
    if parts & HAS_RESULTS:
        results, _ = read_number(data, at)
        at = skip_numbers(data, at)
    if parts & HAS_OPERANDS:
        at = skip_numbers(data, at)
    if parts & HAS_SUCCESSORS:
        at = skip_numbers(data, at)
    if parts & HAS_USE_ORDERS:
        at = skip_use_orders(data, at, results)
    return at, bool(parts & HAS_REGIONS)


def skip_operation(data: bytes, at: int) -> int:
    """Pass over an op and all that it holds."""
    at, has_regions = skip_header(data, at)
    if has_regions:
        regions, _, at = enter_regions(data, at)
        for _ in range(regions):
            at = _skip_region(data, at)
    return at


def _skip_region(data: bytes, at: int) -> int:
    blocks, at = read_number(data, at)
    if blocks:
        at += WIDTHS[data[at]]  # how many values it defines
    for _ in range(blocks):
        number, at = read_number(data, at)
        if number & 1:
            arguments, at = read_number(data, at)
            for _ in range(arguments):
                type_, at = read_number(data, at)
                if type_ & 1:
                    at += WIDTHS[data[at]]
            at += 1
            if data[at - 1]:
                at = skip_use_orders(data, at, arguments)
        for _ in range(number >> 1):
            at = skip_operation(data, at)
    return at
