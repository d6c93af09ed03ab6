"""What takes loops of a finished program as native code, where there is something that does.

Native code is made in a room above this one (`windlass.native.element_loops`), which is known here by what it is asked.
"""

from __future__ import annotations

from collections.abc import Callable

from windlass.ir import Module
from windlass.ops import While

_takers: list[Callable[[Module, str], object]] = []


def take_loops_by(take: Callable[[Module, str], object]) -> None:
    """Have loops taken by this function of a module and the program's name, which changes the module."""
    _takers.append(take)


def take_loops(module: Module, name: str) -> None:
    """Replace what runs better as native code of this machine's CPU, in place."""
    if any(isinstance(op, While) for function in module.functions.values() for op in function.walk()):
        for take in _takers:
            take(module, name)
