"""Making ops from what MLIR says of them: one plan for all ops of one name, attributes and result types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windlass.ir.core import Block, Op, Region
from windlass.ir.types import Type
from windlass.ir.values import NO_TYPE, TypeFault, Value
from windlass.ops import Opaque, OpaqueTerminator
from windlass.ops.base import TensorOp


class Plan:
    """How to make all ops of one name, attributes and result types.

    What the vocabulary has no class for, or where its class infers another type than MLIR has, becomes `Opaque`.
    """

    __slots__ = ("attribute_fields", "cls", "count", "extra", "made", "name", "tail", "texts", "types")

    def __init__(
        self, name: str, texts: Mapping[str, str], types: tuple[Type, ...], fields: dict[str, Any] | None = None
    ) -> None:
        """For ops with attributes `texts`, except those whose values are known already: the attribute `fields`."""
        self.name, self.texts, self.types = name, texts, types
        self.cls: type[TensorOp] | None = None
        self.attribute_fields: dict[str, Any] = {}
        self.extra: dict[str, str] | None = None
        self.count = 0
        self.made: dict[tuple[Any, ...], Op] = {}
        """One op for each list of operand types and signatures of regions: others are made like it."""
        self.tail: tuple[Any, ...] | None = None
        cls = Op.by_name.get(name)
        if cls is None or not issubclass(cls, TensorOp):
            return
        if fields is None:
            try:
                fields = cls.fields_from_mlir(texts, types)
            except (KeyError, ValueError, AssertionError, NotImplementedError):
                return
        attributes = [field for field in cls.fields if field.kind == "attribute"]
        if any(field.is_required and field.name not in fields for field in attributes):
            return
        self.cls, self.attribute_fields = cls, fields
        self.extra = cls.extra_from_mlir(texts) or None
        kinds = [field.kind for field in cls.fields]
        self.count = kinds.count("operand")
        if kinds == ["operand"] * self.count + ["attribute"] * (len(kinds) - self.count):
            # The constructor takes operands, then attributes, by position.
            self.tail = tuple([fields.get(field.name, field.default) for field in attributes])

    def make(self, operands: list[Value], regions: list[Region], block: Block) -> Op:
        """The op, placed at the end of `block` by the active builder.

        Callers ask `made` first where there are no regions.
        """
        cls, types = self.cls, self.types
        if cls is not None:
            previous = block.last
            try:
                key: tuple[Any, ...] = tuple([operand.type for operand in operands])
                if regions:
                    key += tuple([region.signature for region in regions])
                    if (made := self.made.get(key)) is not None:
                        return made.repeat(operands, _split_regions(cls, regions), block)
                if self.tail is not None and len(operands) == self.count:
                    op = cls(*operands, *self.tail)
                else:
                    op = cls(**_split_operands(cls, operands), **_split_regions(cls, regions), **self.attribute_fields)
            except (TypeFault, ValueError):
                assert block.last is previous
            else:
                if op.type is types[0] if len(types) == 1 and op.type is not NO_TYPE else _has_types(op, types):
                    if self.extra is not None:
                        op.extra = dict(self.extra)
                    self.made[key] = op
                    return op
                # A type that MLIR accepts and the class does not express: keep what MLIR has.
                op.drop_operands()
                block.unlink(op)
        kind = OpaqueTerminator if not types and self.name.endswith(".return") else Opaque
        return kind(self.name, tuple(operands), types, tuple(self.texts.items()), tuple(regions))


def _has_types(op: Op, types: tuple[Type, ...]) -> bool:
    found = op.results
    return len(found) == len(types) and all(result.type is type_ for result, type_ in zip(found, types, strict=True))


def _split_operands(cls: type[Op], operands: list[Value]) -> dict[str, Any]:
    """Give each operand field its share: single ones take one, variadic ones divide what is left evenly."""
    fields = [field for field in cls.fields if field.kind in ("operand", "variadic")]
    singles = sum(field.kind == "operand" for field in fields)
    variadics = len(fields) - singles
    share, rest = divmod(len(operands) - singles, variadics) if variadics else (0, len(operands) - singles)
    if rest or share < 0:
        raise ValueError("the operands do not divide into the fields")
    shares: dict[str, Any] = {}
    position = 0
    for field in fields:
        if field.kind == "operand":
            shares[field.name] = operands[position]
            position += 1
        else:
            shares[field.name] = tuple(operands[position : position + share])
            position += share
    return shares


def _split_regions(cls: type[Op], regions: list[Region]) -> dict[str, Any]:
    fields = [field for field in cls.fields if field.kind in ("region", "regions")]
    if len(fields) == 1 and fields[0].kind == "regions":
        return {fields[0].name: tuple(regions)}
    return {field.name: region for field, region in zip(fields, regions, strict=True)}
