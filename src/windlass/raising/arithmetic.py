"""Scalar ops on items: symbolic where that is exact, else the same op on tensors.

The ops of the loop level are the tensor vocabulary at rank 0, so an op is its own lowering: it is made anew with
tensors for operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from windlass.affine.index import Index
from windlass.affine.predicate import FALSE, TRUE, Predicate
from windlass.facts.integers import (
    compare_symbolically,
    exceeds_symbolic,
    is_bare,
    looks_unsigned,
    numeric_bounds,
    symbolic_result,
)
from windlass.ir import Block, Builder, Op, Value
from windlass.ir.types import NUMPY_DTYPES
from windlass.loops import Subscript
from windlass.ops.comparison import Compare
from windlass.ops.conversion import Convert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, And, Multiply, Not, Or, Select, Xor
from windlass.raising.conditions import merge_items
from windlass.raising.items import (
    UNDEFINED,
    Accumulation,
    AccumulationTest,
    Item,
    UndefinedItem,
    from_lanes,
    is_integer,
)
from windlass.raising.lanes import Lanes
from windlass.raising.reductions import combine
from windlass.raising.whole_floats import note_whole_float, whole_result

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def constant_item(array: Any, dtype: str) -> Item:
    """The item for a known number."""
    if dtype == "i1":
        return TRUE if bool(array) else FALSE
    if is_integer(dtype):
        return Index(int(array))
    return Lanes(Constant.of(np.asarray(array), dtype))


def known_number(item: Item, dtype: str) -> Any | None:
    """The number that an item is known to be, as a NumPy scalar."""
    match item:
        case Index():
            value = item.constant_value
            return None if value is None else NUMPY_DTYPES[dtype].type(value)
        case Predicate():
            return np.bool_(item.is_true) if item.is_true or item.is_false else None
        case Lanes():
            return item.value.array[()] if not item.dims and isinstance(item.value, Constant) else None
        case _:
            return None


def run_scalar_op(state: RaisingState, op: Op, items: list[Item]) -> Item:
    """What an op on scalars gives, for all lanes."""
    if isinstance(op, Select):
        condition, on_true, on_false = items
        if isinstance(condition, UndefinedItem):
            return on_true
        if isinstance(condition, Predicate):
            return merge_items(state, condition, on_true, on_false, op.dtype)
    if any(isinstance(item, Accumulation | AccumulationTest) for item in items):
        return combine(state, op, items)
    if any(isinstance(item, UndefinedItem) for item in items):
        return UNDEFINED
    dtypes = [operand.dtype for operand in op.operands]
    numbers = [known_number(item, dtype) for item, dtype in zip(items, dtypes, strict=True)]
    if all(number is not None for number in numbers):
        return constant_item(op.evaluate(*(np.asarray(number) for number in numbers)), op.dtype)
    whole = whole_result(state, op, items, numbers)
    if whole is not None:
        return whole
    predicates = [item for item in items if isinstance(item, Predicate)]
    if len(predicates) == len(items):
        combined = _combine_predicates(op, predicates)
        if combined is not None:
            return combined.simplify(state.box)
    indices = [item for item in items if isinstance(item, Index)]
    if len(indices) == len(items):
        if isinstance(op, Compare):
            bare = all(is_bare(index) for index in indices) and any(index.has_data for index in indices)
            if bare or any(exceeds_symbolic(index, state.box) for index in indices):
                return _on_lanes(state, op, items, dtypes)
            return compare_symbolically(op, _signed_operands(state, op), indices).simplify(state.box)
        if is_integer(op.dtype):
            symbolic = symbolic_result(op, indices, state.box)
            if symbolic is not None:
                return symbolic
            state.retried[op] = state.box
            return _on_lanes(state, op, items, dtypes, numeric_bounds(op, indices, state.box))
    if isinstance(op, Convert) and isinstance(items[0], Predicate) and is_integer(op.dtype):
        return _on_lanes(state, op, items, dtypes, (0, 1))
    result = _on_lanes(state, op, items, dtypes)
    note_whole_float(state, op, items, numbers, result)
    return result


def run_subscript(state: RaisingState, op: Subscript) -> Item:
    """The bytes up to an element: symbolic as one sum, or else op by op."""
    items = [state.lookup(index) for index in op.indices]
    indices = [item for item in items if isinstance(item, Index)]
    if len(indices) == len(items):
        symbolic = symbolic_result(op, indices, state.box)
        if symbolic is not None:
            return symbolic
        state.retried[op] = state.box
    with Builder(Block(), source=op.source) as steps:
        total = op.expand()
    for step in steps.block:
        operands = [state.lookup(operand) for operand in step.operands]
        is_number = isinstance(step, Constant)
        state.environment[step] = Index(int(step.number)) if is_number else run_scalar_op(state, step, operands)
    return state.environment[total]


def _signed_operands(state: RaisingState, op: Compare) -> tuple[Index, Index] | None:
    """The signed numbers behind the operands of an unsigned comparison, where it is known which they are."""
    found: list[Index] = []
    for operand in op.operands:
        if not isinstance(operand, Op):
            return None
        item = state.lookup(operand.operands[0] if looks_unsigned(operand) else operand)
        if not isinstance(item, Index) or not (looks_unsigned(operand) or isinstance(operand, Constant)):
            return None
        if not looks_unsigned(operand) and item.value_range()[1] >= 2 ** (8 * NUMPY_DTYPES[op.lhs.dtype].itemsize - 1):
            return None
        found.append(item)
    return found[0], found[1]


def _combine_predicates(op: Op, items: list[Predicate]) -> Predicate | None:
    match op, items:
        case ((And() | Multiply()), [a, b]):
            return a & b
        case ((Or() | Add()), [a, b]):
            return a | b
        case Xor(), [a, b]:
            return (a & ~b) | (~a & b)
        case Not(), [a]:
            return ~a
        case Compare(), [a, b]:
            match op.direction:
                case "EQ":
                    return (a & b) | (~a & ~b)
                case "NE":
                    return (a & ~b) | (~a & b)
                case _:
                    return None
        case _:
            return None


def _on_lanes(
    state: RaisingState, op: Op, items: list[Item], dtypes: list[str], bounds: tuple[int, int] | None = None
) -> Item:
    """The op on tensors."""
    lanes = [state.lanes(item, dtype) for item, dtype in zip(items, dtypes, strict=True)]
    attributes = op.attributes
    identities = tuple((id(each.value), each.dims, each.lower) for each in lanes)
    key = ("op", type(op), tuple(attributes.items()), identities, bounds)
    results = state.memo.results
    if key in results:
        return results[key][1]
    result = Lanes.elementwise(_maker(op), *lanes, box=state.box)
    if isinstance(op, Multiply):
        state.memo.factors[result.value] = (lanes[0], lanes[1])
    item = from_lanes(result, bounds)
    results[key] = (lanes, item)
    return item


def _maker(op: Op) -> Callable[..., Value]:
    """A function that makes the op anew from tensors."""
    names = [field.name for field in op.fields if field.kind == "operand"]
    attributes = op.attributes
    kind = type(op)

    def make(*values: Value) -> Value:
        return kind.from_fields({**dict(zip(names, values, strict=True)), **attributes})

    return make
