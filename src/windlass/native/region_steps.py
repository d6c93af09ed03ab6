"""A loop of tensor ops as steps: phases, each of which fills a memory, and loops around them.

Values that are carried from round to round, and those that would be computed again at many places, have memories. An
update is written where its array is, if nothing that comes later reads the array as it was; else a new version is
written to another memory, and at the end of a round memories change places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from windlass.facts.cost import CPU
from windlass.ir import Argument, Block, Op, TensorType, Value
from windlass.ir.captures import captures
from windlass.native.refusal import NotNative
from windlass.native.region_phases import Phase
from windlass.native.region_places import (
    Axes,
    TooManyReads,
    effort_of,
    find_boxes,
    only_drops_axes,
    operations_of,
    reads_of,
    reads_what_it_replaces,
)
from windlass.native.tensor_arrays import is_number, is_splat
from windlass.native.tensor_elements import DTYPES, stored_dtype
from windlass.ops.control import While
from windlass.ops.conversion import byte_width
from windlass.ops.creation import Constant
from windlass.ops.dynamic_slices import DynamicUpdateSlice
from windlass.ops.movement import Reshape
from windlass.ops.reduction import Reduce

SECONDS = 1 / CPU.arithmetic
"""Of an operation, for one element."""
MOST_ROOM, SMALL_ROOM = 5, 1 << 24
"""So many times the bytes that a loop is given, and bytes beside these, are what it may keep in all."""
CHEAP = 8
"""Operations for an element that are better done again than kept."""
MOST_FOLDED = 1 << 15
"""Elements: larger folds are XLA's, which has faster code for them."""


@dataclass(frozen=True)
class Round:
    """A loop: the steps that compute whether to go on, where that is told, those of a round, and which memories take
    the places of which others after it, in turn."""

    test: tuple[Step, ...]
    flag: int
    body: tuple[Step, ...]
    cycles: tuple[tuple[int, ...], ...]


Step: TypeAlias = "Phase | Round"


@dataclass(frozen=True)
class Given:
    """A memory that comes from outside of the loop, which is written if it has a result."""

    value: Value
    result: int | None = None


@dataclass
class Steps:
    """What is done with memories of these types, the first of which are given."""

    types: list[TensorType]
    given: list[Given]
    steps: list[Step] = field(default_factory=list["Step"])
    _aside: dict[int, int] = field(default_factory=dict[int, int])

    def phases(self) -> Iterator[Phase]:
        pending: list[Step] = list(reversed(self.steps))
        while pending:
            step = pending.pop()
            if isinstance(step, Phase):
                yield step
            else:
                pending += reversed((*step.test, *step.body))

    def aside(self, slot: int) -> int:
        """A memory for what another one holds."""
        found = self._aside.get(slot)
        if found is None:
            self.types.append(self.types[slot])
            found = self._aside[slot] = len(self.types) - 1
        return found

    def cycles(self) -> Iterator[tuple[int, ...]]:
        """Of the outermost loop."""
        for step in self.steps:
            if isinstance(step, Round):
                yield from step.cycles


def steps_of(loop: While) -> Steps:
    """The steps of a loop.

    Raises NotNative where something in it is no matter of loops over elements.
    """
    _require_known(loop)
    _pass_through(loop)
    changing = changing_places(loop)
    given = [Given(loop.operands[place], place) for place in changing]
    read = dict.fromkeys(value for region in loop.regions for value in captures(region))
    for region in loop.regions:
        read.update(dict.fromkeys(op for op in region.walk() if isinstance(op, Constant) and not is_splat(op)))
    given += [Given(value) for value in read if not is_splat(value)]
    planner = _Planner([each.value.tensor for each in given])
    memories = {each.value: slot for slot, each in enumerate(given) if each.result is None}
    own = list(range(len(changing)))
    planner.round(loop, changing, own, memories, planner.steps)
    return planner.planned(given, loop)


def steps_of_block(block: Block, owned: Sequence[int]) -> tuple[Steps, list[int]]:
    """The steps of a block that takes and returns arrays, and the memories that what it returns ends in.

    The arguments at the `owned` places may be written. Raises NotNative.
    """
    given = [Given(argument, place if place in owned else None) for place, argument in enumerate(block.arguments)]
    planner = _Planner([each.value.tensor for each in given])
    memories = dict[Value, int](zip(block.arguments, range(len(given)), strict=True))
    returned = block.terminator.operands
    plan = _BlockPlan(planner, block, memories, set(owned), [each for each in returned if not is_number(each)])
    ends = plan.ends(returned)
    planner.steps += plan.steps
    return planner.planned(given, block.terminator), ends


def changing_places(loop: While) -> list[int]:
    returned = zip(loop.body.block.terminator.operands, loop.body.block.arguments, strict=True)
    return [place for place, (value, argument) in enumerate(returned) if value is not argument]


def _pass_through(loop: While) -> None:
    """Have what a loop does not change be read from outside of it."""
    for inner in [loop, *(op for op in loop.body.walk() if isinstance(op, While))]:
        returned = inner.body.block.terminator.operands
        for place, argument in enumerate(inner.body.block.arguments):
            if returned[place] is argument:
                inner.cond.block.arguments[place].replace_all_uses_with(inner.operands[place])
                # The terminator goes on returning it, so that it is still known not to change.
                for user in list(argument.uses):
                    if user is not inner.body.block.terminator:
                        user.replace_operand(argument, inner.operands[place])


def _require_known(loop: While) -> None:
    for op in [loop, *loop.body.walk(), *loop.cond.walk()]:
        for value in (*op.results, *op.operands):
            if not isinstance(value.type, TensorType) or value.dtype not in DTYPES:
                raise NotNative(f"elements of type {value.type}", op.source)
            if not value.tensor.size:
                raise NotNative("an array without elements", op.source)
        if isinstance(op, Reduce) and any(value.tensor.size > MOST_FOLDED for value in op.inputs):
            raise NotNative(f"a fold of {op.inputs[0].tensor.size} elements", op.source)


class _Planner:
    """Plans blocks. `types` are those of the memories there are so far."""

    def __init__(self, types: list[TensorType]) -> None:
        self.types = types
        self.steps: list[Step] = []

    def room(self, type_: TensorType) -> int:
        self.types.append(type_)
        return len(self.types) - 1

    def planned(self, given: list[Given], op: Op) -> Steps:
        """What was planned, for memories that are given first."""
        sizes = [type_.bytes for type_ in self.types]
        if sum(sizes) > MOST_ROOM * sum(sizes[: len(given)]) + SMALL_ROOM:
            raise NotNative(f"it would keep {sum(sizes)} bytes at a time", op.source)
        return Steps(self.types, given, self.steps)

    # -- loops --------------------------------------------------------------------------------------------------------

    def round(
        self, loop: While, changing: Sequence[int], own: Sequence[int], memories: Mapping[Value, int], steps: list[Step]
    ) -> None:
        """Add a loop, which has what it changes in memories of its own."""
        slots = dict(zip(changing, own, strict=True))
        tested = {loop.cond.block.arguments[place]: slot for place, slot in slots.items()}
        test = _BlockPlan(self, loop.cond.block, {**memories, **tested}, set(), ())
        (goes,) = loop.cond.block.terminator.operands
        flag = self.room(goes.tensor)
        test.steps.append(Phase((goes,), (flag,), dict(test.memories)))

        block = loop.body.block
        carried = {block.arguments[place]: slot for place, slot in slots.items()}
        returned = {place: block.terminator.operands[place] for place in changing}
        plan = _BlockPlan(
            self, block, {**memories, **carried}, set(own), [each for each in returned.values() if not is_number(each)]
        )
        numbers = [place for place in changing if is_number(returned[place])]
        if numbers:
            values = tuple(returned[place] for place in numbers)
            plan.steps.append(Phase(values, tuple(slots[place] for place in numbers), dict(plan.memories)))
        arrays = [place for place in changing if not is_number(returned[place])]
        ends = plan.ends([returned[place] for place in arrays])
        sources = dict(zip((slots[place] for place in arrays), ends, strict=True))
        steps.append(Round(tuple(test.steps), flag, tuple(plan.steps), tuple(_cycles(sources))))


def _cycles(sources: Mapping[int, int]) -> Iterator[tuple[int, ...]]:
    """Each memory of a cycle is the next one from now on; the last one's is the first."""
    left = {slot: source for slot, source in sources.items() if slot != source}
    while left:
        # A cycle that ends in a memory of nothing that is carried begins with one that nothing takes.
        taken = set(left.values())
        first = next((slot for slot in left if slot not in taken), next(iter(left)))
        cycle = [first]
        while cycle[-1] in left:
            following = left.pop(cycle[-1])
            if following == first:
                break
            cycle.append(following)
        yield tuple(cycle)


class _BlockPlan:
    """The steps of a block whose wanted values end in memories. `owned` are the memories that it may write."""

    def __init__(
        self, planner: _Planner, block: Block, memories: Mapping[Value, int], owned: set[int], wanted: Sequence[Value]
    ) -> None:
        self.planner = planner
        self.block = block
        self.memories: dict[Value, int] = dict(memories)
        self.owned = owned
        self.steps: list[Step] = []
        self.order = {op: number for number, op in enumerate(block)}
        self.wanted: set[Value] = set()
        """What has to be in memories: what is carried on, and what loops take."""
        self.roots = self._roots(wanted)
        for op in block:
            if op is not block.terminator and op in self.roots and op not in self.memories:
                self._write(op)

    def ends(self, values: Sequence[Value]) -> list[int]:
        """Memories of their own that hold the values at last."""
        found: list[int] = []
        for value in values:
            slot = self.memories.get(value)
            if slot is None or slot not in self.owned or slot in found:
                slot = self.fill(value)
            found.append(slot)
        return found

    def fill(self, value: Value) -> int:
        """Write a value to a room of its own."""
        slot = self.planner.room(value.tensor)
        self.owned.add(slot)
        if is_number(value):
            self.steps.append(Phase((value,), (slot,), dict(self.memories)))
            return slot
        self._add_phases(value, value, slot, in_place=False)
        return slot

    def _add_phases(self, value: Value, computed: Value, slot: int, *, in_place: bool) -> None:
        try:
            parts = find_boxes(computed, self.memories)
        except TooManyReads:
            raise NotNative("a value is computed from too many others", self.block.terminator.source) from None
        for boxes in parts:
            self.steps.append(Phase((value,), (slot,), dict(self.memories), in_place, boxes))

    # -- which values are in memories ---------------------------------------------------------------------------------

    def _roots(self, wanted: Sequence[Value]) -> set[Op]:
        self.wanted.update(wanted)
        roots = {value for value in wanted if isinstance(value, Op) and value.block is self.block}
        for op in self.block:
            match op:
                case While():
                    roots.add(op)
                    taken = (*op.operands, *(value for region in op.regions for value in captures(region)))
                    self.wanted.update(taken)
                    roots.update(v for v in taken if isinstance(v, Op) and v.block is self.block and not is_splat(v))
                case DynamicUpdateSlice() | Reduce():
                    if not is_number(op) or isinstance(op, Reduce):
                        roots.add(op)
                case Reshape() if not only_drops_axes(op):
                    roots.add(op)
                    self.wanted.add(op.operand)
                    if isinstance(op.operand, Op) and op.operand.block is self.block and not is_splat(op.operand):
                        roots.add(op.operand)
                case _:
                    if op is not self.block.terminator and len(op.results) != 1:
                        raise NotNative(f"{type(op).__name__} has no native code", op.source)
        self._add_shared(roots)
        return {op for op in roots if not is_splat(op)}

    def _add_shared(self, roots: set[Op]) -> None:
        """Values that are dear to compute at all the places where they are read have memories, the dearest first."""
        others = [op for op in self.block if op is not self.block.terminator and op not in roots]
        candidates = [op for op in others if operations_of(op) and not is_number(op)]
        while True:
            kept = self.memories.keys() | roots
            places: dict[Value, set[Axes | tuple[Op, Axes]]] = {}
            is_many = False
            for root in (op for op in self.block if op in roots and not isinstance(op, While)):
                try:
                    for read in reads_of(root, kept):
                        places.setdefault(read.value, set()).add((root, read.axes) if None in read.axes else read.axes)
                except TooManyReads:
                    is_many = True
            saved: dict[Op, float] = {}
            for op in candidates:
                count = len(places.get(op, ()))
                if op in roots or count < 2:
                    continue
                moving = 2 * byte_width(stored_dtype(op.dtype)) / _bandwidth(op)
                again = (count - 1) * effort_of(op, kept) * SECONDS
                if is_many or again > moving:
                    saved[op] = op.tensor.size * (again - moving)
            if saved:
                # Where more are read than are counted, the first one makes the others' counts true.
                roots.add(next(iter(saved)) if is_many else max(saved, key=lambda op: saved[op]))
                continue
            if is_many:
                raise NotNative("a value is computed from too many others", self.block.terminator.source)
            return

    # -- order --------------------------------------------------------------------------------------------------------

    def _write(self, op: Op) -> None:
        match op:
            case While():
                self._loop(op)
            case Reshape() if not only_drops_axes(op) and op.operand in self.memories and not is_number(op):
                self.memories[op] = self.memories[op.operand]
            case DynamicUpdateSlice() if not is_number(op):
                self._update(op)
            case _:
                self.memories[op] = self.fill(op)

    def _update(self, op: DynamicUpdateSlice) -> None:
        slot = self.memories.get(op.operand)
        if slot is None or slot not in self.owned:
            self._compute_or_fill(op)
            return
        names = self._names_of(slot)
        late = self._needed_later(names, op)
        held = [each for each in late if self._may_be_held(each, op)]
        is_worth = sum(each.tensor.size for each in held) <= op.tensor.size
        if len(held) < len(late) or not is_worth or not reads_what_it_replaces(op, names, self.memories):
            self._compute_or_fill(op)
            return
        for each in held:
            self.memories[each] = self.fill(each)
        self._add_phases(op, op.update, slot, in_place=True)
        self._forget(slot)
        self.memories[op] = slot

    def _compute_or_fill(self, op: DynamicUpdateSlice) -> None:
        """Leave a version of an array that need not be kept to those who read it, if it is cheap."""
        if op in self.wanted or len(op.uses) * effort_of(op, self.memories) > CHEAP:
            self.memories[op] = self.fill(op)
        else:
            self.roots.discard(op)

    def _names_of(self, slot: int) -> list[Value]:
        return [value for value, other in self.memories.items() if other == slot]

    def _forget(self, slot: int) -> None:
        for value in self._names_of(slot):
            del self.memories[value]

    def _needed_later(self, names: Sequence[Value], op: Op) -> list[Op]:
        """The ops that read a memory, for what is written after an op; the terminator among them."""
        found: dict[Op, None] = {}
        for name in names:
            for user in name.uses:
                reader = self._ancestor(user)
                if reader is not None and reader is not op and self._is_late(reader, op):
                    found[reader] = None
        return list(found)

    def _is_late(self, reader: Op, op: Op) -> bool:
        """Whether an op is written after another one, or in something that is."""
        pending, seen = [reader], {reader}
        while pending:
            each = pending.pop()
            if each is self.block.terminator:
                return True
            if each in self.roots and each not in self.memories:
                if self.order[each] > self.order[op]:
                    return True
                continue
            if each in self.memories:
                continue
            for user in (user for result in each.results for user in result.uses):
                above = self._ancestor(user)
                if above is not None and above is not op and above not in seen:
                    seen.add(above)
                    pending.append(above)
        return False

    def _ancestor(self, op: Op) -> Op | None:
        found: Op | None = op
        while found is not None and found.block is not self.block:
            found = found.parent_op
        return found

    def _may_be_held(self, reader: Op, op: Op) -> bool:
        """Whether what an op gives can be written before another one."""
        if reader is self.block.terminator or isinstance(reader, While) or len(reader.results) != 1:
            return False
        if reader in self.roots:
            return False
        try:
            reads = list(reads_of(reader, self.memories))
        except TooManyReads:
            return False
        return all(
            read.value in self.memories or isinstance(read.value, Constant) or read.value not in self.roots
            for read in reads
        ) and all(not isinstance(read.value, Argument) or read.value in self.memories for read in reads)

    # -- loops within -------------------------------------------------------------------------------------------------

    def _loop(self, loop: While) -> None:
        changing = changing_places(loop)
        taken: set[int] = set()
        own: list[int] = []
        for place in changing:
            value = loop.operands[place]
            slot = self.memories.get(value)
            if (
                slot is None
                or slot not in self.owned
                or slot in taken
                or self._is_captured(slot, loop)
                or self._needed_later(self._names_of(slot), loop)
            ):
                slot = self.fill(value)
            taken.add(slot)
            own.append(slot)
        memories = {value: slot for value, slot in self.memories.items() if slot not in taken}
        self.planner.round(loop, changing, own, memories, self.steps)
        for slot in taken:
            self._forget(slot)
        for place, slot in zip(changing, own, strict=True):
            self.memories[loop.results[place]] = slot
        for place, result in enumerate(loop.results):
            if place not in changing and result.uses:
                result.replace_all_uses_with(loop.operands[place])

    def _is_captured(self, slot: int, loop: While) -> bool:
        names = self._names_of(slot)
        return any(value in names for region in loop.regions for value in captures(region))


def _bandwidth(op: Op) -> float:
    return CPU.cache_bandwidth if op.tensor.bytes <= CPU.cache else CPU.bandwidth
