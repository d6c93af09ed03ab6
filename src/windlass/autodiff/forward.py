"""Forward mode: what the results of ops change by, as their operands do."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence

from windlass.ir import Block, Builder, Function, Op, Type, Value
from windlass.ir.captures import captures
from windlass.ir.core import Terminator
from windlass.ir.types import TensorType
from windlass.ops import Add, BroadcastInDim, Constant, Multiply, Negate, Return
from windlass.ops.base import NoDerivative, TensorOp


def is_differentiable(type_: Type) -> bool:
    """Whether values of the type can change a little: floats and complex numbers.

    >>> from windlass.ir import tensor_type
    >>> is_differentiable(tensor_type((2,), "f32")), is_differentiable(tensor_type((2,), "i32"))
    (True, False)
    """
    return isinstance(type_, TensorType) and (type_.is_float or type_.is_complex)


def tangents_of(op: Op, given: Sequence[Value | None]) -> tuple[Value | None, ...]:
    """What the results of an op change by, as its operands change by what is given; None is zero.

    Raises NoDerivative.
    """
    if all(each is None for each in given) or not any(is_differentiable(result.type) for result in op.results):
        return (None,) * len(op.results)
    if not isinstance(op, TensorOp):
        raise NoDerivative(op)
    if has_partials(op):
        total: Value | None = None
        for position, tangent in enumerate(given):
            if tangent is not None:
                total = sum_of(total, scaled(spread(tangent, op.tensor), op.partial(position)))
        return (total,)
    if type(op).tangents is not TensorOp.tangents:
        found = op.tangents(tuple(given))
    elif is_linear_in(op, [tangent is not None for tangent in given]):
        found = _linear_tangents(op, given)
    else:
        raise NoDerivative(op)
    return tuple(
        each if is_differentiable(result.type) else None for result, each in zip(op.results, found, strict=True)
    )


def has_partials(op: TensorOp) -> bool:
    """Whether the op works on each element by itself, and says how the result changes with each operand."""
    return type(op).partial is not TensorOp.partial and type(op).tangents is TensorOp.tangents


def is_linear_in(op: TensorOp, chosen: Sequence[bool]) -> bool:
    """Whether the op is linear in each of the operands chosen."""
    linear = frozenset[int]().union(*op.linear_positions())
    return all(position in linear for position, is_chosen in enumerate(chosen) if is_chosen)


def _linear_tangents(op: TensorOp, given: Sequence[Value | None]) -> tuple[Value | None, ...]:
    """The op again, on the tangents of each set of operands that it is linear in."""
    totals: list[Value | None] = [None] * len(op.results)
    left = {position for position, tangent in enumerate(given) if tangent is not None}
    for positions in op.linear_positions():
        if left.isdisjoint(positions):
            continue
        left -= positions
        operands = [
            (given[position] or Constant.splat(0, operand.type)) if position in positions else operand
            for position, operand in enumerate(op.operands)
        ]
        regions = {name: getattr(op, name).clone({}) for name in op.region_names}
        results = op.with_fields(tuple(operands), **regions).results
        totals = [sum_of(total, result) for total, result in zip(totals, results, strict=True)]
    return tuple(totals)


def refuse_captures(op: Op, active: Container[Value]) -> None:
    """Raise NoDerivative where a region uses active values of enclosing blocks: they are no operands."""
    if not op.regions or not any(is_differentiable(result.type) for result in op.results):
        return
    if any(value in active for region in op.regions for value in captures(region)):
        raise NoDerivative(op)


def sum_of(left: Value | None, right: Value | None) -> Value | None:
    """left + right, of which None is zero."""
    if left is None or right is None:
        return left or right
    return Add(left, right)


def scaled(value: Value, factor: Value | float | None) -> Value | None:
    """The value times what `TensorOp.partial` gives."""
    match factor:
        case None:
            return None
        case Value():
            return Multiply(value, factor)
        case 1:
            return value
        case -1:
            return Negate(value)
        case _:
            return Multiply(value, Constant.splat(factor, value.type))


def spread(value: Value, type_: TensorType) -> Value:
    """The value at all places of a type, if it is a single number."""
    return value if value.tensor.rank == type_.rank else BroadcastInDim(value, type_.shape, ())


def tangent_function(function: Function, active: Collection[int]) -> Function:
    """What the results change by: a function of all arguments and of the tangents of the active ones.

    It gives one tangent for each result that is of floats or complex numbers, in their order. Raises NoDerivative.

    >>> from windlass.ir.values import tensor
    >>> block = Block([tensor("f32", 3).type, tensor("f32", 3).type])
    >>> with Builder(block):
    ...     _ = Return((Multiply(*block.arguments),))
    >>> tangent = tangent_function(Function("multiply", block), [0])
    >>> [argument.type for argument in tangent.arguments]
    [tensor<3xf32>, tensor<3xf32>, tensor<3xf32>]
    """
    arguments = function.arguments
    chosen = sorted(active)
    types = [argument.type for argument in arguments]
    block = Block([*types, *(types[index] for index in chosen)])
    mapping: dict[Value, Value] = dict(zip(arguments, block.arguments, strict=False))
    tangents: dict[Value, Value] = {
        arguments[index]: tangent for index, tangent in zip(chosen, block.arguments[len(types) :], strict=True)
    }
    with Builder(block):
        for op in function.body:
            if isinstance(op, Terminator):
                break
            refuse_captures(op, tangents)
            made = op.clone(mapping)
            found = tangents_of(made, [tangents.get(operand) for operand in op.operands])
            tangents.update((result, each) for result, each in zip(op.results, found, strict=True) if each is not None)
        returned = [value for value in function.body.terminator.operands if is_differentiable(value.type)]
        Return(tuple(tangents.get(value) or Constant.splat(0, value.type) for value in returned))
    return Function(f"{function.name}_tangent", block)
