"""Starts of updates that may be any number are the number that another start is, so that there is one number less."""

from __future__ import annotations

from collections.abc import Iterator

from windlass.facts.cost import Device
from windlass.ir import Block, Builder, Op, Value
from windlass.ops import DynamicUpdateSlice
from windlass.rewriting.passes import Change, Pass
from windlass.rewriting.rule import catalogue


def share_starts(block: Block, device: Device) -> Iterator[Change]:
    """Along an axis that an update covers, begin where it begins along another: it is moved to 0 all the same.

    Only where all starts are constants: XLA looks for updates at a loop's counter and zeros.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Constant, Return
    >>> from windlass.facts.cost import CPU
    >>> body = Block([tensor("f32", 4, 9).type, tensor("f32", 4, 2).type])
    >>> with Builder(body):
    ...     starts = Constant.of(0, "i32"), Constant.of(5, "i32")
    ...     end = Return((DynamicUpdateSlice(*body.arguments, starts),))
    >>> changes = list(share_starts(body, CPU))
    >>> end.operands[0].start_indices
    (Constant(5), Constant(5))
    """
    for op in list(block):
        if not isinstance(op, DynamicUpdateSlice) or not all(_is_constant(start) for start in op.start_indices):
            continue
        whole = [extent == size for extent, size in zip(op.shape, op.update.shape, strict=True)]
        needed = [start for start, is_whole in zip(op.start_indices, whole, strict=True) if not is_whole]
        spare = [
            is_whole and start not in needed and list(start.uses) == [op]
            for start, is_whole in zip(op.start_indices, whole, strict=True)
        ]
        if not needed or not any(spare):
            continue
        placed: list[Op] = []
        builder = Builder(block, op, op.source)
        builder.placed, builder.made_by = placed, ("shared_starts",)
        starts = tuple(needed[0] if free else start for start, free in zip(op.start_indices, spare, strict=True))
        with builder:
            made = DynamicUpdateSlice(op.operand, op.update, starts)
        made.extra = op.extra
        op.replace_all_uses_with(made)
        old = set(op.start_indices) - set(starts)
        op.erase()
        for start in old:
            if isinstance(start, Op) and start.is_unused:
                start.erase()
        yield Change("DynamicUpdateSlice", made.source, placed, 0.0)


def _is_constant(start: Value) -> bool:
    """Whether the value is given by an op that takes nothing: a constant of any dialect."""
    return isinstance(start, Op) and not start.operands and not start.regions


catalogue.passes.append(
    Pass(
        "shared_starts",
        "dynamic_update_slice(x, u, 0, i) = dynamic_update_slice(x, u, i, i), where u covers the first axis of x",
        share_starts,
    )
)
