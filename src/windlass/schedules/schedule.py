"""What schedules are made of: steps, one after another, chosen among, attempted, or only where an op is."""

from __future__ import annotations

import difflib
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import ClassVar

from windlass import ops
from windlass.diagnostics import Diagnostic, WindlassError
from windlass.facts.cost import Device, estimate_cost
from windlass.ir import Function
from windlass.rewriting import Budget, Ledger, RuleSet, rewrite_function

CODE = "WL0806"


class Run(ABC):
    """A schedule at work on one function: a tensor program, or loops (see loops.py)."""

    @abstractmethod
    def attempt(self, function: Function, step: Schedule) -> None:
        """Do the step if it pays, or where it is allowed; else leave the function as it is."""


@dataclass
class TensorRun(Run):
    """On a tensor program: the rules that may be used, what was done, and what is left of the budget."""

    rules: RuleSet
    device: Device
    deadline: float
    steps_left: int | None = None
    estimates: bool = False
    ledger: Ledger = field(default_factory=Ledger)

    def rewrite(self, function: Function, rules: RuleSet) -> None:
        """To the fixpoint of these rules, within the budget."""
        if self.ledger.exhausted is not None:
            return
        budget = Budget(self.steps_left, max(self.deadline - time.monotonic(), 0.0))
        self.enter(rewrite_function(function, rules, budget, self.device, self.estimates))

    def enter(self, ledger: Ledger) -> None:
        """Count what was done, after what was done before."""
        first = len(self.ledger.entries)
        self.ledger.entries += [replace(entry, step=first + number) for number, entry in enumerate(ledger.entries)]
        self.ledger.exhausted = self.ledger.exhausted or ledger.exhausted
        if self.steps_left is not None:
            self.steps_left -= len(ledger.entries)

    def attempt(self, function: Function, step: Schedule) -> None:
        """Do the step on a copy, which is taken over if the cost model says that it is faster."""
        copy, apart = function.clone(), replace(self, ledger=Ledger(exhausted=self.ledger.exhausted))
        step.run(copy, apart)
        if self.price(copy) < self.price(function):
            function.body = copy.body
            self.enter(apart.ledger)

    def price(self, function: Function) -> float:
        """The seconds that the cost model estimates for the function."""
        return estimate_cost(function.results, function.arguments, self.device).seconds


@dataclass(frozen=True)
class Schedule(ABC):
    """A step, or several. Frozen, hashable, equal to what does the same, and printed as the text that makes it."""

    name: ClassVar[str]

    @property
    def parts(self) -> tuple[Schedule, ...]:
        """The schedules that it is made of."""
        return ()

    @property
    def space(self) -> dict[str, int]:
        """The choices that are open, each with the number of its options."""
        return reduce(lambda found, part: found | part.space, self.parts, {})

    def bind(self, chosen: Mapping[str, int]) -> Schedule:
        """The schedule with options taken, by name of the choice and number.

        Raises WindlassError (WL0806) where there is no such option.
        """
        return self

    @abstractmethod
    def run(self, function: Function, run: Run) -> None:
        """Change the function in place."""

    def rewrite(
        self, function: Function, rules: RuleSet, budget: Budget, device: Device, estimates: bool = False
    ) -> Ledger:
        """Change the function in place, by these rules only; of what is open the first option is taken."""
        run = TensorRun(rules, device, time.monotonic() + budget.seconds, budget.steps, estimates)
        self.run(function, run)
        return run.ledger

    def __str__(self) -> str:
        return repr(self)


@dataclass(frozen=True, repr=False)
class Sequence(Schedule):
    """One step after another."""

    name: ClassVar[str] = "seq"
    steps: tuple[Schedule, ...] = ()

    @property
    def parts(self) -> tuple[Schedule, ...]:
        return self.steps

    def bind(self, chosen: Mapping[str, int]) -> Schedule:
        return Sequence(tuple(step.bind(chosen) for step in self.steps))

    def run(self, function: Function, run: Run) -> None:
        for step in self.steps:
            step.run(function, run)

    def __repr__(self) -> str:
        return f"seq({', '.join(map(repr, self.steps))})"


@dataclass(frozen=True, repr=False)
class Choice(Schedule):
    """One of several, which a search may take by the name of the choice; the first where nothing is taken."""

    name: ClassVar[str] = "choice"
    label: str
    options: tuple[Schedule, ...]

    @property
    def parts(self) -> tuple[Schedule, ...]:
        return self.options

    @property
    def space(self) -> dict[str, int]:
        return {self.label: len(self.options)} | super().space

    def bind(self, chosen: Mapping[str, int]) -> Schedule:
        if self.label not in chosen:
            return Choice(self.label, tuple(option.bind(chosen) for option in self.options))
        number = chosen[self.label]
        if not 0 <= number < len(self.options):
            raise fault(f"the choice '{self.label}' has {len(self.options)} options, none is number {number}")
        return self.options[number].bind(chosen)

    def run(self, function: Function, run: Run) -> None:
        self.options[0].run(function, run)

    def __repr__(self) -> str:
        return f"choice({', '.join(map(repr, (self.label, *self.options)))})"


@dataclass(frozen=True, repr=False)
class Attempt(Schedule):
    """Done if it pays: by the cost model for tensor programs, where it is allowed for loops."""

    name: ClassVar[str] = "attempt"
    step: Schedule

    @property
    def parts(self) -> tuple[Schedule, ...]:
        return (self.step,)

    def bind(self, chosen: Mapping[str, int]) -> Schedule:
        return Attempt(self.step.bind(chosen))

    def run(self, function: Function, run: Run) -> None:
        run.attempt(function, self.step)

    def __repr__(self) -> str:
        return f"attempt({self.step!r})"


@dataclass(frozen=True, repr=False)
class On(Schedule):
    """Done where the function holds an op of a kind."""

    name: ClassVar[str] = "on"
    kind: str
    step: Schedule

    @property
    def parts(self) -> tuple[Schedule, ...]:
        return (self.step,)

    def bind(self, chosen: Mapping[str, int]) -> Schedule:
        return On(self.kind, self.step.bind(chosen))

    def run(self, function: Function, run: Run) -> None:
        if any(type(op).__name__ == self.kind for op in function.walk()):
            self.step.run(function, run)

    def __repr__(self) -> str:
        return f"on({self.kind!r}, {self.step!r})"


def seq(*steps: Schedule) -> Schedule:
    """One step after another; `seq()` does nothing.

    >>> seq()
    seq()
    """
    return Sequence(tuple(_schedules("seq", steps)))


def choice(name: str, *options: Schedule) -> Schedule:
    """One of these, left open for a search under that name. A schedule that runs with it open takes the first.

    Raises WindlassError (WL0806) where there are no options.
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise fault(f"a choice has a name, got {name!r}", 'choice("name", option, option)')
    if not options:
        raise fault(f"the choice '{name}' has no options", 'choice("name", option, option); seq() does nothing')
    return Choice(name, tuple(_schedules("choice", options)))


def optional(name: str, step: Schedule) -> Schedule:
    """The step or nothing, as a choice of that name."""
    return choice(name, step, seq())


def attempt(step: Schedule) -> Schedule:
    """The step, kept if a tensor program is faster for it by the cost model; for loops: where it is allowed."""
    return Attempt(*_schedules("attempt", (step,)))


def on(kind: str, step: Schedule) -> Schedule:
    """The step, where the program holds an op of that class, such as "DotGeneral".

    Raises WindlassError (WL0806) where there is no such class of ops.
    """
    classes = [name for name, each in vars(ops).items() if isinstance(each, type) and issubclass(each, ops.TensorOp)]
    if kind not in classes:
        raise fault(f"no op is called {kind!r}", closest(kind, classes))
    return On(kind, *_schedules("on", (step,)))


def fault(message: str, advice: str | None = None) -> WindlassError:
    """The error for a schedule that there is not."""
    return WindlassError(Diagnostic(CODE, message, help=advice))


def closest(name: object, known: Collection[str]) -> str | None:
    """What may have been meant.

    >>> closest("slizes", ["slices", "pads"])
    'did you mean "slices"?'
    """
    found = difflib.get_close_matches(str(name), known, n=1)
    return f'did you mean "{found[0]}"?' if found else None


def _schedules(name: str, given: tuple[Schedule, ...]) -> tuple[Schedule, ...]:
    for each in given:
        if not isinstance(each, Schedule):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise fault(f"{name} takes schedules, got {each!r}", 'such as rules("slices") or passes("needed_parts")')
    return given
