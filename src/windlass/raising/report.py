"""What became of each access and each loop of a raised kernel, for explanations."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from windlass.diagnostics import Diagnostic, Position, RaisingError
from windlass.raising.codes import FAULTS

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class AccessNote:
    """One load, store or atomic: `kind` says what it became ("slice", "gather", "update", "scatter", ...).

    A load that `is_forwarded` is one of the values that threads had stored, without the memory between them. A store
    to a shared array that `is_gone` is not needed: all that is loaded from there was forwarded.
    """

    position: Position | None
    action: str
    memory: str
    kind: str
    is_forwarded: bool = False
    is_gone: bool = False

    @property
    def became(self) -> str:
        """What it became, in words."""
        if self.is_gone:
            return "nothing"
        return f"{self.kind} of what was stored" if self.is_forwarded else self.kind

    def __str__(self) -> str:
        return f"{self.position or '?'}: {self.action} {self.memory}: {self.became}"


@dataclass(frozen=True)
class LoopNote:
    """One loop: `became` is "reduce", "contraction", "elementwise", "unrolled" or "while"; `attempts` says why the
    better forms were not possible."""

    position: Position | None
    became: str
    trips: int | None = None
    attempts: tuple[str, ...] = ()

    def __str__(self) -> str:
        trips = "" if self.trips is None else f" ({self.trips} trips)"
        lines = [f"{self.position or '?'}: loop{trips}: {self.became}"]
        return "\n".join(lines + [f"    not better because {reason}" for reason in self.attempts])


@dataclass(frozen=True)
class OutsideNote:
    """An access that some active lane makes beyond a memory, `offset` bytes from its beginning."""

    position: Position | None
    action: str
    memory: str
    offset: int
    size_bytes: int


@dataclass
class RaisingReport:
    """All notes of one raising, in program order."""

    accesses: list[AccessNote] = field(default_factory=list[AccessNote])
    loops: list[LoopNote] = field(default_factory=list[LoopNote])
    notes: list[str] = field(default_factory=list[str])
    outside: list[OutsideNote] = field(default_factory=list[OutsideNote])
    assumptions: list[Assumption] = field(default_factory=list["Assumption"])
    absent: list[Position | None] = field(default_factory=list["Position | None"])
    """Shuffles that read from lanes that take no part."""
    obstacle: Diagnostic | None = None
    """What stands in the way of all threads at once, where they run one after another."""
    tiles: set[str] = field(default_factory=set[str])
    """The names of arrays that blocks share."""

    def note_stores_that_are_gone(self) -> None:
        """Mark the stores to shared arrays of which nothing is loaded that was not forwarded."""
        loaded = {note.memory for note in self.accesses if note.action == "load" and not note.is_forwarded}
        for number, note in enumerate(self.accesses):
            if note.action == "store" and note.memory in self.tiles - loaded:
                self.accesses[number] = replace(note, is_gone=True)

    def access_kinds(self) -> Counter[str]:
        """How often each kind of access occurs."""
        return Counter(note.kind for note in self.accesses)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.accesses), *map(str, self.loops), *map(str, self.assumptions), *self.notes])


@dataclass(frozen=True)
class Assumption:
    """Something that has to hold of the data: why the kernel can't be raised where it does not."""

    reason: str
    position: Position | None
    code: str
    help: str | None = None

    @property
    def is_fault(self) -> bool:
        """Whether the kernel itself is wrong where this does not hold."""
        return self.code in FAULTS

    def __str__(self) -> str:
        return f"{self.position or '?'}: emulated if {self.reason}"

    def as_error(self, kernel: str) -> RaisingError:
        """What the user reads where it does not hold."""
        return RaisingError(
            Diagnostic(
                self.code,
                f"kernel '{kernel}' can't be raised: {self.reason}",
                self.position,
                notes=("that depends on the data: it was seen as the kernel ran",),
                help=self.help,
            )
        )
