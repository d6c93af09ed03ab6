"""Reverse mode: the cotangents of operands, from those of results."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from windlass.autodiff.forward import (
    NoDerivative,
    has_partials,
    is_differentiable,
    is_linear_in,
    refuse_captures,
    scaled,
    sum_of,
    tangents_of,
)
from windlass.ir import Argument, Block, Builder, Function, Op, Value
from windlass.ir.builder import current_builder
from windlass.ir.core import Terminator
from windlass.ops import BroadcastInDim, Constant, Return, Transpose, reduce_sum
from windlass.ops.base import TensorOp


def pull_back(ops: Sequence[Op], active: Collection[Value], seeds: Mapping[Value, Value]) -> dict[Value, Value]:
    """The cotangents of the active values, from those of what the ops compute of them; none where it is zero.

    Ops are placed where the active builder is. Raises NoDerivative.
    """
    reached = set(active)
    for op in ops:
        refuse_captures(op, reached)
        if any(operand in reached for operand in op.operands):
            reached.update(result for result in op.results if is_differentiable(result.type))
    cotangents = {value: seed for value, seed in seeds.items() if value in reached}
    for op in reversed(ops):
        own = [cotangents.pop(result, None) if result not in active else None for result in op.results]
        if all(each is None for each in own):
            continue
        wanted = [operand in reached for operand in op.operands]
        for operand, found in zip(op.operands, cotangents_of(op, own, wanted), strict=True):
            total = sum_of(cotangents.get(operand), found)
            if total is not None:
                cotangents[operand] = total
    return {value: cotangents[value] for value in active if value in cotangents}


def cotangents_of(op: Op, given: Sequence[Value | None], wanted: Sequence[bool]) -> list[Value | None]:
    """The cotangents of the operands that are wanted, from those of the results; None is zero.

    Raises NoDerivative.
    """
    if not isinstance(op, TensorOp):
        raise NoDerivative(op)
    found: list[Value | None] = [None] * len(op.operands)
    if has_partials(op):
        (cotangent,) = given
        assert cotangent is not None
        for position, operand in enumerate(op.operands):
            if wanted[position]:
                product = scaled(cotangent, op.partial(position))
                found[position] = None if product is None else gathered(product, operand)
        return found
    if not is_linear_in(op, wanted):
        return _transposed_tangents(op, given, wanted)
    full = tuple(
        Constant.splat(0, result.type) if each is None else each for each, result in zip(given, op.results, strict=True)
    )
    for position, is_wanted in enumerate(wanted):
        if is_wanted:
            pulled = _pullback_by_letters(op, full[0]) if op.follows_letters else op.pullback(full, position)
            found[position] = gathered(pulled, op.operands[position])
    return found


def _transposed_tangents(op: TensorOp, given: Sequence[Value | None], wanted: Sequence[bool]) -> list[Value | None]:
    """The transpose of the ops that give the tangents: they are linear in those of the operands."""
    tangents = [Argument(operand.type) if each else None for operand, each in zip(op.operands, wanted, strict=True)]
    with Builder(scratch := Block()):
        results = tangents_of(op, tangents)
    varying: set[Value] = {each for each in tangents if each is not None}
    linear: list[Op] = []
    builder = current_builder()
    for each in list(scratch):
        if any(operand in varying for operand in each.operands):
            varying.update(each.results)
            linear.append(each)
        else:
            scratch.unlink(each)
            if builder is not None:
                builder.place(each)
    seeds: dict[Value, Value] = {}
    for result, cotangent in zip(results, given, strict=True):
        total = None if result is None else sum_of(seeds.get(result), cotangent)
        if result is not None and total is not None:
            seeds[result] = total
    found = pull_back(linear, [each for each in tangents if each is not None], seeds)
    for each in reversed(linear):
        each.erase()
    return [None if each is None else found.get(each) for each in tangents]


def gathered(cotangent: Value, operand: Value) -> Value:
    """The cotangent of an operand that may be a single number for all places."""
    if operand.tensor.rank == cotangent.tensor.rank:
        return cotangent
    return reduce_sum(cotangent, tuple(range(cotangent.tensor.rank)))


def _pullback_by_letters(op: TensorOp, cotangent: Value) -> Value:
    """The transpose of an op of one operand that repeats, permutes and sums, by the letters of its axes."""
    axes = op.axes()
    assert axes is not None
    (own,), (result,) = axes.operands, axes.results
    kept = [letters for letters in result if letters in own and letters]
    value = reduce_sum(cotangent, tuple(axis for axis, letters in enumerate(result) if letters not in kept))
    places = tuple(own.index(letters) for letters in kept)
    shape = op.operands[0].shape
    if places == tuple(range(len(shape))):
        return value
    if sorted(places) == list(range(len(shape))):
        return Transpose(value, tuple(places.index(axis) for axis in range(len(shape))))
    return BroadcastInDim(value, shape, places)


def pullback_function(function: Function, active: Collection[int]) -> Function:
    """The cotangents of the active arguments: a function of all arguments and of the cotangents of the results.

    It takes one cotangent for each result that is of floats or complex numbers, in their order. Raises NoDerivative.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Multiply
    >>> block = Block([tensor("f32", 3).type, tensor("f32", 3).type])
    >>> with Builder(block):
    ...     _ = Return((Multiply(*block.arguments),))
    >>> pullback = pullback_function(Function("multiply", block), [0, 1])
    >>> [value.type for value in pullback.body.terminator.operands]
    [tensor<3xf32>, tensor<3xf32>]
    """
    arguments = function.arguments
    returned = function.body.terminator.operands
    types = [argument.type for argument in arguments]
    block = Block([*types, *(value.type for value in returned if is_differentiable(value.type))])
    mapping: dict[Value, Value] = dict(zip(arguments, block.arguments, strict=False))
    with Builder(block):
        ops = [op.clone(mapping) for op in function.body if not isinstance(op, Terminator)]
        seeds: dict[Value, Value] = {}
        given = iter(block.arguments[len(types) :])
        for value in returned:
            if is_differentiable(value.type):
                result = mapping.get(value, value)
                total = sum_of(seeds.get(result), next(given))
                assert total is not None
                seeds[result] = total
        chosen = [block.arguments[index] for index in sorted(active)]
        found = pull_back(ops, chosen, seeds)
        Return(tuple(found.get(each) or Constant.splat(0, each.type) for each in chosen))
    return Function(f"{function.name}_pullback", block)
