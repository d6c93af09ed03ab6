"""Which values differ from lane to lane, and how: the lanes of a strip are neighbouring threads.

A value is *uniform* (stride 0), *linear* (it grows by its stride from each lane to the next) or *varying* (None). Of
the first two the number of the first lane is enough.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

from windlass.ir import Block, BufferType, Op, Value
from windlass.loops import (
    Allocate,
    Condition,
    DeviceVariableBuffer,
    DoWhile,
    For,
    If,
    Load,
    NullBuffer,
    SelectBuffer,
    Subscript,
    ViewBuffer,
    Yield,
)
from windlass.native.ranges import LaunchRanges
from windlass.native.refusal import NeedsOneLane
from windlass.native.text import FLOATS
from windlass.ops.conversion import BitcastConvert, Convert, bit_width
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Multiply, ShiftLeft, Subtract
from windlass.ops.ranges import everything

Stride: TypeAlias = int | None

_BUFFERS = (Allocate, DeviceVariableBuffer, NullBuffer, ViewBuffer)


def find_strides(block: Block, linear: Collection[Value], ranges: LaunchRanges) -> dict[Value, Stride]:
    """The strides of all values of a thread's body in which the `linear` ones grow by one from lane to lane.

    Raises NeedsOneLane where lanes go into different buffers.
    """
    finder = _Finder(dict.fromkeys(linear, 1), ranges)
    finder.run(block)
    return finder.strides


class _Finder:
    def __init__(self, strides: Mapping[Value, Stride], ranges: LaunchRanges) -> None:
        self.strides = dict(strides)
        self.ranges = ranges

    def of(self, value: Value) -> Stride:
        return self.strides.get(value, 0)

    def run(self, block: Block) -> None:
        for op in block:
            match op:
                case If():
                    self.choose(op)
                case For() | DoWhile():
                    self.repeat(op)
                case Yield() | Condition():
                    pass
                case _:
                    for region in op.regions:
                        self.run(region.block)
                    found = self.give(op)
                    for result in op.results:
                        self.set(result, found)

    def set(self, value: Value, stride: Stride) -> None:
        if stride is None and isinstance(value.type, BufferType):
            raise NeedsOneLane
        self.strides[value] = stride

    def choose(self, op: If) -> None:
        ends: list[tuple[Value, ...]] = []
        for region in (op.then, op.otherwise):
            self.run(region.block)
            ends.append(tuple(region.block.terminator.operands))
        is_uniform = self.of(op.condition) == 0
        for result, one, other in zip(op.results, *ends, strict=True):
            both = _join(self.of(one), self.of(other))
            self.set(result, both if is_uniform or one is other else None)

    def repeat(self, op: For | DoWhile) -> None:
        """By the strides that the carried values have in all rounds, which are as many as lanes need."""
        block = op.body.block
        arguments = carried_arguments(op)
        if isinstance(op, For):
            self.strides[block.arguments[0]] = 0
        for argument, initial in zip(arguments, op.initial, strict=True):
            self.set(argument, self.of(initial))
        while True:
            self.run(block)
            end = block.terminator
            assert isinstance(end, Yield | Condition)
            values = end.values
            found = [_join(self.of(old), self.of(new)) for old, new in zip(arguments, values, strict=True)]
            if found == [self.of(each) for each in arguments]:
                break
            for argument, stride in zip(arguments, found, strict=True):
                self.set(argument, stride)
        parts = self.lanes_part(op)
        for result, stride in zip(op.results, found, strict=True):
            self.set(result, None if parts else stride)

    def lanes_part(self, op: For | DoWhile) -> bool:
        return lanes_part(op, self.strides)

    def give(self, op: Op) -> Stride:
        """The stride of what an op without bodies gives."""
        given = [self.of(each) for each in op.operands]
        if isinstance(op, _BUFFERS):
            return given[0] if isinstance(op, ViewBuffer) else 0
        if isinstance(op, Load) and self.is_own_memory(op.buffer):
            return None
        if isinstance(op, SelectBuffer | Load):
            return None if any(each != 0 for each in given) else 0
        if not any(each != 0 for each in given):
            return 0
        if None in given or op.results != (op,) or isinstance(op.type, BufferType) or op.dtype in FLOATS:
            return None  # also what threads exchange, and what comes with other results
        return _signed(self.computed(op, [each or 0 for each in given]), bit_width(op.dtype))

    def is_own_memory(self, buffer: Value) -> bool:
        """Whether each lane has memory of its own there: an array that it allocates itself, under whatever type."""
        while isinstance(buffer, ViewBuffer):
            buffer = buffer.buffer
        return isinstance(buffer, Allocate) and buffer in self.strides

    def computed(self, op: Op, known: list[int]) -> Stride:
        match op:
            case Subscript():
                return sum(stride * by for stride, by in zip(known, op.strides, strict=True))
            case Add() if op.dtype != "i1":
                return sum(known)
            case Subtract():
                return known[0] - known[1]
            case Multiply() if op.dtype != "i1":
                return self.scaled(op, known)
            case ShiftLeft() if isinstance(op.rhs, Constant) and 0 <= int(op.rhs.number) < bit_width(op.dtype):
                return known[0] << int(op.rhs.number)
            case Convert() | BitcastConvert():
                return self.converted(op, known[0])
            case _:
                return None

    @staticmethod
    def scaled(op: Multiply, given: list[int]) -> Stride:
        for number, stride in ((op.lhs, given[1]), (op.rhs, given[0])):
            if isinstance(number, Constant):
                return int(number.number) * stride
        return None

    def converted(self, op: Convert | BitcastConvert, stride: int) -> Stride:
        """Wider numbers go on growing only if those that they are made of do not wrap around between two lanes."""
        source, target = op.operand.tensor, op.tensor
        if source.is_float or target.is_float or "i1" in (source.dtype, target.dtype):
            return None
        if isinstance(op, BitcastConvert) or bit_width(target.dtype) <= bit_width(source.dtype):
            return stride
        found, limits = self.ranges.of(op.operand), everything(source)
        is_inside = found.high < limits.high and (limits.low == 0 or limits.low < found.low)
        return stride if is_inside and abs(stride) < 1 << (bit_width(source.dtype) - 2) else None


def carried_arguments(op: For | DoWhile) -> tuple[Value, ...]:
    """The arguments of a loop's body that are carried from round to round."""
    return tuple(op.body.block.arguments[isinstance(op, For) :])


def lanes_part(op: For | DoWhile, strides: Mapping[Value, Stride]) -> bool:
    """Whether some lanes may be done with the loop while others go on."""
    decides = op.trip_count if isinstance(op, For) else op.body.block.terminator.operands[0]
    return strides.get(decides, 0) != 0


def _signed(stride: Stride, bits: int) -> Stride:
    """The same step, between the least and the largest signed number of so many bits."""
    if stride is None:
        return None
    half = 1 << (bits - 1)
    return (stride + half) % (2 * half) - half


def _join(one: Stride, other: Stride) -> Stride:
    return one if one == other else None
