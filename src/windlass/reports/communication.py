"""What a program on many devices communicates, beside what XLA alone makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windlass.communication.counting import KINDS, Message, bytes_per_run
from windlass.reports.words import spell_size

MOST_LINES = 5
"""So many source lines are shown, those that move most first."""


@dataclass(frozen=True)
class Communication:
    """The messages of a program: as Windlass has it compiled (`ours`), and as XLA divides it by itself (`plain`).

    `mesh` has the sizes of the mesh's axes by name. Bytes are those that each device receives in one run of the
    program; of loops whose length is not known, it is taken that they go round eight times.
    """

    name: str
    mesh: Mapping[str, int]
    ours: Sequence[Message]
    plain: Sequence[Message]

    @property
    def bytes(self) -> float:
        """What each device receives, as Windlass has the program compiled."""
        return bytes_per_run(self.ours)

    @property
    def plain_bytes(self) -> float:
        """What each device receives, as XLA divides the program by itself."""
        return bytes_per_run(self.plain)

    def __str__(self) -> str:
        axes = ", ".join(f"{name}={size}" for name, size in self.mesh.items())
        lines = [f"{self.name} on a mesh of {axes}: messages, and the bytes that each device receives"]
        lines.append(f"{'':34}{'Windlass':>20}{'XLA alone':>20}")
        for depth in sorted({each.depth for each in (*self.ours, *self.plain)}):
            for kind in KINDS:
                sides = [
                    [each for each in side if each.depth == depth and each.kind == kind]
                    for side in (self.ours, self.plain)
                ]
                if any(sides):
                    label = f"{kind}{_where(depth, [*sides[0], *sides[1]])}"
                    lines.append(f"{label:34}{_spell(sides[0]):>20}{_spell(sides[1]):>20}")
        if len(lines) == 2:
            lines.append("nothing is communicated")
        totals = [spell_size(round(each)) for each in (self.bytes, self.plain_bytes)]
        lines.append(f"{'in a run':34}{totals[0]:>20}{totals[1]:>20}")
        by_line: dict[str, tuple[list[Message], list[Message]]] = {}
        for side, messages in enumerate((self.ours, self.plain)):
            for each in messages:
                if each.source is not None:
                    by_line.setdefault(f"{each.source.file}:{each.source.line}", ([], []))[side].append(each)
        ordered = sorted(by_line.items(), key=lambda item: -max(map(bytes_per_run, item[1])))
        for line, (ours, plain) in ordered[:MOST_LINES]:
            lines.append(f"{line}: XLA alone {_spell(plain)}, Windlass {_spell(ours)}")
        return "\n".join(lines)

    __repr__ = __str__


def _where(depth: int, messages: Sequence[Message]) -> str:
    if not depth:
        return ""
    rounds = {each.rounds for each in messages}
    known = f" of {rounds.pop()}" if len(rounds) == 1 and None not in rounds else ""
    return f", each round{known}"


def _spell(messages: Sequence[Message]) -> str:
    return f"{len(messages)}: {spell_size(sum(each.bytes for each in messages))}" if messages else "-"
