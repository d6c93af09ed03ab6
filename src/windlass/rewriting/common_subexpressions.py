"""Ops that compute the same thing are made one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windlass.ir import Block, Op


def share_common_subexpressions(block: Block, on_shared: Callable[[Op], None] | None = None) -> int:
    """Replace each pure op without regions by an equal one before it; gives the number of ops removed.

    Inner blocks see what the blocks around them compute. `on_shared` is told of each op that gained uses.

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
        if regions or not op.is_pure or not op.results:
            continue
        key = op.structural_key()
        known = next((scope[key] for scope in scopes if key in scope), None)
        if known is None:
            own[key] = op
            continue
        for old, new in zip(op.results, known.results, strict=True):
            old.replace_all_uses_with(new)
        op.erase()
        removed += 1
        if on_shared is not None:
            on_shared(known)
    return removed
