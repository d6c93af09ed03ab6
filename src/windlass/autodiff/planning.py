"""How much of loops is kept for the way back: schedules that users ask for, and a budget that is divided among loops.

A loop can be recorded, in two ways: what costs least in all, or as few bytes as can be (keeping.py); or some of its
states are kept, and rounds are computed again from these (checkpoints.py, or segments of so many rounds). Under a
budget it is first found out what each loop would take, and then each has what is left for it. What was planned for
each loop can be read afterwards: `Planning.loops`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple

from windlass.diagnostics import Position

MOST_RECORDED = 1 << 30
"""Bytes. Of a loop that would take more to be recorded rounds are computed again, where no budget is given."""


@dataclass(frozen=True)
class Periodic:
    """Keep the state of each so many-th round, and record the rounds between two of them when their turn comes.

    Each round is computed twice. It is for loops whose number of rounds is known when they are compiled.
    """

    every: int


@dataclass(frozen=True)
class Binomial:
    """Keep the states of so many rounds at once, and compute the others again from these: binomial checkpointing.

    With s places C(s + t, t) rounds are gone back through with no round computed more than t times again.
    """

    places: int


@dataclass(frozen=True)
class Plan:
    """What a user asks for: a schedule for the outermost loops, or how many bytes loops may take in all."""

    checkpoint: Periodic | Binomial | None = None
    memory: int | None = None

    def __bool__(self) -> bool:
        """Whether anything is asked for."""
        return self != Plan()


class LoopMemory(NamedTuple):
    """What was planned for a loop; `rounds` is None where that is not known before. All else is in bytes."""

    position: Position | None
    way: str
    """"recorded" or "states"."""
    rounds: int | None
    of_round: int
    """What is kept of each round that is recorded, or of each state that is kept."""
    kept: int
    """What that is in all."""
    working: int
    """What the loop carries beside it and computes with, about."""


def keeps_rounds(loops: Iterable[LoopMemory]) -> bool:
    """Whether anything is kept of any loop: another plan might keep less, and compute it again.

    Cotangents are the same to the bit by any plan, so what computes them then is held to how it is written, operation
    by operation: a compiler would else round otherwise where rounds are computed again.
    """
    return any(loop.kept for loop in loops)


class Demand(NamedTuple):
    """What a loop would take: recorded (in both ways), and with one state alone."""

    recorded: int
    fewest: int
    least: int
    working: int


class NotEnoughMemory(Exception):
    """A budget is too small whatever is done; `least` is the smallest that would do."""

    def __init__(self, least: int) -> None:
        super().__init__(f"{least} bytes are needed")
        self.least = least


@dataclass
class Planning:
    """A plan while it is followed: loops ask in the order in which they are gone back through."""

    plan: Plan
    allowances: list[int] | None = None
    depth: int = 0
    is_sparing: bool = False
    demands: list[Demand] = field(default_factory=list[Demand])
    loops: list[LoopMemory] = field(default_factory=list[LoopMemory])

    def allowance(self, demand: Demand) -> int | None:
        """What a loop may take; None where nothing is said of it."""
        self.demands.append(demand)
        if self.allowances is None:
            return None
        return self.allowances[len(self.demands) - 1]

    def places(self) -> int | None:
        """How many states a loop at this depth keeps, if that is asked for."""
        asked = self.plan.checkpoint
        return asked.places if isinstance(asked, Binomial) and not self.depth else None

    def segment(self) -> int:
        """How many rounds of a loop at this depth are recorded at once; 0 where nothing is asked for."""
        asked = self.plan.checkpoint
        return asked.every if isinstance(asked, Periodic) and not self.depth else 0

    @contextmanager
    def sparing(self) -> Generator[None]:
        """Where as few bytes are kept as can be."""
        before, self.is_sparing = self.is_sparing, True
        try:
            yield
        finally:
            self.is_sparing = before

    def forget_since(self, count: int) -> None:
        """Loops that were gone back through only to find something out take nothing."""
        del self.demands[count:], self.loops[count:]

    @contextmanager
    def deeper(self) -> Generator[None]:
        """Within a round."""
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    def divided(self) -> list[int]:
        """The budget divided among the loops that have asked: each has the least that it can do with, and of what is
        left a part by what it would need beyond that.

        Raises NotEnoughMemory.
        """
        assert self.plan.memory is not None
        # Loops work one after the other, but what they have kept is there at once.
        working = max((each.working for each in self.demands), default=0)
        leasts = [min(each.least, each.fewest) for each in self.demands]
        left = self.plan.memory - working - sum(leasts)
        if left < 0:
            raise NotEnoughMemory(working + sum(leasts))
        wanted = [each.recorded - least for each, least in zip(self.demands, leasts, strict=True)]
        share = min(left / max(sum(wanted), 1), 1.0)
        return [least + int(each * share) for each, least in zip(wanted, leasts, strict=True)]


_PLANNING: ContextVar[Planning | None] = ContextVar("planning", default=None)
_PLAN: ContextVar[Plan | None] = ContextVar("plan", default=None)


def current_plan() -> Plan:
    """What is asked for where no other is given."""
    return _PLAN.get() or Plan()


@contextmanager
def asked_for(plan: Plan) -> Generator[None]:
    """Have programs that are made in this context follow the plan."""
    token = _PLAN.set(plan)
    try:
        yield
    finally:
        _PLAN.reset(token)


@contextmanager
def preferring(plan: Plan) -> Generator[None]:
    """The same, where nothing is asked for yet."""
    with asked_for(current_plan() or plan):
        yield


def current_planning() -> Planning:
    """That of the program that is being made."""
    found = _PLANNING.get()
    return Planning(Plan()) if found is None else found


@contextmanager
def following(planning: Planning) -> Generator[None]:
    """Have loops ask this one."""
    token = _PLANNING.set(planning)
    try:
        yield
    finally:
        _PLANNING.reset(token)
