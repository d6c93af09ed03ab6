"""Updates in the rounds of a loop: those that a later one hides, and those that every round makes anew."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from windlass.facts.rounds import Table, clamp_starts, tabulate_rounds
from windlass.ir import Op, Result, Value
from windlass.ir.values import Argument, tensor
from windlass.ops import Add, Constant, DynamicSlice, DynamicUpdateSlice, Negate, While
from windlass.ops.counting import find_counter
from windlass.ops.sampling import Draw
from windlass.passes.carries import rebuild_loop
from windlass.passes.loops import count_to
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite

__all__ = ["tensor"]


def sample_hidden_update(draw: Draw) -> While:
    """A loop whose rounds update an array twice, mostly in the same place."""
    offset, sizes = draw.choose((0, 0, 1)), draw.choose(((2, 3), (2, 2), (3, 2)))
    updates = [tensor("f32", size, name=name) for size, name in zip(sizes, "uv", strict=True)]

    def step(i: Value, x: Value) -> tuple[Value, ...]:
        first = DynamicUpdateSlice(x, updates[0], (Add(i, Constant.of(offset, "i32")),))
        return (DynamicUpdateSlice(first, updates[1], (i,)),)

    return count_to(draw.integer(2, 5), tensor("f32", draw.integer(4, 8)), step=step)


@rewrite(any_op(While), sample=sample_hidden_update)
def update_hidden_in_every_round(op: While) -> tuple[Value, ...] | None:
    """update(update(x, u, i), v, j) = update(x, v, j) in a loop, if v covers u in every round

    >>> u, v = tensor("f32", 2, name="u"), tensor("f32", 3, name="v")
    >>> def step(i, x):
    ...     return (DynamicUpdateSlice(DynamicUpdateSlice(x, u, (i,)), v, (i,)),)
    >>> loop = update_hidden_in_every_round(count_to(4, tensor("f32", 9), step=step))[1].owner
    >>> sum(isinstance(each, DynamicUpdateSlice) for each in loop.body.walk())
    1
    """
    pairs = [
        (each, each.operand)
        for each in op.body.block
        if isinstance(each, DynamicUpdateSlice)
        and isinstance(each.operand, DynamicUpdateSlice)
        and sum(each.operand.uses.values()) == 1
    ]
    counter = find_counter(op) if pairs else None
    if counter is None:
        return None
    tables = tabulate_rounds(op, counter)
    hidden: dict[Op, Value] = {}
    for outer, inner in pairs:
        begin, first = _places(outer, tables, counter.rounds), _places(inner, tables, counter.rounds)
        if begin is not None and first is not None:
            ends = zip(begin, first, outer.update.shape, inner.update.shape, strict=True)
            if all(((a <= b) & (b + small <= a + large)).all() for a, b, large, small in ends):
                hidden[inner] = inner.operand
    if not hidden:
        return None
    results = rebuild_loop(op, range(len(op.operands)))
    made = next(result.owner for result in results if isinstance(result, Result))
    assert isinstance(made, While)
    for old, new in zip(list(op.body.block), list(made.body.block), strict=True):
        if old in hidden and isinstance(new, DynamicUpdateSlice):
            new.replace_all_uses_with(new.operand)
            new.erase()
    return results


def sample_same_update(draw: Draw) -> While:
    """A loop whose rounds make the same update, and read beside it or within it."""
    start, kind = draw.choose((0, 1)), draw.integer(0, 3)
    u = tensor("f32", 2, name="u")

    def step(i: Value, x: Value, total: Value) -> tuple[Value, ...]:
        new = DynamicUpdateSlice(x, u, (Constant.of(start, "i32"),))
        at = Add(i, Constant.of(start + draw.choose((2, 2, 1)), "i32"))
        return new, Add(total, DynamicSlice(new, (at,), (2,))) if kind else Negate(total)

    return count_to(draw.integer(1, 4), tensor("f32", draw.integer(6, 9)), tensor("f32", 2, name="y"), step=step)


@rewrite(any_op(While), sample=sample_same_update)
def update_that_is_the_same_each_round(op: While) -> tuple[Value, ...] | None:
    """while(x → update(x, u, i), a) = update(a, u, i), if i and u stay the same and rounds read only beside the update

    >>> x, u, zero = tensor("f32", 9), tensor("f32", 2, name="u"), Constant.of(0, "i32")
    >>> step = lambda i, x, y: (DynamicUpdateSlice(x, u, (zero,)), Negate(y))
    >>> update_that_is_the_same_each_round(count_to(4, x, tensor("f32", name="y"), step=step))[1]
    DynamicUpdateSlice(x, u, (Constant(0),))
    """
    counter = find_counter(op)
    if counter is None or counter.rounds < 1 or len(op.operands) < 2:
        return None
    body = op.body.block
    inside = {each for each in body if not isinstance(each, Constant)}
    for place, (argument, update) in enumerate(zip(body.arguments, body.terminator.operands, strict=True)):
        if not isinstance(update, DynamicUpdateSlice) or update.operand is not argument or update.block is not body:
            continue
        fixed = (update.update, *update.start_indices)
        if argument.uses != {update: 1} or op.cond.block.arguments[place].uses:
            continue
        if any(isinstance(each, Argument) and each.block is body for each in fixed):
            continue
        if any((each.owner if isinstance(each, Result) else each) in inside for each in fixed):
            continue
        readers = [user for user in update.uses if user is not body.terminator]
        tables = tabulate_rounds(op, counter) if readers else {}
        if all(_reads_beside(user, update, tables, counter.rounds) for user in readers):
            initial = op.operands[place]
            new, *starts = (each.clone({}) if isinstance(each, Constant) else each for each in fixed)
            once = DynamicUpdateSlice(initial, new, tuple(starts))
            kept = [other for other in range(len(op.operands)) if other != place]
            return rebuild_loop(op, kept, {argument: initial, update: initial}, (update,), {place: once})
    return None


def _reads_beside(user: Op, update: DynamicUpdateSlice, tables: Mapping[Value, Table], rounds: int) -> bool:
    """Whether the user reads a part that the update doesn't touch in any round."""
    if not isinstance(user, DynamicSlice) or any(start is update for start in user.start_indices):
        return False
    begin, first = _places(update, tables, rounds), _places(user, tables, rounds)
    if begin is None or first is None:
        return False
    ends = zip(begin, first, update.update.shape, user.slice_sizes, strict=True)
    return any(((a + large <= b) | (b + small <= a)).all() for a, b, large, small in ends)


def _places(op: DynamicUpdateSlice | DynamicSlice, tables: Mapping[Value, Table], rounds: int) -> list[Table] | None:
    """Where an update, or what is read, begins in every round, along each axis, if that is known."""
    found: list[Table] = []
    sizes = op.slice_sizes if isinstance(op, DynamicSlice) else op.update.shape
    for start, extent, size in zip(op.start_indices, op.operand.shape, sizes, strict=True):
        if start in tables:
            found.append(clamp_starts(tables[start], extent - size))
        elif isinstance(start, Constant):
            found.append(np.full(rounds, min(max(int(start.number), 0), extent - size), np.int64))
        elif extent == size:
            found.append(np.zeros(rounds, np.int64))
        else:
            return None
    return found
