"""Loops: carried values that need not be, work that is the same each round, and loops that are short.

A loop's regions may use values from around it: what is the same in each round is not carried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from windlass.facts.carried import arguments_behind, carries_behind
from windlass.facts.numbering import Numbering
from windlass.facts.rounds import Table, tabulate_rounds
from windlass.facts.terms import sources
from windlass.ir import Block, Builder, Op, Region, Result, Value
from windlass.ir.core import Terminator
from windlass.ir.values import Argument, tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Compare,
    Constant,
    Convert,
    DynamicUpdateSlice,
    Multiply,
    Negate,
    Reshape,
    Scatter,
    Slice,
    Subtract,
    While,
    make_region,
)
from windlass.ops.counting import find_counter
from windlass.ops.sampling import Draw
from windlass.passes.carries import arguments_at, copy_block, rebuild_loop, run_once
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite

__all__ = ["tensor"]


def count_to(limit: int, *carried: Value, step: Callable[..., tuple[Value, ...]] | None = None) -> While:
    """A loop for examples: an integer counts from 0 to the limit, and `step` takes and gives what else is carried.

    >>> from windlass.ops.counting import find_counter
    >>> find_counter(count_to(3)).rounds
    3
    """
    start = Constant.of(0, "i32")
    types = [start.type, *(value.type for value in carried)]

    def body(*values: Value) -> tuple[Value, ...]:
        following = values[1:] if step is None else step(*values)
        return (Add(values[0], Constant.of(1, "i32")), *following)

    cond = make_region(types, lambda *values: Compare(values[0], Constant.of(limit, "i32"), "LT"))
    return While(cond, make_region(types, body), (start, *carried))


def sample_loop(draw: Draw) -> While:
    """A loop with carried values of many kinds: dead, constant, equal, invariant, counted, accumulated."""
    shape = draw.shape(0, 1, 1)
    dtype = draw.choose(("f32", "i32"))
    x, y = tensor(dtype, *shape, name="x"), tensor(dtype, *shape, name="y")
    zero, count = Constant.of(0, dtype, shape), Constant.of(5, "i32")
    kinds = [draw.integer(0, 5) for _ in range(7)]

    def step(*values: Value) -> tuple[Value, ...]:
        i, a, b, c, d, e, k = values
        invariant = Add(Multiply(x, y), y) if kinds[0] else y
        number = Add(i, count) if kinds[4] > 2 else i
        counted = BroadcastInDim(_as(number, dtype), shape, ())
        return (
            Add(a, invariant) if kinds[1] else a,
            Add(b, invariant) if kinds[2] else Multiply(a, b),
            Add(Negate(c), invariant) if kinds[3] else x,
            Add(Negate(d), invariant) if kinds[3] else x,
            Subtract(e, counted) if kinds[5] > 1 else zero,
            Add(k, Constant.of(draw.choose((1, 2)), "i32")),
        )

    starts = (x, draw.choose((x, y)), y, y, zero, draw.choose((count, Constant.of(0, "i32"))))
    loop = count_to(draw.choose((0, 1, 2, 3, 5)), *starts, step=step)
    for result in loop.results[1:-1]:
        if draw.boolean():
            Negate(result)
    return loop


def _as(number: Value, dtype: str) -> Value:
    return Convert(number, dtype)


# -- how often --------------------------------------------------------------------------------------------------------


@rewrite(any_op(While), sample=sample_loop)
def loop_that_never_runs(op: While) -> tuple[Value, ...] | None:
    """while(c, f, x) = x, if c(x) is false

    >>> loop_that_never_runs(count_to(0, tensor("f32"), step=lambda i, x: (Negate(x),)))
    (Constant(0), x)
    """
    test = op.cond.block.terminator.operands[0]
    never = isinstance(test, Constant) and not test.number
    counter = find_counter(op)
    return op.operands if never or (counter is not None and counter.rounds == 0) else None


@rewrite(any_op(While), sample=sample_loop)
def loop_that_runs_once(op: While) -> tuple[Value, ...] | None:
    """while(c, f, x) = f(x), if c(x) is true and c(f(x)) false

    >>> loop_that_runs_once(count_to(1, tensor("f32"), step=lambda i, x: (Negate(x),)))[1]
    Negate(x)
    """
    counter = find_counter(op)
    if counter is None or counter.rounds != 1:
        return None
    return run_once(op.body.block, op.operands)


# -- carried values ---------------------------------------------------------------------------------------------------


@rewrite(any_op(While), sample=sample_loop)
def carried_value_that_never_changes(op: While) -> tuple[Value, ...] | None:
    """while(c, (x, y) → (f(x, y), y), (a, b)) = (while(c, x → f(x, b), a), b)

    >>> loop = count_to(3, tensor("f32"), tensor("f32", name="y"), step=lambda i, x, y: (Add(x, y), y))
    >>> carried_value_that_never_changes(loop)[2]
    y
    """
    body = op.body.block
    mapping: dict[Value, Value] = {}
    kept: list[int] = []
    for place, (initial, following) in enumerate(zip(op.operands, body.terminator.operands, strict=True)):
        if following is body.arguments[place] or following is initial or _same_constant(following, initial):
            mapping.update(dict.fromkeys(arguments_at(op, place), initial))
        else:
            kept.append(place)
    return rebuild_loop(op, kept, mapping) if mapping and kept else None


def _same_constant(left: Value, right: Value) -> bool:
    return isinstance(left, Constant) and isinstance(right, Constant) and left.value == right.value


@rewrite(any_op(While), sample=sample_loop)
def carried_value_without_use(op: While) -> tuple[Value, ...] | None:
    """while(c, (x, y) → (f(x), g(x, y)), (a, b)) = (while(c, x → f(x), a), _), if nothing uses the second result

    >>> loop = count_to(3, tensor("f32"), tensor("f32", name="y"), step=lambda i, x, y: (Negate(x), Add(x, y)))
    >>> kept = Negate(loop.results[1])
    >>> carried_value_without_use(loop)[1].owner.operands
    (Constant(0), x)
    """
    if not op.is_removable:
        return None
    live = {place for place, result in enumerate(op.results) if result.uses}
    live = carries_behind(op, live | arguments_behind(op.cond.block.terminator.operands, op.cond.block))
    if len(live) == len(op.operands) or not live or op.is_unused:
        return None
    unused = [*_dependents(op.cond.block, live), *_dependents(op.body.block, live)]
    return rebuild_loop(op, sorted(live), left_out=set(unused))


def _dependents(block: Block, live: set[int]) -> list[Op]:
    """The ops of the block that depend on other parameters than these."""
    without_use: set[Value] = {argument for argument in block.arguments if argument.index not in live}
    found: list[Op] = []
    for op in block:
        if op is not block.last and not without_use.isdisjoint(sources(op)):
            found.append(op)
            without_use.update(op.results)
    return found


@rewrite(any_op(While), sample=sample_loop)
def carried_values_that_are_equal(op: While) -> tuple[Value, ...] | None:
    """while(c, (x, y) → (f(x), f(y)), (a, a)) = (r, r) with r = while(c, x → f(x), a)

    >>> x = tensor("f32")
    >>> equal = carried_values_that_are_equal(count_to(3, x, x, step=lambda i, x, y: (Negate(x), Negate(y))))
    >>> equal[1] is equal[2]
    True

    Also where branches choose them.
    """
    classes = _equal_carries(op)
    first: dict[int, int] = {}
    twins: dict[int, int] = {}
    for place, number in enumerate(classes):
        if number not in first:
            first[number] = place
            continue
        twins[place] = first[number]
    if not twins:
        return None
    kept = [place for place in range(len(classes)) if place not in twins]
    # The parameters of twins become those of the first: found under its name once the blocks are copied.
    blocks: list[Block] = []
    for region, yielded in ((op.cond, None), (op.body, kept)):
        whole = region.block
        new = copy_block(whole, range(len(classes)), {}, yielded)
        for place, twin in twins.items():
            new.arguments[place].replace_all_uses_with(new.arguments[twin])
        new.arguments = [new.arguments[place] for place in kept]
        for index, argument in enumerate(new.arguments):
            argument.index = index
        blocks.append(new)
    made = While(Region(blocks[0]), Region(blocks[1]), tuple(op.operands[place] for place in kept))
    by_place = dict(zip(kept, made.results, strict=True))
    return tuple(by_place[twins.get(place, place)] for place in range(len(classes)))


def _equal_carries(op: While) -> list[int]:
    """A number for each carried value, the same for those that are equal in every round."""
    body = op.body.block
    starts: dict[object, int] = {}
    classes: list[int] = []
    for value in op.operands:
        key = (value.type, value.value) if isinstance(value, Constant) else id(value)
        classes.append(starts.setdefault(key, len(starts)))
    while len(set(classes)) < len(classes):
        # Suppose that they are equal; those that then become different are not.
        numbering = Numbering()
        numbering.suppose_equal(body.arguments, classes)
        numbering.enter(body)
        pairs = [(old, numbering.number(value)) for old, value in zip(classes, body.terminator.operands, strict=True)]
        names: dict[tuple[int, int], int] = {}
        refined = [names.setdefault(pair, len(names)) for pair in pairs]
        if len(set(refined)) == len(set(classes)):
            break
        classes = refined
    return classes


# -- the same in each round -------------------------------------------------------------------------------------------


@rewrite(any_op(While), sample=sample_loop)
def work_that_is_the_same_each_round(op: While) -> tuple[Value, ...] | None:
    """while(c, x → f(x, g(y)), a) = while(c, x → f(x, z), a) with z = g(y)

    >>> y = tensor("f32", 3, name="y")
    >>> loop = count_to(3, tensor("f32", 3), step=lambda i, x: (Add(x, Multiply(y, y)),))
    >>> from windlass.ops.control import captures
    >>> captures(work_that_is_the_same_each_round(loop)[1].owner.body)
    [Multiply(y, y)]
    """
    counter = find_counter(op)
    if counter is not None and counter.rounds < 2:
        return None
    moved: dict[Op, None] = {}
    for region in (op.cond, op.body):
        moved.update(dict.fromkeys(_list_invariant(region.block)))
    if not moved:
        return None
    mapping: dict[Value, Value] = {}
    for each in moved:
        each.clone(mapping)
    return rebuild_loop(op, range(len(op.operands)), mapping, moved)


def _holder_in(block: Block, op: Op) -> Op:
    """The op of the block that is, or holds, an op."""
    while op.block is not block:
        holder = op.parent_op
        if holder is None:
            return op
        op = holder
    return op


def _list_invariant(block: Block) -> list[Op]:
    """Ops worth moving out of the block that depend on nothing in it, and what they need, in order."""
    free: dict[Op, int] = {}
    inside: set[Op] = set()
    for op in block:
        if isinstance(op, Terminator):
            break
        inside.add(op)
        if not op.is_pure:
            continue
        given = sources(op)
        owners = [value.owner if isinstance(value, Result) else value for value in given]
        if any(
            (isinstance(owner, Argument) and owner.block is block) or (owner in inside and owner not in free)
            for owner in owners
        ):
            continue
        # How many bytes it is made of, that are in memory before the loop.
        free[op] = sum(
            free[owner] if isinstance(owner, Op) and owner in free else _bytes(value)
            for owner, value in zip(owners, given, strict=True)
            if not isinstance(value, Constant)
        )
    wanted: set[Op] = set()
    for op in reversed(list(free)):
        # What uses it may stand inside of one of the others.
        needed = any(_holder_in(block, user) in wanted for result in op.results for user in result.uses)
        grows = sum(_bytes(result) for result in op.results) > free[op]
        heavy = bool(op.flops()) and (op.is_contraction or bool(op.regions))
        if needed or heavy or (not op.is_free and not grows):
            wanted.add(op)
    return [op for op in free if op in wanted]


def _bytes(value: Value) -> int:
    return getattr(value.type, "bytes", 0)


# -- what the counter decides -----------------------------------------------------------------------------------------


@rewrite(any_op(While), sample=sample_loop)
def value_that_the_counter_decides(op: While) -> tuple[Value, ...] | None:
    """while(c, i → f(i, g(i)), 0) = while(c, i → f(i, k), 0), if g(i) is k in every round; likewise if it is i

    >>> def step(i, x):
    ...     return (Add(x, Reshape(Compare(i, Constant.of(0, "i32"), "LT"), ())),)
    >>> loop = value_that_the_counter_decides(count_to(3, tensor("i1"), step=step))[1].owner
    >>> [type(each).__name__ for each in loop.body.block]
    ['Constant', 'Add', 'Constant', 'Add', 'Return']
    """
    counter = find_counter(op)
    if counter is None:
        return None
    tables = tabulate_rounds(op, counter)
    body = op.body.block
    argument = body.arguments[counter.position]
    decided: dict[Op, Table | None] = {}
    for each in body:
        table = tables.get(each)
        if table is None or each in (body.terminator.operands):
            continue
        if (table == table[0]).all():
            decided[each] = table[0]
        elif each.type is argument.type and np.array_equal(table, tables[argument]):
            decided[each] = None
    if not decided:
        return None
    # Constants are made outside; the counter's twins are found in the copy by position.
    mapping: dict[Value, Value] = {
        each: Constant.of(np.asarray(row), each.dtype) for each, row in decided.items() if row is not None
    }
    results = rebuild_loop(op, range(len(op.operands)), mapping, mapping.keys())  # pyright: ignore[reportArgumentType]
    if len(mapping) == len(decided):
        return results
    made = next(result.owner for result in results if isinstance(result, Result))
    assert isinstance(made, While)
    copies = iter(list(made.body.block))
    kept = [each for each in body if each not in mapping]
    for old, new in zip(kept, copies, strict=True):
        if old in decided:
            new.replace_all_uses_with(made.body.block.arguments[counter.position])
            new.erase()
    return results


def sample_scatter_loop(draw: Draw) -> While:
    """A loop that scatters a row at a time."""
    offset = draw.choose((0, 0, 0, -1, 1))

    def step(i: Value, x: Value) -> tuple[Value, ...]:
        at = BroadcastInDim(Add(i, Constant.of(offset, "i32")), (1,), ())
        region = make_region([tensor("f32").type] * 2, lambda old, new: new)
        update = tensor("f32", 2, name="u")
        return Scatter((x,), at, (update,), (0,), (0,), (), (), (0,), 0, region).results

    return count_to(draw.integer(2, 4), tensor("f32", 4, 2), step=step)


@rewrite(any_op(While), sample=sample_scatter_loop)
def scatter_at_the_counter(op: While) -> tuple[Value, ...] | None:
    """scatter(x, i, u) = dynamic_update_slice(x, u, i) in a loop, if u lies inside x in every round

    >>> loop = sample_scatter_loop(Draw(lambda low, high: low))
    >>> loop = scatter_at_the_counter(loop)[1].owner
    >>> any(isinstance(each, Scatter) for each in loop.body.walk())
    False
    """
    counter = find_counter(op)
    if counter is None or not any(isinstance(each, Scatter) for each in op.body.block):
        return None
    tables = tabulate_rounds(op, counter)
    found = [each for each in op.body.block if isinstance(each, Scatter) and _is_inside(each, tables)]
    if not found:
        return None
    results = rebuild_loop(op, range(len(op.operands)))
    made = next(result.owner for result in results if isinstance(result, Result))
    assert isinstance(made, While)
    for old, new in zip(list(op.body.block), list(made.body.block), strict=True):
        if old in found and isinstance(new, Scatter):
            _write_row(new)
    return results


def _is_inside(op: Scatter, tables: Mapping[Value, Table]) -> bool:
    """Whether the op writes one window over what was there, inside the whole in every round."""
    table = tables.get(op.scatter_indices)
    if table is None or len(op.inputs) != 1 or not op.is_overwrite or op.input_batching_dims:
        return False
    if op.scatter_indices.tensor.rank != 1 or op.index_vector_dim != 0:
        return False
    starts = dict(zip(op.scatter_dims_to_operand_dims, table.astype(np.int64).T, strict=True))
    sizes = _window_sizes(op)
    shape = op.inputs[0].shape
    return all((at >= 0).all() and (at + sizes[axis] <= shape[axis]).all() for axis, at in starts.items())


def _window_sizes(op: Scatter) -> tuple[int, ...]:
    update = iter(op.updates[0].shape)
    rank = op.inputs[0].tensor.rank
    return tuple(1 if axis in op.inserted_window_dims else next(update) for axis in range(rank))


def _write_row(op: Scatter) -> None:
    assert op.block is not None
    with Builder(op.block, op):
        starts: list[Value] = []
        for axis in range(op.inputs[0].tensor.rank):
            if axis in op.scatter_dims_to_operand_dims:
                place = op.scatter_dims_to_operand_dims.index(axis)
                count = len(op.scatter_dims_to_operand_dims)
                index = op.scatter_indices
                starts.append(Reshape(Slice(index, (place,), (place + 1,), (1,)) if count > 1 else index, ()))
            else:
                starts.append(Constant.of(0, op.scatter_indices.dtype))
        written = DynamicUpdateSlice(op.inputs[0], Reshape(op.updates[0], _window_sizes(op)), tuple(starts))
    op.results[0].replace_all_uses_with(written)
    op.erase()
