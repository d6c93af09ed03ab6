"""Loops whose iterations become lanes: the loop's counter is one more dimension, what it accumulates is reduced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windlass.affine.dimensions import Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import Index
from windlass.affine.predicate import TRUE, Predicate
from windlass.ir import Argument, Op, TensorType, Value
from windlass.loops import For
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Subtract
from windlass.raising.accumulations import Accumulation, AccumulationTest, Root
from windlass.raising.blocks import run_block
from windlass.raising.carried_places import Cell, NeedsCells, SlotCell
from windlass.raising.cells import bind_cells, check_addresses, finish_cells, places_to_carry, replace_slot
from windlass.raising.dependences import Conflict, check_dependences
from windlass.raising.elements import check_elements
from windlass.raising.followers import finish_led
from windlass.raising.frames import VectorFrame, is_within
from windlass.raising.integers import fit
from windlass.raising.items import UNDEFINED, Item, Pointer, PointerChoice, Undefined, is_integer
from windlass.raising.iterations import at_iteration
from windlass.raising.memory import Memory, Slot, SlotKey
from windlass.raising.obstacle import POINTER_CHANGES, Obstacle
from windlass.raising.privatization import give_copies, has_barrier, take_back_copies
from windlass.raising.reductions import finish
from windlass.raising.slots import store_slot
from windlass.raising.strides import Fusion, enter, find_fusion, moved, nonnegative

if TYPE_CHECKING:
    from windlass.raising.state import Checkpoint, RaisingState

MOST_ELEMENTS = 2**28
"""Tensors that are larger than this are not made of the iterations of a loop."""

LOOP_ORDER = 100
"""Loop dimensions stand behind those of threads."""


@dataclass
class _Carried:
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
            return _vectorize(state, op, trips, dimension, cells, moment, may_fuse, can_unroll)
        except NeedsCells as more:
            if dimension in more.past:
                raise
            state.restore(moment)
            check_elements(state, more.cells)
            check_addresses(state, more.cells)
            if more.cells <= set(cells):
                raise state.obstacle("places in memory carry values between iterations") from None
            cells.update(dict.fromkeys(more.cells))
        except Obstacle as obstacle:
            if not may_fuse or obstacle.is_final:
                raise
            state.restore(moment)
            may_fuse = False


def _vectorize(
    state: RaisingState,
    op: For,
    trips: Index,
    dimension: Dimension,
    cells: Mapping[Cell, None],
    moment: Checkpoint,
    may_fuse: bool,
    can_unroll: bool,
) -> str:
    outer = state.domain
    body = op.body.block
    domain = outer.extended(dimension)
    is_ragged = trips.constant_value is None
    counter = Index.of(dimension)
    fusion = find_fusion(state, trips, dimension) if may_fuse else None
    outside = state.environment, state.retried
    if fusion is not None:
        domain = fusion.domain
        counter = fusion.replacements[dimension]
        state.environment, state.retried = dict(state.environment), dict(state.retried)
        enter(state, fusion, body)
    elif is_ragged:
        domain = domain.restrict(nonnegative(trips - Index.of(dimension) - 1, domain.box))
        if domain.is_empty:
            raise state.obstacle("the loop has no iterations")
    if fusion is not None and (cells or state.places):
        raise state.obstacle("a loop over all threads' elements accumulates in memory")
    entry = {memory: memory.state.slots for memory in state.memories if memory.state.slots is not None}
    copied = give_copies(state, op, dimension) if has_barrier(body) else []
    bound = bind_cells(state, cells, domain, len(state.frames) + 1)
    for frame in state.frames:
        frame.inner_dimensions.add(fusion.fused if fusion is not None else dimension)
    frame = VectorFrame(
        fusion.fused if fusion is not None else dimension,
        domain,
        state.while_depth,
        state.block_depths,
        fusion is not None,
        copied=frozenset(each.memory for each in copied),
    )
    state.environment[body.arguments[0]] = counter
    initials = [outside[0][initial] for initial in op.initial]
    carried = [
        _bind(state, argument, initial, yielded, op, counter, domain, fusion)
        for argument, initial, yielded in zip(body.arguments[1:], initials, body.terminator.operands, strict=True)
    ]
    state.frames.append(frame)
    state.loop_depth += 1
    try:
        with state.within(domain):
            run_block(state, body)
            finals = [state.lookup(value) for value in body.terminator.operands]
    finally:
        state.frames.pop()
        state.loop_depth -= 1
    if can_unroll and frame.affine_gathers:
        raise state.obstacle("all iterations at once would gather what single ones find in slices")
    try:
        check_dependences(frame)
        take_back_copies(state, frame, copied, dimension, is_ragged)
    except Conflict as conflict:
        places = places_to_carry(frame, conflict.memory) if fusion is None else []
        if not places:
            raise
        raise NeedsCells(places) from None
    carrying = {SlotCell(memory, key) for memory, key in frame.written_slots & frame.read_slots} - set(cells)
    if carrying:
        raise NeedsCells(carrying)
    state.environment, state.retried = outside
    outer_mask, state.reduction_mask = state.reduction_mask, outer.mask
    became: set[str] = set()
    led = _finish_led(state, finals, carried, dimension, fusion)
    for result, item, each in zip(op.results, finals, carried, strict=True):
        if each.root in led:
            state.environment[result], kind = led[each.root], "reduce"
        else:
            state.environment[result], kind = _finish(state, item, each, trips, dimension, is_ragged, result, fusion)
        became.add(kind)
    runs = TRUE if not is_ragged else Predicate.compare("GT", trips, Index(0)).simplify(state.box)
    finish_cells(state, bound, runs, dimension)
    _finish_slots(state, frame, cells, dimension, is_ragged, entry)
    state.reduction_mask = outer_mask
    if not state.frames:
        _check_sizes(state, moment)
    return next((kind for kind in ("contraction", "reduce") if kind in became), "elementwise")


# -- carried values ---------------------------------------------------------------------------------------------------


def _bind(
    state: RaisingState,
    argument: Argument,
    initial: Item,
    yielded: Value,
    op: For,
    counter: Index,
    domain: Domain,
    fusion: Fusion | None,
) -> _Carried:
    """Choose how a carried value is treated, and enter what it stands for within the body."""
    if yielded is argument:
        state.environment[argument] = initial if fusion is None else moved(state, initial, fusion)
        return _Carried("unchanged", initial)
    if not argument.uses:
        state.environment[argument] = UNDEFINED
        return _Carried("last", initial)
    if isinstance(initial, Pointer | PointerChoice) or not isinstance(argument.type, TensorType):
        state.environment[argument] = initial if fusion is None else moved(state, initial, fusion)
        return _Carried("pointer", initial)
    step = induction_step(state, argument, yielded, op)
    if step is not None and isinstance(initial, Index):
        progress = counter.multiply(step)
        if progress is not None:
            start = initial if fusion is None else moved(state, initial, fusion)
            assert isinstance(start, Index)
            value = fit(start + progress, argument.dtype, domain.box)
            if value is not None:
                state.environment[argument] = value
                return _Carried("induction", initial, step)
    root = Root(argument.dtype, state.while_depth, len(state.frames) + 1)
    state.environment[argument] = Accumulation(root)
    return _Carried("accumulation", initial, root=root)


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


def _finish(
    state: RaisingState,
    item: Item,
    carried: _Carried,
    trips: Index,
    dimension: Dimension,
    is_ragged: bool,
    result: Value,
    fusion: Fusion | None,
) -> tuple[Item, str]:
    """The value after the loop, and the kind of loop that this makes it."""
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
            progress = trips.maximum(Index(0), state.box).multiply(carried.step)
            final = None if progress is None else fit(carried.initial + progress, result.dtype, state.box)
            if final is None:
                raise state.obstacle("a counter may overflow", value=result)
            return final, "elementwise"
        case "last":
            if not result.uses:
                return UNDEFINED, "elementwise"
            return _last(state, item, dimension, is_ragged), "elementwise"
        case _:
            if isinstance(item, Accumulation) and item.root is carried.root:
                return finish(state, item, carried.initial, dimension, fusion)
            if not result.uses and not isinstance(item, Accumulation):
                return UNDEFINED, "elementwise"
            raise state.obstacle("a carried value is replaced by one that other iterations do not add to", value=result)


def _finish_led(
    state: RaisingState,
    finals: list[Item],
    carried: list[_Carried],
    dimension: Dimension,
    fusion: Fusion | None,
) -> dict[Root | None, Item]:
    """The values of extremes that others come with, and of those, by root."""
    own = {each.root: (item, each.initial) for item, each in zip(finals, carried, strict=True) if each.root}
    groups: dict[Root, list[tuple[Accumulation, Item]]] = {}
    for root, (item, initial) in own.items():
        if isinstance(item, Accumulation) and item.leader is not None and item.root is root:
            groups.setdefault(item.leader, []).append((item, initial))
    found: dict[Root | None, Item] = {}
    for leader, followers in groups.items():
        item, initial = own.get(leader, (UNDEFINED, UNDEFINED))
        if not isinstance(item, Accumulation) or item.root is not leader or fusion is not None:
            raise state.obstacle("what is kept with a minimum or maximum depends on the order")
        items = finish_led(state, item, initial, followers, dimension)
        found[leader] = items[0]
        found.update(zip((follower.root for follower, _ in followers), items[1:], strict=True))
    return found


def same_pointer(one: Item, other: Item) -> bool:
    """Whether two items are pointers to the same place."""
    return (
        isinstance(one, Pointer)
        and isinstance(other, Pointer)
        and one.memory is other.memory
        and one.byte_offset == other.byte_offset
    )


def _last(state: RaisingState, item: Item, dimension: Dimension, is_ragged: bool) -> Item:
    """The value of the last iteration."""
    if isinstance(item, Accumulation | AccumulationTest):
        raise state.obstacle("a carried value is the accumulated one of another")
    if is_ragged:
        raise state.obstacle("which iteration is the last differs between threads")
    return at_iteration(state, item, dimension, dimension.size - 1)


# -- local arrays -----------------------------------------------------------------------------------------------------


def _finish_slots(
    state: RaisingState,
    frame: VectorFrame,
    cells: Mapping[Cell, None],
    dimension: Dimension,
    is_ragged: bool,
    entry: Mapping[Memory, Mapping[SlotKey, Slot]],
) -> None:
    """Give elements of local arrays that the body sets anew what the last iteration left in them."""
    for memory, key in sorted(frame.written_slots, key=lambda cell: (cell[0].name, cell[1])):
        if SlotCell(memory, key) in cells:
            continue
        slots = memory.state.slots
        if slots is None:
            raise state.obstacle("a local array is accessed in several ways")
        item = slots[key].item
        if isinstance(item, Undefined):
            continue
        if is_ragged:
            raise state.obstacle("which iteration stores last to a local array differs between threads")
        final = _last(state, item, dimension, is_ragged)
        before = entry.get(memory)
        if before is not None and key in before:
            replace_slot(memory, key, before[key])
        store_slot(state, memory, key, final)


# -- sizes ------------------------------------------------------------------------------------------------------------


def _check_sizes(state: RaisingState, moment: Checkpoint) -> None:
    """Raise Obstacle if the loop's iterations made tensors too large to be had at once.

    Ops that nothing uses (products that became contractions) do not count: they will be removed.
    """
    live: set[Op] = set()
    op = state.builder.block.last
    while op is not None and op is not moment.last:
        users = [user for result in op.results for user in result.uses]
        is_result = not users and ("spread", id(op)) not in state.memo and not isinstance(op, Constant)
        if is_result or any(user in live or user.block is not state.builder.block for user in users):
            live.add(op)
            for result in op.results:
                if isinstance(result.type, TensorType) and result.type.size > MOST_ELEMENTS:
                    raise state.obstacle(f"all iterations at once would make a tensor of {result.type.size} elements")
        op = op.previous
