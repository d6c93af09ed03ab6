"""Random well-typed instances of every op class, and programs that hold many of them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from windlass import ops
from windlass.ir import Argument, Block, Builder, Function, Module, Op, Value
from windlass.ops import Composite
from windlass.ops.base import TensorOp
from windlass.ops.sampling import Draw, RandomDraw, Unsuitable


def sampled_classes() -> list[type[TensorOp]]:
    """Every class of the tensor level that says how to make random instances of itself."""
    found = {
        cls
        for cls in Op.by_name.values()
        if issubclass(cls, TensorOp)
        and not issubclass(cls, Composite)
        and cls.sample_operands.__func__ is not TensorOp.sample_operands.__func__
    }
    return sorted(found, key=lambda cls: cls.__name__)


def composite_classes() -> list[type[Composite]]:
    """Those that other ops define, and that the tensor level has not."""
    found = {cls for cls in Op.by_name.values() if issubclass(cls, Composite)}
    return sorted(found, key=lambda cls: cls.__name__)


def meaningful_classes() -> list[type[TensorOp]]:
    """Those that have a meaning on arrays too."""
    return [cls for cls in sampled_classes() if cls.evaluate is not Op.evaluate]


class Instance:
    """One op on parameters of its own, and values for them."""

    def __init__(self, op: TensorOp, arrays: list[np.ndarray[Any, Any]]) -> None:
        self.op, self.arrays = op, arrays


def draw_instance(cls: type[TensorOp], draw: Draw) -> Instance:
    """A random op of the class, with random values for its operands."""
    for _ in range(100):
        types = cls.sample_operands(draw)
        try:
            fields = cls.sample(draw, *types)
        except Unsuitable:
            continue
        operands = [Argument(type_, name=f"x{position}") for position, type_ in enumerate(types)]
        op = cls(**share_out(cls, operands), **fields)
        return Instance(op, [op.sample_array(draw, position) for position in range(len(operands))])
    raise AssertionError(f"{cls.__name__}.sample finds its own operands unsuitable")


def share_out(cls: type[TensorOp], operands: Sequence[Value]) -> dict[str, Any]:
    kinds = [field for field in cls.fields if field.kind in ("operand", "variadic")]
    singles = sum(field.kind == "operand" for field in kinds)
    share = (len(operands) - singles) // max(len(kinds) - singles, 1)
    remaining = list(operands)
    shares: dict[str, Any] = {}
    for field in kinds:
        if field.kind == "operand":
            shares[field.name] = remaining.pop(0)
        else:
            shares[field.name] = tuple(remaining[:share])
            del remaining[:share]
    assert not remaining
    return shares


def draw_instances(cls: type[TensorOp], count: int, salt: int = 0) -> list[Instance]:
    """So many instances, the same ones on every run."""
    seed = zlib.crc32(cls.__name__.encode()) + 1_000_003 * salt
    return [draw_instance(cls, RandomDraw(seed + 7919 * index)) for index in range(count)]


def program_of(instances: list[Instance]) -> Module:
    """One function that holds all the instances: parameters and results one after another."""
    block = Block()
    with Builder(block):
        results: list[Any] = []
        for instance in instances:
            mapping: dict[Any, Any] = {operand: block.add_argument(operand.type) for operand in instance.op.operands}
            results += instance.op.clone(mapping).results
        ops.Return(tuple(results))
    return Module([Function("main", block)])


def all_arrays(instances: list[Instance]) -> list[np.ndarray[Any, Any]]:
    """The arguments of `program_of`."""
    return [array for instance in instances for array in instance.arrays]


__all__ = [
    "Instance",
    "all_arrays",
    "draw_instance",
    "draw_instances",
    "meaningful_classes",
    "program_of",
    "sampled_classes",
    "share_out",
]
