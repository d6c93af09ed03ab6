"""What takes loops of a finished program as native code, where there is something that does.

Native code is made in a room above this one, which is known here by what it is asked: of loops over elements
(`windlass.native.element_loops`) and of loops over whole arrays (`windlass.native.tensor_regions`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windlass.diagnostics import Position
from windlass.ir import Module, Op, TensorType
from windlass.ops import While


@dataclass(frozen=True)
class ElementLoop:
    """A loop, or array code, that was looked at: its place, and why it has no native code, "" if it has."""

    position: Position | None
    reason: str
    kind: str = "loop"

    def __str__(self) -> str:
        place = f"some {self.kind}" if self.position is None else f"the {self.kind} at {self.position}"
        return f"{place} is left to XLA: {self.reason}" if self.reason else f"{place} runs as native code"


LITTLE = 1 << 12
"""Elements: no array code is worth native code whose arrays all have less."""


def told_of_defect(defect: Exception) -> str:
    """The reason for leaving to XLA what native code should have been made of."""
    told = (str(defect).splitlines() or [""])[0]
    return f"a defect of Windlass ({type(defect).__name__}: {told})"


_takers: list[Callable[[Module, str], Sequence[ElementLoop]]] = []


def take_loops_by(take: Callable[[Module, str], Sequence[ElementLoop]]) -> None:
    """Have loops taken by this function of a module and the program's name, which changes the module."""
    _takers.append(take)


def take_loops(module: Module, name: str) -> list[ElementLoop]:
    """Replace what runs better as native code of this machine's CPU, in place; gives what was looked at."""
    if not any(map(_may_be_worth_it, (op for function in module.functions.values() for op in function.walk()))):
        return []
    return [each for take in _takers for each in take(module, name)]


def _may_be_worth_it(op: Op) -> bool:
    """What takes loops and arrays need not be loaded for others."""
    types = (value.type for value in op.results)
    return isinstance(op, While) or any(isinstance(each, TensorType) and each.size >= LITTLE for each in types)
