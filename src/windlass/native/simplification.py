"""What the facts of a launch settle of threads' code before it is written for lanes.

    if (i < n) …              where n is as large as the launch: without a condition, and so without masks
    for (; i < n; i += 256)   where all threads go as many rounds: that number
    4 * zext(t - d)           behind `t >= d`: 4 * sext(t - d), which grows evenly from lane to lane

What is computed of lanes that have not passed a condition changes by that; nobody uses it.
"""

from __future__ import annotations

from windlass.affine.index import ZERO
from windlass.affine.predicate import Predicate
from windlass.facts.indices import IndexReader
from windlass.ir import Block, Builder, Op, Value
from windlass.loops import For, If
from windlass.ops.conversion import BitcastConvert, Convert, bit_width
from windlass.ops.creation import Constant


def simplify(block: Block, indices: IndexReader) -> None:
    """Change the ops of a block, and of those within it, where what is known settles them."""
    for op in list(block.walk()):
        if isinstance(op, Convert):
            _extend_by_sign(op, indices)
        elif isinstance(op, For) and not isinstance(op.trip_count, Constant):
            low, high = indices.range_of(op.trip_count, op.block)
            if low == high:
                _set_operand(op, op.trip_count, low, "i64")
        elif (
            isinstance(op, If)
            and not isinstance(op.condition, Constant)
            and indices.always_holds(op.condition, op.block)
        ):
            _set_operand(op, op.condition, True, "i1")


def _set_operand(op: Op, operand: Value, number: int, dtype: str) -> None:
    assert op.block is not None
    with Builder(op.block, before=op, source=op.source):
        op.replace_operand(operand, Constant.of(number, dtype))


def _extend_by_sign(op: Convert, indices: IndexReader) -> None:
    """Extend a number by its sign where conditions tell that it is not negative."""
    if not isinstance(op.operand, BitcastConvert):
        return
    number = op.operand.operand
    is_extension = op.operand.dtype == "u" + number.dtype and op.dtype.lstrip("u").startswith("i")
    if not is_extension or bit_width(op.dtype) <= bit_width(number.dtype):
        return
    domain = indices.domain_at(op.block)
    not_negative = Predicate.compare("GE", indices.index_of(number), ZERO)
    if domain.mask.is_true or not domain.mask.implies(not_negative, domain.box):
        return
    assert op.block is not None
    with Builder(op.block, before=op, source=op.source):
        extended = Convert(number, op.dtype)
    op.replace_all_uses_with(extended)
    op.erase()
