"""Which ops of a block become regions of local code.

The ops are taken in stages: a stage computes all that can be computed from what is there before it, and what is left
to XLA comes between. An op that keeps a stage from being a region is left to XLA, and so is a stage that neither moves
nor folds anything along a divided axis: XLA divides such ops as well by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from windlass.communication.halo_exchange import Channels
from windlass.communication.invariants import Invariants
from windlass.communication.machines import Machine
from windlass.communication.places import owner_of
from windlass.communication.propagation import CONSTRAINT, Divisions, Propagation
from windlass.communication.reading import READABLE, Reader
from windlass.communication.stages import Stage
from windlass.ir import Block, Builder, Function, TensorType, Value
from windlass.ir.captures import captures
from windlass.ir.core import Op
from windlass.ops import Branching, Concatenate, Opaque, Reduce, Slice, While
from windlass.ops.shardings import Sharding

WIDE = 0.25
"""Of what a device holds along an axis: where a halo would be wider than this share, what is computed on the way is
exchanged too, if anything can be."""


def exchange_in_function(function: Function, propagation: Propagation, machine: Machine) -> int:
    """Make regions of the function's ops, those within its loops and branches too; gives how many there are."""
    channels, invariants = Channels(), Invariants(propagation)
    count = _exchange_in_block(function.body, propagation, channels, machine, invariants)
    return count + invariants.exchange(channels)


def _exchange_in_block(
    block: Block, propagation: Propagation, channels: Channels, machine: Machine, invariants: Invariants
) -> int:
    # Either a device computes what it needs of its neighbours' results itself, or these are exchanged.
    selections = [Selection(block, propagation, exchanges_all) for exchanges_all in (False, True)]
    chosen = min(selections, key=lambda selection: selection.cost(machine))
    count = len(chosen.regions)
    if chosen.regions:
        _rebuild(block, chosen, channels, invariants)
    # What loops and branches read is settled by now.
    for op in tuple(block):
        if isinstance(op, While | Branching):
            inner = sum(
                _exchange_in_block(region.block, propagation, channels, machine, invariants) for region in op.regions
            )
            if inner and isinstance(op, Branching):
                _constrain(op, propagation)
            count += inner
    return count


def _constrain(op: Branching, propagation: Propagation) -> None:
    """Say how the results of branches are divided: Shardy does not look for that inside of them."""
    assert op.block is not None
    for result in op.results:
        divisions = propagation.divisions(result)
        if divisions and any(divisions) and _is_whole(result, divisions):
            users = list(result.uses)
            sharding = Sharding(propagation.mesh, tuple(() if each is None else each.names for each in divisions))
            with Builder(op.block, before=op.next, source=op.source):
                text = f"#sdy.sharding{sharding.text}"
                constrained = Opaque(CONSTRAINT, (result,), (result.type,), (("sharding", text),))
            propagation.join_all(result, constrained.results[0])
            for user in users:
                user.replace_operand(result, constrained.results[0])


def _is_whole(value: Value, divisions: Divisions) -> bool:
    """Whether the value is of the extent that is divided, and so may go from one region to another."""
    return all(
        division is None or size == division.extent for size, division in zip(value.shape, divisions, strict=True)
    )


@dataclass
class Selection:
    """The ops of a block that become regions, and in which stage each op is."""

    block: Block
    propagation: Propagation
    exchanges_all: bool = False
    """Whether results that are read at a distance are exchanged, rather than computed by all that need them."""
    delays: dict[Op, int] = field(default_factory=dict[Op, int])
    """Ops that are in a later stage than they could be, so that halos don't become too wide."""

    def __post_init__(self) -> None:
        self.inside: set[Op] = set()
        for op in self.block:
            if self._can_be_inside(op) and not self._is_cut_before(op):
                self.inside.add(op)
        self.order = {op: place for place, op in enumerate(self.block)}
        self.sources = {
            op: [source for value in _values_used(op) if (source := owner_of(value)) is not None] for op in self.block
        }
        self.read: dict[Any, tuple[Stage, list[Op]]] = {}
        """The stages that were read, by what they are made of."""
        self.stages: dict[Op, int] = {}
        self.regions = self._find()
        """The stages that are regions, by number."""

    def _can_be_inside(self, op: Op) -> bool:
        is_readable = isinstance(op, READABLE) or op in self.propagation.reshardings
        if not is_readable or not all(isinstance(each.type, TensorType) for each in op.operands):
            return False
        values = (*op.operands, *op.results)
        divisions = [self.propagation.divisions(value) for value in values]
        is_divided = any(divisions[-1] or ()) or (isinstance(op, Reduce) and any(divisions[0] or ()))
        return None not in divisions and is_divided and not self.is_cheap(op)

    def _is_cut_before(self, op: Op) -> bool:
        """Whether it takes a part of what comes from outside, along an axis that is not divided: no more is sent."""
        if not isinstance(op, Slice):
            return False
        source = owner_of(op.operand)
        if source in self.inside or (source is not None and self.is_cheap(source)):
            return False
        divisions = self.propagation.divisions(op.operand) or ()
        return op.shape != op.operand.shape and all(
            division is None or size == own
            for division, size, own in zip(divisions, op.operand.shape, op.shape, strict=True)
        )

    def is_cheap(self, op: Op) -> bool:
        return Reader(self.propagation).is_cheap(op)

    def cost(self, machine: Machine) -> float:
        """How long the exchanges of all regions take, by estimate; for ever where there are none."""
        return sum(stage.cost(machine) for stage in self.regions.values()) if self.regions else math.inf

    def _find(self) -> dict[int, Stage]:
        while self.inside:
            self.stages = self._number()
            found: dict[int, Stage] = {}
            is_settled = True
            for number in sorted({self.stages[op] for op in self.inside}):
                stage, unreadable = self._stage(number, found.values())
                if unreadable:
                    for op in dict.fromkeys(unreadable):
                        self._leave_out(op, number)
                    is_settled = False
                    break
                if stage.strained:
                    if not self._put_off(stage, number, stage.strainers() & self.inside):
                        self.inside -= stage.strained
                    is_settled = False
                    break
                if self.exchanges_all and self._delay_reads(stage, number):
                    is_settled = False
                    break
                width = stage.width()
                if (width > 1 or stage.share() > WIDE) and self._delay(stage, number):
                    is_settled = False
                    break
                if width > 1 or not stage.outputs or self._is_as_well_left(stage):
                    self.inside -= set(stage.ops)
                    is_settled = False
                    break
                found[number] = stage
            if is_settled:
                return found
        return {}

    def _is_as_well_left(self, stage: Stage) -> bool:
        """Whether XLA divides all of it as well by itself: nothing moves, and all that comes and goes is whole.

        It does not where layers are put together: what is made of each it may divide in another way.
        """
        if stage.reader.shifts or stage.reader.folds or any(isinstance(op, Concatenate) for op in stage.ops):
            return False
        return all(
            _is_whole(value, self.propagation.divisions(value) or ()) for value in (*stage.inputs, *stage.outputs)
        )

    def _leave_out(self, op: Op, number: int) -> None:
        """Leave an op to XLA; one that each region makes anew, with what uses it there."""
        if op in self.inside:
            self.inside.discard(op)
        else:
            self.inside -= {user for user in self._users(op) if self.stages.get(user) == number} or self.inside

    def _users(self, op: Op) -> Iterator[Op]:
        for result in op.results:
            yield from result.uses

    def _number(self) -> dict[Op, int]:
        """The stage of each op; an op that is left to XLA comes before the region of its stage."""
        stages: dict[Op, int] = {}
        last_effect = 0
        for op, sources in self.sources.items():
            needed = self.delays.get(op, 0)
            is_outside = op not in self.inside
            for source in sources:
                found = stages.get(source)
                if found is not None:
                    found += is_outside and source in self.inside
                    needed = max(needed, found)
            if not op.is_pure and not (isinstance(op, Opaque) and op.operation == CONSTRAINT):
                needed = last_effect = max(needed, last_effect)
            stages[op] = needed
        return stages

    def _stage(self, number: int, before: Iterable[Stage]) -> tuple[Stage, list[Op]]:
        """The region of this number, given those before it, and the ops that keep it from being one."""
        ops = sorted((op for op in self.inside if self.stages[op] == number), key=self.order.__getitem__)
        taken: dict[Op, None] = {}

        def take(op: Op) -> None:
            for value in op.operands:
                source = owner_of(value)
                if source is not None and source not in taken and self.is_cheap(source):
                    take(source)
            taken[op] = None

        for op in ops:
            take(op)
        own = set(ops)
        outputs = [result for op in ops for result in op.results if any(user not in own for user in result.uses)]
        used = {value: None for op in ops for value in op.operands if value not in own}
        embedded = {value: stage.places[value] for value in used for stage in before if value in stage.places}
        key = (tuple(ops), tuple(outputs), tuple(embedded.items()))
        if key not in self.read:
            reader = Reader(self.propagation, embedded=embedded, keeps_home=self.exchanges_all)
            stage = Stage(self.propagation, self.block, list(taken), reader)
            self.read[key] = stage, stage.read(outputs)
        return self.read[key]

    def _delay(self, stage: Stage, number: int) -> bool:
        """Put what is done last into the next stage; whether that leaves anything for this one.

        What goes over from one stage to the next is exchanged there.
        """
        limit = stage.width() / 2
        made = {step.op for step in stage.reader.steps}
        later = {op for op in stage.ops if op in made and max(map(stage.width_of, op.results)) < limit}
        return self._put_off(stage, number, later & self.inside)

    def _delay_reads(self, stage: Stage, number: int) -> bool:
        """Put the ops that read what is made in a stage at a distance into the next; whether there are any.

        What can't go from one region to another is put off with what reads it: that counts only where it is made of
        something that can.
        """
        made: set[Value] = set()
        later: set[Op] = set()
        for step in stage.reader.steps:
            taken = [read for read in step.reads if read.base in made]
            if any(any(read.distances) for read in taken):
                later.add(step.op)
            if taken or (step.reads and self._can_cross(step.op)):
                made.update(step.op.results)
        return self._put_off(stage, number, later & self.inside)

    def _put_off(self, stage: Stage, number: int, later: set[Op]) -> bool:
        if not later:
            return False
        made = {step.op for step in stage.reader.steps}
        own = [op for op in stage.ops if op in self.inside]
        users_of = {op: [user for user in self._users(op) if user in among] for among in (set(own),) for op in own}
        while True:
            before = len(later)
            for op in own:
                if any(owner_of(operand) in later for operand in op.operands):
                    later.add(op)
            for op in reversed(own):
                users = users_of[op]
                is_moved = op not in made and users and all(user in later for user in users)
                if is_moved or (any(user in later for user in users) and not self._can_cross(op)):
                    later.add(op)
            if len(later) == before:
                break
        if len(later) == len(own):
            return False
        self.delays.update(dict.fromkeys(later, number + 1))
        return True

    def _can_cross(self, op: Op) -> bool:
        """Whether the results of an op go from one region to another as they are."""
        return all(_is_whole(result, self.propagation.divisions(result) or ()) for result in op.results)


def _values_used(op: Op) -> Iterator[Value]:
    yield from op.operands
    for region in op.regions:
        yield from captures(region)


def _rebuild(block: Block, selection: Selection, channels: Channels, invariants: Invariants) -> None:
    """Put regions in place of ops; what is left to XLA comes before the region of its stage."""
    ops = list(block)
    rest = [op for op in ops if op not in selection.inside]
    terminator = rest.pop()
    for op in ops:
        block.unlink(op)
    last = max(selection.stages.values())
    replaced: dict[Value, Value] = {}
    for number in range(last + 1):
        for op in rest:
            if selection.stages[op] == number:
                block.append(op)
        region = selection.regions.get(number)
        if region is not None:
            with Builder(block):
                made = region.make(channels, replaced, invariants)
                for value, result in made.items():
                    found = _cut_out(value, result, region.places[value])
                    selection.propagation.join_all(value, found)
                    value.replace_all_uses_with(found)
            replaced.update(made)
    block.append(terminator)
    for op in reversed(ops):
        if op in selection.inside:
            op.drop_operands()


def _cut_out(value: Value, whole: Value, place: tuple[int, ...]) -> Value:
    """A result of a region, of the array that holds it."""
    if whole.shape == value.shape:
        return whole
    limits = tuple(start + size for start, size in zip(place, value.shape, strict=True))
    return Slice(whole, place, limits, (1,) * len(place))
