"""Each rule has ops of its own: no other comes before it wherever it fires, none makes the same of all of them."""

from __future__ import annotations

import doctest
import sys
from collections.abc import Iterator

from windlass.catalogue import catalogue
from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import Abs, Add, Maximum, Negate
from windlass.rewriting import Rule, rewrite
from windlass.rewriting.overlaps import (
    DEAD,
    HIDDEN,
    NEEDLESS,
    SAME,
    Overlap,
    covers,
    find_overlaps,
    is_telling,
    try_overlaps,
)
from windlass.rewriting.pattern import any_op, hole

x, y, z = hole("x"), hole("y"), hole("z")


def test_no_rule_is_dead() -> None:
    assert [str(each) for each in find_overlaps(catalogue) if each.kind == DEAD] == []


def test_no_rule_is_hidden_or_needless() -> None:
    found = [each for rule in catalogue for each in try_overlaps(rule, catalogue.rules)]
    # Loops and branches are drawn so that much is true of them at once: the example shows what is left for the rule.
    names = {each.rule for each in found}
    left = [
        str(each)
        for rule in catalogue
        if rule.name in names
        for each in try_overlaps(rule, catalogue.rules, list_example_ops(rule))
    ]
    assert left == []


def list_example_ops(rule: Rule) -> list[Op]:
    """The ops that the rule is applied to in its docstring."""
    met: list[Op] = []

    def record(op: Op) -> object:
        met.append(op)
        return rule(op)

    scope = {**vars(sys.modules[rule.__module__]), rule.name: record}
    example = doctest.DocTestParser().get_doctest(rule.__doc__ or "", scope, rule.name, None, None)
    doctest.DocTestRunner().run(example, out=lambda text: None, clear_globs=False)
    return met


def test_example_ops_are_found() -> None:
    rule = next(each for each in catalogue if each.name == "or_of_nots")
    assert [repr(op) for op in list_example_ops(rule)] == ["Or(Not(x), Not(y))"]


# -- the check itself ------------------------------------------------------------------------------------------------


@rewrite(Add(x, Negate(y)), register=False)
def always(x: Value, y: Value) -> Value:
    """x + -y = x"""
    return x


@rewrite(Add(Negate(x), Negate(y)), register=False)
def special(x: Value, y: Value) -> Value | None:
    """-x + -y = y"""
    return y


@rewrite(Add(Negate(y), z), register=False)
def again(y: Value, z: Value) -> Value | None:
    """-y + z = z"""
    return z


@rewrite(Add(z, Negate(y)), register=False)
def sometimes(y: Value, z: Value) -> Value | None:
    """z + -y = z"""
    return z if z.tensor.is_float else None


def kinds(overlaps: Iterator[Overlap]) -> list[tuple[str, str, str]]:
    return [(each.rule, each.kind, each.other) for each in overlaps]


def test_rule_after_one_that_never_declines_is_dead() -> None:
    assert kinds(find_overlaps([always, special])) == [("special", DEAD, "always")]
    assert kinds(find_overlaps([special, always])) == []


def test_patterns_are_the_same_whatever_holes_are_called_and_operands_are_turned() -> None:
    assert kinds(find_overlaps([sometimes, again])) == [("again", SAME, "sometimes")]


def test_rule_that_is_tried_after_another_everywhere_is_hidden() -> None:
    assert kinds(try_overlaps(special, [sometimes, special])) == []
    assert kinds(try_overlaps(special, [again, special])) == [("special", HIDDEN, "again")]


def test_rule_that_makes_what_a_later_one_makes_is_needless() -> None:
    assert kinds(try_overlaps(sometimes, [sometimes, again])) == [("sometimes", NEEDLESS, "again")]


def test_one_pattern_covers_another() -> None:
    assert covers(Add(x, y), Add(Negate(z), Negate(z)))
    assert not covers(Add(x, x), Add(Negate(y), Negate(z)))
    assert covers(Add(Negate(x), x), Add(y, Negate(y))) and not covers(Maximum(Negate(x), x), Add(y, Negate(y)))
    assert covers(any_op(Add), Add(x, y)) and not covers(Add(x, y), any_op(Add))
    assert covers(any_op(Add, takes=(Abs,)), Add(x, Abs(y))) and not covers(any_op(Add, takes=(Abs,)), Add(x, y))
    modulus = any_op(Abs)
    assert not covers(Add(x, x), Add(modulus, modulus))
    known = hole("known", lambda value: value is tensor("f32"))
    assert covers(Add(x, y), Add(known, y)) and not covers(Add(known, y), Add(x, y))


def test_telling_patterns_say_more_than_a_class() -> None:
    assert [is_telling(each) for each in (any_op(Add), Add(x, y), Add(x, x), Add(x, Abs(y)))] == [
        False,
        False,
        True,
        True,
    ]
