"""Reductions of numbers of several limbs, as trees: errors grow with the number of levels only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from windlass.ir import Block, Builder, Value, tensor_type
from windlass.ops import Constant, Reduce, Reshape, Return
from windlass.ops.base import BroadcastInDim
from windlass.ops.combiners import combiner_of, is_identity
from windlass.ops.movement import slice_along
from windlass.precision.limbs import Limbs
from windlass.precision.spreading import Spread, Spreader, no_form

LEVELS_IN_LOOP = 2
"""Levels of a tree that are computed in one loop: twice as many numbers come from each."""


def fold_by_halves(spreader: Spreader, op: Reduce) -> Sequence[Spread]:
    """The inputs folded along the dimensions, each axis by halves."""
    state = [spreader.find(value) for value in op.inputs]
    shape = list(op.inputs[0].shape)
    starts = [spreader.find(value) for value in op.init_values]
    if any(shape[axis] == 0 for axis in op.dimensions):
        return [_over(start, result.shape) for start, result in zip(starts, op.results, strict=True)]

    def combined(left: Sequence[Spread], right: Sequence[Spread]) -> list[Spread]:
        return spreader.along(_lifted(op, _shape_of(left[0]), spreader.limbs), [*left, *right])

    for axis in op.dimensions:
        rests: list[list[Spread]] = []
        levels = 0
        while shape[axis] > 1:
            half, is_odd = divmod(shape[axis], 2)
            if is_odd:
                rests.append([_part(each, axis, 2 * half, 1) for each in state])
            lower = [_part(each, axis, 0, half) for each in state]
            upper = [_part(each, axis, half, half) for each in state]
            state = combined(lower, upper)
            shape[axis] = half
            levels += 1
            if levels % LEVELS_IN_LOOP == 0:
                state = [spreader.writing.write(each) if isinstance(each, tuple) else each for each in state]
        for rest in rests:
            state = combined(state, rest)
    kept = tuple(size for axis, size in enumerate(shape) if axis not in op.dimensions)
    state = [_each(each, lambda value: Reshape(value, kept)) for each in state]
    combiner = combiner_of(op.body)
    if combiner is not None and is_identity(op.init_values[0], combiner):
        return state
    return combined([_over(start, kept) for start in starts], state)


def _shape_of(spread: Spread) -> tuple[int, ...]:
    return spread[0].shape if isinstance(spread, tuple) else spread.shape


def _each(spread: Spread, change: Callable[[Value], Value]) -> Spread:
    return tuple(change(limb) for limb in spread) if isinstance(spread, tuple) else change(spread)


def _part(spread: Spread, axis: int, start: int, size: int) -> Spread:
    return _each(spread, lambda value: slice_along(value, axis, start, start + size))


def _over(spread: Spread, shape: tuple[int, ...]) -> Spread:
    return _each(spread, lambda value: BroadcastInDim(value, shape, ()) if shape else value)


def _lifted(op: Reduce, shape: tuple[int, ...], limbs: Limbs) -> Block:
    """The body, of scalars, as a block of tensors of a shape. Raises WindlassError (WL0962)."""
    body = op.body.block
    block = Block([tensor_type(shape, argument.dtype) for argument in body.arguments])
    mapping: dict[Value, Value] = dict(zip(body.arguments, block.arguments, strict=True))
    with Builder(block):
        for each in body:
            if each is body.terminator:
                Return(tuple(mapping[value] for value in each.operands))
            elif isinstance(each, Constant) and each.is_splat:
                mapping[each] = Constant.of(each.number, each.dtype, shape)
            elif each.is_elementwise and all(operand in mapping for operand in each.operands):
                mapping[each] = each.with_operands(tuple(mapping[operand] for operand in each.operands))
            else:
                raise no_form(each, limbs)
    return block
