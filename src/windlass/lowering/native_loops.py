"""What takes loops of a finished program as native code, where there is something that does.

Native code is made in a room above this one, which is known here by what it is asked: of loops over elements
(`windlass.native.element_loops`) and of loops over whole arrays (`windlass.native.tensor_regions`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windlass.diagnostics import Position
from windlass.ir import Module
from windlass.ops import While


@dataclass(frozen=True)
class ElementLoop:
    """A loop that was looked at: its place, and why it has no native code, "" if it has."""

    position: Position | None
    reason: str

    def __str__(self) -> str:
        place = "a loop" if self.position is None else f"the loop at {self.position}"
        return f"{place} is left to XLA: {self.reason}" if self.reason else f"{place} runs as native code"


_takers: list[Callable[[Module, str], Sequence[ElementLoop]]] = []


def take_loops_by(take: Callable[[Module, str], Sequence[ElementLoop]]) -> None:
    """Have loops taken by this function of a module and the program's name, which changes the module."""
    _takers.append(take)


def take_loops(module: Module, name: str) -> list[ElementLoop]:
    """Replace what runs better as native code of this machine's CPU, in place; gives what was looked at."""
    if not any(isinstance(op, While) for function in module.functions.values() for op in function.walk()):
        return []
    return [each for take in _takers for each in take(module, name)]
