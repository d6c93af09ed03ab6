"""Whether the iterations of a loop may run side by side: no one sees or undoes what another has stored, but as before.

Interpreted in lockstep, all iterations make the first access of the body, then all make the second, and so on. That
is the serial order for two accesses to one place in different iterations just when the one that is earlier in the
body is made by the earlier iteration.
"""

from __future__ import annotations

from collections import defaultdict

from windlass.affine.conflict import conflict
from windlass.affine.dimensions import Dimension
from windlass.affine.index import Atom, Data, Index, RuntimeScalar, dimensions_of, parts_of
from windlass.diagnostics import Position
from windlass.raising.frames import AccessRecord, VectorFrame
from windlass.raising.items import Memory
from windlass.raising.lanes import lanes_of
from windlass.raising.obstacle import Obstacle


class Conflict(Obstacle):
    """Iterations may touch the same place of a memory."""

    def __init__(self, memory: Memory, reason: str, position: Position | None) -> None:
        super().__init__(reason, position)
        self.memory = memory


def check_dependences(frame: VectorFrame) -> None:
    """Raise Obstacle if the iterations of the loop can't be shown to be independent, and are not said to be."""
    if frame.is_independent:
        return
    by_memory: defaultdict[Memory, list[AccessRecord]] = defaultdict(list)
    for record in frame.accesses:
        if record.memory not in frame.copied:
            by_memory[record.memory].append(record)
    for records in by_memory.values():
        unique = list({(record.kind, record.address, record.size, record.box): record for record in records}.values())
        if all(record.kind == "load" for record in unique):
            continue
        for place, first in enumerate(unique):
            for second in unique[place:]:
                _check_pair(frame, first, second)


def _check_pair(frame: VectorFrame, first: AccessRecord, second: AccessRecord) -> None:
    kinds = {first.kind, second.kind}
    if kinds == {"load"} or (len(kinds) == 1 and first.kind.startswith("atomic")):
        return
    least, most = conflict(first, second, frame.dimension, lambda atom: varies(atom, frame))
    # distance = iteration of the first access - iteration of the second, where both touch one place.
    is_repeated = max(first.while_depth, second.while_depth) > frame.while_depth
    if most > 0 or (least < 0 and (is_repeated or first is second)):
        where = f" (line {second.position.line})" if second.position and second.position.line else ""
        raise Conflict(
            first.memory,
            f"iterations may touch the same place of {first.memory.name}{where}: {first.kind}, then {second.kind}",
            first.position,
        )


def varies(atom: Atom, frame: VectorFrame) -> bool:
    """Whether an atom may differ between iterations of the loop, or is counted inside of it."""
    if isinstance(atom, Dimension):
        return atom is frame.dimension or atom in frame.inner_dimensions
    if isinstance(atom, RuntimeScalar):
        return frame.is_inner(atom.value)
    if isinstance(atom, Data):
        if frame.is_inner(lanes_of(atom).value):
            return True
        dims = dimensions_of(atom)
        return frame.dimension in dims or not dims.isdisjoint(frame.inner_dimensions)
    return any(_varies_within(part, frame) for part in parts_of(atom))


def _varies_within(index: Index, frame: VectorFrame) -> bool:
    return any(varies(atom, frame) for atom in index.terms)
