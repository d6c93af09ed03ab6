"""A law for all rules of movement at once: of two movements they leave no more than is needed.

A movement is a view: a line of its operand for each axis of the result. Two views compose to one, which a slice, a
reverse, and a transpose or a broadcast write. What the catalogue makes of two movements may not be worse.
"""

from __future__ import annotations

import random
from typing import NamedTuple, TypeAlias

import numpy as np
import pytest

from windlass.catalogue import catalogue
from windlass.ir import Block, Builder, Function, Value, tensor_type
from windlass.ops import BroadcastInDim, Return, Reverse, Slice, Transpose
from windlass.ops.evaluation import evaluate_block
from windlass.ops.sampling import Draw, Unsuitable
from windlass.rewriting.driver import rewrite_function
from windlass.rewriting.measure import measure_term

Movement: TypeAlias = "Transpose | Reverse | Slice | BroadcastInDim"
MOVEMENTS: tuple[type[Movement], ...] = (Transpose, Reverse, Slice, BroadcastInDim)
PAIRS = 60


class Line(NamedTuple):
    """How an axis of the result is read: `size` elements of the operand's axis, by steps that are negative backwards.

    Of no axis where it is repeated.
    """

    axis: int | None
    start: int
    step: int
    size: int


View: TypeAlias = list[Line]


def view_of(op: Movement) -> View:
    operand = op.operand
    whole = [Line(axis, 0, 1, size) for axis, size in enumerate(operand.shape)]
    match op:
        case Transpose():
            return [whole[axis] for axis in op.permutation]
        case Reverse():
            return [Line(a, n - 1, -1, n) if a in op.dimensions else whole[a] for a, n in enumerate(operand.shape)]
        case Slice():
            return [Line(a, *line) for a, line in enumerate(zip(op.start_indices, op.strides, op.shape, strict=True))]
        case BroadcastInDim():
            found = [Line(None, 0, 0, size) for size in op.shape]
            for axis, place in enumerate(op.broadcast_dimensions):
                found[place] = Line(axis, 0, int(operand.shape[axis] == op.shape[place]), op.shape[place])
            return found


def compose(outer: View, inner: View) -> View:
    """The view of what the inner one shows."""
    return [
        Line(inner[a].axis, inner[a].start + inner[a].step * start, inner[a].step * step, count)
        if a is not None
        else Line(None, 0, 0, count)
        for a, start, step, count in outer
    ]


def written(view: View, x: Value) -> Value:
    """The view by a slice, a reverse, and a transpose or broadcast, as far as they do something."""
    place = {line.axis: number for number, line in enumerate(view)}
    lines = [view[place[axis]] for axis in range(len(x.shape))]
    counts = [line.size if line.step else 1 for line in lines]
    ends = [line.start + line.step * (count - 1) for line, count in zip(lines, counts, strict=True)]
    first = tuple(min(line.start, end) for line, end in zip(lines, ends, strict=True))
    last = tuple(max(line.start, end) + 1 for line, end in zip(lines, ends, strict=True))
    steps = tuple(abs(line.step) if count > 1 else 1 for line, count in zip(lines, counts, strict=True))
    if any(first) or last != x.shape or any(step != 1 for step in steps):
        x = Slice(x, first, last, steps)
    back = tuple(axis for axis, line in enumerate(lines) if line.step < 0 and counts[axis] > 1)
    if back:
        x = Reverse(x, back)
    places = tuple(place[axis] for axis in range(len(lines)))
    shape = tuple(line.size for line in view)
    if shape == x.shape and places == tuple(range(len(places))):
        return x
    if len(view) == len(lines) and all(line.step or line.size == 1 for line in lines):
        return Transpose(x, tuple(line.axis or 0 for line in view))
    return BroadcastInDim(x, shape, places)


def draw_pair(draw: Draw, outer: type[Movement], inner: type[Movement]) -> Function:
    function = Function("pair", Block([tensor_type(draw.shape(), "f32")]))
    with Builder(function.body):
        value: Value = function.arguments[0]
        for each in (inner, outer):
            value = each(value, **each.sample(draw, value.tensor))
        Return((value,))
    return function


@pytest.mark.parametrize("outer", MOVEMENTS)
@pytest.mark.parametrize("inner", MOVEMENTS)
def test_of_two_movements_no_more_is_left_than_their_composition(outer: type[Movement], inner: type[Movement]) -> None:
    draw = Draw(random.Random(f"{outer.__name__} of {inner.__name__}").randint)
    for _ in range(PAIRS):
        try:
            function = draw_pair(draw, outer, inner)
        except Unsuitable:
            continue
        (x,), (last,) = function.arguments, function.body.terminator.operands
        assert isinstance(last, MOVEMENTS)
        if not last.tensor.size:
            continue
        assert isinstance(last.operand, MOVEMENTS)
        with Builder(needed := Block([x.type])):
            needed_value = written(compose(view_of(last), view_of(last.operand)), needed.arguments[0])
            Return((needed_value,))
        numbers = np.arange(x.tensor.size, dtype=np.float32).reshape(x.shape)
        (wanted,), (found,) = (evaluate_block(block, [numbers]) for block in (function.body, needed))
        assert np.array_equal(wanted, found)
        text = str(function)
        rewrite_function(function, catalogue)
        (left,) = function.body.terminator.operands
        assert measure_term(left, [x]) <= measure_term(needed_value, needed.arguments), text
