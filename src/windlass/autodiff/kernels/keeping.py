"""Where the way back has the kernel's values from: computed again, kept on the tape, or still at hand.

Outside of loops all values of a thread are still at hand. In a loop, what is cheap is computed again from what else is
known, and what memory holds that nobody writes is read again; the rest is kept for each round: what loops carry, what
was read from memory that is written, functions that take long (Enzyme's cache).
"""

from __future__ import annotations

from windlass.autodiff.kernels.backwards import Backwards
from windlass.autodiff.kernels.varying import Refusal, Varying
from windlass.ir import Argument, Block, BufferType, Builder, Op, Value
from windlass.ir.values import Result
from windlass.loops import (
    AtomicUpdate,
    DeviceVariableBuffer,
    DoWhile,
    For,
    Load,
    NullBuffer,
    SameBuffer,
    SelectBuffer,
    Subscript,
    Undefined,
    ViewBuffer,
)
from windlass.ops.base import TensorOp
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Subtract
from windlass.ops.float_functions import FloatFunction, FloatFunctionOfTwo
from windlass.ops.functions import Atan2, FloatUnary, Power, Rsqrt, Sqrt

_PLAIN = (DeviceVariableBuffer, NullBuffer, SameBuffer, SelectBuffer, Subscript, Undefined, ViewBuffer)
"""What the loop level computes of nothing but operands."""
_DEAR = (Atan2, FloatFunction, FloatFunctionOfTwo, FloatUnary, Power)
_QUICK = (Rsqrt, Sqrt)
"""Functions that are instructions."""


class Keeping:
    """Gives the way back what it asks for."""

    def __init__(self, varying: Varying, backwards: Backwards, top: Block) -> None:
        self._varying = varying
        self._mirrors = backwards.mirrors
        self._top = top
        """The body of a thread."""
        function = varying.function
        self._primal: set[Value] = {*function.arguments, *backwards.counts.values()}
        for op in function.walk():
            self._primal.update(op.results)
            for region in op.regions:
                self._primal.update(region.block.arguments)
        self._blocks_of_counts = {count: op.block for op, count in backwards.counts.items()}
        self._known: dict[Value, Value] = {}
        self.at_hand: dict[Value, Argument] = {}
        """What stands for values that a thread still has."""
        self.kept: dict[Block, dict[Value, Argument]] = {}
        """For each body of a loop the values that are kept of each round, and what stands for them."""

    def settle(self, block: Block) -> None:
        """Let what a mirror holds use what the way back has."""
        for op in list(block):
            for operand in dict.fromkeys(op.operands):
                if operand in self._primal:
                    op.replace_operand(operand, self.find(operand, op))
            for region in op.regions:
                self.settle(region.block)

    def find(self, value: Value, at: Op) -> Value:
        """The value of the kernel as the way back has it, for an op of its."""
        around = _around_argument(value)
        if isinstance(around, AtomicUpdate):  # its body begins with what its result is
            value = around
        known = self._known.get(value)
        if known is None:
            known = self._known[value] = self._provide(value, at)
        return known

    def _provide(self, value: Value, at: Op) -> Value:
        if self._is_round(value):
            return self._round(value)
        home = self._home(value)
        if not self._is_of_thread(value):
            # In branches too: an index that is computed again is known to be one.
            is_buffer = isinstance(value.type, BufferType)
            must_be = is_buffer or (isinstance(value, Op) and isinstance(value.parent_op, AtomicUpdate))
            if self._can_be_repeated(value) and (must_be or len(self._asked_by(value)) <= 1):
                return self._repeat(value, at)
        if home is self._top:
            return self.at_hand.setdefault(value, Argument(value.type))
        if isinstance(value.type, BufferType):
            raise Refusal("a pointer is chosen in a branch or a loop", at.source)
        return self.kept.setdefault(home, {}).setdefault(value, Argument(value.type))

    def _is_round(self, value: Value) -> bool:
        """Whether a value is the number of a round, which the way back counts down."""
        around = _around_argument(value)
        return isinstance(around, For) and value is around.body.block.arguments[0]

    def _round(self, value: Value) -> Value:
        assert isinstance(value, Argument) and value.block is not None
        mirror = self._mirrors[value.block]
        assert mirror.parent is not None
        loop = mirror.parent.parent
        assert isinstance(loop, For)
        with Builder(mirror, before=mirror.first, source=loop.source):
            last = Subtract(loop.trip_count, Constant.of(1, "i64"))
            return Subtract(last, mirror.arguments[0])

    def _repeat(self, value: Value, at: Op) -> Value:
        """The op again, where the mirror of its block is about to do what asks for it."""
        assert isinstance(value, Op) and value.block is not None
        mirror = self._mirrors[value.block]
        place: Op = at
        while place.block is not mirror:
            around = place.parent_op
            assert around is not None
            place = around
        mapping: dict[Value, Value] = {operand: self.find(operand, place) for operand in value.operands}
        with Builder(mirror, before=place, source=value.source):
            return value.clone(mapping)

    def _asked_by(self, value: Value) -> set[Value]:
        """What would have to be kept besides, to compute the value again."""
        asked: set[Value] = set()
        seen: set[Value] = set()
        left = [value]
        while left:
            each = left.pop()
            around = _around_argument(each)
            if isinstance(around, AtomicUpdate):
                each = around
            if each in seen or each in self._known:
                continue
            seen.add(each)
            home = self._home(each)
            if home is self._top or self._is_round(each):
                continue
            if self._can_be_repeated(each):
                assert isinstance(each, Op)
                left += each.operands
            else:
                asked.add(each)
        return asked

    def _can_be_repeated(self, value: Value) -> bool:
        if isinstance(value, Load):
            return not value.is_volatile and self._varying.written.isdisjoint(
                self._varying.roots_of(value.buffer, value)
            )
        if isinstance(value, TensorOp):
            if isinstance(value.parent_op, AtomicUpdate):
                return True  # nobody else has what its body computes
            return value.is_pure and not value.regions and (isinstance(value, _QUICK) or not isinstance(value, _DEAR))
        return isinstance(value, _PLAIN)

    def _is_of_thread(self, value: Value) -> bool:
        """Whether a value is found in no branch or loop of the thread."""
        block = self.block_of(value)
        return block is None or block is self._top or block.parent is None

    def block_of(self, value: Value) -> Block | None:
        """The block in which a value is defined."""
        if isinstance(value, Argument) and value in self._blocks_of_counts:
            return self._blocks_of_counts[value]
        if isinstance(value, Result):
            return value.owner.block
        assert isinstance(value, Op | Argument)
        return value.block

    def _home(self, value: Value) -> Block:
        """The body of the innermost loop around a value; that of the thread where there is none."""
        block = self.block_of(value)
        while block is not None and block is not self._top and block.parent is not None:
            around = block.parent.parent
            if isinstance(around, For | DoWhile):
                return block
            assert around is not None
            block = around.block
        return self._top


def _around_argument(value: Value) -> Op | None:
    """The op whose body takes the value; None for others."""
    block = value.block if isinstance(value, Argument) else None
    return None if block is None or block.parent is None else block.parent.parent
