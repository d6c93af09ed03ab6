"""Random programs mean the same when optimized. `python -m tests.fuzz.tensor.sweep` runs many more."""

from __future__ import annotations

import collections
from collections.abc import Iterator

import numpy as np
import pytest

from tests.fuzz.tensor import trial
from tests.fuzz.tensor.author import Program, write_program
from tests.fuzz.tensor.meaning import NANS, ROUNDING, Meaning, exact_difference, find_slack, first_difference
from tests.fuzz.tensor.shrinking import describe, shrink
from tests.fuzz.tensor.sweep import make
from tests.fuzz.tensor.trial import Outcome, Way, run
from windlass.catalogue import catalogue
from windlass.ir import Block, Builder, Value, tensor_type
from windlass.ops import (
    Add,
    BitcastConvert,
    Compare,
    Constant,
    DotGeneral,
    If,
    Multiply,
    Reduce,
    Return,
    Scatter,
    Subtract,
    While,
)
from windlass.rewriting.pattern import list_attempts
from windlass.rewriting.rule import Rule


def run_all(seeds: range) -> collections.Counter[str]:
    """How many had which outcome; fails with the smallest form of the first program that went wrong."""
    counts: collections.Counter[str] = collections.Counter()
    for seed in seeds:
        program, way = make(seed)
        outcome = run(program, way)
        counts[outcome.kind] += 1
        if outcome.is_bad:
            pytest.fail(f"{seed} {describe(*shrink(program, way, outcome, 20.0))}", pytrace=False)
    return counts


@pytest.mark.one_in(2)
@pytest.mark.parametrize("first", range(0, 80, 40))
def test_optimized_programs_mean_the_same(first: int) -> None:
    counts = run_all(range(first, first + 40))
    assert counts["same"] >= 0.85 * 40, f"few programs were compared: {counts}"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 14_000, 100))
def test_many_optimized_programs_mean_the_same(first: int) -> None:
    run_all(range(first, first + 100))


@pytest.mark.slow
def test_programs_hold_all_kinds_of_ops_and_let_most_rules_meet() -> None:
    programs = [write_program(seed, bool(seed % 2)) for seed in range(60)]
    held = {type(op) for program in programs for op in program.module.main.walk()}
    assert {While, If, Reduce, Scatter, DotGeneral, Multiply} <= held
    assert len(held) > 75
    fired = {name for program in programs for name in run(program, Way(program.is_exact, is_generous=True)).rules}
    assert len(fired) > 0.35 * len(catalogue)


def test_same_number_writes_the_same_program() -> None:
    one, other = (describe(write_program(5, True), Way(True), Outcome("same")) for _ in range(2))
    assert one == other


@pytest.fixture
def wrong_rule(monkeypatch: pytest.MonkeyPatch) -> Iterator[Rule]:
    """--x = x + 1, while the test runs; what others have compiled of the rule is forgotten, before and after."""

    def body(x: Value) -> Value:
        return Add(x, Constant.of(1, x.dtype, x.shape))

    (rule,) = (each for each in catalogue if each.name == "negate_of_negate")
    monkeypatch.setattr(rule, "attempts", list_attempts(rule.pattern, rule.single_use, body, ("x",)))
    monkeypatch.setattr(catalogue, "_chosen", {})
    monkeypatch.setattr(catalogue, "_candidates", {})
    trial._rule_set.cache_clear()  # pyright: ignore[reportPrivateUsage]
    yield rule
    trial._rule_set.cache_clear()  # pyright: ignore[reportPrivateUsage]


def test_a_wrong_rule_is_found_named_and_shown_by_a_small_program(wrong_rule: Rule) -> None:
    way = Way(is_exact=True)
    tried = ((program, run(program, way)) for program in (write_program(s, True, 12, [wrong_rule]) for s in range(100)))
    program, outcome = next(pair for pair in tried if pair[1].is_bad)
    small, way, outcome = shrink(program, way, outcome, 300.0)
    assert outcome.rules == ("negate_of_negate",)
    assert isinstance(small, Program)
    assert len(describe(small, way, outcome).splitlines()) <= 12


def test_noise_shows_where_the_sign_of_a_computed_zero_is_seen() -> None:
    x = Block([tensor_type((1,), "f32")])
    with Builder(x):
        Return((BitcastConvert(Add(x.arguments[0], x.arguments[0]), "ui32"),))
    zeros = [np.zeros(1, np.float32)]
    noise = frozenset((ROUNDING,))
    found = [Meaning(seed=seed, noise=noise).of_block(x, zeros, {})[0].tolist() for seed in range(2)]
    assert found == [[2**31], [0]]


def test_what_the_sign_of_a_computed_nan_decides_may_be_anything() -> None:
    """inf - inf and -inf + inf are NaN of either sign, and comparisons by total order tell them apart."""
    x = Block([tensor_type((2,), "f32")])
    with Builder(x):
        difference = Subtract(x.arguments[0], x.arguments[0])
        Return((Compare(difference, x.arguments[0], "LT", "TOTALORDER"),))
    arrays = [np.array([np.inf, 1.0], np.float32)]
    noisy = [Meaning(seed=seed, noise=frozenset((NANS,))).of_block(x, arrays, {})[0] for seed in range(2)]
    assert [each.tolist() for each in noisy] == [[True, True], [False, True]]
    assert exact_difference(noisy[0], noisy[1])
    assert not exact_difference(noisy[0], noisy[1], noisy)
    assert exact_difference(noisy[0], ~noisy[0], noisy)


def test_noise_tells_what_may_differ() -> None:
    exact = np.array([1.0, 2.0, 3.0])
    slack, free = find_slack(exact, [np.array([1.0, 2.0 + 1e-9, np.nan])], 3.0)
    assert not first_difference(exact, np.array([1.0, 2.0 + 2e-9, 7.0]), slack, free)
    assert "1 of 3 differ, at [0]" in first_difference(exact, np.array([1.0 + 1e-9, 2.0, 3.0]), slack, free)
    whole = np.array([1, 2])
    assert first_difference(whole, np.array([1, 3]), *find_slack(whole, [np.array([2, 2])], 0.0))
    assert exact_difference(np.array([0.0]), np.array([-0.0]))
    assert not exact_difference(np.array([np.nan]), np.array([-np.nan]))
