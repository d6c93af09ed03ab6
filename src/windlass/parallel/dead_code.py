"""Ops without effect whose results nothing uses."""

from __future__ import annotations

from windlass.ir import Block, Op
from windlass.loops import Allocate, Load


def remove_unused(block: Block) -> None:
    """Erase pure ops, loads and allocations whose results nothing uses, inner blocks first.

    >>> from windlass.ir import Builder
    >>> from windlass.loops import Store
    >>> from windlass.ops.creation import Constant
    >>> body = Block()
    >>> with Builder(body):
    ...     start, one = Constant.of(0, "i64"), Constant.of(1, "i32")
    ...     kept, unused = Allocate("local", 4), Allocate("local", 4)
    ...     _ = Load(unused, start, "i32")
    ...     _ = Store(one, kept, start)
    >>> remove_unused(body)
    >>> [type(op).__name__ for op in body]
    ['Constant', 'Constant', 'Allocate', 'Store']
    """
    op = block.last
    while op is not None:
        previous = op.previous
        for region in op.regions:
            remove_unused(region.block)
        if op.is_unused and op.results and is_removable(op):
            op.erase()
        op = previous


def is_removable(op: Op) -> bool:
    """Whether the op has no effect but its results."""
    if isinstance(op, Load):
        return not op.is_volatile
    return op.is_pure or isinstance(op, Allocate)
