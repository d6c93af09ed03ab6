"""Written once, run for every rule: what must be true of a rule, whatever it does."""

from __future__ import annotations

import doctest
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.laws.instances import Mismatch, evaluate_term, evaluate_wide, list_arguments, make_instance
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


def meet(array: np.ndarray[Any, Any], rule: Rule) -> np.ndarray[Any, Any]:
    """The array, but for values that the rule assumes away; without infinities and NaN where sums are reordered."""
    if array.dtype.kind not in "fc" and array.dtype.name != "bfloat16":
        return array
    array = array.copy()
    if "no NaN" in rule.assumes or rule.reassociates:
        array[np.isnan(array)] = 1
    if "finite" in rule.assumes or rule.reassociates:
        array[~np.isfinite(array)] = 2
    if rule.reassociates:
        array[np.abs(array) > 1e3] = 3
    if "no -0.0" in rule.assumes:
        array[array == 0] = 0
    return array


def is_near(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any], exact: np.ndarray[Any, Any]) -> bool:
    """Whether the rewritten result is about as near to the result in double precision as the one as written."""
    if left.dtype.kind in "iub":
        return bool(np.array_equal(left, right))
    kind = np.complex128 if left.dtype.kind == "c" else np.float64
    size = np.max(np.abs(exact), initial=1.0)
    unit = float(ml_dtypes.finfo(left.dtype).eps) * size
    as_written = np.max(np.abs(left.astype(kind) - exact), initial=0.0)
    rewritten = np.max(np.abs(right.astype(kind) - exact), initial=0.0)
    return bool(rewritten <= 4 * as_written + 8 * unit)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rule_keeps_meaning_and_type_fires_and_lowers_the_measure(rule: Rule) -> None:
    applications = find_applications(rule)
    assert len(applications) >= 3, f"{rule.name} hardly ever fires on its own pattern"
    for before, after, draw in applications:
        assert after.type is before.type
        arguments = list_arguments(before)
        assert set(list_arguments(after)) <= set(arguments)
        values: dict[Value, Any] = {argument: meet(draw.array(argument.tensor), rule) for argument in arguments}
        old, new = evaluate_term(before, dict(values)), evaluate_term(after, dict(values))
        if rule.reassociates:
            assert is_near(old, new, evaluate_wide(before, values)), (before, after)
        else:
            assert same_bits(old, new), (before, after)
        if not rule.by_cost:
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
