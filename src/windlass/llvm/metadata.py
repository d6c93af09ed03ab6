"""Debug metadata of an LLVM IR text: reading its nodes, and dropping those that nothing needs.

clang describes types, names and positions in numbered nodes such as
`!7 = !DIBasicType(name: "float", size: 32, encoding: DW_ATE_float)`. They are read from the text since llvmlite has
no access to them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from windlass.llvm.debug_info import decode_string

_NODE = re.compile(r"^!(\d+) = (?:distinct )?(.*)$", re.MULTILINE)
_REFERENCE = re.compile(r"!(\d+)")
_FIELD = re.compile(r'(\w+): ("(?:[^"\\]|\\.)*"|[^,()"]+(?:\([^)]*\))?)')
_POSITION = re.compile(r", !dbg (!\d+)")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass(frozen=True)
class MetadataNode:
    """One metadata node: its kind ("DIBasicType", or "" for a plain tuple) and its fields as text."""

    number: int
    kind: str
    body: str

    @cached_property
    def fields(self) -> dict[str, str]:
        return {match[1]: match[2].strip() for match in _FIELD.finditer(self.body)}

    def text(self, field: str) -> str:
        """A string field without its quotes, or ""."""
        value = self.fields.get(field, "")
        if not value.startswith('"'):
            return ""
        return decode_string(value[1:-1])

    def integer(self, field: str) -> int:
        """An integer field, or 0."""
        value = self.fields.get(field, "0")
        return int(value) if value.lstrip("-").isdigit() else 0

    def word(self, field: str) -> str:
        """A field that is a bare word, such as a tag or flags, or ""."""
        return self.fields.get(field, "")


class Metadata:
    """The metadata nodes of a module by number."""

    def __init__(self, llvm_ir: str) -> None:
        self._bodies = {int(match[1]): match[2] for match in _NODE.finditer(llvm_ir)}
        self._nodes: dict[int, MetadataNode] = {}

    def node(self, reference: str | int | None) -> MetadataNode | None:
        """The node that a reference such as "!12" names; None for `null` or a missing node."""
        if reference is None:
            return None
        if isinstance(reference, str):
            if not (reference.startswith("!") and reference[1:].isdigit()):
                return None
            reference = int(reference[1:])
        if reference not in self._nodes:
            body = self._bodies.get(reference)
            if body is None:
                return None
            kind = body[1:].partition("(")[0] if body.startswith("!DI") else ""
            self._nodes[reference] = MetadataNode(reference, kind, body)
        return self._nodes[reference]

    def follow(self, node: MetadataNode, field: str) -> MetadataNode | None:
        """The node that a field of another one refers to."""
        return self.node(node.fields.get(field))

    def members(self, node: MetadataNode | None) -> list[MetadataNode | None]:
        """The nodes of a tuple `!{!1, null, !2}`; null is None."""
        if node is None or node.kind:
            return []
        inner = node.body[node.body.index("{") + 1 : node.body.rindex("}")]
        return [self.node(part.strip()) for part in inner.split(",")] if inner.strip() else []

    def of_kind(self, kind: str) -> Iterator[MetadataNode]:
        """All nodes of one kind, such as "DILocalVariable"."""
        for number, body in self._bodies.items():
            if body.startswith(f"!{kind}("):
                found = self.node(number)
                if found is not None:
                    yield found


def with_all_positions(llvm_ir: str) -> str:
    """The module with a position on every operation of a function.

    Where the optimizer left one without, as it does with what it moves, the operation takes the position of the next
    one in its block, or else of the one before.
    """
    nowhere = {f"!{match}" for match in re.findall(r"^!(\d+) = !DILocation\(line: 0,", llvm_ir, re.MULTILINE)}
    lines = llvm_ir.split("\n")
    block: list[int] = []
    inside = False
    for index, line in enumerate(lines):
        if line.startswith("define "):
            inside, block = ", !dbg " in line or " !dbg " in line, []
        elif inside and line.startswith("  ") and not line.startswith("   "):
            block.append(index)
        elif inside and not line.startswith("   "):
            _fill_positions(lines, block, nowhere)
            block = []
            inside = inside and not line.startswith("}")
    return "\n".join(lines)


def _fill_positions(lines: list[str], block: list[int], nowhere: set[str]) -> None:
    found: list[str | None] = []
    for index in block:
        match = _POSITION.search(lines[index])
        found.append(match[1] if match and match[1] not in nowhere else None)
    if None not in found or not any(found):
        return
    following: str | None = None
    for place in range(len(block) - 1, -1, -1):
        following = found[place] or following
        found[place] = following
    before: str | None = None
    for place, index in enumerate(block):
        before = found[place] or before
        line = lines[index]
        if before is None or line.endswith("["):
            continue
        match = _POSITION.search(line)
        if match is None:
            code, comment, rest = line.partition(" ;")
            lines[index] = f"{code}, !dbg {before}{comment}{rest}"
        elif match[1] in nowhere:
            lines[index] = f"{line[: match.start(1)]}{before}{line[match.end(1) :]}"


def without_unneeded_metadata(llvm_ir: str) -> str:
    """The module without records of variables' values and without metadata that nothing refers to.

    Most of clang's debug nodes describe `using` declarations of the standard library; every later stage would parse
    them again. Positions and types stay.
    """
    lines: list[str] = []
    nodes: dict[int, str] = {}
    wanted: list[int] = []
    for line in llvm_ir.split("\n"):
        if line.startswith("!") and (match := _NODE.match(line)):
            if " = distinct !DICompileUnit(" in line:
                line = re.sub(r", (?:imports|retainedTypes|macros): !\d+", "", line)
            nodes[int(match[1])] = line
            continue
        if line.lstrip().startswith("#dbg_"):
            continue
        lines.append(line)
        if "!" in line:
            wanted += [int(number) for number in _REFERENCE.findall(line)]
    needed: set[int] = set()
    while wanted:
        number = wanted.pop()
        if number in needed or number not in nodes:
            continue
        needed.add(number)
        body = nodes[number].partition(" = ")[2]
        wanted += [int(found) for found in _REFERENCE.findall(_STRING.sub("", body))]
    return "\n".join([*lines, *(nodes[number] for number in sorted(needed))]) + "\n"
