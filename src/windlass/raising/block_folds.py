"""Folds over a block as one op: a running sum instead of a scan's steps, a reduction instead of a tree's.

What a kernel's threads fold together is found by running it for one block (see block_execution.py). Where a fold of a
known form (see fold_forms.py) is used for something else, the raiser puts a reduction or a running fold of the leaves
in its place: of the cells of shared memory as they were before the first step, or of what a value was in each thread.
The steps are raised as well, and fall away with all else that nothing uses.

Sums of floats are then made in an order of XLA's choice, as all sums over threads are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windlass import loops
from windlass.affine.dimensions import EVERYWHERE, Dimension
from windlass.affine.index import Index
from windlass.affine.predicate import TRUE
from windlass.ir import Argument, Function, Op, Terminator, Value
from windlass.loops.launch_specification import LaunchSpecification
from windlass.ops.combiners import FoldKind
from windlass.ops.conversion import BitcastConvert, byte_width
from windlass.ops.reduction import reduce_with
from windlass.raising import access, emission
from windlass.raising.block_execution import BlockExecution
from windlass.raising.block_values import GaveUp
from windlass.raising.collectives import gather_words
from windlass.raising.fold_forms import FoldForm, FoldLine, Scheme
from windlass.raising.fold_recipes import BlockFolds, FoldPart, Recipe, find_recipes, maker_of
from windlass.raising.items import Item, Pointer, from_lanes, is_integer
from windlass.raising.lanes import Lanes
from windlass.raising.obstacle import Obstacle
from windlass.raising.operands import index_of
from windlass.raising.reinterpretation import reinterpret
from windlass.raising.running_folds import Combine, Number, moved_on, running_fold

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def find_block_folds(kernel: Function, parallel: loops.Parallel, specification: LaunchSpecification) -> BlockFolds:
    """The folds over blocks of a kernel whose threads are those of `parallel`."""
    body = parallel.body.block
    if not any(isinstance(op, loops.Collective | loops.Barrier) for op in body.walk()):
        return BlockFolds()
    execution = BlockExecution(body, kernel.arguments, specification)
    try:
        for op in kernel.body:
            if op is parallel:
                break
            execution.run(op)
        execution.run_block(body)
    except GaveUp:
        # What was found until then holds all the same.
        pass
    found = BlockFolds()
    for recipe, user in find_recipes(execution):
        if isinstance(user, Terminator):
            found.definitions.setdefault(maker_of(recipe.value), []).append(recipe)
        else:
            found.uses.setdefault(user, []).append(recipe)
        for part in recipe.parts:
            if part.form is not None:
                op = part.moment or maker_of(part.source)
                places = found.openings if isinstance(part.source, Argument) else found.captures
                if part.source not in places.setdefault(op, []):
                    places[op].append(part.source)
    found.ops = frozenset([*found.uses, *found.definitions, *found.captures, *found.openings])
    return found


# -- while raising ----------------------------------------------------------------------------------------------------


def run_with_folds(state: RaisingState, op: Op) -> None:
    """Interpret an op at which something is to be done about folds."""
    folds = state.folds
    for value in folds.openings.get(op, ()):
        _remember_value(state, value)
    before: dict[Value, Item] = {}
    for recipe in folds.uses.get(op, ()):
        item = _make(state, recipe)
        if item is not None:
            before[recipe.value] = state.environment[recipe.value]
            state.environment[recipe.value] = item
    retried = {value: state.retried.pop(value) for value in before if value in state.retried}
    state.run_op(state, op)
    state.environment.update(before)
    state.retried.update(retried)
    for value in folds.captures.get(op, ()):
        if isinstance(state.environment.get(value), Pointer):
            _remember_memory(state, value, op)
        else:
            _remember_value(state, value)
    for recipe in folds.definitions.get(op, ()):
        item = _make(state, recipe)
        if item is not None:
            state.environment[recipe.value] = item
            state.retried.pop(recipe.value, None)


@dataclass(frozen=True, eq=False)
class _Words:
    """A flat tensor with `size` words for each segment; `start` is the address of each lane's segment."""

    value: Value
    start: Index
    size: int


def _remember_memory(state: RaisingState, allocation: Value, op: Op) -> None:
    pointer = state.environment[allocation]
    assert isinstance(pointer, Pointer) and pointer.memory is not None
    words = pointer.memory.state.words
    if words is not None:
        state.memo.moments[op, allocation] = (words, pointer.memory.segment, pointer.memory.size_bytes)


def _remember_value(state: RaisingState, value: Value) -> None:
    try:
        words = gather_words(state, state.lookup(value), value.dtype)
    except Obstacle:
        return
    threads = -(-math.prod(state.specification.block) // 32) * 32
    state.memo.moments[None, value] = _Words(words.value, words.start, threads)


def _words_of(state: RaisingState, part: FoldPart, dtype: str) -> _Words | None:
    found = state.memo.moments.get((part.moment, part.source))
    if found is None or isinstance(found, _Words):
        return found
    words, segment, size_bytes = found
    width = byte_width(dtype)
    return _Words(reinterpret(words, dtype), segment.floor_divide(width), size_bytes // width)


def _make(state: RaisingState, recipe: Recipe) -> Item | None:
    """The fold for the lanes of now; None where it can't be made."""
    kind = recipe.kind
    dtype = recipe.value.dtype
    total: Lanes | None = None
    try:
        for part in recipe.parts:
            if part.form is None:
                lanes = state.lanes(state.lookup(part.source), part.source.dtype)
            else:
                words = _words_of(state, part, dtype)
                if words is None:
                    return None
                lanes = _load(state, part.form, words, recipe)
            if lanes.dtype != dtype:
                lanes = Lanes(BitcastConvert(lanes.value, dtype), lanes.dims, lanes.lower)
            total = lanes if total is None else _combined(state, kind, total, lanes)
    except Obstacle:
        return None
    return None if total is None else from_lanes(total)


def _combined(state: RaisingState, kind: FoldKind, one: Lanes, other: Lanes) -> Lanes:
    box = state.box

    def combine(left: Value, right: Value) -> Value:
        if is_integer(kind.dtype) and left.dtype != kind.dtype:
            return BitcastConvert(combine(*(BitcastConvert(each, kind.dtype) for each in (left, right))), left.dtype)
        return kind.combine(left, right)

    return Lanes.elementwise(combine, state.covering(one), state.covering(other), box=box)


def _load(state: RaisingState, form: FoldForm, words: _Words, recipe: Recipe) -> Lanes:
    """What each lane has of the folds of a form."""
    key = ("folds", form.scheme, recipe.kind, recipe.is_seeded, id(words.value))
    results = state.memo.results
    if key not in results:
        results[key] = (words, _fold(form.scheme, words, recipe))
    folds = results[key][1]
    groups = words.value.shape[0] // words.size
    each = folds.shape[0] // groups
    box = state.box
    entry = state.thread_number - form.first_thread
    if recipe.counter is not None:
        entry = entry + index_of(state, recipe.counter).scale(math.prod(state.specification.block))
    entry = entry.floor_divide(form.step, box)
    index = words.start.floor_divide(words.size).scale(each) + _place(form.places, entry, state)
    return access.load(folds, index, box, state.domain.mask)


def _place(line: FoldLine, entry: Index, state: RaisingState) -> Index:
    """The number at a place of a line."""
    index = Index(line.start)
    weight = 1
    for number, (extent, stride) in reversed(list(enumerate(line.digits))):
        digit = entry.floor_divide(weight, state.box)
        if number:
            digit = digit.modulo(extent, state.box)
        index = index + digit.scale(stride)
        weight *= extent
    return index


def _fold(scheme: Scheme, words: _Words, recipe: Recipe) -> Value:
    """The folds of all segments, flat."""
    kind = recipe.kind
    leaves = _leaves(scheme, words)
    rows = leaves.shape[0] * scheme.leaves.count // scheme.length
    leaves = emission.reshape(leaves, (rows, scheme.length))
    own_dtype = leaves.dtype
    if own_dtype != kind.dtype:
        leaves = BitcastConvert(leaves, kind.dtype)
    folds = _folded(leaves, kind.combine, kind.identity(recipe.is_seeded), scheme)
    if own_dtype != kind.dtype:
        folds = BitcastConvert(folds, own_dtype)
    return emission.reshape(folds, (folds.tensor.size,))


def _leaves(scheme: Scheme, words: _Words) -> Value:
    """The leaves of each group of words, in order."""
    groups = words.value.shape[0] // words.size
    dimensions = [Dimension("group", groups, 0)]
    index = Index.of(dimensions[0]).scale(words.size) + scheme.leaves.start
    for extent, stride in scheme.leaves.digits:
        dimension = Dimension("leaf", extent, len(dimensions))
        dimensions.append(dimension)
        index = index + Index.of(dimension).scale(stride)
    lanes = access.load(words.value, index, EVERYWHERE, TRUE)
    return emission.reshape(lanes.expand(dimensions, EVERYWHERE), (groups, scheme.leaves.count))


def _folded(leaves: Value, combine: Combine, neutral: Number, scheme: Scheme) -> Value:
    """Each row's fold, or all folds of the beginnings of each row."""
    if scheme.is_total:
        total = reduce_with(combine, leaves, (1,), neutral)
        total = emission.reshape(total, (*total.shape, 1))
        return emission.pad_axis(total, 1, 1, 0, neutral) if scheme.is_exclusive else total
    if not scheme.is_exclusive:
        return running_fold(leaves, combine, neutral)
    if scheme.each == scheme.length:
        return running_fold(moved_on(leaves, neutral), combine, neutral)
    return emission.pad_axis(running_fold(leaves, combine, neutral), 1, 1, 0, neutral)
