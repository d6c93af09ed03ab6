"""What the rounds of a loop save for later: an array of saved values that follows from others is computed afterwards.

Derivatives of loops save whatever the way back asks for, often a value and simple functions of it. Each array that is
not saved is one thing less to carry and to write in every round; where another loop reads it row by row, what it
follows from is read instead.
"""

from __future__ import annotations

from windlass.facts.rounds import clamp_starts
from windlass.facts.terms import op_of
from windlass.ir import Argument, Op, Value
from windlass.ir.values import tensor
from windlass.ops import (
    BroadcastInDim,
    Concatenate,
    Constant,
    DynamicSlice,
    DynamicUpdateSlice,
    Multiply,
    Reshape,
    Reverse,
    Slice,
    Subtract,
    Tanh,
    Transpose,
    While,
)
from windlass.ops.sampling import Draw
from windlass.passes.batcher import CannotBatch
from windlass.passes.carries import rebuild_loop
from windlass.passes.element_loops import Rounds, find_rounds, write_all
from windlass.passes.loops import count_to
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite

__all__ = ["tensor"]

MOVEMENT = (BroadcastInDim, Concatenate, DynamicSlice, Reshape, Slice, Transpose)
MOST_EFFORT = 4
"""Of an operation, in additions: what is quick to do again (quotients are, exponentials are not)."""
MOST_OPERATIONS = 8


def sample_saving_loop(draw: Draw) -> While:
    """A loop that saves values of each round, some of which follow from others."""
    rounds = draw.integer(2, 4)
    x = tensor("f32", rounds, 2, name="x")
    zero, one = Constant.of(0, "i32"), Constant.of(1, "f32", (2,))
    backward, across = draw.boolean(), draw.boolean()
    kinds = [draw.integer(0, 5) for _ in range(2)]

    def save(array: Value, value: Value, i: Value) -> Value:
        at = Subtract(Constant.of(rounds - 1, "i32"), i) if backward else i
        if across:
            return DynamicUpdateSlice(array, Reshape(value, (2, 1)), (zero, at))
        return DynamicUpdateSlice(array, Reshape(value, (1, 2)), (at, zero))

    def step(i: Value, state: Value, first: Value, second: Value, third: Value) -> tuple[Value, ...]:
        row = Reshape(DynamicSlice(x, (i, zero), (1, 2)), (2,))
        following = Tanh(Multiply(state, row))
        given = (
            Subtract(one, following), Multiply(following, Subtract(row, following)), state, row,
            Multiply(state, following), Multiply(state, state),
        )  # fmt: skip
        saved = (following, given[kinds[0]], given[kinds[1]])
        return (following, *(save(each, value, i) for each, value in zip((first, second, third), saved, strict=True)))

    shape = (2, rounds) if across else (rounds, 2)
    return count_to(
        rounds, tensor("f32", 2, name="h"), *(tensor("f32", *shape, name=name) for name in "uvw"), step=step
    )


@rewrite(any_op(While), sample=sample_saving_loop, by_cost=True)
def saved_values_that_follow_from_others(op: While) -> tuple[Value, ...] | None:
    """while((i, x, y) → (update(x, v, i), update(y, f(v), i))) saves x alone, and y = f(x), where f is quick

    >>> zero = Constant.of(0, "i32")
    >>> def step(i, h, x, y):
    ...     v = Tanh(h)
    ...     w = Multiply(v, v)
    ...     return (v, *(DynamicUpdateSlice(a, Reshape(b, (1, 2)), (i, zero)) for a, b in ((x, v), (y, w))))
    >>> loop = count_to(4, tensor("f32", 2), tensor("f32", 4, 2, name="x"), tensor("f32", 4, 2, name="y"), step=step)
    >>> type(saved_values_that_follow_from_others(loop)[3]).__name__
    'Reshape'
    """
    updates = [each for each in op.body.block.terminator.operands if isinstance(each, DynamicUpdateSlice)]
    rounds = find_rounds(op) if len(updates) > 1 else None
    if rounds is None:
        return None
    saving = find_saved(rounds)
    for place, update in saving.items():
        kept = {other: each for other, each in saving.items() if other != place}
        values = {value: other for other, each in kept.items() for value in spellings(each.update)}
        if _follows(rounds, update.update, values, [MOST_OPERATIONS]):
            found = _compute_afterwards(rounds, place, kept, values)
            if found is not None:
                return found
    return None


def find_saved(rounds: Rounds) -> dict[int, DynamicUpdateSlice]:
    """The carried values that are arrays of what each round saves, with the updates that do it."""
    places = range(len(rounds.arguments))
    return {place: update for place in places if (update := _saved_at(rounds, place)) is not None}


def _saved_at(rounds: Rounds, place: int) -> DynamicUpdateSlice | None:
    """The update by which each round saves a part, if nothing else is done with the array and no part is missing."""
    argument, value = rounds.arguments[place], rounds.following[place]
    if not isinstance(value, DynamicUpdateSlice) or value.operand is not argument:
        return None
    if sum(argument.uses.values()) != 1 or sum(value.uses.values()) != 1:
        return None
    if rounds.loop.cond.block.arguments[place].uses:
        return None
    return value if _rounds_axis(rounds, value) is not None else None


def _rounds_axis(rounds: Rounds, update: DynamicUpdateSlice) -> tuple[int, bool] | None:
    """The axis along which the rounds write the whole array, each its part, and whether they begin at its end."""
    found: tuple[int, bool] | None = None
    sizes, shape, count = update.update.shape, update.shape, rounds.counter.rounds
    for axis, (start, size, extent) in enumerate(zip(update.start_indices, sizes, shape, strict=True)):
        if size == extent:
            continue
        table = rounds.tables.get(start)
        if table is None or found is not None or count * size != extent:
            return None
        places = clamp_starts(table, extent - size)
        steps = places[1:] - places[:-1]
        if abs(int(steps[0])) != size or (steps != steps[0]).any():
            return None
        found = axis, bool(steps[0] < 0)
    return found


def spellings(value: Value) -> list[Value]:
    """The value, and what it is a reshape of."""
    found = [value]
    while isinstance(found[-1], Reshape):
        found.append(found[-1].operand)
    return found


def _follows(rounds: Rounds, value: Value, saved: dict[Value, int], left: list[int]) -> bool:
    """Whether few quick operations make the value from saved ones, from those of the round before, and from what the
    loop does not change."""
    if value in saved or value in rounds.tables or isinstance(value, Constant) or not rounds.is_inside(value):
        return True
    if isinstance(value, Argument):
        following = rounds.following[value.index]
        return following in saved or (value.index in rounds.delayed and _follows(rounds, following, saved, left))
    op = op_of(value)
    if op is None or left[0] == 0 or not _is_quick(op):
        return False
    left[0] -= 1
    return all(_follows(rounds, operand, saved, left) for operand in op.operands)


def _is_quick(op: Op) -> bool:
    if op.is_elementwise:
        return op.is_pure and op.flops() <= MOST_EFFORT * sum(result.tensor.size for result in op.results)
    return isinstance(op, MOVEMENT)


def _compute_afterwards(
    rounds: Rounds, place: int, kept: dict[int, DynamicUpdateSlice], saved: dict[Value, int]
) -> tuple[Value, ...] | None:
    """The loop without the array at `place`, and all that it gives."""
    loop = rounds.loop
    update = rounds.following[place]
    assert isinstance(update, DynamicUpdateSlice)
    remaining = [each for each in range(len(loop.operands)) if each != place]
    results = list(rebuild_loop(loop, remaining, left_out=[update]))
    batcher = rounds.batcher()
    for argument, following in zip(rounds.arguments, rounds.following, strict=True):
        if following in saved and argument not in rounds.tables:
            batcher.delayed[argument] = loop.operands[argument.index], following
    for value, other in saved.items():
        batcher.many[value] = Reshape(
            rows_of(rounds, results[other], kept[other]), (rounds.counter.rounds, *value.shape)
        )
    try:
        results[place] = write_all(rounds, batcher, update, loop.operands[place])
    except CannotBatch:
        return None
    return tuple(results)


def rows_of(rounds: Rounds, whole: Value, update: DynamicUpdateSlice) -> Value:
    """What each round has saved, the rounds as first axis."""
    found = _rounds_axis(rounds, update)
    assert found is not None
    axis, is_backward = found
    shape = (*whole.shape[:axis], rounds.counter.rounds, *update.update.shape[axis:])
    rows: Value = Reshape(whole, shape)
    if axis:
        rows = Transpose(rows, (axis, *range(axis), *range(axis + 1, len(shape))))
    return Reverse(rows, (0,)) if is_backward else rows
