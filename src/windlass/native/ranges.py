"""Between what integers of a kernel lie in one launch: of thread numbers, counters, and what is computed of them.

What holds of threads that passed a condition `windlass.facts.indices` knows. Lanes that have not passed it compute the
same values all the same, so what is said here holds of all of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from windlass.ir import Argument, Op, TensorType, Value
from windlass.ir.values import Result
from windlass.loops import DoWhile, For, If, Subscript
from windlass.ops.base import TensorOp
from windlass.ops.conversion import BitcastConvert, bit_width
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Multiply, ShiftLeft, Subtract
from windlass.ops.ranges import Range, everything

MOST_ASSUMED = 4


class LaunchRanges:
    """Ranges of the integers of one launch, in all threads wherever they are: no condition that they passed counts.

    `extents` are how many different values ids have, which are counted from 0.
    """

    def __init__(self, extents: Mapping[Value, int]) -> None:
        self._found: dict[Value, Range] = {
            each: Range(0, max(extent - 1, 0), whole=True) for each, extent in extents.items()
        }
        self._depth = 0
        """How many ranges of carried numbers are assumed."""

    def of(self, value: Value) -> Range:
        """Between what the value lies."""
        known = self._found.get(value)
        if known is None:
            known = self._found[value] = self._compute(value, value.tensor)
        return known

    def assume(self, value: Value, range_: Range) -> None:
        """From now on the value lies in that range, in all threads."""
        self._found[value] = range_

    def no_wrap(self, op: Op) -> str:
        """LLVM's flags for an op on integers that never leaves the numbers of its type: ` nuw nsw`, or some of them."""
        if not isinstance(op, Add | Subtract | Multiply | ShiftLeft) or op.tensor.is_float or op.dtype == "i1":
            return ""
        one, other = (self.of(each) for each in op.operands)
        if isinstance(op, ShiftLeft):
            if not 0 <= other.low <= other.high < bit_width(op.dtype):
                return ""
            other = Range(1 << other.low, 1 << other.high)
        match op:
            case Add():
                low, high = one.low + other.low, one.high + other.high
            case Subtract():
                low, high = one.low - other.high, one.high - other.low
            case Multiply() | ShiftLeft():
                ends = [left * right for left in (one.low, one.high) for right in (other.low, other.high)]
                low, high = min(ends), max(ends)
        half = 1 << (bit_width(op.dtype) - 1)
        if not -half <= low <= high < half:
            return ""
        return " nuw nsw" if one.low >= 0 and other.low >= 0 and low >= 0 else " nsw"

    def no_wrap_within(self, op: Subscript) -> str:
        """The same for all products and sums of which a subscript is made."""
        reach = abs(op.start)
        for index, stride in zip(op.indices, op.strides, strict=True):
            found = self.of(index)
            reach += abs(stride) * max(abs(found.low), abs(found.high))
        return " nsw" if reach < 1 << 63 else ""

    def _compute(self, value: Value, type_: TensorType) -> Range:
        if isinstance(value, Argument):
            return self._argument(value, type_)
        origin = value.owner if isinstance(value, Result) else value
        if isinstance(origin, Constant):
            return origin.find_range(self.of)
        if type_.is_float:
            return everything(type_)
        if isinstance(origin, If):
            place = origin.results.index(value)
            one, other = (self.of(region.block.terminator.operands[place]) for region in origin.regions)
            return one.join(other)
        if isinstance(origin, Subscript):
            return self._place(origin, type_)
        if isinstance(origin, BitcastConvert) and not origin.operand.tensor.is_float:
            operand, limits = self.of(origin.operand), everything(type_)
            return operand if operand.lies_within(limits.low, limits.high) else limits
        found = origin.find_range(self.of) if isinstance(origin, TensorOp) else None
        return found if isinstance(found, Range) else everything(type_)

    def _place(self, op: Subscript, type_: TensorType) -> Range:
        low = high = op.start
        for index, stride in zip(op.indices, op.strides, strict=True):
            ends = [end * stride for end in (self.of(index).low, self.of(index).high)]
            low, high = low + min(ends), high + max(ends)
        limits = everything(type_)
        return Range(low, high, whole=True) if limits.low <= low and high <= limits.high else limits

    def _argument(self, value: Argument, type_: TensorType) -> Range:
        """A counter lies between 0 and the number of rounds; of other arguments nothing is known."""
        region = None if value.block is None else value.block.parent
        loop = None if region is None else region.parent
        if isinstance(loop, For) and value is loop.body.block.arguments[0]:
            return Range(0, max(self.of(loop.trip_count).high - 1, 0), whole=True)
        if isinstance(loop, For | DoWhile) and not type_.is_float:
            return self._carried(value, loop, type_)
        return everything(type_)

    def _carried(self, value: Argument, loop: For | DoWhile, type_: TensorType) -> Range:
        """What holds before a loop of a carried number, and after each round if it does before: n, n/2, n/4 …"""
        place = value.index - isinstance(loop, For)
        following = loop.body.block.terminator.operands[place + isinstance(loop, DoWhile)]
        first, limits = self.of(loop.initial[place]), everything(type_)
        if self._depth < MOST_ASSUMED:
            for guess in (first, Range(min(first.low, 0), max(first.high, 0), whole=True)):
                trial = LaunchRanges({})
                trial._found = {**self._found, value: guess}
                trial._depth = self._depth + 1
                if trial.of(following).lies_within(guess.low, guess.high):
                    return guess
        return limits
