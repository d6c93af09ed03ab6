"""Derivatives of random programs agree with one another. `make fuzz-gradients` runs many more."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fuzz.gradients.checking import Outcome, Subject, check
from tests.fuzz.gradients.subjects import make_case
from tests.fuzz.gradients.sweep import shrink
from windlass.ops import Constant, Multiply, Sine, Tanh
from windlass.stablehlo import import_text

QUICK = (0, 8, 16, 24, 2, 3, 5, 11, 19, 23, 27, 43)
"""Programs that are made and checked in a moment."""


def expect_agreement(seed: int) -> Outcome:
    """Fails with the smallest form of the program if its derivatives part."""
    case = make_case(seed)
    outcome = check(case.subject, seed)
    if outcome.is_bad:
        small, found = shrink(case, outcome, seed, 20.0)
        pytest.fail(f"{seed} {found.kind}: {found.message}\n{small.describe()}", pytrace=False)
    return outcome


def test_derivatives_of_random_programs_agree() -> None:
    outcomes = [expect_agreement(seed) for seed in QUICK]
    held_to = frozenset[str]().union(*(each.compared for each in outcomes))
    assert sum(each.kind == "same" for each in outcomes) >= 0.8 * len(QUICK)
    assert {"transposes", "precisions", "JAX", "differences of the twin", "differences of the gradient"} <= held_to


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100_000, 100_400, 20))
def test_derivatives_of_many_random_programs_agree(first: int) -> None:
    for seed in range(first, first + 20):
        expect_agreement(seed)


TEXT = """
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  %y = stablehlo.sine %x : tensor<4xf32>
  %z = stablehlo.multiply %y, %y : tensor<4xf32>
  return %z : tensor<4xf32>
}"""


def test_a_wrong_rule_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([0.3, 1.7, -0.9, 2.2], np.float32)

    def subject() -> Subject:
        return Subject(import_text(TEXT).main, (x,))

    assert check(subject, 0).kind == "same"
    right = Sine.partial
    monkeypatch.setattr(Sine, "partial", lambda op, place: Multiply(right(op, place), Constant.splat(1.01, op.type)))
    outcome = check(subject, 0)
    assert outcome.kind == "wrong" and "differences" in outcome.message


@pytest.mark.slow
def test_what_fails_is_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Tanh.partial
    monkeypatch.setattr(Tanh, "partial", lambda op, place: Multiply(right(op, place), Constant.splat(1.01, op.type)))
    for seed in range(0, 400, 4):
        case = make_case(seed)
        if any(isinstance(op, Tanh) for op in case.subject().function.walk()):
            outcome = check(case.subject, seed)
            if outcome.kind == "wrong":
                break
    else:
        pytest.fail("no program was found to be wrong")
    small, found = shrink(case, outcome, seed, 20.0)
    assert found.kind == "wrong"
    assert len(list(small.subject().function.walk())) <= 4, small.describe()
