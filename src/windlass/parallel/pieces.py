"""The piece that a block's threads run between two meetings: its ops, and what they need of what came before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from windlass.ir import Block, Builder, Op, Region, Value
from windlass.ir.values import Result
from windlass.loops import Allocate, Collective, If, Parallel, ViewBuffer, Yield
from windlass.loops.threads import WARP
from windlass.ops.creation import Constant
from windlass.ops.elementwise import And, Divide, Multiply, Not
from windlass.parallel.exchanges import CannotSplit, Group, exchanged_input, mask_of, write_exchange_of
from windlass.parallel.kept_values import load_kept, store_kept

Kept = tuple[Allocate, Value]
"""An array of the block, and the value of which each thread is to write its own there."""


@dataclass
class Scope:
    """Where ops are written: common values as they are called there, and the conditions under which threads run."""

    known: dict[Value, Value]
    guards: tuple[tuple[Value, bool], ...] = ()
    is_repeated: bool = False
    of_first: dict[Value, Value] = field(default_factory=dict[Value, Value])
    """What is known of the first of the threads only."""
    pending: list[Op] = field(default_factory=list[Op])
    """Ops of the next piece."""

    def within(self, *guards: tuple[Value, bool], is_repeated: bool = False) -> Scope:
        return Scope(dict(self.known), (*self.guards, *guards), self.is_repeated or is_repeated, dict(self.of_first))


class SplitKernel(Protocol):
    """What a piece asks of the launch that it is cut from."""

    launch: Parallel
    body: Block
    inside: set[Value]
    """The values of one thread."""
    kept: dict[Value, Allocate]

    def number(self, ids: Sequence[Value]) -> Value: ...
    def names_all(self, op: Collective) -> bool: ...
    def own_array(self, op: Allocate) -> Allocate: ...


class Piece:
    """Writes the ops that a thread runs between two meetings.

    `group` says who takes part in an exchange, by its op, the first of them and the mask.
    """

    def __init__(
        self,
        fission: SplitKernel,
        group: Callable[[Collective, Value | None, Value | None], Group],
        scope: Scope,
        block: Block,
    ) -> None:
        self.fission = fission
        self.group = group
        self.scope = scope
        self.number = self.fission.number(block.arguments)
        self.here: dict[Value, Value] = dict(zip(self.fission.body.arguments[3:], block.arguments, strict=True))

    def write(self, ops: Sequence[Op], keeps: Sequence[Kept], came: Allocate | None) -> None:
        if not self.scope.guards:
            self._write(ops, keeps)
            return
        runs: Value | None = None
        for condition, is_then in self.scope.guards:
            here = self.at_hand(condition)
            holds = here if is_then else Not(here)
            runs = holds if runs is None else And(runs, holds)
        assert runs is not None
        if came is not None:
            store_kept(came, runs, self.number)
        then, otherwise = Block(), Block()
        with Builder(then):
            self._write(ops, keeps)
            Yield(())
        with Builder(otherwise):
            Yield(())
        If(runs, Region(then), Region(otherwise))

    def _write(self, ops: Sequence[Op], keeps: Sequence[Kept]) -> None:
        inside = set(ops)
        wanted = [each for op in ops for each in free_values(op)]
        for value in (*wanted, *(value for _, value in keeps)):
            if origin_of(value) not in inside:
                self.at_hand(value, ops)
        for op in ops:
            if isinstance(op, Collective):
                self._exchange(op)
            else:
                op.clone(self.here)
        for array, value in keeps:
            store_kept(array, self.at_hand(value), self.number)

    def _exchange(self, op: Collective) -> None:
        """What the thread receives of what all have given at the end of the piece before."""
        fission = self.fission
        given = exchanged_input(op)
        operands = [None if place == given else self.at_hand(each) for place, each in enumerate(op.inputs)]
        first = Multiply(Divide(self.number, Constant.of(WARP, "i32")), Constant.of(WARP, "i32"))
        mask = mask_of(op)
        mask = None if mask is None or fission.names_all(op) else self.at_hand(mask)
        found = write_exchange_of(op, self.group(op, first, mask), self.number, operands)
        self.here.update(zip(op.results, found, strict=True))

    def at_hand(self, value: Value, ops: Sequence[Op] = ()) -> Value:
        """What stands for the value in this piece: known to all, kept, or computed anew."""
        fission, here = self.fission, self.here
        if value not in fission.inside:
            return value
        found = here.get(value)
        if found is not None:
            return found
        if value in self.scope.known:
            found = self.scope.known[value]
        elif value in fission.kept:
            found = load_kept(fission.kept[value], value.dtype, self.number)
        elif isinstance(value, Allocate):
            found = self._local_array(value, ops)
        elif isinstance(value, Op) and value.is_pure and not value.regions:
            for operand in value.operands:
                self.at_hand(operand, ops)
            mapping = {operand: self.at_hand(operand, ops) for operand in value.operands}
            found = value.clone(mapping)
        else:
            raise CannotSplit("a value is needed across a barrier that can't be kept", fission.launch.source)
        here[value] = found
        return found

    def _local_array(self, op: Allocate, ops: Sequence[Op]) -> Value:
        """A local array: the thread's own while nobody else uses it, else its part of one for the block."""
        inside = set(ops)
        is_used_here = not self.scope.is_repeated and all(has_within(user, inside) for user in users_of(op))
        return op.clone({}) if is_used_here else self.fission.own_array(op)


# -- where values are used --------------------------------------------------------------------------------------------


def origin_of(value: Value) -> Op | None:
    """The op that gives the value."""
    return value.owner if isinstance(value, Result) else value if isinstance(value, Op) else None


def is_within(user: Op, like: Op, inside: set[Op]) -> bool:
    """Whether a user of an op's result is among the ops inside, which stand in the same block, or in one of them."""
    here: Op | None = user
    while here is not None and here.block is not like.block:
        here = here.parent_op
    return here in inside


def has_within(op: Op, inside: set[Op]) -> bool:
    here: Op | None = op
    while here is not None:
        if here in inside:
            return True
        here = here.parent_op
    return False


def users_of(buffer: Value) -> Iterable[Op]:
    """What goes into a memory, by whatever pointer."""
    for user in buffer.uses:
        if isinstance(user, ViewBuffer):
            yield from users_of(user)
        else:
            yield user


def free_values(op: Op) -> list[Value]:
    """What an op and all within use of what stands outside of it."""
    made: set[Value] = set()
    found: list[Value] = []
    for each in (op, *(inner for region in op.regions for inner in region.walk())):
        for region in each.regions:
            made.update(region.block.arguments)
        given = exchanged_input(each) if isinstance(each, Collective) else None
        found += [operand for place, operand in enumerate(each.operands) if operand not in made and place != given]
        made.update(each.results)
    return found
