"""What threads of a warp or block do together: shuffles, votes, matches, reductions.

Each thread's value goes into a word of its own in a flat tensor, where the threads of a block stand side by side and
blocks are padded to whole warps. A shuffle reads another thread's word, which is a load like any other: lanes that are
a plain function of one's own become slices and reverses. Votes and reductions fold the words of each warp.

What a shuffle finds at a lane that takes no part (beyond the block, left, or on the other side of a branch) CUDA leaves
open. Where that is plain to see it is the reader's own value, as in the emulator; else 0 or what that lane last had. In
votes and reductions such lanes hold what changes nothing for the others. Source: PTX ISA 8.5, sections 9.7.8.6
(shfl.sync) and 9.7.12 (vote.sync, match.sync, redux.sync).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windlass.affine.dimensions import in_order
from windlass.affine.index import ZERO, Index
from windlass.affine.predicate import FALSE, TRUE, Predicate
from windlass.ir import Value
from windlass.loops import Collective
from windlass.ops.combiners import Combiner, combiner_named, identity_of
from windlass.ops.comparison import Compare
from windlass.ops.conversion import BitcastConvert, Convert, bit_width
from windlass.ops.elementwise import Add, And, Or, Select, ShiftLeft, ShiftRightLogical, Xor
from windlass.ops.reduction import reduce_with
from windlass.raising import access, emission
from windlass.raising.codes import NOT_RAISED
from windlass.raising.conditions import merge_items
from windlass.raising.items import Item, UndefinedItem, dimensions_of_item, from_lanes
from windlass.raising.lanes import Lanes
from windlass.raising.neighbours import takes_part

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState

WARP = 32
EVERY_LANE = -1
"""The mask that names all lanes, as an i32."""


def run_collective(state: RaisingState, op: Collective) -> tuple[Item, ...]:
    """The results of what the threads do together.

    Raises Obstacle for what has no tensor form here.
    """
    items = [state.lookup(value) for value in op.inputs]
    match op.kind.split("."):
        case ["shfl", "sync", kind, _]:
            return _shuffle(state, kind, items, op)[: len(op.results)]
        case ["vote", "ballot", "sync"]:
            return (_result(state, _among(state, items[0], _ballot(state, items[1]))),)
        case ["vote", kind, "sync"]:
            return (_vote(state, kind, items[0], items[1]),)
        case ["activemask"]:
            return (_result(state, _ballot(state, TRUE)),)
        case ["match", kind, "sync", _]:
            return _match(state, kind, items[0], items[1], op.inputs[1].dtype)[: len(op.results)]
        case ["redux", "sync", "add" | "min" | "umin" | "max" | "umax" | "and" | "or" | "xor" as kind]:
            return (_reduce(state, kind, items[1], items[0]),)
        case ["barrier_object", "wait"]:
            _meet_everyone(state)
            return ()
        case ["barrier_object", _]:
            raise state.obstacle("a barrier calls a function whenever all threads have arrived", NOT_RAISED)
        case ["barrier0" | "barrier", *_]:
            state.barriers += 1
            return (_count_block(state, op.kind, items[-1], op.results[0].dtype),)
        case _:
            raise state.obstacle(f"threads of a warp exchange values ({op.kind})", NOT_RAISED)


def _meet_everyone(state: RaisingState) -> None:
    """Raise Obstacle unless all threads of each block that is here are here: some may have to arrive elsewhere."""
    restricted = {*state.box.restricted, *state.domain.mask.dimensions}
    if restricted & {*state.thread_dimensions} - state.block_dimensions:
        raise state.obstacle(
            "some threads of a block wait at a barrier, others go on",
            NOT_RAISED,
            "threads with other roles are emulated",
        )


# -- words ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Words:
    """One word for each thread. `start` is the address of each lane's block."""

    value: Value
    start: Index

    def folded(self, size: int, fold: Callable[[Value], Value]) -> Words:
        """One word for each `size` threads: `fold` makes a tensor of shape (groups,) of one of shape (groups, size)."""
        groups = self.value.shape[0] // size
        return Words(fold(emission.reshape(self.value, (groups, size))), self.start.floor_divide(size))


def gather_words(state: RaisingState, item: Item, dtype: str, idle: int = 0, mask: Predicate = TRUE) -> Words:
    """Each lane's value in its own word; lanes outside of the box or the mask have `idle`."""
    threads = -(-math.prod(state.specification.block) // WARP) * WARP
    start = state.block_number.scale(threads)
    count = threads * math.prod(state.specification.grid)
    lanes = state.lanes(item, dtype)
    # Iterations of loops that are being vectorized have words of their own.
    for dimension in in_order((*lanes.dims, *mask.dimensions)):
        if dimension not in state.thread_dimensions:
            start = start + Index.of(dimension).scale(count)
            count *= dimension.size
    words = emission.constant(idle, dtype, (count,))
    return Words(access.store(words, start + state.thread_number, lanes, state.box, mask), start)


def _load(state: RaisingState, words: Value, index: Index, mask: Predicate = TRUE) -> Item:
    return from_lanes(access.load(words, index, state.box, state.domain.mask & mask))


def _result(state: RaisingState, words: Words) -> Item:
    """What each lane finds in the word of its warp."""
    return _load(state, words.value, words.start + state.thread_number.floor_divide(WARP, state.box))


def _fold(value: Value, combiner: Combiner) -> Value:
    """The tensor without its last axis."""
    return reduce_with(combiner, value, (len(value.shape) - 1,))


# -- shuffles ---------------------------------------------------------------------------------------------------------


def _shuffle(state: RaisingState, kind: str, items: list[Item], op: Collective) -> tuple[Item, ...]:
    """The value of another lane, and whether there is such a lane in one's segment; if not, one's own value."""
    _, own, distance, control = items
    width, least = _segment(state, control, op.inputs[3])
    lane = state.thread_number.modulo(WARP, state.box)
    first = lane - lane.modulo(width, state.box)
    if not isinstance(distance, Index):
        distance = ZERO if isinstance(distance, UndefinedItem) else _no_number(state, op)
    distance = distance.modulo(WARP, state.box)
    match kind:
        case "up":
            source = lane - distance
            is_there = Predicate.compare("GE", source, first + least)
        case "down":
            source = lane + distance
            is_there = Predicate.compare("LE", source, first + least)
        case "bfly":
            source = _exclusive_or(state, lane, distance)
            is_there = Predicate.compare("LE", source, first + least)
        case _:
            source = first + distance.modulo(width, state.box)
            is_there = Predicate.compare("LE", source, first + least)
    is_there = is_there.simplify(state.box)
    if isinstance(own, UndefinedItem) or not dimensions_of_item(own) & _varying(state):
        return own, is_there
    dtype = op.inputs[1].dtype
    domain = state.domain.restrict(is_there)
    if domain.is_empty:
        return own, is_there
    is_present = takes_part(state, domain, source - lane)
    is_found = is_there & is_present
    domain = state.domain.restrict(is_found)
    kept = own if is_present.is_true else _undefined(state, own, dtype, is_there)
    if domain.is_empty:
        return kept, is_there
    words = gather_words(state, own, dtype)
    with state.within(domain):
        warp = words.start + (state.thread_number - lane)
        found = _load(state, words.value, warp + source)
    return merge_items(state, is_found, found, kept, dtype), is_there


def _undefined(state: RaisingState, own: Item, dtype: str, is_there: Predicate) -> Item:
    """What lanes have that read from one that takes no part: their own value, or other bits to see if that matters."""
    state.report.absent.append(state.position)
    if not state.specification.varies_undefined:
        return own
    lanes = state.lanes(own, dtype)
    word = f"i{bit_width(dtype)}"
    bits = lanes.value if dtype == word else BitcastConvert(lanes.value, word)
    other: Value = Xor(bits, emission.constant(int("5" * (bit_width(dtype) // 4), 16), word, bits.shape))
    other = other if dtype == word else BitcastConvert(other, dtype)
    return merge_items(state, is_there, from_lanes(Lanes(other, lanes.dims, lanes.lower)), own, dtype)


def _no_number(state: RaisingState, op: Collective) -> Index:
    raise state.obstacle(f"which lane is read is not a known number ({op.kind})", NOT_RAISED, value=op.inputs[2])


def _varying(state: RaisingState) -> frozenset[Any]:
    """The dimensions along which threads of a block differ."""
    return frozenset(state.thread_dimensions) - state.block_dimensions


def _segment(state: RaisingState, control: Item, value: Value) -> tuple[int, int]:
    """The width of the segments that a shuffle stays in, and the lane in them that it may reach at most (or at least).

    The control word has the segment mask in bits 8 to 12 and the clamp in bits 0 to 4.
    """
    number = control.constant_value if isinstance(control, Index) else None
    if number is None:
        raise state.obstacle("the width of a shuffle is known at run time only", NOT_RAISED, value=value)
    width = WARP - (number >> 8 & 31)
    if width & (width - 1):
        raise state.obstacle(f"a shuffle has segments of {width} lanes", NOT_RAISED, "widths are powers of two")
    return width, (number & 31) % width


def _exclusive_or(state: RaisingState, lane: Index, distance: Index) -> Index:
    """lane ^ distance, as an index where the distance is known."""
    number = distance.constant_value
    box = state.box
    if number is None:
        return _exclusive_or_of_data(state, lane, distance)
    if number & (number + 1) == 0:
        # All the low bits turn: the lanes of each group of number + 1 in reverse.
        inner = lane.modulo(number + 1, box)
        return lane - inner.scale(2) + number
    for bit in range(WARP.bit_length() - 1):
        if number >> bit & 1:
            turned = lane.floor_divide(1 << bit, box).modulo(2, box)
            lane = lane + (1 << bit) - turned.scale(2 << bit)
    return lane


def _exclusive_or_of_data(state: RaisingState, lane: Index, distance: Index) -> Index:
    lanes = [state.lanes(each, "i32") for each in (lane, distance)]
    found = from_lanes(access.Lanes.elementwise(Xor, *lanes, box=state.box), (0, WARP - 1))
    assert isinstance(found, Index)
    return found


# -- votes and matches ------------------------------------------------------------------------------------------------


def _ballot(state: RaisingState, condition: Item) -> Words:
    """For each warp the bits (an i32) of its active lanes for which the condition holds."""
    if isinstance(condition, UndefinedItem):
        condition = FALSE
    words = gather_words(state, condition, "i1", mask=state.domain.mask)
    return words.folded(WARP, _bits)


def _bits(flags: Value) -> Value:
    """The i32 whose bits are the flags along the last axis."""
    shape = flags.shape
    bits = ShiftLeft(Convert(flags, "i32"), emission.iota(shape, "i32", len(shape) - 1))
    return _fold(bits, Or)


def _among(state: RaisingState, mask: Item, ballot: Words) -> Words:
    """The ballot of the lanes that the mask names."""
    if not isinstance(mask, Index) or mask.constant_value == EVERY_LANE:
        return ballot
    named = gather_words(state, mask, "i32", mask=state.domain.mask).folded(WARP, lambda each: _fold(each, Or))
    if named.value.shape != ballot.value.shape:
        raise state.obstacle("the mask of a vote differs between iterations of a loop in a way of its own")
    return Words(And(ballot.value, named.value), ballot.start)


def _vote(state: RaisingState, kind: str, mask: Item, condition: Item) -> Item:
    """Whether the condition holds for any or all lanes, or is the same for all (uni)."""
    if not isinstance(condition, Predicate):
        condition = FALSE

    def is_none(condition: Predicate) -> Predicate:
        bits = _result(state, _among(state, mask, _ballot(state, condition)))
        assert isinstance(bits, Index)
        return Predicate.compare("EQ", bits, ZERO)

    match kind:
        case "any":
            return ~is_none(condition)
        case "all":
            return is_none(~condition)
        case "uni":
            return is_none(condition) | is_none(~condition)
        case _:
            raise state.obstacle(f"threads of a warp exchange values (vote.{kind}.sync)", NOT_RAISED)


def _match(state: RaisingState, kind: str, mask: Item, value: Item, dtype: str) -> tuple[Item, ...]:
    """match.any: the lanes that have one's own value; match.all: the mask if all have it, else 0, and whether so."""
    words = gather_words(state, value, dtype)
    active = gather_words(state, TRUE, "i1", mask=state.domain.mask)
    groups = words.value.shape[0] // WARP
    square = (groups, WARP, WARP)
    if active.value.shape != words.value.shape:
        raise state.obstacle("threads of a warp compare values that differ between iterations of a loop", NOT_RAISED)
    values = emission.reshape(words.value, (groups, WARP))
    own, others = (emission.broadcast(values, square, axes) for axes in ((0, 1), (0, 2)))
    present = emission.broadcast(emission.reshape(active.value, (groups, WARP)), square, (0, 2))
    same = _bits(And(Compare(own, others, "EQ"), present))
    found = _load(state, emission.reshape(same, (groups * WARP,)), words.start + state.thread_number)
    everyone = _result(state, _among(state, mask, _ballot(state, TRUE)))
    if isinstance(mask, Index) and mask.constant_value != EVERY_LANE:
        found = _masked(state, found, mask)
    if kind == "any":
        return (found,)
    assert isinstance(found, Index) and isinstance(everyone, Index)
    is_same = Predicate.compare("EQ", found, everyone)
    return merge_items(state, is_same, everyone, ZERO, "i32"), is_same


def _masked(state: RaisingState, bits: Item, mask: Item) -> Item:
    lanes = [state.lanes(each, "i32") for each in (bits, mask)]
    return from_lanes(access.Lanes.elementwise(And, *lanes, box=state.box))


# -- reductions -------------------------------------------------------------------------------------------------------


def _reduce(state: RaisingState, kind: str, mask: Item, value: Item) -> Item:
    """The sum, extreme or bitwise combination of the values of the lanes that the mask names."""
    dtype = "ui32" if kind in ("umin", "umax") else "i32"
    combiner = combiner_named(kind)
    assert combiner is not None
    idle = _signed(int(identity_of(combiner, dtype)))
    words = gather_words(state, value, "i32", idle, state.domain.mask)

    def fold(values: Value) -> Value:
        whole = values if dtype == "i32" else BitcastConvert(values, dtype)
        folded = _fold(whole, combiner)
        return folded if dtype == "i32" else BitcastConvert(folded, "i32")

    if not isinstance(mask, Index) or mask.constant_value == EVERY_LANE:
        return _result(state, words.folded(WARP, fold))
    masks = gather_words(state, mask, "i32", mask=state.domain.mask)
    groups = words.value.shape[0] // WARP
    square = (groups, WARP, WARP)
    if masks.value.shape != words.value.shape:
        raise state.obstacle("the mask of a reduction differs between iterations of a loop", NOT_RAISED)
    values = emission.broadcast(emission.reshape(words.value, (groups, WARP)), square, (0, 2))
    named = emission.broadcast(emission.reshape(masks.value, (groups, WARP)), square, (0, 1))
    bits = And(ShiftRightLogical(named, emission.iota(square, "i32", 2)), emission.constant(1, "i32", square))
    takes_part = Compare(bits, emission.constant(0, "i32", square), "NE")
    folded = fold(Select(takes_part, values, emission.constant(idle, "i32", square)))
    return _load(state, emission.reshape(folded, (groups * WARP,)), words.start + state.thread_number)


def _signed(number: int) -> int:
    """The i32 with the bits of an unsigned number."""
    return number - (1 << WARP) if number >> (WARP - 1) > 0 else number


def _count_block(state: RaisingState, kind: str, condition: Item, dtype: str) -> Item:
    """What a barrier tells of its block: for how many threads the condition holds, or whether for all, or for any."""
    if isinstance(condition, Index):
        condition = Predicate.compare("NE", condition, ZERO)
    if not isinstance(condition, Predicate):
        condition = FALSE
    asks_for_all = ".and" in kind
    words = gather_words(state, ~condition if asks_for_all else condition, "i1", mask=state.domain.mask)
    threads = -(-math.prod(state.specification.block) // WARP) * WARP
    counts = words.folded(threads, lambda flags: _fold(Convert(flags, "i32"), Add))
    count = _load(state, counts.value, counts.start)
    assert isinstance(count, Index)
    if ".popc" in kind:
        return count
    holds = Predicate.compare("EQ" if asks_for_all else "NE", count, ZERO)
    return holds if dtype == "i1" else merge_items(state, holds, Index(1), ZERO, dtype)
