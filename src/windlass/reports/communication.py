"""What a program on many devices communicates, beside what XLA alone makes of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

from windlass.communication.choices import Candidate, Choice
from windlass.communication.counting import KINDS, Message, bytes_per_run, totals_per_run
from windlass.reports.mesh_picture import draw_mesh
from windlass.reports.words import spell_size, table

MOST_LINES = 5
"""So many source lines are shown, those that move most first."""


class LineTraffic(NamedTuple):
    """The messages that one line of the source has to do with."""

    place: str
    ours: list[Message]
    plain: list[Message]


@dataclass(frozen=True)
class Communication:
    """The messages of a program: as Windlass has it compiled (`ours`), and as XLA divides it by itself (`plain`).

    For the latter the program is compiled once more when it is first asked for, which takes long on large meshes.
    `mesh` has the sizes of the mesh's axes by name. Bytes are those that each device receives in one run of the
    program; of loops whose length is not known, it is taken that they go round eight times.
    """

    name: str
    mesh: Mapping[str, int]
    ours: Sequence[Message]
    find_plain: Callable[[], Sequence[Message]]
    choices: Sequence[Choice] = ()
    """In which form each program in it is divided, and why."""

    @cached_property
    def plain(self) -> Sequence[Message]:
        """The messages of the program as XLA divides it by itself."""
        return self.find_plain()

    @property
    def bytes(self) -> float:
        """What each device receives, as Windlass has the program compiled."""
        return bytes_per_run(self.ours)

    @property
    def plain_bytes(self) -> float:
        """What each device receives, as XLA divides the program by itself."""
        return bytes_per_run(self.plain)

    @property
    def messages(self) -> float:
        """How many messages each device receives, as Windlass has the program compiled."""
        return totals_per_run(self.ours)[1]

    @property
    def lines(self) -> list[LineTraffic]:
        """What each line of the source has to do with, those that move most first."""
        by_line: dict[str, LineTraffic] = {}
        for side, messages in enumerate((self.ours, self.plain)):
            for each in messages:
                if each.source is not None:
                    place = f"{each.source.file}:{each.source.line}"
                    found = by_line.setdefault(place, LineTraffic(place, [], []))
                    (found.plain if side else found.ours).append(each)
        return sorted(by_line.values(), key=lambda line: (-bytes_per_run(line.ours), -bytes_per_run(line.plain)))

    def as_data(self) -> dict[str, Any]:
        """The report as JSON has it: totals, and for each side its messages."""
        sides = {
            name: [
                {
                    "kind": each.kind,
                    "bytes": each.bytes,
                    "rounds": each.rounds,
                    "line": None if each.source is None else f"{each.source.file}:{each.source.line}",
                    "along": self._along(each),
                }
                for each in messages
            ]
            for name, messages in (("ours", self.ours), ("plain", self.plain))
        }
        totals = {"bytes": self.bytes, "plain_bytes": self.plain_bytes, "messages": self.messages}
        choices = [
            {
                "name": choice.name,
                "chosen": choice.chosen.form,
                "reason": choice.reason,
                "forms": [
                    {"form": each.form, "bytes": each.bytes, "messages": each.messages} for each in choice.candidates
                ],
            }
            for choice in self.choices
        ]
        return {"name": self.name, "mesh": dict(self.mesh), **totals, **sides, "choices": choices}

    def _along(self, message: Message) -> dict[str, int] | None:
        """How far along each axis of the mesh a permutation goes; None for messages of whole groups."""
        if message.pair is None:
            return None
        found: dict[str, int] = {}
        source, target = message.pair
        for name, size in reversed(list(self.mesh.items())):
            (source, own), (target, other) = divmod(source, size), divmod(target, size)
            step = (other - own + size // 2) % size - size // 2 if size > 2 else other - own
            if step:
                found[name] = step
        return found

    def _repr_html_(self) -> str:
        """For notebooks: the mesh with what a device receives along each axis, then bytes by line."""
        going: dict[tuple[str, bool], float] = {}
        for each in self.ours:
            for name, step in (self._along(each) or {}).items():
                going[name, step > 0] = going.get((name, step > 0), 0) + bytes_per_run([each])
        axes = ", ".join(f"{name}={size}" for name, size in self.mesh.items())
        title = (
            f"<b>{escape(self.name)}</b> on a mesh of {escape(axes)}: messages, and the bytes that each device receives"
        )
        rows = [[line.place, _spell(line.ours), _spell(line.plain)] for line in self.lines]
        rows.append(["in a run", *(spell_size(round(each)) for each in (self.bytes, self.plain_bytes))])
        forms = [
            [choice.name, each.form, _spell_candidate(each), choice.reason if each is choice.chosen else ""]
            for choice in self.choices
            for each in choice.candidates
        ]
        parts = [
            f"<p>{title}</p>",
            draw_mesh(self.mesh, going),
            table(("line", "Windlass", "XLA alone"), rows),
            table(("program", "form", "messages", "chosen, since"), forms) if forms else "",
        ]
        return "".join(parts)

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
        for each in self.lines[:MOST_LINES]:
            lines.append(f"{each.place}: XLA alone {_spell(each.plain)}, Windlass {_spell(each.ours)}")
        for choice in self.choices[:MOST_LINES]:
            lines.append(f"{choice.name}: {choice}".removeprefix(": "))
            if len(choice.candidates) > 1:
                lines += [f"  {each.form:44}{_spell_candidate(each):>30}" for each in choice.candidates]
        if len(self.choices) > MOST_LINES:
            lines.append(f"and {len(self.choices) - MOST_LINES} programs more")
        return "\n".join(lines)

    __repr__ = __str__


def _where(depth: int, messages: Sequence[Message]) -> str:
    if not depth:
        return ""
    rounds = {each.rounds for each in messages}
    known = f" of {rounds.pop()}" if len(rounds) == 1 and None not in rounds else ""
    return f", each round{known}"


def _spell_candidate(candidate: Candidate) -> str:
    if candidate.bytes is None or candidate.messages is None:
        return "not counted"
    if math.isinf(candidate.bytes):
        return "XLA does not compile it apart"
    return f"{candidate.messages:g}: {spell_size(round(candidate.bytes))}"


def _spell(messages: Sequence[Message]) -> str:
    return f"{len(messages)}: {spell_size(sum(each.bytes for each in messages))}" if messages else "-"
