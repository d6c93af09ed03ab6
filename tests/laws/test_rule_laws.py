"""Run for every rule of the catalogue: the laws, and what the catalogue's page needs."""

from __future__ import annotations

import doctest
import sys

import pytest

from windlass.catalogue import catalogue
from windlass.rewriting import Rule
from windlass.rewriting.laws import RARE, find_breach

RULES = list(catalogue)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rule_keeps_meaning_and_type_fires_and_lowers_the_measure(rule: Rule) -> None:
    breach = find_breach(rule)
    assert breach is None, str(breach)


def _keeps_the_laws_of_numbers_that_are(granted: tuple[str, ...], attempts: int) -> None:
    for rule in RULES:
        breach = find_breach(rule, attempts=attempts, granted=granted)
        assert breach is None or breach.law == RARE, str(breach)


def test_rules_keep_the_laws_of_numbers_that_are_as_the_user_grants() -> None:
    _keeps_the_laws_of_numbers_that_are(("no NaN", "no -0.0", "finite"), attempts=20)


@pytest.mark.slow
@pytest.mark.parametrize("granted", [("no NaN",), ("no -0.0",), ("no NaN", "no -0.0", "finite")], ids=", ".join)
def test_rules_keep_the_laws_of_many_numbers_that_are_as_the_user_grants(granted: tuple[str, ...]) -> None:
    _keeps_the_laws_of_numbers_that_are(granted, attempts=300)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rule_keeps_the_laws_on_many_instances(rule: Rule) -> None:
    breach = find_breach(rule, attempts=8000, wanted=250)
    assert breach is None, str(breach)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rule_has_an_equation_and_an_example_that_works(rule: Rule) -> None:
    assert rule.equation
    scope = {**vars(sys.modules[rule.__module__]), rule.name: rule}
    example = doctest.DocTestParser().get_doctest(rule.__doc__ or "", scope, rule.name, None, None)
    assert example.examples, "no example"
    assert doctest.DocTestRunner().run(example).failed == 0


def test_rule_names_are_unique() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))
