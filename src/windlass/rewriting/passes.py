"""Passes: rewrites of a whole block, where the pattern of one root can't say what is looked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from windlass.diagnostics import Position
from windlass.facts.cost import Device
from windlass.ir import Block, Op


class Change(NamedTuple):
    """What a pass did once: to which kind of op, the new ops, and the seconds that are saved by the cost model."""

    root: str
    source: Position | None
    placed: list[Op]
    saved: float


@dataclass(frozen=True)
class Pass:
    """`body(block, device)` changes the block in place, and yields each change it has made, in the order made.

    It asks the cost model for each. Like rules, a pass that `reassociates` changes the order of float sums, and
    one that is `in_kernels` only that of sums over threads and iterations.
    """

    name: str
    equation: str
    body: Callable[[Block, Device], Iterator[Change]]
    reassociates: bool = False
    in_kernels: bool = False


MOST_RUNS = 6
"""How often passes run over a function: rules may undo what passes do, and the other way round."""
