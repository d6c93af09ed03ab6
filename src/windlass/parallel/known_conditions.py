"""Comparisons, choices and bounds of integers whose outcome the loops around tell.

    for j in range(i): for k in range(j): a[k if k >= 0 else k + n]   =   … a[k]

What asks is gone afterwards: code for a CPU need not look, and its loops can be vectorized.
"""

from __future__ import annotations

from windlass.affine.predicate import Predicate
from windlass.facts.indices import IndexReader
from windlass.ir import Block, Builder, Op, Value
from windlass.ops.base import INTEGER
from windlass.ops.comparison import Compare
from windlass.ops.creation import Constant
from windlass.ops.elementwise import And, Or, Select
from windlass.ops.extremes import Maximum, Minimum
from windlass.parallel.dead_code import remove_unused


def fold_known_conditions(block: Block, reader: IndexReader) -> None:
    """Replace, in place, what is known of a block's conditions and choices, from the outside inwards.

    `reader` has read nothing of the block yet: it keeps what it has read.
    """
    _fold(block, reader)
    remove_unused(block)


def _fold(block: Block, reader: IndexReader) -> None:
    for op in list(block):
        found = _known(op, reader)
        if found is not None:
            op.replace_all_uses_with(found)
            continue
        for region in op.regions:
            _fold(region.block, reader)


def _known(op: Op, reader: IndexReader) -> Value | None:
    """What the op gives at all points at which it runs, if that is known: another value, or a number."""
    match op:
        case Compare() if op.lhs.dtype in INTEGER:
            return _outcome(op, reader)
        case Select() if isinstance(op.pred, Constant):
            return op.on_true if op.pred.number else op.on_false
        case Select() if op.on_true is op.on_false:
            return op.on_true
        case And() | Or() if op.dtype == "i1":
            for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                if isinstance(one, Constant):
                    return one if bool(one.number) == isinstance(op, Or) else other
        case Maximum() | Minimum() if op.dtype in INTEGER:
            for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                if _is_ordered(one, other, op, reader):
                    return one
        case _:
            pass
    return None


def _outcome(op: Compare, reader: IndexReader) -> Value | None:
    assert op.block is not None
    domain = reader.domain_at(op.block)
    condition = reader.condition_of(op)
    for outcome in (True, False):
        if domain.mask.implies(condition if outcome else ~condition, domain.box):
            with Builder(op.block, before=op):
                return Constant.of(outcome, "i1")
    return None


def _is_ordered(one: Value, other: Value, op: Maximum | Minimum, reader: IndexReader) -> bool:
    """Whether the one is known to be what the op gives of both."""
    domain = reader.domain_at(op.block)
    direction = "GE" if isinstance(op, Maximum) else "LE"
    wanted = Predicate.compare(direction, reader.index_of(one), reader.index_of(other))
    return domain.mask.implies(wanted, domain.box)


__all__ = ["fold_known_conditions"]
