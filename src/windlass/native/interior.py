"""The inside of a launch's rows: the threads for which conditions on where they lie in the row are known.

A stencil asks of each thread whether it lies at a border: by a guard, by `min(i + 1, n - 1)`, by `(i + 1) % n`. Of the
threads that are some strips away from both ends of the row this is known, so they run a body of their own in which it
is decided: without masks, with neighbours that lie side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windlass.affine.dimensions import Dimension
from windlass.affine.index import Index
from windlass.affine.predicate import Predicate
from windlass.facts.indices import IndexReader
from windlass.facts.threads import ThreadIds
from windlass.ir import Block, Builder, Function, Op, TensorType, Value
from windlass.loops import Access, Allocate, If, Load, Parallel, Pop, Push
from windlass.native.ranges import LaunchRanges
from windlass.ops.base import INTEGER
from windlass.ops.comparison import Compare
from windlass.ops.creation import Constant
from windlass.ops.elementwise import And, Divide, Or, Remainder, Select, Subtract
from windlass.ops.extremes import Maximum, Minimum
from windlass.ops.ranges import Range
from windlass.parallel.guards import take_branch

FEWEST_STRIPS = 4
"""A shorter inside is not worth code of its own."""
MOST_OPS = 1000
"""Longer bodies are not written twice."""


@dataclass(frozen=True)
class Interior:
    """The function as it is for the strips from `begin` on, before `end`."""

    function: Function
    indices: IndexReader
    ranges: LaunchRanges
    begin: int
    end: int


def find_interior(
    function: Function, launch: Parallel, ids: ThreadIds, extents: Sequence[int], width: int
) -> Interior | None:
    """The inside of the rows, in strips of `width` threads; None where nothing more is known of it, or it is small.

    `extents` are those of the ids. `function` is left as it is: the inside has a copy of it.
    """
    along = next((each for each in ids.dimensions if each.name == "x"), None)
    ops = list(launch.body.walk())
    if along is None or len(ops) > MOST_OPS or any(isinstance(op, Allocate | Push | Pop) for op in ops):
        return None
    indices = IndexReader.of_launch(launch, ids)
    bounds = [
        indices.domain_at(op.block).box.bounds(along)
        for op in ops
        if isinstance(op, Access) and not isinstance(op, Load)
    ]
    if not bounds:
        return None
    begin, last = min(low for low, _ in bounds) // width + 1, max(high for _, high in bounds)
    end = (last - width) // width
    if end - begin < FEWEST_STRIPS:
        return None
    copy, decided = _decide(function, ids, along, begin * width, end * width)
    if not decided:
        return None
    further, more = _decide(function, ids, along, begin * width, last // width * width)
    if more == decided:  # nothing there asks for neighbours at the end
        copy, end = further, last // width
    inside = _launch_in(copy)
    # What is read of the ops that are left is read anew: some have other operands now.
    reader = IndexReader.of_launch(inside, ids, _between(along, begin * width, end * width))
    ranges = LaunchRanges(dict(zip(inside.body.block.arguments, extents, strict=True)))
    whole, part = Range(0, along.size - 1, whole=True), Range(begin * width, end * width - 1, whole=True)
    for op in inside.body.walk():  # where the thread lies in its row, whatever conditions it has passed
        if _is_integer(op) and ranges.of(op) == whole and reader.index_of(op) == Index.of(along):
            ranges.assume(op, part)
    return Interior(copy, reader, ranges, begin, end)


def _launch_in(function: Function) -> Parallel:
    return next(op for op in function.body if isinstance(op, Parallel))


def _decide(function: Function, ids: ThreadIds, along: Dimension, low: int, high: int) -> tuple[Function, int]:
    """A copy for the threads at these places in the row, and how many ops are decided in it."""
    copy = function.clone()
    inside = _launch_in(copy)
    return copy, _decide_all(inside.body.block, IndexReader.of_launch(inside, ids, _between(along, low, high)))


def _is_integer(op: Op) -> bool:
    return len(op.results) == 1 and isinstance(op.type, TensorType) and op.dtype in INTEGER


def _between(along: Dimension, low: int, high: int) -> Predicate:
    place = Index.of(along)
    return Predicate.compare("GE", place, Index(low)) & Predicate.compare("LT", place, Index(high))


def _decide_all(block: Block, reader: IndexReader) -> int:
    """Replace what the reader knows at the points where it is computed; how many ops that are."""
    count = 0
    for op in tuple(block):
        if isinstance(op, If) and isinstance(op.condition, Constant):
            inner = (op.then if op.condition.number else op.otherwise).block
            count += 1 + _decide_all(inner, reader)
            take_branch(op, inner)
            continue
        decided = _decided(op, reader)
        if decided is not None:
            op.replace_all_uses_with(decided)
            count += 1
        count += sum(_decide_all(region.block, reader) for region in op.regions)
    return count


def _decided(op: Op, reader: IndexReader) -> Value | None:
    """What an op on integers gives at all points where it runs."""
    match op:
        case Compare() if op.operands[0].dtype in INTEGER:
            for truth in (True, False):
                if reader.always_is(op, truth, op.block):
                    return _constant(op, truth, "i1")
        case Select() if isinstance(op.operands[0], Constant):
            return op.operands[1 if op.operands[0].number else 2]
        case And() | Or() if op.dtype == "i1":
            for known, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                if isinstance(known, Constant):
                    return other if bool(known.number) == isinstance(op, And) else known
        case Minimum() | Maximum() if op.dtype in INTEGER:
            box = reader.domain_at(op.block).box
            low, high = (reader.index_of(op.lhs) - reader.index_of(op.rhs)).value_range(box)
            is_minimum = isinstance(op, Minimum)
            if high <= 0 or low >= 0:
                return op.lhs if (high <= 0) == is_minimum else op.rhs
        case Divide() | Remainder() if op.dtype in INTEGER and isinstance(op.rhs, Constant) and op.rhs.number > 0:
            divisor = int(op.rhs.number)
            low, high = reader.range_of(op.lhs)
            quotient = low // divisor
            if low >= 0 and quotient == high // divisor:
                if isinstance(op, Divide):
                    return _constant(op, quotient, op.dtype)
                return _less(op, op.lhs, quotient * divisor) if quotient else op.lhs
        case _:
            pass
    return None


def _constant(before: Op, number: int | bool, dtype: str) -> Value:
    assert before.block is not None
    with Builder(before.block, before=before):
        return Constant.of(number, dtype)


def _less(before: Op, value: Value, number: int) -> Value:
    assert before.block is not None
    with Builder(before.block, before=before):
        return Subtract(value, Constant.of(number, value.dtype))
