"""In which form a program is divided, and why: what `wl.communication` tells of the choice."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

EXCHANGED, LEFT = "halos exchanged", "left to XLA"
FEWEST_BYTES = " in as few bytes as may be"
BEFORE_RULES = ", as it was before the rules"


@dataclass(frozen=True)
class Candidate:
    """A form that the program could be divided in, and what each device receives then in a run.

    Bytes and messages are None where they were not counted: forms that are as good as settled are not compiled.
    """

    form: str
    bytes: float | None = None
    messages: float | None = None
    loses_nan: int = 0
    """How many maxima and minima XLA would take over devices, where it loses NaN."""
    is_estimate: bool = False
    """Whether bytes and messages are known, or guessed, without compiling it: it moves too much to look closer."""


@dataclass(frozen=True)
class Choice:
    """The forms of one program, by its name, which of them was taken, and why."""

    name: str
    candidates: tuple[Candidate, ...]
    chosen: Candidate
    reason: str
    decisions: tuple[str, ...] = ()
    """Who decided how the values of the form that was taken are divided, and which of its ops are left to XLA."""

    def __str__(self) -> str:
        return f"{self.chosen.form}: {self.reason}"

    @property
    def told(self) -> str:
        """The same with the figures of all forms that were looked at."""
        lines = [f"divided among devices with {self}"]
        for each in self.candidates:
            if each.bytes is not None and math.isfinite(each.bytes):
                count = f" in {each.messages:,.0f} messages" if each.messages is not None else ""
                about = ", by estimate" if each.is_estimate else ""
                lines.append(f"  {each.form}: each device receives {each.bytes:,.0f} bytes{count}{about}")
        return "\n".join((*lines, *(f"  {each}" for each in self.decisions)))


def explain_choice(
    name: str, candidates: Iterable[Candidate], chosen: Candidate, decisions: tuple[str, ...] = ()
) -> Choice:
    """Say why this one was taken.

    >>> exchanged, left = Candidate(EXCHANGED, 24.0, 2), Candidate(LEFT, 800.0, 1)
    >>> print(explain_choice("step", (exchanged, left), exchanged))
    halos exchanged: takes less time by estimate than left to XLA
    """
    candidates = tuple(candidates)
    others = [each for each in candidates if each is not chosen]
    known = [each for each in others if each.bytes is not None and math.isfinite(each.bytes)]
    names = known[0].form if len(known) == 1 else "the others"
    if not others:
        reason = "there is no other form: no op reads its neighbours along a divided axis in a way that is understood"
    elif any(each.loses_nan > chosen.loses_nan for each in others):
        reason = "keeps NaN in maxima and minima, which XLA loses over devices"
    elif known and all(each.is_estimate for each in known):
        reason = f"moves far less, by estimate, than what is {names}"
    elif chosen.bytes == 0:
        reason = "nothing is communicated"
    elif not known:
        reason = "XLA does not compile the other forms apart"
    elif chosen.bytes is not None and all(each.bytes == chosen.bytes for each in known):
        reason = f"moves as many bytes as {names}, in no more time by estimate"
    else:
        reason = f"takes less time by estimate than {names}"
    limit = candidates[-1].bytes if others else None
    if limit is not None and math.isfinite(limit) and any((each.bytes or 0) > limit for each in known):
        reason += "; what moves more bytes than XLA by itself is not taken"
    return Choice(name, candidates, chosen, reason, decisions)


_collected: ContextVar[list[Choice] | None] = ContextVar("windlass_choices", default=None)


@contextmanager
def collect_choices() -> Generator[list[Choice]]:
    """Within, the choices that are told are put into a list."""
    found: list[Choice] = []
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


def tell_choice(choice: Choice | None) -> None:
    """Tell of a choice, or of none, whoever collects them."""
    collected = _collected.get()
    # One program may be lowered, and so tell of itself, several times.
    if choice is not None and collected is not None and not any(each is choice for each in collected):
        collected.append(choice)
