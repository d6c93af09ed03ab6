"""Ops that compute the same thing are made one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windlass.ir import Block, Op, Region, Value

LARGEST_REGION = 64
"""Ops: those that hold more than this in their regions are not compared."""


def share_common_subexpressions(block: Block, on_shared: Callable[[Op], None] | None = None) -> int:
    """Replace each pure op by an equal one before it; gives the number of ops removed.

    Ops that hold regions are equal if these hold equal ops in the same order. Inner blocks see what the blocks around
    them compute. `on_shared` is told of each op that gained uses.

    >>> from windlass.ops import Add
    >>> from windlass.ir import Builder, tensor_type
    >>> block = Block([tensor_type((2,), "f32")])
    >>> with Builder(block):
    ...     first = Add(block.arguments[0], block.arguments[0])
    ...     second = Add(block.arguments[0], block.arguments[0])
    ...     both = Add(first, second)
    >>> share_common_subexpressions(block)
    1
    """
    return _share(block, [{}], on_shared)


def _share(block: Block, scopes: list[dict[Any, Op]], on_shared: Callable[[Op], None] | None) -> int:
    removed = 0
    own: dict[Any, Op] = {}
    scopes = [*scopes, own]
    for op in block:
        regions = op.regions
        for region in regions:
            for inner in region.blocks:
                removed += _share(inner, scopes, on_shared)
        if not op.is_pure or not op.results:
            continue
        held = key_of_regions(op) if regions else ()
        if held is None:
            continue
        key = op.structural_key(), held
        known = next((scope[key] for scope in scopes if key in scope), None)
        if known is None:
            own[key] = op
            continue
        for old, new in zip(op.results, known.results, strict=True):
            old.replace_all_uses_with(new)
        if known.extra != op.extra:
            # What a tool has noted at one of them only need not hold of both.
            notes = op.extra or {}
            known.extra = {name: text for name, text in (known.extra or {}).items() if notes.get(name) == text} or None
        op.erase()
        removed += 1
        if on_shared is not None:
            on_shared(known)
    return removed


def key_of_regions(op: Op) -> tuple[Any, ...] | None:
    """Equal for ops whose regions compute the same; None if these hold too much to be compared."""
    if sum(region.remember(_count_ops) for region in op.regions) > LARGEST_REGION:
        return None

    def list_ops(region: Region, numbers: dict[Value, int]) -> Any:
        listed: list[Any] = []
        for block in region.blocks:
            for argument in block.arguments:
                numbers[argument] = len(numbers)
            listed.append(tuple(argument.type for argument in block.arguments))
            for inner in block:
                # What is made inside goes by its number, what comes from outside by itself.
                operands = tuple(numbers.get(operand, id(operand)) for operand in inner.operands)
                known = tuple(operand in numbers for operand in inner.operands)
                held = tuple(list_ops(each, numbers) for each in inner.regions)
                kind, types, attributes, _, *rest = inner.structural_key()
                listed.append((kind, types, attributes, operands, known, *rest, held))
                for result in inner.results:
                    numbers[result] = len(numbers)
        return tuple(listed)

    numbers: dict[Value, int] = {}
    return tuple(list_ops(region, numbers) for region in op.regions)


def _count_ops(region: Region) -> int:
    """How many ops there are in the region and within its ops."""
    return sum(1 + sum(inner.remember(_count_ops) for inner in op.regions) for block in region.blocks for op in block)
