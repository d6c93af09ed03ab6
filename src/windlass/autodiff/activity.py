"""Which values change a little where others do."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from windlass.ir import Op, Region, Type, Value
from windlass.ir.captures import captures
from windlass.ir.core import Terminator
from windlass.ir.types import TensorType
from windlass.ops import BitcastConvert, Case, If, While
from windlass.ops.base import NoDerivative
from windlass.ops.combiners import combiners_of
from windlass.ops.reduction import Folding


def is_differentiable(type_: Type) -> bool:
    """Whether values of the type can change a little: floats and complex numbers.

    >>> from windlass.ir import tensor_type
    >>> is_differentiable(tensor_type((2,), "f32")), is_differentiable(tensor_type((2,), "i32"))
    (True, False)
    """
    return isinstance(type_, TensorType) and (type_.is_float or type_.is_complex)


def body_of(region: Region) -> list[Op]:
    """The ops of a region without what ends it."""
    return [op for op in region.block if not isinstance(op, Terminator)]


def inputs_of(op: Op) -> list[Value]:
    """The operands of an op, and what its regions take from outside."""
    return [*op.operands, *(value for region in op.regions for value in captures(region))]


def find_varying(ops: Iterable[Op], active: Collection[Value]) -> set[Value]:
    """The active values and all that change with them, within regions too.

    Raises NoDerivative where the bits of one are taken for an integer.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Add, Convert
    >>> x, y = tensor("f32"), tensor("f32")
    >>> one, other = Add(x, y), Convert(y, "i32")
    >>> find_varying([one, other], [y]) == {y, one}
    True
    """
    varying = set(active)
    for op in ops:
        match op:
            case While():
                _enter_loop(op, varying)
            case If() | Case():
                for region in op.regions:
                    varying |= find_varying(body_of(region), varying)
                    given = zip(op.results, region.block.terminator.operands, strict=True)
                    varying.update(result for result, value in given if value in varying)
            case BitcastConvert() if op.operand in varying and not is_differentiable(op.type):
                # What is computed with a float's bits has no derivative that anyone could find.
                if op.uses:
                    raise NoDerivative(op)
            case Folding() if folds_apart(op):
                given = zip(op.results, op.inputs, op.init_values, strict=True)
                varying.update(result for result, *values in given if any(value in varying for value in values))
            case _:
                if any(value in varying for value in inputs_of(op)):
                    varying.update(result for result in op.results if is_differentiable(result.type))
    return varying


def folds_apart(op: Folding) -> bool:
    """Whether each result depends on the input in its own place alone."""
    return all(combiner is not None for combiner in combiners_of(op.regions[0]))


def _enter_loop(op: While, varying: set[Value]) -> None:
    """What varies in any round varies in the rounds after it."""
    arguments, following = op.body.block.arguments, op.body.block.terminator.operands
    varying.update(argument for argument, operand in zip(arguments, op.operands, strict=True) if operand in varying)
    count = -1
    while count != len(varying):
        count = len(varying)
        varying |= find_varying(body_of(op.body), varying)
        varying.update(argument for argument, value in zip(arguments, following, strict=True) if value in varying)
    varying.update(result for result, argument in zip(op.results, arguments, strict=True) if argument in varying)
