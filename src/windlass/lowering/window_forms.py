"""Reductions over windows in other forms: one axis after the other, by doubling, and running folds as loops.

XLA:CPU folds each window by itself. Windows that overlap share most of their work.
"""

from __future__ import annotations

from typing import Any

from windlass.facts.cost import WIDE_WINDOW
from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Compare,
    Constant,
    DynamicSlice,
    DynamicUpdateSlice,
    Maximum,
    Minimum,
    Multiply,
    Pad,
    ReduceWindow,
    Reshape,
    Slice,
    Subtract,
    While,
)
from windlass.ops.combiners import IDEMPOTENT
from windlass.ops.regions import make_region
from windlass.ops.sampling import Draw
from windlass.ops.windows import fold_windows
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.windows import input_of, is_last_wanted, owner_of, reorders

__all__ = ["tensor"]

LARGEST_ROW = 8
"""Elements: in running folds of such rows doubling is as good as going through them."""
MOST_LINES = 512
"""Rows: of more, a first-level cache doesn't hold the lines that a loop along the last axis goes through."""
PARTS = 4, 5, 6, 7, 8
"""Elements that are folded at once where rows are folded in parts."""


def sample_windows(*combiners: type[Any], dtype: str) -> Any:
    """A sampler of windows along two axes, some with strides, dilations and padding."""

    def sample(draw: Draw) -> Op:
        shape = tuple(draw.integer(3, 6) for _ in range(3))
        window = draw.choose(((2, 3, 1), (3, 1, 2), (2, 2, 2)))
        strides = tuple(draw.integer(1, 2) for _ in shape)
        padding = tuple((draw.integer(0, 2), draw.integer(0, 1)) for _ in shape)
        made = fold_windows(draw.choose(combiners), tensor(dtype, *shape), window, strides, padding)
        op = owner_of(made)
        assert isinstance(op, ReduceWindow)
        return _along(op, op.inputs[0], range(3), dilated=draw.boolean())

    return sample


def _along(op: ReduceWindow, x: Value, axes: Any, dilated: bool = False) -> ReduceWindow:
    """The windows of the op along some axes alone."""

    def choose(values: tuple[Any, ...], otherwise: Any) -> tuple[Any, ...]:
        return tuple(value if axis in axes else otherwise for axis, value in enumerate(values))

    dilations = (2,) * len(op.window_dilations) if dilated else op.window_dilations
    return ReduceWindow(
        (x,),
        op.init_values,
        choose(op.window_dimensions, 1),
        choose(op.window_strides, 1),
        choose(op.base_dilations, 1),
        choose(dilations, 1),
        choose(op.padding, (0, 0)),
        op.body.clone({}),
    )


def _one_axis_at_a_time(op: ReduceWindow) -> Value | None:
    x = input_of(op)
    if x is None:
        return None
    wide = [axis for axis, size in enumerate(op.window_dimensions) if size > 1]
    if len(wide) < 2:
        return None
    # First those that leave the least.
    sizes = {axis: op.results[0].shape[axis] / max(x.shape[axis], 1) for axis in wide}
    rest = [axis for axis in range(x.tensor.rank) if axis not in wide]
    made = x
    for number, axis in enumerate(sorted(wide, key=lambda axis: (sizes[axis], axis))):
        made = _along(op, made, [axis, *(rest if number == 0 else ())]).results[0]
    return made


@rewrite(any_op(ReduceWindow), sample=sample_windows(Maximum, Minimum, dtype="f32"), by_cost=True)
def extremes_one_axis_at_a_time(op: ReduceWindow) -> Value | None:
    """max over windows of h × w = max over windows of h × 1 of max over windows of 1 × w; and so for integers' sums

    >>> pooled = fold_windows(Maximum, tensor("f32", 8, 8), (3, 3))
    >>> extremes_one_axis_at_a_time(pooled.owner).owner.window_dimensions
    (1, 3)
    """
    return None if reorders(op) else _one_axis_at_a_time(op)


@rewrite(any_op(ReduceWindow), sample=sample_windows(Add, Multiply, dtype="f32"), by_cost=True, reassociates=True)
def window_sums_one_axis_at_a_time(op: ReduceWindow) -> Value | None:
    """sum over windows of h × w = sum over windows of h × 1 of sums over windows of 1 × w

    >>> sums = fold_windows(Add, tensor("f32", 8, 8), (3, 3))
    >>> window_sums_one_axis_at_a_time(sums.owner).owner.window_dimensions
    (1, 3)
    """
    return _one_axis_at_a_time(op) if reorders(op) else None


# -- wide windows -----------------------------------------------------------------------------------------------------


def sample_wide_windows(*combiners: type[Any]) -> Any:
    """A sampler of wide windows along one axis."""

    def sample(draw: Draw) -> Op:
        width = WIDE_WINDOW + draw.integer(0, 9)
        length = width + draw.integer(0, 5)
        shape = draw.choose(((length,), (length, 2), (2, length)))
        axis = shape.index(length)
        window = tuple(width if each == axis else 1 for each in range(len(shape)))
        padding = tuple(
            (draw.integer(0, 3), draw.integer(0, 3)) if each == axis else (0, 0) for each in range(len(shape))
        )
        return owner_of(fold_windows(draw.choose(combiners), tensor("f32", *shape), window, None, padding))

    return sample


def _by_doubling(op: ReduceWindow) -> Value | None:
    x = input_of(op)
    if x is None or any(base != 1 for base in (*op.base_dilations, *op.window_dilations, *op.window_strides)):
        return None
    wide = [axis for axis, size in enumerate(op.window_dimensions) if size > 1]
    if len(wide) != 1 or op.window_dimensions[wide[0]] < WIDE_WINDOW or any(min(pads) < 0 for pads in op.padding):
        return None
    if is_last_wanted(op):
        return None
    (axis,) = wide
    if op.is_running and x.tensor.size > LARGEST_ROW * x.shape[axis]:
        return None
    width, count = op.window_dimensions[axis], op.results[0].shape[axis]
    combiner: Any = op.combiner
    if any(map(any, op.padding)):
        low, high = zip(*op.padding, strict=True)
        x = Pad(x, op.init_values[0], low, high, (0,) * x.tensor.rank)
    # `folded` has the windows of `have` elements; `total` those of the lowest bits of the width that are done with.
    folded, have = x, 1
    total: Value | None = None
    done = 0
    while True:
        if combiner not in IDEMPOTENT and width & have:
            part = _cut(folded, axis, done, done + count)
            total = part if total is None else combiner(total, part)
            done += have
        if 2 * have > width:
            break
        length = folded.shape[axis] - have
        folded = combiner(_cut(folded, axis, 0, length), _cut(folded, axis, have, have + length))
        have *= 2
    if total is None:
        total = _cut(folded, axis, 0, count)
        if have < width:
            total = combiner(total, _cut(folded, axis, width - have, width - have + count))
    return total


def _cut(value: Value, axis: int, start: int, limit: int) -> Value:
    if (start, limit) == (0, value.shape[axis]):
        return value
    starts = tuple(start if each == axis else 0 for each in range(value.tensor.rank))
    limits = tuple(limit if each == axis else size for each, size in enumerate(value.shape))
    return Slice(value, starts, limits, (1,) * value.tensor.rank)


@rewrite(any_op(ReduceWindow), sample=sample_wide_windows(Maximum, Minimum), by_cost=True)
def wide_extremes_by_doubling(op: ReduceWindow) -> Value | None:
    """max over windows of 2n = max of the maxima over windows of n, n apart; and so on; and for integers' sums

    >>> wide = fold_windows(Maximum, tensor("f32", 100), (32,))
    >>> type(wide_extremes_by_doubling(wide.owner)).__name__
    'Maximum'
    """
    return None if reorders(op) else _by_doubling(op)


@rewrite(any_op(ReduceWindow), sample=sample_wide_windows(Add, Multiply), by_cost=True, reassociates=True)
def wide_window_sums_by_doubling(op: ReduceWindow) -> Value | None:
    """sum over windows of 2n = sum of the sums over windows of n, n apart; and so on

    >>> type(wide_window_sums_by_doubling(fold_windows(Add, tensor("f32", 100), (32,)).owner)).__name__
    'Add'
    """
    return _by_doubling(op) if reorders(op) else None


# -- running folds ----------------------------------------------------------------------------------------------------


def sample_running_fold(*combiners: type[Any], dtype: str) -> Any:
    """A sampler of running sums and the like, from either end."""

    def sample(draw: Draw) -> Op:
        shape = tuple(4 + draw.integer(0, 2) for _ in range(draw.integer(1, 3)))
        axis = draw.integer(0, len(shape) - 1)
        size = shape[axis] + draw.integer(0, 1)
        window = tuple(size if each == axis else 1 for each in range(len(shape)))
        far = size - 1 + draw.integer(0, 2)
        ends = draw.choose(((far, 0), (0, far)))
        padding = tuple(ends if each == axis else (0, 0) for each in range(len(shape)))
        return owner_of(fold_windows(draw.choose(combiners), tensor(dtype, *shape), window, None, padding))

    return sample


def _after_empty(op: ReduceWindow, running: Value, axis: int, is_backward: bool, empty: int) -> Value:
    """The running folds after (or before) so many windows that take in nothing."""
    if not empty:
        return running
    zeros = (0,) * running.tensor.rank
    edge = tuple(empty if each == axis else 0 for each in range(running.tensor.rank))
    return Pad(running, op.init_values[0], *((zeros, edge) if is_backward else (edge, zeros)), zeros)


def _goes_across_lines(x: Value, axis: int) -> bool:
    """Whether neighbours along the axis are neighbours in memory, and there are many rows of them."""
    return axis == x.tensor.rank - 1 and x.tensor.size > MOST_LINES * x.shape[axis]


def _go_along(op: ReduceWindow) -> Value | None:
    x = input_of(op)
    found = None if x is None else op.running_axis
    if x is None or found is None or is_last_wanted(op):
        return None
    axis, is_backward, empty_windows = found
    if x.shape[axis] < 4 or _goes_across_lines(x, axis):
        return None
    count, rank = x.shape[axis], x.tensor.rank
    row = tuple(size for each, size in enumerate(x.shape) if each != axis)
    thin = tuple(1 if each == axis else size for each, size in enumerate(x.shape))
    combiner: Any = op.combiner
    zero, one = Constant.of(0, "i32"), Constant.of(1, "i32")
    start, empty = (BroadcastInDim(op.init_values[0], shape, ()) for shape in (row, x.shape))

    def body(at: Value, total: Value, written: Value) -> tuple[Value, ...]:
        place = Subtract(Constant.of(count - 1, "i32"), at) if is_backward else at
        places = tuple(place if each == axis else Constant.of(0, "i32") for each in range(rank))
        following = combiner(total, Reshape(DynamicSlice(x, places, thin), row))
        return Add(at, one), following, DynamicUpdateSlice(written, Reshape(following, thin), places)

    types = [zero.type, start.type, empty.type]
    cond = make_region(types, lambda at, *_: Compare(at, Constant.of(count, "i32"), "LT"))
    running = While(cond, make_region(types, body), (zero, start, empty)).results[2]
    return _after_empty(op, running, axis, is_backward, empty_windows)


@rewrite(any_op(ReduceWindow), sample=sample_running_fold(Maximum, Minimum, dtype="f32"), by_cost=True)
def running_extreme_in_a_loop(op: ReduceWindow) -> Value | None:
    """cummax(x)[i] = max(cummax(x)[i - 1], x[i]), one after the other; and so for integers' sums

    >>> running = fold_windows(Maximum, tensor("f32", 800), (800,), None, ((799, 0),))
    >>> type(running_extreme_in_a_loop(running.owner).owner).__name__
    'While'
    """
    return None if reorders(op) else _go_along(op)


@rewrite(
    any_op(ReduceWindow),
    sample=sample_running_fold(Add, Multiply, dtype="f32"),
    by_cost=True,
    reassociates=True,
    in_kernels=True,
)
def running_sum_in_a_loop(op: ReduceWindow) -> Value | None:
    """cumsum(x)[i] = cumsum(x)[i - 1] + x[i], one after the other

    >>> running = fold_windows(Add, tensor("f32", 800), (800,), None, ((799, 0),))
    >>> type(running_sum_in_a_loop(running.owner).owner).__name__
    'While'
    """
    return _go_along(op) if reorders(op) else None


# -- running folds in parts -------------------------------------------------------------------------------------------


def sample_many_rows(*combiners: type[Any]) -> Any:
    """A sampler of running folds along the last axis of many rows."""

    def sample(draw: Draw) -> Op:
        size = draw.choose((8, 10, 12, 16))
        rows = draw.choose(((MOST_LINES + 1,), (2, MOST_LINES)))
        far = size - 1 + draw.integer(0, 1)
        padding = (*((0, 0) for _ in rows), draw.choose(((far, 0), (0, far))))
        window = (*(1 for _ in rows), size)
        return owner_of(fold_windows(draw.choose(combiners), tensor("f32", *rows, size), window, None, padding))

    return sample


def _in_parts(op: ReduceWindow) -> Value | None:
    x = input_of(op)
    found = None if x is None else op.running_axis
    if x is None or found is None or is_last_wanted(op) or not _goes_across_lines(x, found[0]):
        return None
    length = x.shape[-1]
    rows = x if x.tensor.rank == 2 else Reshape(x, (x.tensor.size // length, length))
    made = _fold_rows_in_parts(op, rows, is_backward=found[1])
    if made is None:
        return None
    return _after_empty(op, made if made.shape == x.shape else Reshape(made, x.shape), *found)


def _fold_rows_in_parts(op: ReduceWindow, rows: Value, is_backward: bool) -> Value | None:
    """The running fold of each row: of parts, with what is folded of all parts before; None if rows have no parts."""
    count, length = rows.shape
    part = next((size for size in PARTS if length % size == 0 and length > size), None)
    if part is None:
        return None
    parts = count * (length // part)
    within = _fold_rows(op, Reshape(rows, (parts, part)), is_backward)
    end = 0 if is_backward else part - 1
    totals = Reshape(_cut(within, 1, end, end + 1), (count, length // part))
    before = _fold_rows_in_parts(op, totals, is_backward)
    if before is None:
        before = _fold_rows(op, totals, is_backward)
    last = length // part - 1
    kept = _cut(before, 1, 1, last + 1) if is_backward else _cut(before, 1, 0, last)
    edges = ((0, 0), (0, 1)) if is_backward else ((0, 1), (0, 0))
    moved = Pad(kept, op.init_values[0], *edges, (0, 0))
    combiner: Any = op.combiner
    spread = BroadcastInDim(Reshape(moved, (parts,)), (parts, part), (0,))
    whole = combiner(within, spread) if is_backward else combiner(spread, within)
    return Reshape(whole, (count, length))


def _fold_rows(op: ReduceWindow, rows: Value, is_backward: bool) -> Value:
    """The running fold of each row at once."""
    length = rows.shape[1]
    ends = (0, length - 1) if is_backward else (length - 1, 0)
    ones = (1, 1)
    fields = (op.init_values, (1, length), ones, ones, ones, ((0, 0), ends), op.body.clone({}))
    return ReduceWindow((rows,), *fields).results[0]


@rewrite(any_op(ReduceWindow), sample=sample_many_rows(Maximum, Minimum), by_cost=True)
def running_extreme_in_parts(op: ReduceWindow) -> Value | None:
    """cummax(x) = max(cummax(part of x), max(parts before)), for many rows; and so for integers' sums

    >>> x = tensor("f32", 600, 16)
    >>> running = fold_windows(Maximum, x, (1, 16), None, ((0, 0), (15, 0)))
    >>> running_extreme_in_parts(running.owner).operand.shape
    (2400, 4)
    """
    return None if reorders(op) else _in_parts(op)


@rewrite(
    any_op(ReduceWindow),
    sample=sample_many_rows(Add, Multiply),
    by_cost=True,
    reassociates=True,
    in_kernels=True,
)
def running_sum_in_parts(op: ReduceWindow) -> Value | None:
    """cumsum(x) = cumsum(part of x) + sum(parts before), for many rows

    >>> x = tensor("f32", 600, 16)
    >>> running = fold_windows(Add, x, (1, 16), None, ((0, 0), (15, 0)))
    >>> running_sum_in_parts(running.owner).operand.shape
    (2400, 4)
    """
    return _in_parts(op) if reorders(op) else None
