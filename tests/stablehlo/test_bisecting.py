"""Finding the rewrite at fault."""

from __future__ import annotations

import numpy as np
import pytest

import windlass as wl
from windlass.diagnostics import ProgramError
from windlass.ir import Value
from windlass.ops import Add, Constant, Negate, Sine, Subtract, While
from windlass.stablehlo.bisecting import Comparison, bisect, is_alike
from windlass.stablehlo.optimizing import Choices

x, y = wl.hole("x"), wl.hole("y")


@wl.rewrite(Subtract(x, y))
def forget_what_is_subtracted(x: Value, y: Value) -> Value | None:
    """x - sin(y) = x: wrong"""
    return x if isinstance(y, Sine) else None


PROGRAM = """func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  %1 = stablehlo.negate %0 : tensor<4xf32>
  %2 = stablehlo.cosine %1 : tensor<4xf32>
  %3 = stablehlo.sine %2 : tensor<4xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %w:2 = stablehlo.while(%i = %zero, %v = %3) : tensor<i32>, tensor<4xf32>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %a = stablehlo.reverse %v, dims = [0] : tensor<4xf32>
      %b = stablehlo.reverse %a, dims = [0] : tensor<4xf32>
      %s = stablehlo.sine %3 : tensor<4xf32>
      %t = stablehlo.subtract %b, %s : tensor<4xf32>
      stablehlo.return %j, %t : tensor<i32>, tensor<4xf32>
    }
  %4 = stablehlo.reverse %w#1, dims = [0] : tensor<4xf32>
  %5 = stablehlo.reverse %4, dims = [0] : tensor<4xf32>
  return %5 : tensor<4xf32>
}"""
BAD = Choices(exact=True, device="cpu", rules=(forget_what_is_subtracted,))


@pytest.mark.parametrize("evaluated", [False, True])
def test_the_rule_at_fault_is_found_by_comparison(evaluated: bool) -> None:
    comparison = Comparison.on(PROGRAM, evaluated=evaluated)
    fault = bisect(PROGRAM, comparison.is_kept_by, BAD, compares=True)
    assert fault is not None
    assert fault.rule is forget_what_is_subtracted
    assert fault.source is not None
    assert PROGRAM.splitlines()[fault.source.line - 1].lstrip().startswith("%t = stablehlo.subtract")
    assert comparison.is_kept_by(fault.before)
    assert not comparison.is_kept_by(fault.after)
    assert fault.smallest is not None
    assert fault.smallest.count("stablehlo.") == 2, fault.smallest
    assert "stablehlo.sine" in fault.smallest
    assert "forget_what_is_subtracted" in str(fault)


def test_a_right_program_has_no_fault() -> None:
    assert bisect(PROGRAM, choices=Choices(device="cpu")) is None


def test_a_behaviour_may_be_anything() -> None:
    fault = bisect(PROGRAM, lambda program: program.count("reverse") >= 4, Choices(device="cpu"))
    assert fault is not None
    assert fault.rule is not None
    assert fault.rule.name == "reverse_of_reverse"
    assert fault.smallest is None


def test_a_program_that_is_bad_already() -> None:
    with pytest.raises(ProgramError, match="WL0508"):
        bisect(PROGRAM, lambda program: False)


def test_alike_means_the_same_but_for_rounding() -> None:
    here = np.array([1.0, np.nan, np.inf, -np.inf, 1e-9], np.float32)
    assert is_alike(here, here + np.float32(1e-7))
    assert not is_alike(here, here.astype(np.float64))
    assert not is_alike(here, np.where(np.isnan(here), 0, here))
    assert not is_alike(here, np.where(here == np.inf, -np.inf, here))
    assert not is_alike(here, here + np.float32(0.01))
    assert not is_alike(np.array([1]), np.array([2]))
    assert is_alike(np.zeros(3), np.full(3, -0.0))


def test_while_loops_are_cut_out_whole() -> None:
    @wl.rewrite(Negate(x))
    def negate_of_loop(op: Negate, x: Value) -> Value | None:
        """-loop = loop: wrong"""
        owner = getattr(x, "owner", None)
        return Add(x, Constant.of(0, op.dtype, op.shape)) if isinstance(owner, While) else None

    program = PROGRAM.replace("%4 = stablehlo.reverse %w#1, dims = [0]", "%4 = stablehlo.negate %w#1")
    choices = Choices(exact=True, device="cpu", rules=(negate_of_loop,), without=("negate_of_negate",))
    fault = bisect(program, choices=choices)
    assert fault is not None
    assert fault.rule is negate_of_loop
    assert fault.smallest is not None
