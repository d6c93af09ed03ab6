"""A rule is one function: its pattern is in the decorator, its body is guard and replacement."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator

from windlass.ir import Op, Value
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import compile_pattern, list_concrete_classes, list_holes

Body = Callable[..., "Value | tuple[Value, ...] | None"]


class Rule:
    """Call it on an op: the replacement (a value, or a tuple for an op of several results), or None.

    Each application lowers the measure of the program (see measure.py), which is why rewriting ends. `assumes` names
    what the rule takes for granted of its floats ("no NaN", "no -0.0", "finite"); without it the rule keeps every bit
    but NaN payloads.
    """

    def __init__(
        self,
        body: Body,
        pattern: Op,
        single_use: bool,
        assumes: tuple[str, ...],
        sample: Callable[[Draw], Op] | None,
    ) -> None:
        self.body = body
        self.name = body.__name__
        self.pattern = pattern
        self.assumes = assumes
        self.single_use = single_use
        self.sample = sample
        self.matchers = compile_pattern(pattern, single_use)
        self.roots = tuple(list_concrete_classes(type(pattern)))
        self.__doc__ = body.__doc__
        self.__name__ = body.__name__
        self.__module__ = body.__module__
        self.__wrapped__ = body
        parameters = list(inspect.signature(body).parameters)
        holes = list_holes(pattern)
        unknown = [name for name in parameters if name not in holes and name != "op"]
        if unknown:
            raise TypeError(f"rule {self.name}: {unknown} are not holes of its pattern")
        self.parameters = tuple(parameters)

    def __call__(self, op: Value) -> Value | tuple[Value, ...] | None:
        if not isinstance(op, Op) or type(op) not in self.roots:
            return None
        for matcher in self.matchers:
            found = matcher(op)
            if found is not None:
                found["op"] = op
                replacement = self.body(*[found[name] for name in self.parameters])
                if replacement is not None:
                    return replacement
        return None

    @property
    def equation(self) -> str:
        """The docstring's first line."""
        return (self.__doc__ or "").strip().splitlines()[0]

    def __repr__(self) -> str:
        return f"<rule {self.name}>"


class RuleSet:
    """Rules by the class of the op they start from."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.rules: list[Rule] = []
        self.by_root: dict[type[Op], list[Rule]] = {}
        for rule in rules:
            self.add(rule)

    def add(self, rule: Rule) -> None:
        self.rules.append(rule)
        for root in rule.roots:
            self.by_root.setdefault(root, []).append(rule)

    def without(self, *names: str) -> RuleSet:
        """The set with the rules of these names left out."""
        return RuleSet(rule for rule in self.rules if rule.name not in names)

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
    register: bool = True,
) -> Callable[[Body], Rule]:
    """Declare a rule. The body takes the pattern's holes by name (and `op`, the op matched) and gives the replacement.

    `sample(draw)` makes a random op that the pattern matches, for patterns that the laws can't instantiate by
    themselves. The docstring's first line is the equation; its example runs as a test.
    """

    def declare(body: Body) -> Rule:
        taken = (assumes,) if isinstance(assumes, str) else assumes
        rule = Rule(body, pattern, single_use, taken, sample)
        if register:
            catalogue.add(rule)
        return rule

    return declare
