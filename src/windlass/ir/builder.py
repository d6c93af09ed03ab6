"""Where new ops go."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from windlass.diagnostics import Position
    from windlass.ir.core import Block, Op


class _Stack(threading.local):
    def __init__(self) -> None:
        self.builders: list[Builder] = []


_stack = _Stack()


class Builder:
    """Inside `with Builder(block):` each op is placed as it is made, before `before` or at the block's end.

    Without a builder ops float freely, which is fine for examples and patterns. `source` and `made_by` are stamped on
    every op placed. Builders nest: the innermost places.
    """

    __slots__ = ("before", "block", "made_by", "nested", "placed", "source")

    def __init__(self, block: Block, before: Op | None = None, source: Position | None = None) -> None:
        self.block = block
        self.before = before
        self.source = source
        self.made_by: tuple[str, ...] = ()
        self.placed: list[Op] | None = None
        """Set to a list to have every op placed appended to it."""
        self.nested: list[Op] | None = None
        """Set to a list to have every op appended to it that builders within this one place."""

    def place(self, op: Op) -> None:
        if op.source is None:
            op.source = self.source
        if self.made_by:
            op.made_by = self.made_by
        if self.before is None:
            self.block.append(op)
        else:
            self.block.insert_before(op, self.before)
        if self.placed is not None:
            self.placed.append(op)
        elif self.nested is not None:
            self.nested.append(op)

    def __enter__(self) -> Builder:
        builders = _stack.builders
        if builders and self.nested is None:
            self.nested = builders[-1].nested
        builders.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _stack.builders.pop()


def current_builder() -> Builder | None:
    """The innermost active builder of this thread."""
    builders = _stack.builders
    return builders[-1] if builders else None
