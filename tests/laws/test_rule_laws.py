"""Written once, run for every rule: what must be true of a rule, whatever it does."""

from __future__ import annotations

import doctest
import sys
from typing import Any

import numpy as np
import pytest

from tests.laws.instances import Mismatch, evaluate_term, list_arguments, make_instance
from windlass.ir import Op, Value
from windlass.ops.sampling import RandomDraw
from windlass.rewriting import Rule
from windlass.rewriting.measure import measure_term
from windlass.rules import catalogue

RULES = list(catalogue)
ATTEMPTS, WANTED = 1500, 30


def find_applications(rule: Rule) -> list[tuple[Op, Value, RandomDraw]]:
    """Random instances on which the rule fires, with what it made of them."""
    found: list[tuple[Op, Value, RandomDraw]] = []
    for seed in range(ATTEMPTS):
        draw = RandomDraw(seed)
        try:
            before = make_instance(rule, draw)
        except Mismatch:
            continue
        after = rule(before)
        if after is not None:
            assert isinstance(after, Value)
            found.append((before, after, draw))
            if len(found) == WANTED:
                break
    return found


def same_bits(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    """Equal, with NaN equal to NaN and the zeros of both signs told apart."""
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if left.dtype.kind in "iub":
        return bool(np.array_equal(left, right))
    if left.dtype.kind == "c":
        return same_bits(left.real, right.real) and same_bits(left.imag, right.imag)
    wide_left, wide_right = left.astype(np.float64), right.astype(np.float64)
    equal = (wide_left == wide_right) & (np.signbit(wide_left) == np.signbit(wide_right))
    return bool((equal | (np.isnan(wide_left) & np.isnan(wide_right))).all())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rule_keeps_meaning_and_type_fires_and_lowers_the_measure(rule: Rule) -> None:
    applications = find_applications(rule)
    assert len(applications) >= 3, f"{rule.name} hardly ever fires on its own pattern"
    for before, after, draw in applications:
        assert after.type is before.type
        arguments = list_arguments(before)
        assert set(list_arguments(after)) <= set(arguments)
        values: dict[Value, Any] = {argument: draw.array(argument.tensor) for argument in arguments}
        assert same_bits(evaluate_term(before, dict(values)), evaluate_term(after, dict(values))), (before, after)
        assert measure_term(after, arguments) < measure_term(before, arguments), (before, after)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rule_has_an_equation_and_an_example_that_works(rule: Rule) -> None:
    assert rule.equation
    scope = dict(vars(sys.modules[rule.__module__]))
    example = doctest.DocTestParser().get_doctest(rule.__doc__ or "", scope, rule.name, None, None)
    assert example.examples, "no example"
    assert doctest.DocTestRunner().run(example).failed == 0


def test_rule_names_are_unique() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))
