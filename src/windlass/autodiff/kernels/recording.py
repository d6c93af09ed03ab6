"""The way there, which keeps what the way back asks for: loops push it, branches hand it on, `while` loops count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from windlass.autodiff.kernels.backwards import Backwards, current_block
from windlass.autodiff.kernels.keeping import Keeping
from windlass.autodiff.kernels.varying import Varying
from windlass.ir import Argument, Block, BufferType, Builder, Op, Region, Value
from windlass.loops import (
    Access,
    Assert,
    Condition,
    DoWhile,
    For,
    If,
    Load,
    Mark,
    NullBuffer,
    Pop,
    Print,
    Push,
    Store,
    Yield,
)
from windlass.loops.telling import CheckAlignment, CheckRange
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add

_TOLD_BEFORE = (Assert, CheckAlignment, CheckRange, Mark, Print)
"""What the kernel itself has said or asked for when its derivative runs."""


class Recording:
    """Places the kernel's ops anew. `mapping` has what is placed by the values of the kernel."""

    def __init__(self, varying: Varying, backwards: Backwards, keeping: Keeping, mapping: dict[Value, Value]) -> None:
        self.mapping = mapping
        self._varying = varying
        self._counts = backwards.counts
        self._mirrors = backwards.mirrors
        self._kept = keeping.kept
        self._records = {body: number for number, body in enumerate(keeping.kept)}
        self._asked = [*keeping.at_hand, *(value for kept in keeping.kept.values() for value in kept)]
        self._wanted = frozenset(self._asked)
        self._around = {value: list(_around(keeping.block_of(value))) for value in self._asked}

    def place(self, ops: Iterable[Op]) -> None:
        for op in ops:
            with Builder(current_block(), source=op.source):
                self._place(op)

    def _place(self, op: Op) -> None:
        if isinstance(op, If):
            self._branch(op)
        elif isinstance(op, For):
            self._loop(op)
        elif isinstance(op, DoWhile):
            self._while(op)
        elif not (isinstance(op, _TOLD_BEFORE) or self._is_idle(op)):
            op.clone(self.mapping)

    def _is_idle(self, op: Op) -> bool:
        """Whether it writes what no thread ever reads."""
        if not isinstance(op, Access) or isinstance(op, Load):
            return False
        if not isinstance(op, Store) and op.uses:
            return False
        return self._varying.read.isdisjoint(self._varying.roots_of(op.buffer, op))

    def _value(self, value: Value) -> Value:
        return self.mapping.get(value, value)

    def _branch(self, op: If) -> None:
        """What is found in a branch and asked for later is one more result."""
        asked = [value for value in self._asked if op in self._around[value] and self._is_nearest(op, value)]
        regions: list[Region] = []
        for region in (op.then, op.otherwise):
            block = Block()
            with Builder(block, source=op.source):
                self.place(_body(region.block))
                given = [self._value(each) for each in region.block.terminator.operands]
                given += [self._value(value) if region in self._around[value] else _anything(value) for value in asked]
                Yield(tuple(given))
            regions.append(Region(block))
        made = If(self._value(op.condition), *regions)
        self.mapping.update(zip((*op.results, *asked), made.results, strict=True))

    def _is_nearest(self, op: If, value: Value) -> bool:
        """Whether no loop lies between the branch and a value in it: that keeps the value by itself."""
        for around in self._around[value]:
            if around is op:
                return True
            if isinstance(around, For | DoWhile):
                return False
        return False

    def _loop(self, op: For) -> None:
        arguments = op.body.block.arguments
        block = Block([each.type for each in arguments], [each.name for each in arguments])
        self.mapping.update(zip(arguments, block.arguments, strict=True))
        with Builder(block, source=op.source):
            self.place(_body(op.body.block))
            self._push(op.body.block)
            Yield(tuple(map(self._value, op.body.block.terminator.operands)))
        made = For(
            self._value(op.trip_count),
            tuple(map(self._value, op.initial)),
            Region(block),
            serializes=op.serializes,
        )
        self.mapping.update(zip(op.results, made.results, strict=True))

    def _while(self, op: DoWhile) -> None:
        arguments = op.body.block.arguments
        block = Block([each.type for each in arguments], [each.name for each in arguments])
        self.mapping.update(zip(arguments, block.arguments, strict=True))
        count = self._counts.get(op)
        if count not in self._wanted:
            count = None
        initial = [self._value(each) for each in op.initial]
        with Builder(block, source=op.source):
            self.place(_body(op.body.block))
            self._push(op.body.block)
            continues, *values = map(self._value, op.body.block.terminator.operands)
            if count is not None:
                before = block.add_argument(count.type)
                values.append(Add(before, Constant.of(1, "i64")))
            Condition(continues, tuple(values))
        if count is not None:
            initial.append(Constant.of(0, "i64"))
        made = DoWhile(tuple(initial), Region(block))
        self.mapping.update(zip(op.results, made.results, strict=False))
        if count is not None:
            self.mapping[count] = made.results[-1]

    def _push(self, body: Block) -> None:
        kept = self._kept.get(body)
        if kept:
            Push(tuple(map(self._value, kept)), self._records[body])

    def hand_over(self, at_hand: Mapping[Value, Argument]) -> None:
        """Let the way back take what was kept."""
        for body, kept in self._kept.items():
            mirror = self._mirrors[body]
            with Builder(mirror, before=mirror.first):
                popped = Pop(tuple(value.dtype for value in kept), self._records[body])
            for stand_in, found in zip(kept.values(), popped.results, strict=True):
                stand_in.replace_all_uses_with(found)
        for value, stand_in in at_hand.items():
            stand_in.replace_all_uses_with(self._value(value))


def _body(block: Block) -> list[Op]:
    return [op for op in block if op is not block.terminator]


def _around(block: Block | None) -> Iterable[Op | Region]:
    """The regions and ops around a block, from the inside."""
    while block is not None and block.parent is not None:
        yield block.parent
        around = block.parent.parent
        if around is None:
            return
        yield around
        block = around.block


def _anything(value: Value) -> Value:
    """What stands for a value where nobody asks for it."""
    return NullBuffer() if isinstance(value.type, BufferType) else Constant.of(0, value.dtype)
