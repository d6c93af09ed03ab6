"""Loops over elements: rounds that don't depend on each other are done all at once, sums over rounds are reductions.

Rules that make rounds do less come first (updates_in_loops.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from windlass.facts.rounds import Table, clamp_starts, starts_of, tabulate_rounds
from windlass.facts.terms import op_of, sources
from windlass.ir import Builder, Op, Region, Result, Value
from windlass.ir.core import Terminator
from windlass.ir.values import Argument, tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Concatenate,
    Constant,
    Convert,
    Divide,
    DotGeneral,
    DynamicSlice,
    DynamicUpdateSlice,
    Maximum,
    Multiply,
    Negate,
    Pad,
    Reshape,
    Reverse,
    Slice,
    Subtract,
    Transpose,
    While,
)
from windlass.ops.combiners import find_chain, is_order_free
from windlass.ops.counting import Counter, find_counter
from windlass.ops.pointwise import Binary
from windlass.ops.reduction import reduce_with
from windlass.ops.sampling import Draw
from windlass.passes.batcher import Batcher, CannotBatch
from windlass.passes.carries import rebuild_loop
from windlass.passes.loops import count_to
from windlass.passes.updates_in_loops import update_hidden_in_every_round
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.splats import number_everywhere

__all__ = ["tensor", "update_hidden_in_every_round"]


@dataclass
class Rounds:
    """What is known of a loop whose number of rounds is known."""

    loop: While
    counter: Counter
    tables: Mapping[Value, Table]
    unable: set[Op] = field(default_factory=set[Op])
    """Ops that can't be done for all rounds at once."""
    independent: Set[Value] = frozenset()
    """Values of the body that don't depend on what rounds before have computed."""
    delayed: Set[int] = frozenset()
    """Carried values that are what the round before made independently."""
    own_reads: Mapping[Op, int] = field(default_factory=dict[Op, int])
    """What reads a part of a carried array just where the same round alone writes, and the place of the array."""

    @property
    def arguments(self) -> list[Argument]:
        return self.loop.body.block.arguments

    @property
    def following(self) -> tuple[Value, ...]:
        return self.loop.body.block.terminator.operands

    def find_independent(self) -> None:
        """Fill in `independent` and `delayed`."""
        starts = starts_of(self.loop)
        unable = frozenset(self.unable)
        self.independent, self.delayed = self.loop.body.remember(_find_independent, starts, self.counter, unable)

    def is_independent(self, value: Value) -> bool:
        return value in self.independent or not self.is_inside(value)

    def is_inside(self, value: Value) -> bool:
        block = self.loop.body.block
        op = op_of(value)
        return op.block is block if op is not None else isinstance(value, Argument) and value.block is block

    def batcher(self) -> Batcher:
        made = Batcher(self.loop.body.block, self.counter.rounds, self.tables)
        for place in self.delayed:
            made.delayed[self.arguments[place]] = (self.loop.operands[place], self.following[place])
        for place in self.own_reads.values():
            made.same[self.arguments[place]] = self.loop.operands[place]
        return made

    def count_uses(self, place: int) -> int:
        """How often rounds use a carried value otherwise than reading their own part of it."""
        uses = self.arguments[place].uses
        return sum(count for user, count in uses.items() if user not in self.own_reads)


def _find_independent(
    body: Region, starts: tuple[int | None, ...], counter: Counter, unable: frozenset[Op]
) -> tuple[Set[Value], Set[int]]:
    """The values of a body that don't depend on what rounds before have computed, and the carries that are delayed."""
    block, loop = body.block, body.parent
    assert isinstance(loop, While)
    tables = tabulate_rounds(loop, counter)
    own_reads = find_own_reads(loop, tables)
    delayed: set[int] = set()
    while True:
        known: set[Value] = {argument for argument in block.arguments if argument in tables}
        known |= {block.arguments[place] for place in delayed}
        inside: set[Value] = set(block.arguments)
        for op in block:
            if not isinstance(op, Terminator):
                inside.update(op.results)
                needed = op.operands[1:] if op in own_reads else sources(op)
                if op.is_pure and op not in unable and all(v in known or v not in inside for v in needed):
                    known.update(op.results)
        more = {
            argument.index
            for argument, value in zip(block.arguments, block.terminator.operands, strict=True)
            if argument not in known and (value in known or value not in inside)
        }
        if not more:
            return known, delayed
        delayed |= more


def find_own_reads(loop: While, tables: Mapping[Value, Table]) -> dict[Op, int]:
    """The ops that read a part of a carried array just where the same round alone writes: it is as it was at first.

    Only for arrays that are read in no other way.
    """
    block = loop.body.block
    found: dict[Op, int] = {}
    for place, (argument, value) in enumerate(zip(block.arguments, block.terminator.operands, strict=True)):
        if not isinstance(value, DynamicUpdateSlice) or value.operand is not argument or len(argument.uses) < 2:
            continue
        readers = [user for user in argument.uses if user is not value]
        if argument.uses[value] == 1 and all(_reads_what_is_written(user, value) for user in readers):
            starts = zip(value.start_indices, argument.shape, value.update.shape, strict=True)
            if any(start in tables and _lie_apart(tables[start], extent, size) for start, extent, size in starts):
                found.update(dict.fromkeys(readers, place))
    return found


def _reads_what_is_written(op: Op, written: DynamicUpdateSlice) -> bool:
    return (
        isinstance(op, DynamicSlice)
        and op.block is written.block
        and op.operand is written.operand
        and op.start_indices == written.start_indices
        and op.slice_sizes == written.update.shape
    )


def _lie_apart(table: Table, extent: int, size: int) -> bool:
    """Whether parts of this size that begin at these places have nothing in common."""
    places = np.sort(clamp_starts(table, extent - size))
    return size > 0 and bool((np.diff(places) >= size).all())


def find_rounds(loop: While) -> Rounds | None:
    """What is known of the loop, if it is pure and goes round a known number of times, twice at least."""
    counter = find_counter(loop)
    if counter is None or counter.rounds < 2 or not loop.is_pure:
        return None
    tables = tabulate_rounds(loop, counter)
    if loop.body.block.arguments[counter.position] not in tables:
        return None
    rounds = Rounds(loop, counter, tables, own_reads=find_own_reads(loop, tables))
    rounds.find_independent()
    return rounds


# -- what becomes of each carried value -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Written:
    """An array of which each round writes a part that no other round sees."""

    op: DynamicUpdateSlice


@dataclass(frozen=True)
class Accumulated:
    """What each round adds to, or combines with otherwise, and looks at in no other way."""

    combiner: type[Binary]
    terms: tuple[Value, ...]


@dataclass(frozen=True)
class Last:
    """What the last round makes of itself."""


Outcome = Written | Accumulated | Last


def classify(rounds: Rounds, place: int) -> Outcome | None:
    """How to have the carried value's last state without going round, or None."""
    argument, value = rounds.arguments[place], rounds.following[place]
    if argument in rounds.tables or rounds.is_independent(value):
        return Last()
    if rounds.count_uses(place) != 1:
        return None
    if isinstance(value, DynamicUpdateSlice):
        starts_known = all(rounds.is_independent(start) for start in value.start_indices)
        if value.operand is argument and _used_once(value) and rounds.is_independent(value.update) and starts_known:
            return Written(value)
        return None
    chain = find_chain(value, argument, lambda each: not rounds.is_independent(each))
    if chain is None or chain.subtracted:
        return None
    own = all(each.type is value.type and rounds.is_inside(each) and _used_once(each) for each in chain.steps)
    return Accumulated(chain.combiner, chain.terms) if own else None


def _used_once(value: Value) -> bool:
    return sum(value.uses.values()) == 1


def changes_order(rounds: Rounds, outcome: Outcome | None, place: int) -> bool:
    """Whether the outcome is a sum or product of floats, which is then made in another order."""
    return isinstance(outcome, Accumulated) and not is_order_free(outcome.combiner, rounds.arguments[place].tensor)


def finish(rounds: Rounds, batcher: Batcher, outcome: Outcome, place: int) -> Value:
    """The last state of a carried value.

    Raises CannotBatch.
    """
    initial, following = rounds.loop.operands[place], rounds.following[place]
    last = rounds.counter.rounds - 1
    match outcome:
        case Written(op):
            return write_all(rounds, batcher, op, initial)
        case Accumulated(combiner, terms):
            total = initial
            for term in terms:
                total = _combine(combiner, total, batcher, term)
            return total
        case Last():
            argument = rounds.arguments[place]
            if argument in rounds.tables and following in rounds.tables:
                return Constant.of(rounds.tables[following][-1], following.dtype)
            found, is_many = batcher.find(following)
            if not is_many:
                return found
            row = Slice(found, (last, *(0 for _ in found.shape[1:])), found.shape, (1,) * len(found.shape))
            return Reshape(row, found.shape[1:])


def _combine(combiner: type[Binary], total: Value, batcher: Batcher, term: Value) -> Value:
    found, is_many = batcher.find(term)
    if not is_many:
        found = batcher.batched(term)
    return combiner(total, reduce_with(combiner, found, (0,)))


def write_all(rounds: Rounds, batcher: Batcher, op: DynamicUpdateSlice, initial: Value) -> Value:
    """The array after all rounds have written their parts, which follow each other along one axis."""
    sizes, shape = op.update.shape, initial.shape
    count = rounds.counter.rounds
    starts: list[Value] = []
    moving: int | None = None
    first, step = 0, 0
    for axis, (start, size, extent) in enumerate(zip(op.start_indices, sizes, shape, strict=True)):
        table = rounds.tables.get(start)
        if table is None:
            found, is_many = batcher.find(start)
            if is_many:
                raise CannotBatch(op)
            starts.append(found)
            continue
        places = clamp_starts(table, extent - size)
        steps = np.diff(places)
        if (steps == 0).all():
            starts.append(Constant.of(int(places[0]), start.dtype))
            continue
        if moving is not None or size == 0 or (steps != steps[0]).any():
            raise CannotBatch(op)
        moving, first, step = axis, int(places.min()), int(steps[0])
        starts.append(Constant.of(first, start.dtype))
    if moving is None:
        raise CannotBatch(op)
    update, size = batcher.batched(op.update), sizes[moving]
    if step < 0:
        update = Reverse(update, (0,))
    if moving:
        rank = len(sizes)
        update = Transpose(update, (*range(1, moving + 1), 0, *range(moving + 1, rank + 1)))
    if abs(step) > size:
        return _write_apart(op, initial, update, moving, abs(step), starts)
    # Where parts overlap, each later one hides what the earlier ones have beyond the step.
    kept = abs(step)
    last = None
    if kept < size:
        if step < 0:
            last = _slice_rows(update, moving, (0, 1), (0, size - kept))
            update = _slice_rows(update, moving, (0, count), (size - kept, size))
        else:
            last = _slice_rows(update, moving, (count - 1, count), (kept, size))
            update = _slice_rows(update, moving, (0, count), (0, kept))
    block: Value = Reshape(update, (*sizes[:moving], count * kept, *sizes[moving + 1 :]))
    if last is not None:
        rest = Reshape(last, (*sizes[:moving], size - kept, *sizes[moving + 1 :]))
        block = Concatenate((rest, block) if step < 0 else (block, rest), moving)
    return block if block.type is initial.type else DynamicUpdateSlice(initial, block, tuple(starts))


def _slice_rows(update: Value, axis: int, rounds: tuple[int, int], rows: tuple[int, int]) -> Value:
    """Some rows of the parts of some rounds, where the rounds lie along the axis and the rows along the next."""
    start, limit = [0] * update.tensor.rank, list(update.shape)
    (start[axis], limit[axis]), (start[axis + 1], limit[axis + 1]) = rounds, rows
    return Slice(update, tuple(start), tuple(limit), (1,) * update.tensor.rank)


def _write_apart(
    op: DynamicUpdateSlice, initial: Value, update: Value, moving: int, step: int, starts: list[Value]
) -> Value:
    """The array after parts have been written with gaps between them, if it was one number everywhere before.

    `update` has the rounds as an axis before that along which the parts lie.
    """
    fill = number_everywhere(initial)
    if fill is None:
        raise CannotBatch(op)
    first: list[int] = []
    for start, size, extent in zip(starts, op.update.shape, initial.shape, strict=True):
        if not isinstance(start, Constant):
            raise CannotBatch(op)
        first.append(min(max(int(start.number), 0), extent - size))
    sizes, rank = list(op.update.shape), len(starts)
    count, size = update.shape[moving], sizes[moving]
    interior = [0] * rank
    if size > 1:
        gap = [0] * (rank + 1)
        gap[moving + 1] = step - size
        update = Pad(update, fill, (0,) * (rank + 1), tuple(gap), (0,) * (rank + 1))
        sizes[moving] = count * step
    else:
        interior[moving] = step - 1
        sizes[moving] = count
    block = Reshape(update, tuple(sizes))
    reach = [each + (each - 1) * between for each, between in zip(sizes, interior, strict=True)]
    high = tuple(extent - at - size for extent, at, size in zip(initial.shape, first, reach, strict=True))
    return Pad(block, fill, tuple(first), high, tuple(interior))


# -- the rules --------------------------------------------------------------------------------------------------------


def sample_element_loop(draw: Draw) -> While:
    """A loop that maps, sums and remembers over rows of arrays."""
    rows = draw.integer(2, 5)
    dtype = draw.choose(("f32", "i32"))
    x, y = tensor(dtype, rows + 1, 2, name="x"), tensor(dtype, 2, name="y")
    zero = Constant.of(0, "i32")
    backward, offset, stride = draw.boolean(), draw.integer(-1, 1), draw.choose((1, 1, 2))
    kinds = [draw.integer(0, 2) for _ in range(4)]
    combiner = draw.choose((Add, Multiply, Maximum))
    reads_own = draw.boolean()
    spread, is_wide = draw.choose((1, 1, 2, 3)), draw.integer(0, 3) == 0

    def step(*values: Value) -> tuple[Value, ...]:
        i, written, total, _, before = values
        place = Add(Multiply(i, Constant.of(stride, "i32")), Constant.of(offset, "i32"))
        at = Subtract(Constant.of(rows - 1, "i32"), i) if backward else place
        row = Reshape(DynamicSlice(x, (at, zero), (1, 2)), (2,))
        value = Add(Multiply(row, y), BroadcastInDim(Convert(i, dtype), (2,), ()))
        if kinds[0] == 2:
            value = Multiply(value, before)
        into = Reshape(value if kinds[1] else y, (1, 2))
        where = Subtract(Constant.of(rows - 1, "i32"), i) if kinds[2] else i
        if spread > 1:
            where = Multiply(where, Constant.of(spread, "i32"))
        if is_wide:
            into = Concatenate((into, Negate(into)), 0)
        if reads_own:
            into = Add(into, DynamicSlice(written, (where, zero), into.shape))
        return (
            DynamicUpdateSlice(written, into, (where, zero)),
            combiner(total, value) if kinds[3] else combiner(value, total),
            Negate(value),
            Negate(row),
        )

    start = tensor(dtype, 2, name="s")
    written = tensor(dtype, draw.choose((rows, rows + 1)), 2, name="w")
    if spread > 1:
        written = Constant.of(3, dtype, (rows * spread + draw.integer(0, 1), 2))
    return count_to(rows, written, start, start, y, step=step)


def _all_at_once(op: While, may_reorder: bool) -> tuple[Value, ...] | None:
    rounds = find_rounds(op)
    if rounds is None:
        return None
    while True:
        outcomes = [classify(rounds, place) for place in range(len(op.operands))]
        if any(outcome is None for outcome in outcomes):
            return None
        reorders = any(changes_order(rounds, outcome, place) for place, outcome in enumerate(outcomes))
        if reorders is not may_reorder:
            return None
        batcher = rounds.batcher()
        try:
            return tuple(
                finish(rounds, batcher, outcome, place) for place, outcome in enumerate(outcomes) if outcome is not None
            )
        except CannotBatch as problem:
            if problem.op is None or problem.op in rounds.unable:
                return None
            rounds.unable.add(problem.op)
            rounds.find_independent()


@rewrite(any_op(While), sample=sample_element_loop, by_cost=True)
def loop_over_elements(op: While) -> tuple[Value, ...] | None:
    """while(i < n, (i, y) → (i + 1, update(y, f(x[i]), i))) = f(x), each round by itself, all at once

    >>> x, zero = tensor("f32", 4), Constant.of(0, "i32")
    >>> def step(i, y):
    ...     return (DynamicUpdateSlice(y, Negate(DynamicSlice(x, (i,), (1,))), (i,)),)
    >>> type(loop_over_elements(count_to(4, tensor("f32", 4, name="y"), step=step))[1]).__name__
    'Reshape'
    """
    return _all_at_once(op, may_reorder=False)


@rewrite(any_op(While), sample=sample_element_loop, by_cost=True, reassociates=True)
def loop_that_sums(op: While) -> tuple[Value, ...] | None:
    """while(i < n, (i, s) → (i + 1, s + f(x[i]))) = s + reduce(f(x))

    >>> x = tensor("f32", 4)
    >>> def step(i, s):
    ...     return (Add(s, Reshape(DynamicSlice(x, (i,), (1,)), ())),)
    >>> type(loop_that_sums(count_to(4, tensor("f32", name="s"), step=step))[1]).__name__
    'Add'
    """
    return _all_at_once(op, may_reorder=True)


def sample_recurrence(draw: Draw) -> While:
    """A recurrence whose input goes through a product."""
    rows = draw.integer(2, 4)
    x, w = tensor("f32", rows, 3, name="x"), tensor("f32", 3, 3, name="w")

    def step(i: Value, state: Value) -> tuple[Value, ...]:
        row = Reshape(DynamicSlice(x, (i, Constant.of(0, "i32")), (1, 3)), (3,))
        product = DotGeneral(row, w, (), (), (0,), (0,))
        return (Add(Multiply(state, state), product),)

    return count_to(rows, tensor("f32", 3, name="h"), step=step)


@rewrite(any_op(While), sample=sample_recurrence, by_cost=True, reassociates=True)
def product_ahead_of_recurrence(op: While) -> tuple[Value, ...] | None:
    """while((i, h) → f(h, x[i] @ w)) = while((i, h) → f(h, y[i])) with y = x @ w

    >>> loop = product_ahead_of_recurrence(sample_recurrence(Draw(lambda low, high: high)))[1].owner
    >>> any(isinstance(each, DotGeneral) for each in loop.body.walk())
    False
    """
    rounds = find_rounds(op)
    if rounds is None:
        return None
    for value in _list_products(rounds):
        batcher = rounds.batcher()
        try:
            found, is_many = batcher.find(value)
        except CannotBatch:
            continue
        if is_many:
            return _read_rows(rounds, value, found)
    return None


def _list_products(rounds: Rounds) -> list[Value]:
    """Independent values with a product in what makes them, that rounds use together with what rounds before made."""
    block = rounds.loop.body.block
    found: list[Value] = []
    for op in block:
        for value in op.results if not isinstance(op, Terminator) else ():
            if value not in rounds.independent or value in rounds.tables:
                continue
            users = [user for user in value.uses if user.block is block]
            carried_on = any(not all(result in rounds.independent for result in user.results) for user in users)
            if carried_on and _holds_product(value, rounds):
                found.append(value)
    return found


def _holds_product(value: Value, rounds: Rounds) -> bool:
    pending, seen = [value], set[Value]()
    while pending:
        each = pending.pop()
        op = op_of(each)
        if each in seen or op is None or not rounds.is_inside(each):
            continue
        seen.add(each)
        if op.is_contraction:
            return True
        pending += sources(op)
    return False


def round_number(counter: Counter, values: Sequence[Value]) -> Value:
    """Which round it is, from 0 on, in the body that has these arguments."""
    index = values[counter.position]
    if counter.start:
        index = Subtract(index, Constant.of(counter.start, index.dtype))
    return index if counter.step == 1 else Divide(index, Constant.of(counter.step, index.dtype))


def _read_rows(rounds: Rounds, value: Value, found: Value) -> tuple[Value, ...]:
    """The loop anew, each round taking its row of what was found for all."""
    loop, counter = rounds.loop, rounds.counter
    results = rebuild_loop(loop, range(len(loop.operands)))
    made = next(result.owner for result in results if isinstance(result, Result))
    assert isinstance(made, While)
    old_op = op_of(value)
    assert old_op is not None
    position = list(loop.body.block).index(old_op)
    copy = list(made.body.block)[position]
    with Builder(made.body.block, copy):
        index = round_number(counter, made.body.block.arguments)
        zero = Constant.of(0, index.dtype)
        row = DynamicSlice(found, (index, *(zero for _ in found.shape[1:])), (1, *found.shape[1:]))
        replaced = Reshape(row, found.shape[1:])
    copy.results[old_op.results.index(value)].replace_all_uses_with(replaced)
    if copy.is_unused:
        copy.erase()
    return results
