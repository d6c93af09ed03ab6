"""Running what was placed in a block, and going through lanes one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from windlass.affine.dimensions import Box, Dimension
from windlass.affine.index import (
    Choice,
    Data,
    FloorDivide,
    Index,
    IndexMaximum,
    IndexMinimum,
    Modulo,
    RuntimeScalar,
    parts_of,
)
from windlass.affine.predicate import (
    AtLeastZero,
    Conjunction,
    DataCondition,
    DiffersFromZero,
    Disjunction,
    EqualsZero,
    Predicate,
)
from windlass.ir import Argument, Block, Builder, Value, tensor_type
from windlass.ops.evaluation import run_op
from windlass.raising.lanes import Lanes
from windlass.raising.lanes import lanes_of as held_by


class Program:
    """A block under construction, with arguments that have arrays."""

    def __init__(self) -> None:
        self.block = Block()
        self.arrays: dict[Value, Any] = {}

    def argument(self, array: Any) -> Argument:
        from windlass.ir.types import MLIR_DTYPES

        array = np.asarray(array)
        argument = self.block.add_argument(tensor_type(array.shape, MLIR_DTYPES[array.dtype]))
        self.arrays[argument] = array
        return argument

    def building(self) -> Builder:
        return Builder(self.block)

    def run(self, value: Value) -> Any:
        values = dict(self.arrays)
        for op in self.block:
            run_op(op, values, None)
        return np.asarray(values[value])

    def op_names(self) -> list[str]:
        return [type(op).__name__ for op in self.block]


def lane_value(lanes: Lanes, array: Any, point: Mapping[Dimension, int]) -> Any:
    """What the lanes' array holds for one lane."""
    return array[tuple(point[each] - lower for each, lower in zip(lanes.dims, lanes.lower, strict=True))]


def lanes_of(program: Program, dims: Sequence[Dimension], box: Box, function: Callable[..., Any], dtype: str) -> Lanes:
    """Lanes with the function's value (of the dimensions' values, in order) at each point of the box."""
    shape = box.shape(dims)
    array = np.empty(shape, dtype)
    for place in np.ndindex(*shape):
        array[place] = function(*(box.lower(each) + offset for each, offset in zip(dims, place, strict=True)))
    return Lanes.over(program.argument(array), dims, box)


def index_value(index: Index, point: Mapping[Dimension, int], program: Program) -> int:
    """The value at a point, run-time parts taken from the program's arguments."""
    total = index.constant
    for atom, factor in index.terms.items():
        parts = [index_value(part, point, program) for part in parts_of(atom)]
        match atom:
            case Dimension():
                value = point[atom]
            case RuntimeScalar():
                value = int(program.arrays[atom.value])
            case Data():
                value = int(lane_value(held_by(atom), program.arrays[held_by(atom).value], point))
            case FloorDivide():
                value = parts[0] // atom.divisor
            case Modulo():
                value = parts[0] % atom.divisor
            case IndexMinimum():
                value = min(parts)
            case IndexMaximum():
                value = max(parts)
            case Choice():
                value = parts[1] if parts[0] >= 0 else parts[2]
        total += factor * value
    return total


def predicate_value(predicate: Predicate, point: Mapping[Dimension, int], program: Program) -> bool:
    """Whether the predicate holds at a point, run-time parts taken from the program's arguments."""
    match predicate:
        case AtLeastZero():
            return index_value(predicate.index, point, program) >= 0
        case EqualsZero():
            return index_value(predicate.index, point, program) == 0
        case DiffersFromZero():
            return index_value(predicate.index, point, program) != 0
        case DataCondition():
            held = bool(lane_value(held_by(predicate), program.arrays[held_by(predicate).value], point))
            return held != predicate.is_negated
        case Conjunction():
            return all(predicate_value(part, point, program) for part in predicate.parts)
        case Disjunction():
            return any(predicate_value(part, point, program) for part in predicate.parts)
        case _:
            return predicate.is_true
