"""The optimizer as users call it: what they allow it, what it did, and the way through a whole module."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.diagnostics.deadline import ending_at
from windlass.diagnostics.environment import patience
from windlass.facts.cost import DEVICES, Cost, Device, estimate_cost
from windlass.ir import Module
from windlass.ops import Call, Constant, Return
from windlass.precision.limbs import Limbs
from windlass.rewriting import Budget, Rule, RuleSet, rewrite_function
from windlass.rewriting.collecting import without_collections
from windlass.rewriting.equalities import choose_equalities, equalities
from windlass.rewriting.equality import SATURATION, saturating
from windlass.rewriting.inlining import inline_calls, list_shared, remove_unreachable_modules, remove_unused_functions
from windlass.rewriting.laws import check_rule
from windlass.rewriting.ledger import Entry, Ledger
from windlass.rewriting.steps import Rewriting
from windlass.stablehlo.calibrating import cpu_device
from windlass.stablehlo.platforms import KINDS, device_of

ASSUMPTIONS: dict[str, tuple[str, ...]] = {
    "finite": ("finite", "no NaN"),
    "no NaN": ("no NaN",),
    "no -0.0": ("no -0.0",),
}
"""What a user may grant, and what follows from it."""

checked: set[Rule] = set()
"""Rules of users that have passed their laws."""


@dataclass(frozen=True)
class Choices:
    """What the user of the optimizer has chosen. See `Choices.make` for what is accepted."""

    exact: bool = False
    assumes: tuple[str, ...] = ()
    compile_seconds: float = field(default_factory=lambda: 10.0 * patience())
    device: str | None = None
    rules: tuple[Rule, ...] = ()
    without: tuple[str, ...] = ()
    schedule: Rewriting | None = None
    """What is done in which order; None: all rules and passes together."""
    saturate: bool = False
    precision: Limbs | None = None
    deterministic: bool = False
    """Whether sums have an order that no division among devices changes."""

    @classmethod
    def make(
        cls,
        exact: bool = False,
        assumes: str | Iterable[str] = (),
        compile_seconds: float = 10.0,
        device: str | None = None,
        rules: Iterable[Rule] = (),
        without: str | Iterable[str] = (),
        schedule: Rewriting | None = None,
        saturate: bool = False,
        precision: str | None = None,
        deterministic: bool = False,
    ) -> Choices:
        """The choices, checked; each rule of the user's passes its laws first.

        Raises WindlassError: WL0801 and WL0802 for rules that fail their laws, WL0803 for assumptions, devices and
        rules that there are not, and for values of another kind than the choice takes; WL0961 for a precision that
        there is not.

        >>> Choices.make(assumes="no NaN").assumes
        ('no NaN',)
        """
        granted, left_out = _names("assumes", assumes), _names("without", without)
        own = tuple(_iterated("rules", rules, "rules"))
        if not isinstance(exact, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _unknown(f"exact is True or False, got {exact!r}", "exact=True keeps the order of sums")
        if not isinstance(saturate, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _unknown(f"saturate is True or False, got {saturate!r}", "saturate=True tries rules without order")
        if not isinstance(deterministic, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _unknown(
                f"deterministic is True or False, got {deterministic!r}", "deterministic=True: the same on every mesh"
            )
        seconds: Any = compile_seconds
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not seconds >= 0:
            raise _unknown(f"compile_seconds is a time in seconds, got {compile_seconds!r}", "compile_seconds=10")
        if device is not None and not isinstance(device, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _unknown(f"device is a name, got {device!r}", f"one of: {', '.join(DEVICES)}")
        for rule in own:
            if not isinstance(rule, Rule):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise _unknown(
                    f"rules holds a {type(rule).__name__}, not a rule", "declare rules with @wl.rewrite(...)"
                )
            if rule not in checked:
                check_rule(rule)
                checked.add(rule)
        known = set(ASSUMPTIONS) | {each for rule in own for each in rule.assumes}
        for each in granted:
            if each not in known:
                raise _unknown(f"nothing is known of the assumption '{each}'", f"one of: {', '.join(sorted(known))}")
        if device is not None and KINDS.get(device, device) not in DEVICES:
            raise _unknown(f"there is no cost model of '{device}'", f"one of: {', '.join(DEVICES)}")
        names = {SATURATION, *(rule.name for rule in (*_catalogue(), *_catalogue().passes, *own, *equalities))}
        for name in left_out:
            if name not in names:
                raise _unknown(f"there is no rule called '{name}'", "see the catalogue of rules for their names")
        seconds *= patience()
        assumed, kept_out = tuple(sorted(set(granted))), tuple(sorted(left_out))
        limbs = None if precision is None else Limbs.parse(precision)
        is_exact = exact or deterministic
        return cls(is_exact, assumed, float(seconds), device, own, kept_out, schedule, saturate, limbs, deterministic)

    def rule_set(self) -> RuleSet:
        """The rules that may be used, the user's own first."""
        return _rule_set(self, len(_catalogue()))

    def device_on(self, platform: str | None = None) -> Device:
        """The device whose costs count: the one chosen, else that of the platform, else what JAX would run on."""
        name = self.device or platform
        if name is None:
            import jax

            name = jax.default_backend()
        chosen = device_of(name)
        return cpu_device() if chosen.name == "cpu" else chosen


def _names(choice: str, given: Any) -> tuple[str, ...]:
    """One name or several, as a tuple."""
    names = (given,) if isinstance(given, str) else _iterated(choice, given, "names")
    for each in names:
        if not isinstance(each, str):
            raise _unknown(f"{choice} holds {each!r}, which is no name", f'{choice}="name", or a list of names')
    return names


def _iterated(choice: str, given: Any, kind: str) -> tuple[Any, ...]:
    try:
        return tuple(given)
    except TypeError:
        raise _unknown(f"{choice} takes {kind}, got {given!r}", f"give a list of {kind}") from None


def _unknown(message: str, advice: str) -> WindlassError:
    return WindlassError(Diagnostic("WL0803", message, help=advice))


def _catalogue() -> RuleSet:
    from windlass.catalogue import catalogue

    return catalogue


@lru_cache(maxsize=64)
def _rule_set(choices: Choices, _: int) -> RuleSet:
    """The rules for these choices, kept as long as the catalogue has so many."""
    granted = [implied for each in choices.assumes for implied in ASSUMPTIONS.get(each, (each,))]
    if choices.rules:
        together = RuleSet((*choices.rules, *_catalogue()))
        together.passes = list(_catalogue().passes)
        chosen = together.choose(choices.exact, granted)
    else:
        chosen = _catalogue().choose(choices.exact, granted)
    if choices.without:
        chosen = chosen.without(*choices.without)
    if choices.saturate and SATURATION not in choices.without:
        # A set of its own: the one chosen is kept for others.
        chosen = chosen.without()
        chosen.at_rest.append(saturating(chosen.without(), choose_equalities(choices.exact, choices.without)))
    return chosen


@dataclass
class Report:
    """What the optimizer did to a module. `str(report)` tells it; the fields have it as data.

    `rewrites` are the rule applications in order; `ops_before` and `ops_after` count ops by name, calls that were
    inlined at their place; the costs are the model's estimates for one run on `device`, of the entry point.
    """

    device: str
    rewrites: list[Entry] = field(default_factory=list[Entry])
    ops_before: Counter[str] = field(default_factory=Counter[str])
    ops_after: Counter[str] = field(default_factory=Counter[str])
    cost_before: Cost | None = None
    cost_after: Cost | None = None
    exhausted: str | None = None
    """The budget that ran out ("steps", "seconds"), or None where no rule applies any more."""
    cycle: str | None = None
    """The rules that were busiest when a budget ran out."""
    distribution: str = ""
    """Of arrays that a mesh divides: in which form the program is divided, why, who decided what, and what each form
    communicates."""

    def count_by_rule(self) -> Counter[str]:
        """How often each rule was applied."""
        return Counter(entry.rule for entry in self.rewrites)

    def __str__(self) -> str:
        lines = [f"{self.ops_before.total()} ops → {self.ops_after.total()}"]
        if self.cost_before and self.cost_after:
            before, after = 1e6 * self.cost_before.seconds, 1e6 * self.cost_after.seconds
            lines.append(f"estimated on {self.device}: {before:.3g} µs → {after:.3g} µs")
        lines += [f"{count:6} {rule}" for rule, count in self.count_by_rule().most_common()]
        return "\n".join([*lines, *filter(None, (self.cycle, self.distribution))])


@without_collections()
def optimize_module(
    module: Module,
    choices: Choices | None = None,
    *,
    platform: str | None = None,
    steps: int | None = None,
    estimates: bool = False,
    begun: float | None = None,
) -> Report:
    """Optimize every function of the module in place, calls between them inlined.

    `steps` stops after so many rewrites in all, which replays the first of a longer run; with `estimates` the report
    says what each rewrite saves. `begun` is the moment of `time.monotonic()` at which reading the module began, where
    that counts, and writing it will.
    """
    choices = choices or Choices()
    device, rules = choices.device_on(platform), choices.rule_set()
    now = time.monotonic()
    # To write a program takes about as long as to read it.
    reading = 0.0 if begun is None else now - begun
    deadline = now + choices.compile_seconds - 2 * reading
    with ending_at(deadline):
        inline_module(module)
    remove_unreachable_modules(module)
    report = Report(device.name, ops_before=count_ops(module))
    if estimates:
        main = module.main
        report.cost_before = estimate_cost(main.results, main.arguments, device)
    for function in module.functions.values():
        left = None if steps is None else steps - len(report.rewrites)
        budget = Budget(left, max(deadline - time.monotonic(), 0.0))
        rewrite = rewrite_function if choices.schedule is None else choices.schedule.rewrite
        ledger = rewrite(function, rules, budget, device, estimates)
        _enter(report, ledger)
    report.ops_after = count_ops(module)
    if estimates:
        main = module.main
        report.cost_after = estimate_cost(main.results, main.arguments, device)
    return report


def _enter(report: Report, ledger: Ledger) -> None:
    report.rewrites += ledger.entries
    report.exhausted = report.exhausted or ledger.exhausted
    report.cycle = report.cycle or ledger.describe_cycle()


def inline_module(module: Module) -> None:
    """Replace calls by what they call; private functions that nobody calls any more are dropped."""
    if not any(isinstance(op, Call) for function in module.functions.values() for op in function.walk()):
        return
    shared = list_shared(module)
    for function in module.functions.values():
        if function.visibility == "public" or function.name in shared:
            inline_calls(function.body, module)
    remove_unused_functions(module)


def count_ops(module: Module) -> Counter[str]:
    """How many ops of each kind there are, without constants and returns."""
    return Counter(
        (op.name or type(op).__name__).rpartition(".")[2]
        for function in module.functions.values()
        for op in function.walk()
        if not isinstance(op, Constant | Return)
    )
