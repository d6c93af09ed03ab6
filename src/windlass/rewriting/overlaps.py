"""Where rules meet: patterns that another rule's pattern covers, and rules that others always come before.

Of the rules that may be applied to an op, the first that does not decline is. What the patterns say can be compared
without any program: a pattern covers another if all that is like the other is like it. So one finds

* two rules of one pattern: only their guards tell them apart;
* a rule that is dead: one before it covers its pattern and never declines.

Guards are Python, and nothing is known of them. What they leave is tried on random ops: a rule is

* hidden, if on all those that it fires on, one rule before it fires too;
* needless, if on all of them, one other rule makes the same of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, takewhile
from typing import Any

from windlass.facts.ranges import granting
from windlass.ir import Hole, Op
from windlass.ops import Return
from windlass.ops.sampling import RandomDraw
from windlass.rewriting.instances import Mismatch, make_instance
from windlass.rewriting.pattern import is_any, list_inner_ops, list_roots, parts_of
from windlass.rewriting.rule import Rule

LEAST, ENOUGH, ATTEMPTS = 3, 30, 1000
"""On how many ops a rule has to fire at least before it is said to be hidden or needless, what is enough to say so, and
how many are tried for that."""


SAME, DEAD = "has the pattern of", "is dead, as all that it matches is rewritten by"
HIDDEN, NEEDLESS = "is always behind", "is needless beside"


@dataclass(frozen=True)
class Overlap:
    """What one rule is beside another: SAME, DEAD, HIDDEN or NEEDLESS."""

    rule: str
    kind: str
    other: str

    def __str__(self) -> str:
        return f"{self.rule} {self.kind} {self.other}"


def find_overlaps(rules: Iterable[Rule]) -> Iterator[Overlap]:
    """The pairs of rules whose patterns alone tell that they overlap.

    >>> from windlass.ops import Add, Negate
    >>> from windlass.rewriting.pattern import hole
    >>> from windlass.rewriting.rule import rewrite
    >>> x, y = hole("x"), hole("y")
    >>> @rewrite(Add(x, Negate(y)), register=False)
    ... def add_of_negate(x, y) -> "Value": ...
    >>> @rewrite(Add(Negate(x), Negate(y)), register=False)
    ... def add_of_negates(x, y) -> "Value": ...
    >>> [str(each) for each in find_overlaps([add_of_negate, add_of_negates])]
    ['add_of_negates is dead, as all that it matches is rewritten by add_of_negate']
    """
    ordered = sorted(rules, key=lambda rule: rule.last)
    telling = {rule.name for rule in ordered if is_telling(rule.pattern)}
    for index, later in enumerate(ordered):
        for earlier in ordered[:index]:
            if not set(later.roots) <= set(earlier.roots) or not covers(earlier.pattern, later.pattern):
                continue
            if always_fires(earlier) and _is_as_free(earlier, later):
                yield Overlap(later.name, DEAD, earlier.name)
            elif later.name in telling and covers(later.pattern, earlier.pattern):
                yield Overlap(later.name, SAME, earlier.name)


def try_overlaps(rule: Rule, rules: Iterable[Rule], examples: Iterable[Op] = ()) -> Iterator[Overlap]:
    """What random ops, and the `examples`, tell of a rule beside the others (all rules are given, in order).

    Rules that ask for the cost model's consent are taken to decline: it may not give it.
    """
    others = [each for each in rules if set(each.roots) & set(rule.roots) and each is not rule]
    others = [each for each in others if not each.by_cost and each.last <= rule.last and _is_as_free(each, rule)]
    hiding, alike = _list_before(rule, rules, others), others
    count = 0
    with granting(frozenset(rule.assumes)):
        for op in chain(examples, _make_ops(rule)):
            made = rule(op)
            if made is None:
                continue
            count += 1
            hiding = [each for each in hiding if _try(each, op) is not None]
            alike = [each for each in alike if repr(_try(each, op)) == repr(made)]
            if count == ENOUGH or not (hiding or alike):
                break
    if count >= LEAST:
        yield from (Overlap(rule.name, HIDDEN, each.name) for each in hiding[:1])
        yield from (Overlap(rule.name, NEEDLESS, each.name) for each in alike[:1] if each not in hiding)


def _list_before(rule: Rule, rules: Iterable[Rule], others: list[Rule]) -> list[Rule]:
    before = set(takewhile(lambda each: each is not rule, rules))
    return [each for each in others if each in before or each.last < rule.last]


def _make_ops(rule: Rule) -> Iterator[Op]:
    """Random ops that are like the rule's pattern."""
    for seed in range(ATTEMPTS):
        with suppress(Mismatch):
            op = make_instance(rule, RandomDraw(seed))
            if not any(result.uses for result in op.results):
                # Else rules that leave out results without use come first, whatever else holds.
                Return(op.results)
            yield op


def _try(rule: Rule, op: Op) -> Any:
    # Other rules may rely on types that a random op lacks, as no program does.
    with suppress(Exception):
        return rule(op)
    return None


def is_telling(pattern: Op) -> bool:
    """Whether a pattern says more than the class of the op, so that the guard is not all there is.

    >>> from windlass.ops import Add, Negate
    >>> from windlass.rewriting.pattern import hole
    >>> x, y = hole("x"), hole("y")
    >>> is_telling(Add(x, y)), is_telling(Add(x, x)), is_telling(Add(x, Negate(y)))
    (False, True, True)
    """
    if is_any(pattern) and (pattern.__dict__["takes"] or pattern.__dict__["parts"]):
        return True
    parts = [each for value in parts_of(pattern).values() for each in _flat(value)]
    holes = [each for each in parts if isinstance(each, Hole)]
    has_given = len(holes) < len(parts) or len({each.name for each in holes}) < len(holes)
    return has_given or bool(list_inner_ops(pattern)) or any(each.accepts for each in holes)


def _flat(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def always_fires(rule: Rule) -> bool:
    """Whether the body never declines, as its annotation says."""
    annotation = str(inspect.get_annotations(rule.body).get("return", "None"))
    return "None" not in annotation and not rule.by_cost


def _is_as_free(earlier: Rule, later: Rule) -> bool:
    """Whether wherever the later rule may be applied by what it declares, the earlier one may."""
    return (
        set(earlier.assumes) <= set(later.assumes)
        and (later.single_use or not earlier.single_use)
        and (later.reassociates or not earlier.reassociates)
        and (earlier.in_kernels or not later.in_kernels or not earlier.reassociates)
    )


def covers(general: Any, special: Any) -> bool:
    """Whether all that is like the pattern `special` is like the pattern `general`.

    >>> from windlass.ops import Add, Negate
    >>> from windlass.rewriting.pattern import hole
    >>> x, y = hole("x"), hole("y")
    >>> covers(Add(x, Negate(y)), Add(Negate(x), Negate(x))), covers(Add(x, x), Add(x, y))
    (True, False)
    """
    return any(True for _ in _bindings(general, special, {}))


def _bindings(general: Any, special: Any, bound: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The ways in which the holes of `general` stand for parts of `special`."""
    if isinstance(general, Hole):
        if general.name in bound:
            if _is_same(bound[general.name], special):
                yield bound
        elif general.accepts is None or (isinstance(special, Hole) and _key(general.accepts) == _key(special.accepts)):
            yield {**bound, general.name: special}
    elif isinstance(general, Op):
        if isinstance(special, Op) and set(list_roots(special)) <= set(list_roots(general)):
            yield from _field_bindings(general, special, bound)
    elif isinstance(general, tuple) and isinstance(special, tuple):
        if len(general) == len(special):
            yield from _all_bindings(list(zip(general, special, strict=True)), bound)
    elif not isinstance(special, Hole | Op) and general == special:
        yield bound


def _field_bindings(general: Op, special: Op, bound: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if is_any(general):
        takes: tuple[type, ...] = general.__dict__["takes"]
        taken = [type(each) for value in parts_of(special).values() for each in _flat(value)]
        taken = taken or special.__dict__.get("takes", ())
        if not takes or any(issubclass(each, takes) for each in taken):
            asked = parts_of(special)
            pairs = [(each, asked.get(name, Hole(""))) for name, each in parts_of(general).items()]
            yield from _all_bindings(pairs, bound)
        return
    if is_any(special):
        return
    # A class of ops has the fields that its members share.
    names = [field.name for field in general.fields]
    pairs = [(getattr(general, name), getattr(special, name)) for name in names]
    yield from _all_bindings(pairs, bound)
    if general.is_commutative and len(general.operands) == 2:
        (left, _), (right, _), *rest = pairs
        first, second = special.operands
        yield from _all_bindings([(left, second), (right, first), *rest], bound)


def _all_bindings(pairs: list[tuple[Any, Any]], bound: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if not pairs:
        yield bound
        return
    (general, special), *rest = pairs
    for found in _bindings(general, special, bound):
        yield from _all_bindings(rest, found)


def _is_same(left: Any, right: Any) -> bool:
    """Whether two parts of one pattern stand for the same thing."""
    if isinstance(left, Hole) or isinstance(right, Hole):
        return isinstance(left, Hole) and isinstance(right, Hole) and left.name == right.name
    # Two ops that a pattern asks for may differ, even if they are alike.
    return not isinstance(left, Op) and left == right


def _key(accepts: Any) -> Any:
    """Equal for functions that accept the same, as far as that is known."""
    return (accepts.func, repr(accepts.keywords)) if isinstance(accepts, partial) else accepts
