"""Zero extensions of numbers that are not negative where it counts, as sign extensions: those grow from lane to lane.

    if (t >= d) … part[t - d]       byte = 4 * zext(t - d)   =   4 * sext(t - d)

Of lanes that have not passed the condition nobody uses the number. Without wrapping around between them it is a line,
and what all lanes read there is a row.
"""

from __future__ import annotations

from windlass.affine.index import ZERO
from windlass.affine.predicate import Predicate
from windlass.facts.indices import IndexReader
from windlass.ir import Block, Builder
from windlass.ops.conversion import BitcastConvert, Convert, bit_width


def extend_by_sign(block: Block, indices: IndexReader) -> None:
    """Extend numbers by their sign where conditions tell that they are not negative."""
    for op in list(block.walk()):
        if not isinstance(op, Convert) or not isinstance(op.operand, BitcastConvert):
            continue
        number = op.operand.operand
        is_extension = op.operand.dtype == "u" + number.dtype and op.dtype.lstrip("u").startswith("i")
        if not is_extension or bit_width(op.dtype) <= bit_width(number.dtype):
            continue
        domain = indices.domain_at(op.block)
        not_negative = Predicate.compare("GE", indices.index_of(number), ZERO)
        if domain.mask.is_true or not domain.mask.implies(not_negative, domain.box):
            continue
        assert op.block is not None
        with Builder(op.block, before=op, source=op.source):
            extended = Convert(number, op.dtype)
        op.replace_all_uses_with(extended)
        op.erase()
