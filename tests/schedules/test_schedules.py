"""Schedules: values that print and are read back, keep what programs mean, and say what they don't know."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windlass as wl
from windlass.ops.evaluation import evaluate_function
from windlass.schedules import (
    Schedule,
    attempt,
    choice,
    everything,
    on,
    optional,
    passes,
    read_schedule,
    rules,
    seq,
)
from windlass.schedules.tensors import families
from windlass.stablehlo.importing import import_text
from windlass.stablehlo.optimizing import Choices, optimize_module

FAMILIES = sorted(families())
PROGRAM = """
func.func @main(%a: tensor<4x6xf32>, %b: tensor<4x6xf32>) -> (tensor<6xf32>, tensor<4x4xf32>) {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %2 = stablehlo.add %1, %b : tensor<4x6xf32>
  %3 = stablehlo.add %a, %b : tensor<4x6xf32>
  %4 = stablehlo.subtract %2, %3 : tensor<4x6xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %5 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
  %6 = stablehlo.negate %5 : tensor<6xf32>
  %7 = stablehlo.negate %6 : tensor<6xf32>
  %8 = stablehlo.dot_general %2, %3, contracting_dims = [1] x [1]
    : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x4xf32>
  return %7, %8 : tensor<6xf32>, tensor<4x4xf32>
}
"""

names = st.lists(st.sampled_from(FAMILIES), max_size=4)
leaves = st.one_of(
    names.map(lambda each: rules(*each)),
    st.lists(st.sampled_from(["needed_parts", "equal_ops_at_once", "shared_starts"]), max_size=2).map(
        lambda each: passes(*each)
    ),
    names.map(everything),
)
schedules = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda each: seq(*each)),
        st.builds(lambda name, each: choice(name, *each), st.text(max_size=3), st.lists(inner, min_size=1, max_size=3)),
        inner.map(attempt),
        st.builds(on, st.sampled_from(["DotGeneral", "While", "Add"]), inner),
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=60)
@given(schedules)
def test_text_of_a_schedule_is_read_back_as_the_same(schedule: Schedule) -> None:
    again = read_schedule(str(schedule))
    assert again == schedule
    assert hash(again) == hash(schedule)
    assert again.space == schedule.space


@settings(deadline=None, max_examples=40)
@given(schedules)
def test_programs_mean_the_same_under_any_schedule(schedule: Schedule) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, (4, 6)).astype(np.float32) for _ in range(2))
    module = import_text(PROGRAM)
    expected = evaluate_function(module.main, a, b)
    optimize_module(module, Choices.make(schedule=schedule))
    for found, wanted in zip(evaluate_function(module.main, a, b), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def rewrites_of(schedule: Schedule) -> set[str]:
    return set(optimize_module(import_text(PROGRAM), Choices.make(schedule=schedule)).count_by_rule())


def test_only_what_is_named_is_applied() -> None:
    assert rewrites_of(rules("transpose_of_transpose")) == {"transpose_of_transpose"}
    assert rewrites_of(rules("negate_of_negate")) == {"negate_of_negate"}
    assert rewrites_of(seq()) == set()
    (family,) = (name for name, names in families().items() if "negate_of_negate" in names)
    assert "negate_of_negate" not in rewrites_of(everything(without=family))
    assert rewrites_of(everything()) == set(optimize_module(import_text(PROGRAM)).count_by_rule())


def test_steps_are_done_where_their_op_is() -> None:
    assert rewrites_of(on("DotGeneral", rules("transpose_of_transpose"))) == {"transpose_of_transpose"}
    assert rewrites_of(on("While", rules("transpose_of_transpose"))) == set()


def test_attempts_are_kept_where_the_model_says_that_they_pay() -> None:
    assert rewrites_of(attempt(rules("transpose_of_transpose", "negate_of_negate"))) == {
        "transpose_of_transpose",
        "negate_of_negate",
    }
    assert rewrites_of(attempt(seq())) == set()


def test_steps_of_a_schedule_count_in_one_ledger_and_one_budget() -> None:
    schedule = seq(rules("transpose_of_transpose"), attempt(rules("negate_of_negate")))
    report = optimize_module(import_text(PROGRAM), Choices.make(schedule=schedule))
    assert [entry.step for entry in report.rewrites] == list(range(len(report.rewrites)))
    assert len(report.rewrites) == 2
    first = optimize_module(import_text(PROGRAM), Choices.make(schedule=schedule), steps=1)
    assert [entry.rule for entry in first.rewrites] == ["transpose_of_transpose"]


def test_choices_are_open_until_they_are_bound_and_the_first_option_is_the_default() -> None:
    schedule = seq(
        choice("a", rules("transpose_of_transpose"), rules("negate_of_negate")), optional("b", passes("needed_parts"))
    )
    assert schedule.space == {"a": 2, "b": 2}
    assert rewrites_of(schedule) == {"transpose_of_transpose"}
    bound = schedule.bind({"a": 1})
    assert bound == seq(rules("negate_of_negate"), optional("b", passes("needed_parts")))
    assert rewrites_of(bound) == {"negate_of_negate"}
    with pytest.raises(wl.WindlassError, match="the choice 'a' has 2 options, none is number 2"):
        schedule.bind({"a": 2})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules('slizes')", "rules: there is no rule or family called 'slizes'"),
        ("passes('x')", "passes: there is no pass called 'x'"),
        ("on('Dot', seq())", "no op is called 'Dot'"),
        ("choice('x')", "the choice 'x' has no options"),
        ("seq(rules('slices'), ruls('pads'))", "line 1, column 22: there is no step called 'ruls'"),
        ("seq(1)", "seq takes schedules, got 1"),
        ("__import__('os')", "line 1, column 1: there is no step called '__import__'"),
        ("seq.__class__", "line 1, column 1: 'seq.__class__' is no step"),
        ("(lambda: 1)()", "line 1, column 1: '(lambda: 1)()' is no step"),
        ("rules(*x)", "line 1, column 7: '*x' is no step"),
        ("seq(", "the schedule is not spelled as one"),
        ("'rules'", "'rules' is no schedule"),
        ("attempt()", "line 1, column 1: attempt() missing 1 required positional argument"),
        ("seq(" * 60 + ")" * 60, "a schedule has at most 50 steps within one another"),
        ("9" * 30_000, "a schedule has at most 20000 characters"),
    ],
)
def test_what_is_no_schedule_is_refused(text: str, message: str) -> None:
    with pytest.raises(wl.WindlassError) as caught:
        read_schedule(text)
    assert caught.value.diagnostics[0].code == "WL0806"
    assert message in str(caught.value)


def test_functions_run_under_schedules() -> None:
    plain = lambda a, b: jnp.trace(a.T.T @ b)  # noqa: E731
    for schedule in (rules("diagonals", "contractions"), "seq(rules('transposes'))", seq()):
        assert float(wl.optimize(plain, schedule=schedule)(jnp.eye(3), jnp.ones((3, 3)))) == 3.0
    text = wl.optimize(plain, schedule=seq()).lower(jnp.eye(3), jnp.ones((3, 3))).text("optimized")
    assert text.count("stablehlo.transpose") == 2
    with pytest.raises(wl.WindlassError, match="schedule is a schedule or its text, got 3"):
        wl.optimize(plain, schedule=3)  # pyright: ignore[reportCallIssue, reportArgumentType]
