"""Loops whose iterations become lanes: the loop's counter is one more dimension, what it accumulates is reduced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windlass.affine.dimensions import Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import Index
from windlass.affine.predicate import TRUE, Predicate
from windlass.facts.integers import fit
from windlass.ir import Argument, Op, TensorType, Value
from windlass.loops import For
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Subtract
from windlass.raising.blocks import run_block
from windlass.raising.carried_places import Cell, NeedsCells, SlotCell
from windlass.raising.cells import bind_cells, check_addresses, finish_cells, places_to_carry, replace_slot
from windlass.raising.dependences import Conflict, check_dependences
from windlass.raising.elements import check_elements
from windlass.raising.followers import finish_led
from windlass.raising.frames import VectorFrame, is_within
from windlass.raising.items import (
    UNDEFINED,
    Accumulation,
    AccumulationTest,
    Item,
    Pointer,
    PointerChoice,
    Root,
    UndefinedItem,
    is_integer,
)
from windlass.raising.iterations import at_iteration
from windlass.raising.obstacle import POINTER_CHANGES, Obstacle
from windlass.raising.privatization import give_copies, has_barrier, take_back_copies
from windlass.raising.reductions import finish
from windlass.raising.slots import store_slot
from windlass.raising.strides import enter, find_fusion, moved, nonnegative

if TYPE_CHECKING:
    from windlass.raising.state import Checkpoint, RaisingState

MOST_ELEMENTS = 2**28
"""Tensors that are larger than this are not made of the iterations of a loop."""

LOOP_ORDER = 100
"""Loop dimensions stand behind those of threads."""


@dataclass
class _VectorValue:
    """How one carried value of the loop is treated."""

    kind: str
    """"unchanged", "induction", "last" or "accumulation"."""
    initial: Item
    step: Index | None = None
    root: Root | None = None


def vectorize(state: RaisingState, op: For, trips: Index, count: int, can_unroll: bool = False) -> str:
    """Interpret the loop for all iterations at once; gives what it became.

    `trips` is the number of iterations, which may differ from lane to lane, `count` the greatest. A loop that
    `can_unroll` and whose loads would become gathers (windows that slide with the iteration) is given up.

    Raises Obstacle, with the state changed, where iterations depend on each other in a way that is no reduction.
    """
    cells: dict[Cell, None] = {}
    moment = state.checkpoint()
    may_fuse = trips.constant_value is None
    while True:
        dimension = Dimension(f"loop.{state.loop_depth}", count, LOOP_ORDER + state.loop_depth)
        try:
            attempt = _VectorAttempt(state, op, trips, dimension, cells, may_fuse)
            attempt.enter()
            attempt.run(can_unroll)
            became = attempt.finish()
            if not state.frames:
                _check_sizes(state, moment)
            return became
        except NeedsCells as more:
            if dimension in more.past:
                raise
            check_elements(state, more.cells)
            state.restore(moment)
            check_addresses(state, more.cells)
            if all(cell in cells for cell in more.cells):
                raise state.obstacle("places in memory carry values between iterations") from None
            cells.update(dict.fromkeys(more.cells))
        except Obstacle as obstacle:
            if not may_fuse or obstacle.is_final:
                raise
            state.restore(moment)
            may_fuse = False


# -- one attempt ------------------------------------------------------------------------------------------------------


class _VectorAttempt:
    """The loop for all iterations at once, with these places in memory as variables that it carries."""

    def __init__(
        self,
        state: RaisingState,
        op: For,
        trips: Index,
        dimension: Dimension,
        cells: Mapping[Cell, None],
        may_fuse: bool,
    ) -> None:
        self.state = state
        self.op = op
        self.trips = trips
        self.dimension = dimension
        self.cells = cells
        self.outer = state.domain
        self.fusion = find_fusion(state, trips, dimension) if may_fuse else None
        self.is_ragged = trips.constant_value is None
        self.domain = self._find_domain()
        self.counter = Index.of(dimension) if self.fusion is None else self.fusion.replacements[dimension]
        self.outside = state.environment, state.retried

    def _find_domain(self) -> Domain:
        """The lanes of the body: those outside times the iterations that each runs."""
        if self.fusion is not None:
            if self.cells or self.state.places:
                raise self.state.obstacle("a loop over all threads' elements accumulates in memory")
            return self.fusion.domain
        domain = self.outer.extended(self.dimension)
        if self.is_ragged:
            domain = domain.restrict(nonnegative(self.trips - Index.of(self.dimension) - 1, domain.box))
            if domain.is_empty:
                raise self.state.obstacle("the loop has no iterations")
        return domain

    # -- before the body ----------------------------------------------------------------------------------------------

    def enter(self) -> None:
        """Let the body's arguments, and places that it carries, be what they are in each iteration."""
        state, op, body = self.state, self.op, self.op.body.block
        if self.fusion is not None:
            state.environment, state.retried = dict(state.environment), dict(state.retried)
            enter(state, self.fusion, body)
        self.slots_before = {memory: memory.state.slots for memory in state.memories if memory.state.slots is not None}
        self.copied = give_copies(state, op, self.dimension) if has_barrier(body) else []
        self.bound = bind_cells(state, self.cells, self.domain, len(state.frames) + 1)
        over = self.dimension if self.fusion is None else self.fusion.fused
        for frame in state.frames:
            frame.inner_dimensions.add(over)
        self.frame = VectorFrame(
            over,
            self.domain,
            state.while_depth,
            state.block_depths,
            self.fusion is not None,
            # Of iterations of several threads nothing is said.
            op.is_independent and self.fusion is None,
            copied=frozenset(each.memory for each in self.copied),
        )
        state.environment[body.arguments[0]] = self.counter
        initials = [self.outside[0][initial] for initial in op.initial]
        self.carried = [
            self._bind(argument, initial, yielded)
            for argument, initial, yielded in zip(body.arguments[1:], initials, body.terminator.operands, strict=True)
        ]

    def _bind(self, argument: Argument, initial: Item, yielded: Value) -> _VectorValue:
        """Choose how a carried value is treated, and enter what it stands for within the body."""
        environment = self.state.environment
        if yielded is argument:
            environment[argument] = self._moved(initial)
            return _VectorValue("unchanged", initial)
        if not argument.uses:
            environment[argument] = UNDEFINED
            return _VectorValue("last", initial)
        if isinstance(initial, Pointer | PointerChoice) or not isinstance(argument.type, TensorType):
            environment[argument] = self._moved(initial)
            return _VectorValue("pointer", initial)
        step = induction_step(self.state, argument, yielded, self.op)
        progress = self.counter.multiply(step) if step is not None and isinstance(initial, Index) else None
        if progress is not None:
            start = self._moved(initial)
            assert isinstance(start, Index)
            value = fit(start + progress, argument.dtype, self.domain.box)
            if value is not None:
                environment[argument] = value
                return _VectorValue("induction", initial, step)
        root = Root(argument.dtype, self.state.while_depth, len(self.state.frames) + 1)
        environment[argument] = Accumulation(root)
        return _VectorValue("accumulation", initial, root=root)

    def _moved(self, item: Item) -> Item:
        return item if self.fusion is None else moved(self.state, item, self.fusion)

    # -- the body -----------------------------------------------------------------------------------------------------

    def run(self, can_unroll: bool) -> None:
        """Interpret the body, and look whether its iterations are independent.

        Raises NeedsCells where they would be if places in memory were carried, Obstacle where they are not.
        """
        state, frame, body = self.state, self.frame, self.op.body.block
        state.frames.append(frame)
        state.loop_depth += 1
        try:
            with state.within(self.domain):
                run_block(state, body)
                self.finals = [state.lookup(value) for value in body.terminator.operands]
        finally:
            state.frames.pop()
            state.loop_depth -= 1
        if can_unroll and frame.affine_gathers:
            raise state.obstacle("all iterations at once would gather what single ones find in slices")
        try:
            check_dependences(frame)
            take_back_copies(state, frame, self.copied, self.dimension, self.is_ragged)
        except Conflict as conflict:
            places = places_to_carry(frame, conflict.memory) if self.fusion is None else []
            if not places:
                raise
            raise NeedsCells(places) from None
        both = (SlotCell(*slot) for slot in frame.written_slots if slot in frame.read_slots)
        carrying = [cell for cell in both if cell not in self.cells]
        if carrying:
            raise NeedsCells(carrying)

    # -- after the loop -----------------------------------------------------------------------------------------------

    def finish(self) -> str:
        """Enter what holds after the loop; gives what it became."""
        state = self.state
        state.environment, state.retried = self.outside
        outer_mask, state.reduction_mask = state.reduction_mask, self.outer.mask
        became: set[str] = set()
        led = self._finish_led()
        for result, item, each in zip(self.op.results, self.finals, self.carried, strict=True):
            if each.root in led:
                state.environment[result], kind = led[each.root], "reduce"
            else:
                state.environment[result], kind = self._finish_value(item, each, result)
            became.add(kind)
        runs = Predicate.compare("GT", self.trips, Index(0)).simplify(state.box) if self.is_ragged else TRUE
        finish_cells(state, self.bound, runs, self.dimension)
        self._finish_slots()
        state.reduction_mask = outer_mask
        return next((kind for kind in ("contraction", "reduce") if kind in became), "elementwise")

    def _finish_value(self, item: Item, carried: _VectorValue, result: Value) -> tuple[Item, str]:
        """The value after the loop, and the kind of loop that this makes it."""
        state = self.state
        match carried.kind:
            case "unchanged":
                return carried.initial, "elementwise"
            case "pointer":
                if item is not carried.initial and not same_pointer(item, carried.initial):
                    raise state.obstacle(POINTER_CHANGES, value=result)
                return carried.initial, "elementwise"
            case "induction":
                assert isinstance(carried.initial, Index) and carried.step is not None
                if not result.uses:
                    return UNDEFINED, "elementwise"
                progress = self.trips.maximum(Index(0), state.box).multiply(carried.step)
                final = None if progress is None else fit(carried.initial + progress, result.dtype, state.box)
                if final is None:
                    raise state.obstacle("a counter may overflow", value=result)
                return final, "elementwise"
            case "last":
                return self._last(item) if result.uses else UNDEFINED, "elementwise"
            case _:
                if isinstance(item, Accumulation) and item.root is carried.root:
                    return finish(state, item, carried.initial, self.dimension, self.fusion)
                if not result.uses and not isinstance(item, Accumulation):
                    return UNDEFINED, "elementwise"
                reason = "a carried value is replaced by one that other iterations do not add to"
                raise state.obstacle(reason, value=result)

    def _finish_led(self) -> dict[Root | None, Item]:
        """The values of extremes that others come with, and of those, by root."""
        own = {
            each.root: (item, each.initial) for item, each in zip(self.finals, self.carried, strict=True) if each.root
        }
        groups: dict[Root, list[tuple[Accumulation, Item]]] = {}
        for root, (item, initial) in own.items():
            if isinstance(item, Accumulation) and item.leader is not None and item.root is root:
                groups.setdefault(item.leader, []).append((item, initial))
        found: dict[Root | None, Item] = {}
        for leader, followers in groups.items():
            item, initial = own.get(leader, (UNDEFINED, UNDEFINED))
            if not isinstance(item, Accumulation) or item.root is not leader or self.fusion is not None:
                raise self.state.obstacle("what is kept with a minimum or maximum depends on the order")
            items = finish_led(self.state, item, initial, followers, self.dimension)
            found[leader] = items[0]
            found.update(zip((follower.root for follower, _ in followers), items[1:], strict=True))
        return found

    def _finish_slots(self) -> None:
        """Give elements of local arrays that the body sets anew what the last iteration left in them."""
        state = self.state
        for memory, key in sorted(self.frame.written_slots, key=lambda cell: (cell[0].name, cell[1])):
            if SlotCell(memory, key) in self.cells:
                continue
            slots = memory.state.slots
            if slots is None:
                raise state.obstacle("a local array is accessed in several ways")
            item = slots[key].item
            if isinstance(item, UndefinedItem):
                continue
            if self.is_ragged:
                raise state.obstacle("which iteration stores last to a local array differs between threads")
            final = self._last(item)
            before = self.slots_before.get(memory)
            if before is not None and key in before:
                replace_slot(memory, key, before[key])
            store_slot(state, memory, key, final)

    def _last(self, item: Item) -> Item:
        """The value of the last iteration."""
        if isinstance(item, Accumulation | AccumulationTest):
            raise self.state.obstacle("a carried value is the accumulated one of another")
        if self.is_ragged:
            raise self.state.obstacle("which iteration is the last differs between threads")
        return at_iteration(self.state, item, self.dimension, self.dimension.size - 1)


# -- what others ask of carried values, too ---------------------------------------------------------------------------


def induction_step(state: RaisingState, argument: Argument, yielded: Value, op: Op) -> Index | None:
    """What is added to an integer in each iteration, if that is one number known before the loop."""
    if not is_integer(argument.dtype) or not isinstance(yielded, Add | Subtract):
        return None
    left, right = yielded.operands
    if left is argument:
        other = right
    elif right is argument and isinstance(yielded, Add):
        other = left
    else:
        return None
    if other not in state.environment or (isinstance(other, Op) and is_within(other, op)):
        if not isinstance(other, Constant):
            return None
        item: Item = Index(int(other.number))
    else:
        item = state.lookup(other)
    if not isinstance(item, Index):
        return None
    return item if isinstance(yielded, Add) else -item


def same_pointer(one: Item, other: Item) -> bool:
    """Whether two items are pointers to the same place."""
    return (
        isinstance(one, Pointer)
        and isinstance(other, Pointer)
        and one.memory is other.memory
        and one.byte_offset == other.byte_offset
    )


# -- sizes ------------------------------------------------------------------------------------------------------------


def _check_sizes(state: RaisingState, moment: Checkpoint) -> None:
    """Raise Obstacle if the loop's iterations made tensors too large to be had at once.

    Ops that nothing uses (products that became contractions) do not count: they will be removed.
    """
    live: set[Op] = set()
    op = state.builder.block.last
    while op is not None and op is not moment.last:
        users = [user for result in op.results for user in result.uses]
        is_result = not users and op not in state.memo.idle and not isinstance(op, Constant)
        if is_result or any(user in live or user.block is not state.builder.block for user in users):
            live.add(op)
            for result in op.results:
                if isinstance(result.type, TensorType) and result.type.size > MOST_ELEMENTS:
                    raise state.obstacle(f"all iterations at once would make a tensor of {result.type.size} elements")
        op = op.previous
