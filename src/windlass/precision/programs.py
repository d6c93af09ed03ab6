"""Whole functions computed with limbs: wide floats are split where they enter, and joined where they leave."""

from __future__ import annotations

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.facts.cost import Device
from windlass.ir import Block, Builder, Function, Module, TensorType, Value
from windlass.lowering.settling import Settling
from windlass.ops import Return
from windlass.precision import forms
from windlass.precision.conversions import join_wide, split_wide
from windlass.precision.limbs import Limbs
from windlass.precision.spreading import Spreader, is_wide_anywhere
from windlass.precision.writing_out import Writing

assert forms.ARITHMETIC  # entered with the room


def spread_module(module: Module, limbs: Limbs, device: Device | None = None) -> None:
    """Every function of the module, in place, computed with limbs; what is public takes and gives wide floats still.

    Calls have been inlined. What the `device` is better at if it is written out is written out. Raises WindlassError:
    WL0962 at the line of an op that has no form, WL0963 where nothing is computed in floats that are wide.
    """
    if not any(is_wide_anywhere(function.body, limbs) for function in module.functions.values()):
        _refuse_narrow(module, limbs)
    settling = Settling(module) if device is not None and device.name == "cpu" else None
    for name, function in [*module.functions.items()]:
        module.functions[name] = spread_function(function, limbs, settling)


def spread_function(function: Function, limbs: Limbs, settling: Settling | None = None) -> Function:
    """The function computed with limbs, but for its arguments and results: those are split and joined.

    With `settling`, numbers that are read again are written out.

    Raises WindlassError (WL0962) at the line of an op that has no form.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Add
    >>> block = Block([tensor("f64", 3).type] * 2)
    >>> with Builder(block):
    ...     _ = Return((Add(*block.arguments),))
    >>> found = spread_function(Function("add", block), Limbs.parse("f32x2"))
    >>> sorted({op.dtype for op in found.body if isinstance(op, Add)})
    ['f32', 'f64']
    """
    body = Block([argument.type for argument in function.arguments], [each.name for each in function.arguments])
    with Builder(body) as builder:
        spreader = Spreader(limbs, builder, Writing(settling))
        for old, new in zip(function.arguments, body.arguments, strict=True):
            spreader.enter(old, split_wide(spreader.arithmetic, new) if spreader.is_wide(old) else new)
        spreader.run(function.body)
        joined: list[Value] = []
        for value in function.results:
            found = spreader.find(value)
            joined.append(join_wide(spreader.arithmetic, found, value.dtype) if isinstance(found, tuple) else found)
        Return(tuple(joined))
    spread = Function(function.name, body, function.visibility)
    spread.attributes = dict(function.attributes)
    spread.argument_attributes = [dict(each) for each in function.argument_attributes]
    spread.result_attributes = [dict(each) for each in function.result_attributes]
    spread.source = function.source
    return spread


def _refuse_narrow(module: Module, limbs: Limbs) -> None:
    """Raises WindlassError (WL0963) where there are floats, and none that is to be spread."""
    types = [value.type for op in module.main.body.walk() for value in (*op.operands, *op.results)]
    narrow = sorted({each.dtype for each in types if isinstance(each, TensorType) and each.is_float})
    if narrow:
        wide = {"f64": "float64", "f32": "float32"}[limbs.wide]
        raise WindlassError(
            Diagnostic(
                "WL0963",
                f"precision {str(limbs)!r} is for {limbs.wide}, and all is computed in {', '.join(narrow)}",
                help=f"pass arrays of {wide}: x.astype(numpy.{wide})",
            )
        )
