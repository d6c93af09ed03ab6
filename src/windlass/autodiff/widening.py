"""A program's twin in double precision: what differences are taken of.

Differences of single precision show three digits at best. The twin computes the same with wide floats: each op is made
anew on wide operands, and constants keep the values that they have. What can't be wide (the bits of a float, calls of
libraries) stays as it is, between conversions. Rounding on purpose is left out: its derivative is that of what it
rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windlass.facts.terms import sources
from windlass.ir import Block, Builder, Function, Op, Region, TensorType, Type, Value, tensor_type
from windlass.ir.values import TypeFault
from windlass.ops import Convert, ReducePrecision
from windlass.ops.creation import ConstantValue

_WIDE_PARTS = ("f64", "complex<f64>")


def widened_type(type_: Type) -> Type:
    """The type with elements of double precision, if it is of floats or complex numbers.

    >>> widened_type(tensor_type((2,), "bf16")), widened_type(tensor_type((), "i32"))
    (tensor<2xf64>, tensor<i32>)
    """
    if not isinstance(type_, TensorType) or not (type_.is_float or type_.is_complex):
        return type_
    return tensor_type(type_.shape, _WIDE_PARTS[type_.is_complex])


def widened_function(function: Function) -> Function:
    """The function on wide floats: arguments and results too.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Constant, Multiply, Return
    >>> block = Block([tensor("f32", 3).type])
    >>> with Builder(block):
    ...     _ = Return((Multiply(block.arguments[0], Constant.of(0.5, "f32", (3,))),))
    >>> widened_function(Function("half", block)).results
    (Multiply(%arg0, Constant(0.5)),)
    """
    return Function(f"{function.name}_widened", _widened_block(function.body, {}))


def _widened_block(block: Block, mapping: dict[Value, Value]) -> Block:
    made = Block([widened_type(argument.type) for argument in block.arguments])
    mapping.update(zip(block.arguments, made.arguments, strict=True))
    with Builder(made):
        for op in block:
            _widen(op, mapping)
    return made


def _widen(op: Op, mapping: dict[Value, Value]) -> None:
    """Place the op on wide operands where the active builder is, and enter its results."""
    if isinstance(op, ReducePrecision):
        mapping[op] = mapping[op.operand]
        return
    made = _made_wide(op, mapping)
    if made is None:
        _keep_narrow(op, mapping)
        return
    made.source = op.source
    mapping.update(zip(op.results, made.results, strict=True))


def _made_wide(op: Op, mapping: Mapping[Value, Value]) -> Op | None:
    """The op on wide operands; None where it has no such form."""
    fields = {name: _widened_field(name, value, mapping) for name, value in op.field_values().items()}
    try:
        made = type(op)(**fields)
    except TypeFault:
        return None
    if any(new.type is not widened_type(old.type) for old, new in zip(op.results, made.results, strict=True)):
        made.erase()
        return None
    return made


def _widened_field(name: str, value: Any, mapping: Mapping[Value, Value]) -> Any:
    match value:
        case Value():
            return mapping.get(value, value)
        case Region():
            return Region(*(_widened_block(block, dict(mapping)) for block in value.blocks))
        case tuple():
            return tuple(_widened_field(name, each, mapping) for each in value)
        case ConstantValue():
            type_ = widened_type(value.type)
            assert isinstance(type_, TensorType)
            return ConstantValue(value.data.astype(type_.numpy_dtype), type_)
        case str() if name == "dtype":
            type_ = widened_type(tensor_type((), value))
            assert isinstance(type_, TensorType)
            return type_.dtype
        case Type():
            return widened_type(value)
        case _:
            return value


def _keep_narrow(op: Op, mapping: dict[Value, Value]) -> None:
    """Place the op as it is, on operands that are converted to the types that it takes, and its results from them."""
    inner = dict(mapping)
    for value in sources(op):
        inner[value] = _converted(mapping.get(value, value), value.type)
    made = op.clone(inner)
    for old, new in zip(op.results, made.results, strict=True):
        mapping[old] = _converted(new, widened_type(old.type))


def _converted(value: Value, type_: Type) -> Value:
    if value.type is type_ or not isinstance(type_, TensorType):
        return value
    return Convert(value, type_.dtype)
