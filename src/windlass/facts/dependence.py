"""Which elements of a function's results may depend on which elements of its arguments.

The function is gone through once with index sets in the place of floats: for each element of a value the elements of
the arguments that it may depend on, as a sparse matrix. Integers that are known (constants, counters, and arguments
that the caller gives) are computed, so that slices, gathers, branches and loops are followed; what is not known counts
as anything. So what is missing in the result is proved: no value of the floats makes it appear.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from windlass.ir import Block, Builder, Function, Op, Region, TensorType, Value, tensor_type
from windlass.ir.captures import captures
from windlass.ops import (
    BroadcastInDim,
    Case,
    Concatenate,
    DynamicSlice,
    DynamicUpdateSlice,
    Gather,
    If,
    OptimizationBarrier,
    Pad,
    ReduceWindow,
    Reshape,
    Return,
    Reverse,
    Scatter,
    Select,
    Slice,
    Transpose,
    While,
)
from windlass.ops.axes import Axes
from windlass.ops.base import TensorOp
from windlass.ops.evaluation import evaluate_block, run_op
from windlass.ops.movement import pad_array

Array: TypeAlias = NDArray[Any]
Pattern: TypeAlias = Any
"""A `scipy.sparse.csr_array` of ones: a row for each element of a value, a column for each of the active arguments."""

MOST_STEPS = 10_000
"""Ops that are gone through, those of loops once for each round."""
MOST_WINDOW = 1024
"""Elements of a window that are followed one by one."""

_MOVING: dict[type[Op], tuple[int, ...] | None] = {
    BroadcastInDim: None,
    Concatenate: None,
    DynamicSlice: (0,),
    DynamicUpdateSlice: (0, 1),
    Gather: (0,),
    Pad: None,
    Reshape: None,
    Reverse: None,
    Select: (1, 2),
    Slice: None,
    Transpose: None,
}
"""Ops whose results are elements of some operands (all, for None), placed as the others say."""


class TooDense(Exception):
    """There is no small pattern: too much depends on too much, or it takes too long to find out."""


def find_dependence(
    function: Function, active: Collection[int], known: Mapping[int, Array], most_entries: int
) -> list[Pattern]:
    """For each result its pattern, by all elements of the active arguments, one after the other.

    `known` are arguments whose values are taken for given. Raises TooDense where a value depends on its arguments in
    more than `most_entries` places.

    >>> from windlass.ir.values import tensor
    >>> block = Block([tensor("f32", 3).type])
    >>> with Builder(block):
    ...     _ = Return((Slice(block.arguments[0], (1,), (3,), (1,)),))
    >>> (pattern,) = find_dependence(Function("tail", block), [0], {}, 100)
    >>> pattern.toarray().tolist()
    [[0, 1, 0], [0, 0, 1]]
    """
    chosen = sorted(active)
    sizes = [function.arguments[index].tensor.size for index in chosen]
    walk = _Walk(sum(sizes), most_entries)
    for index, array in known.items():
        walk.known[function.arguments[index]] = np.asarray(array)
    place = 0
    for index, size in zip(chosen, sizes, strict=True):
        own = np.arange(size)
        ones = (np.ones(size, np.int32), (own, own + place))
        walk.patterns[function.arguments[index]] = scipy.sparse.csr_array(ones, (size, walk.columns))
        place += size
    walk.block(function.body)
    return [walk.pattern(value) for value in function.results]


class _Walk:
    def __init__(self, columns: int, most_entries: int) -> None:
        self.columns = columns
        self.most_entries = most_entries
        self.known: dict[Value, Array] = {}
        self.patterns: dict[Value, Pattern] = {}
        self.steps = 0

    def pattern(self, value: Value) -> Pattern:
        """The pattern of a value; empty for what does not depend on anything."""
        found = self.patterns.get(value)
        return scipy.sparse.csr_array((value.tensor.size, self.columns), dtype=np.int32) if found is None else found

    def block(self, block: Block) -> None:
        terminator = block.terminator
        for op in block:
            if op is not terminator:
                self._op(op)

    def _op(self, op: Op) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooDense
        for result in op.results:
            self.known.pop(result, None)
            self.patterns.pop(result, None)
        inputs = [*op.operands, *(value for region in op.regions for value in captures(region))]
        if all(value in self.known for value in inputs) and not any(value in self.patterns for value in inputs):
            try:
                run_op(op, self.known, None)
            except NotImplementedError:
                pass
            else:
                return
        match op:
            case While():
                self._loop(op)
            case If() | Case():
                self._choice(op)
            case _ if any(value in self.patterns for value in inputs):
                for result, pattern in zip(op.results, self._of_results(op, inputs), strict=True):
                    self._enter(result, pattern)
            case _:
                pass

    def _enter(self, value: Value, pattern: Pattern | None) -> None:
        if pattern is None or not pattern.nnz or not isinstance(value.type, TensorType):
            self.patterns.pop(value, None)
            return
        if pattern.nnz > self.most_entries:
            raise TooDense
        pattern.data[:] = 1
        self.patterns[value] = pattern

    # -- control flow -------------------------------------------------------------------------------------------------

    def _give(self, targets: Sequence[Value], sources: Sequence[Value]) -> None:
        given = [(self.known.get(source), self.patterns.get(source)) for source in sources]
        for target, (known, pattern) in zip(targets, given, strict=True):
            self.known.pop(target, None)
            if known is not None:
                self.known[target] = known
            self._enter(target, pattern)

    def _loop(self, op: While) -> None:
        condition, body = op.cond.block, op.body.block
        self._give(body.arguments, op.operands)
        while True:
            self._give(condition.arguments, body.arguments)
            self.block(condition)
            goes_on = self.known.get(condition.terminator.operands[0])
            if goes_on is None:
                self._loop_of_unknown_length(op)
                break
            if not goes_on:
                break
            self.block(body)
            self._give(body.arguments, body.terminator.operands)
        self._give(op.results, body.arguments)

    def _loop_of_unknown_length(self, op: While) -> None:
        """Let what is carried depend on all that it may after any number of rounds: the argument's patterns grow."""
        arguments, following = op.body.block.arguments, op.body.block.terminator.operands
        for argument, value in zip(arguments, following, strict=True):
            if value is not argument:
                self.known.pop(argument, None)
        while True:
            before = [self.pattern(argument) for argument in arguments]
            self.block(op.body.block)
            grown = [each + self.pattern(value) for each, value in zip(before, following, strict=True)]
            for argument, pattern in zip(arguments, grown, strict=True):
                self._enter(argument, pattern)
            if all(self.pattern(each).nnz == old.nnz for each, old in zip(arguments, before, strict=True)):
                return

    def _choice(self, op: If | Case) -> None:
        chosen = self.known.get(op.operands[0])
        regions: Sequence[Region] = op.regions
        if chosen is not None:
            number = (0 if chosen else 1) if isinstance(op, If) else int(chosen)
            regions = [op.regions[number if 0 <= number < len(op.regions) else -1]]
        for region in regions:
            self.block(region.block)
        given = [region.block.terminator.operands for region in regions]
        if len(given) == 1:
            self._give(op.results, given[0])
            return
        for result, *values in zip(op.results, *given, strict=True):
            self._enter(result, sum((self.pattern(value) for value in values[1:]), self.pattern(values[0])))

    # -- ops ----------------------------------------------------------------------------------------------------------

    def _of_results(self, op: Op, inputs: Sequence[Value]) -> Sequence[Pattern]:
        if isinstance(op, OptimizationBarrier):
            return [self.pattern(operand) for operand in op.operands]
        if isinstance(op, TensorOp) and not any(captures(region) for region in op.regions):
            if type(op) in _MOVING and (found := self._moved(op, _MOVING[type(op)])) is not None:
                return [found]
            if op.is_elementwise:
                return [self._spread_sum(op.operands, result) for result in op.results]
            if isinstance(op, Scatter) and op.scatter_indices in self.known:
                return self._scattered(op)
            if isinstance(op, ReduceWindow) and np.prod(op.window_dimensions) <= MOST_WINDOW:
                return self._windows(op)
            if (axes := op.axes()) is not None:
                matrices = [_by_letters(op, place, axes, self.most_entries) for place in range(len(op.operands))]
                return [self._products(op, [each[number] for each in matrices]) for number in range(len(op.results))]
        return [self._of_all(inputs, result) for result in op.results]

    def _moved(self, op: TensorOp, moved: tuple[int, ...] | None) -> Pattern | None:
        """The pattern of an op that only moves elements: it is done to their numbers."""
        places = range(len(op.operands)) if moved is None else moved
        others = [operand for place, operand in enumerate(op.operands) if place not in places]
        if any(other not in self.known for other in others):
            return None
        given: list[Array] = []
        rows: list[Pattern] = []
        count = 0
        for place, operand in enumerate(op.operands):
            if place not in places:
                given.append(self.known[operand])
                continue
            size = operand.tensor.size
            given.append(np.arange(count, count + size).reshape(operand.shape))
            rows.append(self.pattern(operand))
            count += size
        return scipy.sparse.csr_array(scipy.sparse.vstack(rows))[np.asarray(op.evaluate(*given)).reshape(-1)]

    def _spread_sum(self, operands: Sequence[Value], result: Value) -> Pattern:
        """Each element depends on those of the operands at its place; single numbers are at all places."""
        total = self.pattern(result)
        for operand in operands:
            if operand in self.patterns:
                rows = self.patterns[operand]
                total = total + (rows if rows.shape[0] == total.shape[0] else rows[np.zeros(total.shape[0], int)])
        return total

    def _scattered(self, op: Scatter) -> list[Pattern]:
        count = len(op.inputs)
        found: list[Pattern] = []
        for place in range(count):
            total = self.pattern(op.inputs[place])
            for other in range(count):
                update = op.updates[other]
                if update in self.patterns:
                    targets = self._targets(op, count + 1 + other)
                    reached = np.flatnonzero(targets)
                    total = total + _matrix(targets[reached] - 1, reached, op, place, update) @ self.patterns[update]
            found.append(total)
        return found

    def _targets(self, op: Scatter, position: int) -> Array:
        """For each element of an update one more than the number of that which it goes to; 0 for none."""
        type_ = op.inputs[0].tensor
        with Builder(block := Block([tensor_type(type_.shape, "i64")])):
            Return((op.pullback((block.arguments[0],) * len(op.inputs), position),))
        numbers = np.arange(1, type_.size + 1).reshape(type_.shape)
        known = {op.scatter_indices: self.known[op.scatter_indices]}
        return np.asarray(evaluate_block(block, [numbers], known)[0]).reshape(-1)

    def _windows(self, op: ReduceWindow) -> list[Pattern]:
        """The elements that stand in each window, counted one place of the windows after the other."""
        lows, highs = zip(*op.padding, strict=True) if op.padding else ((), ())
        interiors = tuple(base - 1 for base in op.base_dilations)
        operand, shape = op.inputs[0], op.results[0].shape
        numbers = np.arange(1, operand.tensor.size + 1).reshape(operand.shape)
        padded = pad_array(numbers, np.array(0), lows, highs, interiors)
        rows, columns = [np.zeros(0, int)], [np.zeros(0, int)]
        for offset in np.ndindex(*op.window_dimensions):
            windows = zip(offset, op.window_dilations, shape, op.window_strides, strict=True)
            places = tuple(
                slice(at * dilation, at * dilation + (size - 1) * stride + 1, stride)
                for at, dilation, size, stride in windows
            )
            found = padded[places].reshape(-1)
            rows.append(np.flatnonzero(found))
            columns.append(found[rows[-1]] - 1)
        matrix = _matrix(np.concatenate(rows), np.concatenate(columns), op, 0, operand)
        first = [self._of_all([value], op.results[0]) for value in op.init_values if value in self.patterns]
        parts = [matrix @ self.patterns[value] for value in op.inputs if value in self.patterns]
        return [functools.reduce(operator.add, [*first, *parts])] * len(op.results)

    def _products(self, op: Op, matrices: Sequence[Any]) -> Pattern:
        parts = [
            matrix @ self.patterns[operand]
            for matrix, operand in zip(matrices, op.operands, strict=True)
            if operand in self.patterns
        ]
        return functools.reduce(operator.add, parts)

    def _of_all(self, inputs: Sequence[Value], result: Value) -> Pattern:
        """Each element of the result depends on all that any input depends on."""
        columns: set[int] = set()
        for value in inputs:
            if value in self.patterns:
                columns.update(np.unique(self.patterns[value].indices).tolist())
        size = result.tensor.size if isinstance(result.type, TensorType) else 0
        if size * len(columns) > self.most_entries:
            raise TooDense
        row = scipy.sparse.csr_array(
            (np.ones(len(columns), np.int32), (np.zeros(len(columns), int), sorted(columns))), (1, self.columns)
        )
        return row[np.zeros(size, int)]


def _matrix(rows: Array, columns: Array, op: Op, place: int, operand: Value) -> Any:
    """The sparse matrix of ones from an operand to a result of the op."""
    shape = (op.results[place].tensor.size, operand.tensor.size)
    return scipy.sparse.csr_array((np.ones(len(rows), np.int32), (rows, columns)), shape)


def _by_letters(op: TensorOp, place: int, axes: Axes, most_entries: int) -> list[Any]:
    """For each result the matrix from the operand at a place to it, as the letters of the axes say.

    Along axes that are changed everything depends on everything.
    """
    operand = op.operands[place]
    found: list[Any] = []
    for number, result in enumerate(op.results):
        sizes: dict[Any, int] = dict(axes.sizes)
        sides = [
            [[("changed", which, axis)] if letters is None else list(letters) for axis, letters in enumerate(side)]
            for which, side in enumerate((axes.results[number], axes.operands[place]))
        ]
        for which, value in enumerate((result, operand)):
            sizes.update({("changed", which, axis): size for axis, size in enumerate(value.shape)})
        letters = list(dict.fromkeys(letter for side in sides for axis in side for letter in axis))
        if math.prod(sizes[letter] for letter in letters) > most_entries:
            raise TooDense
        count = math.prod(sizes[letter] for letter in letters)
        indices = np.indices([sizes[letter] for letter in letters]).reshape(len(letters), count)
        grid = dict(zip(letters, indices, strict=True))
        rows, columns = (
            functools.reduce(
                lambda index, letter: index * sizes[letter] + grid[letter],
                [letter for axis in side for letter in axis],
                np.zeros(count, int),
            )
            for side in sides
        )
        found.append(_matrix(rows, columns, op, number, operand))
    return found
