"""Indices and scatters in forms that XLA gets right (docs/reference/xla.md has the smallest program of each).

* Where an axis is longer than an index type counts, XLA computes the last start that fits in that type: updates are
  dropped, put elsewhere, or written outside the array. Narrow indices are widened here.
* Of a scatter into a scalar it makes a program that its own verifier refuses. It becomes one into an array of one
  element.
* A scatter of several results has all of them in one place where their inputs are one value. The others are made values
  of their own (see `settling`).
"""

from __future__ import annotations

from typing import Any

from windlass.ir import Builder, Module, Op, Value
from windlass.ir.values import tensor
from windlass.lowering.settling import Settling
from windlass.ops import (
    Constant,
    Convert,
    DynamicSlice,
    DynamicUpdateSlice,
    Gather,
    Reshape,
    Scatter,
    bit_width,
)

__all__ = ["tensor"]


def bring_indices_into_form(module: Module) -> None:
    """Change the module, in place, where XLA takes indices or scatters for others than they are."""
    settling = Settling(module)
    for function in list(module.functions.values()):
        for op in list(function.walk()):
            if isinstance(op, DynamicSlice | DynamicUpdateSlice | Gather | Scatter):
                _bring_into_form(op, settling)


def _bring_into_form(op: Op, settling: Settling) -> None:
    assert op.block is not None
    with Builder(op.block, before=op, source=op.source):
        operands = list(op.operands)
        for place in _places_of_indices(op):
            operands[place] = widened(operands[place])
        fields: dict[str, Any] = {}
        if isinstance(op, Scatter):
            count = len(op.inputs)
            for place in range(1, count):
                if operands[place] in operands[:place]:
                    operands[place] = settling.settle(operands[place])
            is_scalar = not op.inputs[0].tensor.rank
            if is_scalar:
                fields = _make_one_element(op, operands)
        if operands == list(op.operands):
            return
        if isinstance(op, Scatter):
            fields["update_computation"] = op.update_computation.clone({})
        changed = op.with_fields(tuple(operands), **fields)
        changed.extra = op.extra
        for old, new in zip(op.results, changed.results, strict=True):
            old.replace_all_uses_with(new if new.type is old.type else Reshape(new, old.shape))
    op.erase()


def _places_of_indices(op: Op) -> range:
    """Which of the operands are indices."""
    if isinstance(op, Scatter):
        return range(len(op.inputs), len(op.inputs) + 1)
    return range(2 if isinstance(op, DynamicUpdateSlice) else 1, len(op.operands))


def widened(index: Value) -> Value:
    """The index in a type that counts as far as any axis goes, where the active builder is.

    >>> widened(tensor("ui8", 3, 1)).dtype, widened(tensor("i64")).dtype
    ('i32', 'i64')
    """
    return Convert(index, "i32") if bit_width(index.dtype) < 32 else index


def _make_one_element(op: Scatter, operands: list[Value]) -> dict[str, Any]:
    """Change the operands of a scatter into a scalar to those of one into an array of one element, at index 0."""
    count = len(op.inputs)
    indices = op.scatter_indices
    at = op.index_vector_dim
    shape = indices.shape if at == indices.tensor.rank else (*indices.shape[:at], *indices.shape[at + 1 :])
    operands[:count] = [Reshape(each, (1,)) for each in operands[:count]]
    operands[count] = Constant.of(0, "i32", (*shape, 1))
    return {
        "inserted_window_dims": (0,),
        "scatter_dims_to_operand_dims": (0,),
        "index_vector_dim": len(shape),
    }
