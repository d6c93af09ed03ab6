"""A rule is one function: its pattern is in the decorator, its body is guard and replacement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import partial
from typing import Any

from windlass.ir import Op, Value
from windlass.ops.sampling import Draw
from windlass.rewriting.duals import Exchange
from windlass.rewriting.passes import Pass
from windlass.rewriting.pattern import KNOWN_PLACES, list_attempts, list_holes, list_roots

Body = Callable[..., "Value | tuple[Value, ...] | None"]
Application = Callable[[Op], "Value | tuple[Value, ...] | None"]
"""What replaces an op by a rule, or None."""

MOST_KEYS = 20_000
"""For so many combinations of classes the rules that may match are kept."""


class Rule:
    """Call it on an op: the replacement (a value, or a tuple for an op of several results), or None.

    Each application lowers the measure of the program (see measure.py), which is why rewriting ends; that of a rule
    `by_cost` lowers the time that the cost model estimates instead (see cost.py), else it is not applied. `assumes`
    names what the rule takes for granted of its floats ("no NaN", "no -0.0", "finite"); without it the rule keeps every
    bit but NaN payloads. A rule that `reassociates` changes the order of float sums or products, as XLA's own
    reductions do: its results differ in the last digits, and it is left out where results have to be exact. A rule that
    comes `last` is applied when no other rule applies any more: it gives ops that others know less of.
    Kernels have exact results but for sums over threads and iterations: such a rule that finds one is `in_kernels`.
    With an `exchange` it is the dual of what is declared (see duals.py).
    """

    def __init__(
        self,
        body: Body,
        pattern: Op,
        single_use: bool,
        assumes: tuple[str, ...],
        sample: Callable[[Draw], Op] | None,
        reassociates: bool = False,
        by_cost: bool = False,
        last: bool = False,
        in_kernels: bool = False,
        exchange: Exchange | None = None,
    ) -> None:
        self.body = body
        self.name = body.__name__
        self.__doc__ = body.__doc__
        if exchange is not None:
            self.name = exchange.spell(self.name)
            self.__doc__ = exchange.spell(self.__doc__ or "")
            pattern = exchange.pattern(pattern)
            sample = exchange.sample(sample) if sample else None
        self.pattern = pattern
        self.assumes = assumes
        self.single_use = single_use
        self.reassociates = reassociates
        self.by_cost = by_cost
        self.last = last
        self.in_kernels = in_kernels
        self.sample = sample
        self.dual: Rule | None = None
        """The rule that was declared with this one."""
        self.roots = list_roots(pattern)
        self.__name__ = self.name
        self.__module__ = body.__module__
        self.__wrapped__ = body
        code = body.__code__
        parameters = code.co_varnames[: code.co_argcount]
        holes = list_holes(pattern)
        unknown = [name for name in parameters if name not in holes and name not in ("op", "dual")]
        if unknown:
            raise TypeError(f"rule {self.name}: {unknown} are not holes of its pattern")
        if "dual" in parameters[:-1]:
            raise TypeError(f"rule {self.name}: `dual` has to be the last parameter")
        if "dual" in parameters:
            body = partial(body, dual=exchange.of if exchange else _itself)
            parameters = parameters[:-1]
        self.attempts = list_attempts(pattern, single_use, body, parameters)

    def __call__(self, op: Value) -> Value | tuple[Value, ...] | None:
        if not isinstance(op, Op) or type(op) not in self.roots:
            return None
        classes = [type(operand) for operand in op.operands]
        for attempt in self.attempts:
            replacement = attempt.apply(op) if attempt.may_match(classes) else None
            if replacement is not None:
                return replacement
        return None

    def with_sharing_open(self) -> Rule:
        """The rule where what is shared is decided later (see sharing.py): inner ops may have other uses."""
        if not self.single_use:
            return self
        opened, matcher = copy(self), self.attempts[0]
        opened.single_use = False
        opened.attempts = list_attempts(self.pattern, False, matcher.body, matcher.parameters)
        return opened

    @property
    def equation(self) -> str:
        """The docstring's first line."""
        return (self.__doc__ or "").strip().splitlines()[0]

    def __repr__(self) -> str:
        return f"<rule {self.name}>"


def _itself(thing: Any) -> Any:
    return thing


class RuleSet:
    """Rules by the class of the op they start from."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.rules: list[Rule] = []
        self.passes: list[Pass] = []
        self.at_rest: list[Pass] = []
        """Passes that run once, when neither rules nor the others find anything to change any more."""
        self.granted: frozenset[str] = frozenset()
        """What the user says of the floats of a program (see `ranges.granting`)."""
        self._chosen: dict[tuple[int, bool, frozenset[str], bool], RuleSet] = {}
        self.by_root: dict[type[Op], list[Rule]] = {}
        self._candidates: dict[tuple[Any, ...], list[tuple[Rule, Application]]] = {}
        for rule in rules:
            self.add(rule)

    def add(self, rule: Rule) -> None:
        self.rules.append(rule)
        self._candidates.clear()
        for root in rule.roots:
            self.by_root.setdefault(root, []).append(rule)

    def candidates(self, op: Op, last: bool = False) -> list[tuple[Rule, Application]]:
        """The rules that may match the op by its class and those of its operands, each with what applies it.

        With `last` those that come last, else all others.
        """
        classes = [operand.__class__ for operand in op._operands]  # pyright: ignore[reportPrivateUsage]
        if len(classes) > KNOWN_PLACES:
            classes[KNOWN_PLACES:] = sorted({*classes[KNOWN_PLACES:]}, key=id)
        key = (op.__class__, last, *classes)
        found = self._candidates.get(key)
        if found is None:
            if len(self._candidates) > MOST_KEYS:
                self._candidates.clear()
            found = self._candidates[key] = [
                (rule, attempt.apply)
                for rule in self.by_root.get(type(op), ())
                if rule.last == last
                for attempt in rule.attempts
                if attempt.may_match(classes)
            ]
        return found

    def choose(self, exact: bool = False, assumes: Iterable[str] = (), in_kernel: bool = False) -> RuleSet:
        """The rules that may be used: with `exact` none that reassociates floats, but `in_kernel` those for kernels.

        None assumes more than is given.

        >>> from windlass.catalogue import catalogue
        >>> any(rule.assumes for rule in catalogue.choose(exact=True))
        False
        """
        granted = frozenset(assumes)
        key = (len(self.rules), exact, granted, in_kernel)
        found = self._chosen.get(key)

        def keeps_order(each: Rule | Pass) -> bool:
            return not (exact and each.reassociates) or (in_kernel and each.in_kernels)

        if found is None:
            found = self._chosen[key] = RuleSet(
                rule for rule in self.rules if granted.issuperset(rule.assumes) and keeps_order(rule)
            )
            found.passes = [each for each in self.passes if keeps_order(each)]
            found.granted = granted
        return found

    def without(self, *names: str) -> RuleSet:
        """The set with the rules of these names left out."""
        kept = RuleSet(rule for rule in self.rules if rule.name not in names)
        kept.passes = [each for each in self.passes if each.name not in names]
        kept.at_rest = [each for each in self.at_rest if each.name not in names]
        kept.granted = self.granted
        return kept

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)


catalogue = RuleSet()
"""Every rule that was defined by `rewrite` without `register=False`. `windlass.rules` fills it."""


def rewrite(
    pattern: Op,
    *,
    single_use: bool = False,
    assumes: tuple[str, ...] | str = (),
    sample: Callable[[Draw], Op] | None = None,
    reassociates: bool = False,
    by_cost: bool = False,
    last: bool = False,
    in_kernels: bool = False,
    register: bool = True,
    dual: Exchange | None = None,
) -> Callable[[Body], Rule]:
    """Declare a rule. The body takes the pattern's holes by name (and `op`, the op matched) and gives the replacement.

    `sample(draw)` makes a random op that the pattern matches, for patterns that the laws can't instantiate by
    themselves. The docstring's first line is the equation; its example runs as a test. With `dual`, the rule in which
    that is exchanged is declared too: the body has a last parameter `dual` where it names ops (see duals.py).
    """

    def declare(body: Body) -> Rule:
        taken = (assumes,) if isinstance(assumes, str) else assumes
        marks = (reassociates, by_cost, last, in_kernels)
        rule = Rule(body, pattern, single_use, taken, sample, *marks)
        if register:
            catalogue.add(rule)
        if dual is not None:
            rule.dual = Rule(body, pattern, single_use, taken, sample, *marks, dual)
            if register:
                catalogue.add(rule.dual)
        return rule

    return declare
