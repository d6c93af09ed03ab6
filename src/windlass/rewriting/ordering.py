"""The order of the ops in a block: each after all that it depends on."""

from __future__ import annotations

from windlass.facts.terms import op_of, sources
from windlass.ir import Block, Op, TypeFault


def sort_block(block: Block) -> None:
    """Move ops of the block behind what they depend on, the others staying in order.

    >>> from windlass.ir import Builder, tensor_type
    >>> from windlass.ops import Add, Negate, Return
    >>> block = Block([tensor_type((), "f32")])
    >>> with Builder(block):
    ...     first = Negate(block.arguments[0])
    ...     second = Add(first, first)
    ...     Return((second,))
    Return((Add(Negate(%arg0), Negate(%arg0)),))
    >>> with Builder(block, block.last):
    ...     late = Negate(block.arguments[0])
    >>> first.replace_all_uses_with(late)
    >>> sort_block(block)
    >>> [type(op).__name__ for op in block]
    ['Negate', 'Negate', 'Add', 'Return']
    """
    ops = list(block)
    inside = set(ops)
    edges = sum(1 + len(sources(op)) for op in ops)
    done: set[Op] = set()
    order: list[Op] = []
    for root in ops:
        stack = [root]
        while stack:
            op = stack[-1]
            if op in done:
                stack.pop()
                continue
            waiting = [
                owner
                for value in sources(op)
                if (owner := op_of(value)) is not None and owner in inside and owner not in done
            ]
            if waiting:
                if len(stack) > edges:
                    raise TypeFault(f"{type(op).__name__} depends on itself")
                stack += waiting
                continue
            done.add(op)
            order.append(op)
            stack.pop()
    block.first = block.last = None
    for op in order:
        block.append(op)
