"""Steps over tensor programs: rules of the catalogue together, to a fixpoint, and passes over blocks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from windlass.ir import Function
from windlass.rewriting import RuleSet
from windlass.schedules.schedule import Run, Schedule, TensorRun, closest, fault


def _catalogue() -> RuleSet:
    from windlass.catalogue import catalogue  # 350 ms, for which functions that have no schedule need not wait

    return catalogue


def family_of(definition: Callable[..., object]) -> str:
    """The family of a rule, or of a pass's body: the file that defines it."""
    return definition.__module__.rpartition(".")[2]


@cache
def _families(_: int) -> dict[str, frozenset[str]]:
    """The names of the rules in each family, kept as long as the catalogue has so many."""
    found: dict[str, set[str]] = {}
    for rule in _catalogue():
        found.setdefault(family_of(rule.body), set()).add(rule.name)
    return {family: frozenset(names) for family, names in found.items()}


def families() -> dict[str, frozenset[str]]:
    """The families of the catalogue, each with the names of its rules.

    >>> "slice_of_pad" in families()["slices"]
    True
    """
    return _families(len(_catalogue()))


def _rule_names(step: str, given: tuple[str, ...]) -> frozenset[str]:
    """The names of these rules and of those in these families."""
    known, single = families(), {rule.name for rule in _catalogue()}
    found: set[str] = set()
    for name in given:
        if name not in known and name not in single:
            advice = closest(name, [*known, *single]) or "windlass rules lists them"
            raise fault(f"{step}: there is no rule or family called {name!r}", advice)
        found |= known.get(name, frozenset((name,)))
    return frozenset(found)


def _pass_names(step: str, given: tuple[str, ...]) -> frozenset[str]:
    known = [each.name for each in _catalogue().passes]
    for name in given:
        if name not in known:
            advice = closest(name, known) or f"one of: {', '.join(known)}"
            raise fault(f"{step}: there is no pass called {name!r}", advice)
    return frozenset(given)


def _part_of(allowed: RuleSet, is_rule: Callable[[str], bool], is_pass: Callable[[str], bool]) -> RuleSet:
    """Those of the rules and passes that may be used whose names are chosen."""
    part = RuleSet(rule for rule in allowed if is_rule(rule.name))
    part.passes = [each for each in allowed.passes if is_pass(each.name)]
    part.at_rest = [each for each in allowed.at_rest if is_pass(each.name)]
    part.granted = allowed.granted
    return part


def _spelled(name: str, words: tuple[str, ...]) -> str:
    return f"{name}({', '.join(map(repr, words))})"


@dataclass(frozen=True, repr=False)
class TensorStep(Schedule):
    """A step that rewrites a tensor program."""

    def run(self, function: Function, run: Run) -> None:
        if not isinstance(run, TensorRun):
            advice = "loops take tile, interchange, unroll and parallelize"
            raise fault(f"{self} rewrites tensor programs, not loops", advice)
        self.change(function, run)

    @abstractmethod
    def change(self, function: Function, run: TensorRun) -> None:
        """Rewrite the function in place."""


@dataclass(frozen=True, repr=False)
class Rules(TensorStep):
    """Rules together, until none of them applies any more."""

    name: ClassVar[str] = "rules"
    names: tuple[str, ...]

    def change(self, function: Function, run: TensorRun) -> None:
        chosen = _rule_names(self.name, self.names)
        run.rewrite(function, _part_of(run.rules, chosen.__contains__, lambda name: False))

    def __repr__(self) -> str:
        return _spelled(self.name, self.names)


@dataclass(frozen=True, repr=False)
class Passes(TensorStep):
    """Passes over every block, until none changes any more."""

    name: ClassVar[str] = "passes"
    names: tuple[str, ...]

    def change(self, function: Function, run: TensorRun) -> None:
        run.rewrite(function, _part_of(run.rules, lambda name: False, self.names.__contains__))

    def __repr__(self) -> str:
        return _spelled(self.name, self.names)


@dataclass(frozen=True, repr=False)
class Everything(TensorStep):
    """All rules and passes together, but for some: without exceptions what the optimizer does by itself."""

    name: ClassVar[str] = "everything"
    without: tuple[str, ...] = ()

    def change(self, function: Function, run: TensorRun) -> None:
        if not self.without:
            run.rewrite(function, run.rules)
            return
        passes = {each.name for each in _catalogue().passes}
        left_out = _rule_names(self.name, tuple(name for name in self.without if name not in passes))
        run.rewrite(
            function,
            _part_of(run.rules, lambda name: name not in left_out, lambda name: name not in self.without),
        )

    def __repr__(self) -> str:
        return f"everything(without={self.without!r})" if self.without else "everything()"


def rules(*names: str) -> Schedule:
    """Rules of the catalogue, by family or by name, together and to a fixpoint.

    Raises WindlassError (WL0806) for names that it doesn't know.

    >>> rules("slices", "transpose_of_transpose")
    rules('slices', 'transpose_of_transpose')
    """
    _rule_names("rules", names)
    return Rules(names)


def passes(*names: str) -> Schedule:
    """Passes of the catalogue, by name, over every block and to a fixpoint.

    Raises WindlassError (WL0806) for names that it doesn't know.
    """
    _pass_names("passes", names)
    return Passes(names)


def everything(without: tuple[str, ...] | list[str] | str = ()) -> Schedule:
    """All rules and passes together, without those that are named (by family, rule or pass): the default.

    Raises WindlassError (WL0806) for names that the catalogue doesn't know.
    """
    left_out = (without,) if isinstance(without, str) else tuple(without)
    known = {each.name for each in _catalogue().passes}
    _rule_names("everything", tuple(name for name in left_out if name not in known))
    return Everything(left_out)
