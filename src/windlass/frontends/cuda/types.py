"""From clang's debug types to NumPy dtypes and readable C++ type names."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import ml_dtypes
import numpy as np

from windlass.llvm.metadata import Metadata, MetadataNode

MOST_POINTERS = 64
"""Of an array of pointers in a record so many are looked at."""
_QUALIFIERS = {
    "DW_TAG_const_type": "const",
    "DW_TAG_volatile_type": "volatile",
    "DW_TAG_restrict_type": "__restrict__",
    "DW_TAG_atomic_type": "_Atomic",
}
_ALIASES = frozenset({"DW_TAG_typedef", "DW_TAG_template_alias"})
_POINTERS = {"DW_TAG_pointer_type": "*", "DW_TAG_reference_type": "&", "DW_TAG_rvalue_reference_type": "&&"}
_RECORDS = frozenset({"DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type"})
# Classes that stand for one number.
_NUMBER_CLASSES: dict[str, np.dtype[Any]] = {
    "__half": np.dtype(np.float16),
    "__nv_bfloat16": np.dtype(ml_dtypes.bfloat16),
    "__nv_fp8_e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "__nv_fp8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
}
# Classes that hold several numbers in one word.
_PACKED_CLASSES = {
    f"__nv_fp8x{count}_{name.removeprefix('__nv_fp8_')}": np.dtype([(field, dtype) for field in "xyzw"[:count]])
    for name, dtype in _NUMBER_CLASSES.items()
    if name.startswith("__nv_fp8_")
    for count in (2, 4)
}


@dataclass(frozen=True)
class TypeReader:
    """Reads the types of one module."""

    metadata: Metadata

    def strip(self, node: MetadataNode | None) -> MetadataNode | None:
        """The type without typedefs and qualifiers; None is void."""
        while node is not None:
            tag = node.word("tag")
            if tag not in _QUALIFIERS and tag not in _ALIASES:
                break
            node = self.metadata.follow(node, "baseType")
        return node

    def aliases(self, node: MetadataNode | None) -> list[str]:
        """The names that a type has through typedefs, outermost first."""
        names: list[str] = []
        while node is not None and (node.word("tag") in _QUALIFIERS or node.word("tag") in _ALIASES):
            if node.word("tag") in _ALIASES:
                names.append(node.text("name"))
            node = self.metadata.follow(node, "baseType")
        return names

    def is_const(self, node: MetadataNode | None) -> bool:
        """Whether a type is const, through typedefs."""
        while node is not None:
            tag = node.word("tag")
            if tag == "DW_TAG_const_type":
                return True
            if tag not in _QUALIFIERS and tag not in _ALIASES:
                return False
            node = self.metadata.follow(node, "baseType")
        return False

    def is_pointer(self, node: MetadataNode | None) -> bool:
        stripped = self.strip(node)
        return stripped is not None and stripped.word("tag") in _POINTERS

    def is_record(self, node: MetadataNode | None) -> bool:
        stripped = self.strip(node)
        return (
            stripped is not None and stripped.word("tag") in _RECORDS and stripped.text("name") not in _NUMBER_CLASSES
        )

    def pointee(self, node: MetadataNode | None) -> MetadataNode | None:
        stripped = self.strip(node)
        return None if stripped is None else self.metadata.follow(stripped, "baseType")

    def size(self, node: MetadataNode | None) -> int:
        """The size of a type in bytes; 0 where it isn't known."""
        stripped = self.strip(node)
        return 0 if stripped is None else stripped.integer("size") // 8

    def array(self, node: MetadataNode | None) -> tuple[MetadataNode | None, tuple[int, ...]]:
        """The element type and extents of an array type; no extents for anything else.

        >>> code = '''!1 = !DICompositeType(tag: DW_TAG_array_type, baseType: !2, size: 96, elements: !3)
        ... !2 = !DIBasicType(name: "float", size: 32, encoding: DW_ATE_float)
        ... !3 = !{!4}
        ... !4 = !DISubrange(count: 3)'''
        >>> reader = TypeReader(Metadata(code))
        >>> element, extents = reader.array(reader.metadata.node("!1"))
        >>> reader.dtype(element), extents
        (dtype('float32'), (3,))
        """
        extents: tuple[int, ...] = ()
        while (stripped := self.strip(node)) is not None and stripped.word("tag") == "DW_TAG_array_type":
            ranges = self.metadata.members(self.metadata.follow(stripped, "elements"))
            extents += tuple(found.integer("count") if found else 0 for found in ranges)
            node = self.metadata.follow(stripped, "baseType")
        return node, extents

    def dtype(self, node: MetadataNode | None) -> np.dtype[Any] | None:
        """The NumPy dtype of a type; None for void, incomplete types, functions and empty structs."""
        element, extents = self.array(node)
        if extents:
            inner = self.dtype(element)
            return None if inner is None or 0 in extents else np.dtype((inner, extents))
        stripped = self.strip(node)
        if stripped is None:
            return None
        if stripped.kind == "DIBasicType":
            return self._number(stripped)
        tag = stripped.word("tag")
        if tag in _POINTERS or tag == "DW_TAG_ptr_to_member_type":
            return np.dtype(np.uint64)
        if tag == "DW_TAG_enumeration_type":
            return self._enumeration(stripped)
        if tag in _RECORDS:
            return self._record(stripped)
        return None

    def _number(self, node: MetadataNode) -> np.dtype[Any] | None:
        size = node.integer("size") // 8
        encoding = node.word("encoding")
        if encoding == "DW_ATE_boolean":
            return np.dtype(np.bool_)
        if encoding == "DW_ATE_float":
            if size == 2:
                return np.dtype(ml_dtypes.bfloat16) if "bf16" in node.text("name") else np.dtype(np.float16)
            return np.dtype(f"f{size}") if size in (4, 8) else np.dtype(f"V{size}")
        if size not in (1, 2, 4, 8):
            return np.dtype(f"V{size}") if size else None
        return np.dtype(f"{'u' if 'unsigned' in encoding or 'UTF' in encoding else 'i'}{size}")

    def _enumeration(self, node: MetadataNode) -> np.dtype[Any] | None:
        underlying = self.metadata.follow(node, "baseType")
        if underlying is not None:
            return self.dtype(underlying)
        size = node.integer("size") // 8
        return np.dtype(f"i{size}") if size in (1, 2, 4, 8) else None

    def _record(self, node: MetadataNode) -> np.dtype[Any] | None:
        if known := _NUMBER_CLASSES.get(node.text("name")) or _PACKED_CLASSES.get(node.text("name")):
            return known
        size = node.integer("size") // 8
        if "DIFlagFwdDecl" in node.word("flags") or size == 0:
            return None
        names: list[str] = []
        formats: list[np.dtype[Any]] = []
        offsets: list[int] = []
        for name, member, offset in self._fields(node):
            inner = self.dtype(member) or np.dtype(f"V{max(1, self.size(member))}")
            if offset + inner.itemsize > size or not name or name in names:
                name = f"field{len(names)}"
                if offset + inner.itemsize > size:
                    continue
            names.append(name)
            formats.append(inner)
            offsets.append(offset)
        if not names:
            return np.dtype(f"V{size}")
        layout = {"names": names, "formats": formats, "offsets": offsets, "itemsize": size}
        return np.dtype(cast("Any", layout))

    def _fields(self, node: MetadataNode) -> list[tuple[str, MetadataNode | None, int]]:
        """Name, type and byte offset of a record's data, those of its base classes first; bit fields are left out."""
        found: list[tuple[str, MetadataNode | None, int]] = []
        for member in self.metadata.members(self.metadata.follow(node, "elements")):
            if member is None or member.kind != "DIDerivedType":
                continue
            tag, flags = member.word("tag"), member.word("flags")
            base = self.metadata.follow(member, "baseType")
            offset = member.integer("offset") // 8
            if tag == "DW_TAG_inheritance" and (parent := self.strip(base)) is not None:
                found += [(name, inner, offset + start) for name, inner, start in self._fields(parent)]
            elif tag == "DW_TAG_member" and "DIFlagStaticMember" not in flags and "DIFlagBitField" not in flags:
                found.append((member.text("name"), base, offset))
        return found

    def pointers(self, node: MetadataNode | None) -> list[tuple[tuple[str | int, ...], int, MetadataNode]]:
        """The pointers in a record, in arrays and records within it too: the way to each, its byte offset and type."""
        stripped = self.strip(node)
        if stripped is None:
            return []
        element, extents = self.array(stripped)
        if extents:
            inner, size = self.pointers(element), self.size(element)
            places = np.ndindex(*extents) if inner and math.prod(extents) <= MOST_POINTERS else ()
            return [
                ((*place, *path), size * number + offset, each)
                for number, place in enumerate(places)
                for path, offset, each in inner
            ]
        if self.is_pointer(stripped):
            return [((), 0, stripped)]
        if not self.is_record(stripped):
            return []
        return [
            ((name, *path), start + offset, each)
            for name, member, start in self._fields(stripped)
            for path, offset, each in self.pointers(member)
        ]

    def name(self, node: MetadataNode | None) -> str:
        """The C++ spelling of a type: "const float *", "double (*)[4][3]", "ns::Point"."""
        return self._spell(node, "")

    def _spell(self, node: MetadataNode | None, declarator: str) -> str:
        if node is None:
            return f"void {declarator}".rstrip()
        tag = node.word("tag")
        base = self.metadata.follow(node, "baseType")
        if tag in _POINTERS:
            stripped = self.strip(base)
            if stripped is not None and stripped.word("tag") == "DW_TAG_array_type":
                return self._spell(base, f"({_POINTERS[tag]}{declarator})")
            if stripped is not None and stripped.kind == "DISubroutineType":
                return f"function {_POINTERS[tag]}{declarator}"
            return self._spell(base, _POINTERS[tag] + declarator)
        if tag in _QUALIFIERS:
            inner = self._spell(base, declarator)
            if self.is_pointer(base):
                return self._spell(base, f" {_QUALIFIERS[tag]} {declarator}".rstrip())
            return f"{_QUALIFIERS[tag]} {inner}"
        if tag == "DW_TAG_array_type":
            element, extents = self.array(node)
            return self._spell(element, declarator + "".join(f"[{extent}]" for extent in extents))
        return f"{self.qualified_name(node)} {declarator}".rstrip()

    def qualified_name(self, node: MetadataNode) -> str:
        """A named node's name with its namespaces and classes, leaving out anonymous ones."""
        name = node.text("name") or "(unnamed)"
        scope = self.metadata.follow(node, "scope")
        while scope is not None and scope.kind in {"DINamespace", "DICompositeType"}:
            if scope.text("name"):
                name = f"{scope.text('name')}::{name}"
            scope = self.metadata.follow(scope, "scope")
        return name
