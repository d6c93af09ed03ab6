"""Copies of structs, field by field.

clang copies a struct with memcpy, and LLVM makes integers of it: a float2 travels as an i64, a __half2 as an i32 that
is taken apart with shifts. Later stages want the numbers that the source has. So before optimization each copy becomes
a load and a store of every field; clang tells the fields with `!tbaa.struct` (offset, size, type, ...). They carry no
type for alias analysis: real code copies floats through `uint4`, and nvcc lets it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from windlass.llvm.metadata import Metadata

MOST_FIELDS = 64
_COPY = re.compile(
    r"^  (?:tail )?call void @llvm\.mem(?:cpy|move)\.[\w.]+\((.*), i64 \d+, i1 false\)"
    r"(?: #\d+)?(.*), !tbaa\.struct !(\d+)$"
)
_POINTER = re.compile(r"^(ptr(?: addrspace\(\d+\))?) (.*)$")
_ATTRIBUTE = re.compile(r"^(?:align (\d+)|dereferenceable\(\d+\)|nonnull|noundef|captures\([^)]*\)) ")
_FIELD = re.compile(r"i64 (\d+), i64 (\d+), !(\d+)")
_TYPES = {
    "float": ("float", 4),
    "double": ("double", 8),
    "_Float16": ("half", 2),
    "half": ("half", 2),
    "__bf16": ("bfloat", 2),
    "short": ("i16", 2),
    "int": ("i32", 4),
    "long": ("i64", 8),
    "long long": ("i64", 8),
    "bool": ("i8", 1),
}


@dataclass(frozen=True)
class _Field:
    offset: int
    type: str


@dataclass(frozen=True)
class _Address:
    type: str
    value: str
    alignment: int


def with_copies_by_field(llvm_ir: str) -> str:
    """The module with each copy of a struct of numbers and pointers as loads and stores of its fields.

    What has unions, bit fields or many fields keeps its memcpy.
    """
    if "!tbaa.struct" not in llvm_ir:
        return llvm_ir
    metadata = Metadata(llvm_ir)
    known: dict[int, list[_Field] | None] = {}
    lines: list[str] = []
    for line in llvm_ir.split("\n"):
        match = _COPY.match(line) if "!tbaa.struct" in line else None
        if match is None:
            lines.append(line)
            continue
        layout = int(match[3])
        if layout not in known:
            known[layout] = _fields(metadata, layout)
        addresses = _addresses(match[1])
        fields = known[layout]
        if fields is None or addresses is None:
            lines.append(line)
        else:
            lines += _copy(f"%copy.{len(lines)}", fields, *addresses, match[2])
    return "\n".join(lines)


def _fields(metadata: Metadata, layout: int) -> list[_Field] | None:
    node = metadata.node(layout)
    if node is None:
        return None
    found: list[_Field] = []
    for offset, size, tag in _FIELD.findall(node.body):
        named = _type(metadata, int(tag), int(size))
        if named is None or int(size) % named[1]:
            return None
        found += [_Field(int(offset) + step, named[0]) for step in range(0, int(size), named[1])]
        if len(found) > MOST_FIELDS:
            return None
    ends = [field.offset for field in found]
    return found if found and ends == sorted(set(ends)) else None


def _type(metadata: Metadata, tag: int, size: int) -> tuple[str, int] | None:
    """The LLVM type of a number and its size, by the name that clang gives it for alias analysis."""
    access = metadata.node(tag)
    if access is None:
        return None
    base = re.search(r"!(\d+)", access.body)
    scalar = metadata.node(int(base[1])) if base else None
    name = re.match(r'!\{!"([^"]*)"', scalar.body) if scalar is not None else None
    if name is None:
        return None
    if name[1] in _TYPES:
        return _TYPES[name[1]]
    if name[1] == "any pointer" or re.match(r"p\d+ ", name[1]):
        return ("ptr", 8)
    return (f"i{8 * size}", size) if size in (1, 2, 4, 8) else None


def _addresses(arguments: str) -> tuple[_Address, _Address] | None:
    """Target and source of a copy."""
    depth, start, parts = 0, 0, list[str]()
    for index, character in enumerate(arguments):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append(arguments[start:index].strip())
            start = index + 1
    parts.append(arguments[start:].strip())
    found: list[_Address] = []
    for part in parts:
        match = _POINTER.match(part)
        if match is None:
            return None
        value, alignment = match[2], 1
        while attribute := _ATTRIBUTE.match(value):
            alignment = int(attribute[1]) if attribute[1] else alignment
            value = value[attribute.end() :]
        found.append(_Address(match[1], value, alignment))
    return (found[0], found[1]) if len(found) == 2 else None


def _copy(name: str, fields: list[_Field], target: _Address, source: _Address, tail: str) -> list[str]:
    """All loads come before all stores, since a struct may be copied onto itself."""
    loads: list[str] = []
    stores: list[str] = []
    for number, field in enumerate(fields):
        for place, address, lines in (("from", source, loads), ("to", target, stores)):
            pointer = f"{name}.{place}{number}"
            lines.append(
                f"  {pointer} = getelementptr inbounds i8, {address.type} {address.value}, i64 {field.offset}{tail}"
            )
            alignment = address.alignment if not field.offset else field.offset & -field.offset
            end = f"{address.type} {pointer}, align {min(alignment, address.alignment)}{tail}"
            value = f"{name}.{number}"
            lines.append(
                f"  {value} = load {field.type}, {end}" if place == "from" else f"  store {field.type} {value}, {end}"
            )
    return [*loads, *stores]
