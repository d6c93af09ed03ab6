"""What users may choose of the optimizer, rules of their own, and the whole module's way through it."""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass.catalogue import catalogue
from windlass.diagnostics import WindlassError
from windlass.facts.cost import Device
from windlass.ir import Function, Module, Value, tensor_type
from windlass.ir.values import Argument
from windlass.ops import Add, Constant, Divide, Multiply, Negate, Reverse, Sine, Slice
from windlass.rewriting import Budget, Rule, RuleSet
from windlass.rewriting.ledger import Ledger
from windlass.stablehlo import import_text, optimizing, running
from windlass.stablehlo.optimizing import Choices, optimize_module

x, y, z = wl.hole("x"), wl.hole("y"), wl.hole("z")
start, limit, strides = wl.hole("start"), wl.hole("limit"), wl.hole("strides")

TWICE = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sine %x : tensor<4xf32>
  %1 = stablehlo.add %0, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}"""


@wl.rewrite(Add(Sine(x), Sine(x)))
def twice_the_sine(x: Value) -> Value:
    """sin(x) + sin(x) = -(-2 sin(x))"""
    return Add(Negate(Negate(Sine(x))), Sine(x))


@wl.rewrite(Divide(x, x))
def divide_by_itself(op: Divide) -> Value:
    """x / x = 1"""
    return Constant.of(1, op.dtype, op.shape)


@wl.rewrite(Divide(Multiply(x, y), y), assumes="finite")
def multiply_then_divide(x: Value, y: Value) -> Value:
    """x y / y = x"""
    return x


@wl.rewrite(Multiply(Add(x, y), z))
def unknown_leaf(x: Value, z: Value) -> Value:
    """(x + y) z = x z + w z"""
    return Multiply(x, Argument(x.type, name="w"))


@wl.rewrite(Negate(Negate(x)))
def other_type(x: Value) -> Value:
    """-(-x) = a number"""
    return Constant.of(0, x.dtype)


@wl.rewrite(Reverse(x, wl.hole("d")))
def raising(x: Value) -> Value:
    """reverse(x) = an error"""
    raise KeyError("nothing there")


@pytest.mark.parametrize(
    ("rule", "code", "message"),
    [
        (divide_by_itself, "WL0801", "rule divide_by_itself does not keep the meaning"),
        (multiply_then_divide, "WL0801", "rule multiply_then_divide does not keep the meaning"),
        (twice_the_sine, "WL0801", "rule twice_the_sine does not lower the measure"),
        (unknown_leaf, "WL0801", "rule unknown_leaf uses w, which is not in what it replaces"),
        (other_type, "WL0801", "rule other_type makes tensor<"),
        (raising, "WL0801", "rule raising raises KeyError"),
    ],
    ids=lambda each: each.name if isinstance(each, Rule) else "",
)
def test_rules_that_break_a_law_are_refused(rule: Rule, code: str, message: str) -> None:
    with pytest.raises(WindlassError) as caught:
        wl.stablehlo.optimize(TWICE, rules=[rule])
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code == code
    assert diagnostic.headline.startswith(message)
    assert any(rule.pattern.__class__.__name__ in note for note in diagnostic.notes), "no counterexample"


def test_a_counterexample_has_values() -> None:
    with pytest.raises(WindlassError) as caught:
        wl.check_rule(divide_by_itself)
    text = str(caught.value)
    for part in ("before: Divide(x, x)", "x: tensor<", "means [", "becomes ["):
        assert part in text.replace("means 1", "means [1").replace("becomes 1", "becomes [1"), text


def test_rules_that_hardly_fire_ask_for_a_sample() -> None:
    def first_of_ten(op: Slice, x: Value) -> Value | None:
        """x[:10] of 77 = x[:10]"""
        return None if x.shape != (77,) else Slice(x, (0,), op.limit_indices, (1,))

    rule = wl.rewrite(Slice(x, start, limit, strides))(first_of_ten)
    with pytest.raises(WindlassError, match=r"WL0802.*hardly ever fires"):
        wl.check_rule(rule)


def test_own_rules_are_applied() -> None:
    def sum_of_sines(x: Value) -> Value:
        """sin(x) + sin(x) = 2 sin(x)"""
        return Multiply(Sine(x), Constant.of(2, x.dtype, x.shape))

    @wl.rewrite(Sine(Negate(x)))
    def sine_of_negative(x: Value) -> Value | None:
        """sin(-(-x)) = sin(x)"""
        return Sine(x.operands[0]) if isinstance(x, Negate) else None

    def sample(draw: Any) -> Any:
        return Sine(Negate(Negate(Argument(tensor_type(draw.shape(), "f32"), name="x"))))

    sine_of_negative = wl.rewrite(Sine(Negate(x)), sample=sample)(sine_of_negative.body)
    assert sine_of_negative not in list(catalogue)
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.negate %x : tensor<4xf32>
      %1 = stablehlo.negate %0 : tensor<4xf32>
      %2 = stablehlo.sine %1 : tensor<4xf32>
      return %2 : tensor<4xf32>
    }"""
    report = wl.stablehlo.explain(text, rules=[sine_of_negative], without=["negate_of_negate"])
    assert report.count_by_rule()["sine_of_negative"] == 1
    assert "negate" not in wl.stablehlo.optimize(text, rules=[sine_of_negative], without=["negate_of_negate"])
    assert "negate" not in wl.optimize(lambda v: v, rules=[sine_of_negative]).lower(np.ones(4)).text()
    assert sum_of_sines(tensor("f32")) is not None


GRANTABLE = [
    ("select(compare(x, y), x, y)", lambda x, y: jnp.where(x > y, x, y), "stablehlo.maximum"),
    ("x * 0", lambda x, y: x * 0 + y, "return %arg1"),
    ("x - x", lambda x, y: x - x + y, "return %arg1"),
    ("0 - x", lambda x, y: 0.0 - x, "stablehlo.negate"),
    ("x + 0", lambda x, y: x + 0.0, "return %arg0"),
    ("x ** 0.5", lambda x, y: jnp.power(x, 0.5), "stablehlo.sqrt"),
    ("x is NaN", lambda x, y: jnp.where(jnp.isnan(x + y), 1.0, x), "return %arg0"),
    ("x is finite", lambda x, y: jnp.where(jnp.isfinite(x * y), x, 1.0), "return %arg0"),
    ("x times a mask", lambda x, y: x * (y > 3), "stablehlo.select %0, %arg0"),
]


@pytest.mark.parametrize(("name", "function", "sign"), GRANTABLE, ids=[each[0] for each in GRANTABLE])
def test_what_holds_for_some_floats_only_is_done_if_it_is_granted(name: str, function: Any, sign: str) -> None:
    x, y = np.array([1.5, 0.0, 7.0, 2.0], np.float32), np.array([2.5, 0.0, -3.0, 9.0], np.float32)
    text = jax.jit(function, keep_unused=True).lower(x, y).as_text()
    assert sign not in wl.stablehlo.optimize(text)
    granted = wl.stablehlo.optimize(text, assumes=["finite", "no -0.0"])
    assert sign in granted
    (result,) = wl.stablehlo.run(granted, x, y)
    np.testing.assert_array_equal(result, function(x, y))


def tensor(dtype: str) -> Value:
    return Argument(tensor_type((), dtype), name="x")


@pytest.mark.parametrize(
    "options",
    [{"assumes": "no nan"}, {"device": "npu"}, {"without": ["no_such_rule"]}, {"rules": [abs]}],
    ids=lambda options: next(iter(options)),
)
def test_choices_that_there_are_not(options: dict[str, Any]) -> None:
    with pytest.raises(WindlassError, match="WL0803"):
        wl.stablehlo.optimize(TWICE, **options)
    with pytest.raises(WindlassError, match="WL0803"):
        wl.optimize(abs, **options)


def test_finite_grants_that_there_is_no_nan() -> None:
    granted = Choices.make(assumes="finite").rule_set()
    assert set(Choices.make(assumes="no NaN").rule_set()) <= set(granted)


def test_exact_leaves_out_what_reassociates() -> None:
    assert any(rule.reassociates for rule in Choices().rule_set())
    assert not any(rule.reassociates for rule in Choices(exact=True).rule_set())


def test_a_failing_rule_is_named() -> None:
    text = TWICE.replace("sine", "reverse").replace("%x :", "%x, dims = [0] :")
    with pytest.raises(WindlassError, match=r"WL0804.*rule raising failed: KeyError"):
        optimize_module(import_text(text), Choices(rules=(raising,)))


def test_compile_seconds_are_honoured() -> None:
    lines = ["  %0 = stablehlo.negate %x : tensor<4xf32>"]
    count = 6000
    lines += [f"  %{number} = stablehlo.negate %{number - 1} : tensor<4xf32>" for number in range(1, count)]
    text = "\n".join(
        ["func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {", *lines, f"  return %{count - 1} : tensor<4xf32>", "}"]
    )
    module = import_text(text)
    report = optimize_module(module, Choices(compile_seconds=0.0))
    assert report.exhausted == "seconds"
    assert len(report.rewrites) < 100
    assert "seconds" in str(report)
    np.testing.assert_array_equal(
        wl.stablehlo.run(wl.stablehlo.optimize(text, compile_seconds=0), np.ones(4, "f4"))[0], 1
    )


def test_reading_and_writing_count_in_compile_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(text: str | bytes) -> Module:
        nonlocal late
        late = 2.0
        return read_program(text)

    def rewrite(function: Function, rules: RuleSet, budget: Budget, device: Device, estimates: bool) -> Ledger:
        budgets.append(budget.seconds)
        return Ledger()

    monkeypatch.setenv("WINDLASS_PATIENCE", "1")
    late, read_program = 0.0, running.read_program
    budgets: list[float] = []
    monkeypatch.setattr(time, "monotonic", lambda: 100.0 + late)
    monkeypatch.setattr(running, "read_program", read)
    monkeypatch.setattr(optimizing, "rewrite_function", rewrite)
    wl.stablehlo.optimize(TWICE, compile_seconds=5)
    assert budgets == [1.0]


def test_a_replay_gives_the_program_after_so_many_rewrites() -> None:
    text = TWICE.replace("add %0, %0", "multiply %0, %x")
    text = text.replace("sine %x", "negate %y").replace("  %0", "  %y = stablehlo.negate %x : tensor<4xf32>\n  %0")
    whole = optimize_module(import_text(text), Choices())
    assert whole.rewrites
    for steps in range(len(whole.rewrites) + 1):
        part = optimize_module(import_text(text), Choices(), steps=steps)
        assert [entry.rule for entry in part.rewrites] == [entry.rule for entry in whole.rewrites[:steps]]


LOOP = """func.func @main(%n: tensor<i32>, %x: tensor<4xf32>, %p: tensor<i1>)
    -> (tensor<i32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %t = stablehlo.negate %n : tensor<i32>
      %u = stablehlo.negate %t : tensor<i32>
      %c = stablehlo.compare LT, %i, %u : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %r = stablehlo.reverse %v, dims = [0] : tensor<4xf32>
      %s = stablehlo.reverse %r, dims = [0] : tensor<4xf32>
      %w = func.call @scale(%s) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %j, %w : tensor<i32>, tensor<4xf32>
    }
  %1 = "stablehlo.if"(%p) ({
    %a = stablehlo.reverse %0#1, dims = [0] : tensor<4xf32>
    %b = stablehlo.reverse %a, dims = [0] : tensor<4xf32>
    %c = stablehlo.sqrt %b : tensor<4xf32>
    stablehlo.return %c : tensor<4xf32>
  }, {
    %d = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
    %e = func.call @turn(%d) : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %e : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0#0, %0#1, %1 : tensor<i32>, tensor<4xf32>, tensor<4xf32>
}
func.func private @scale(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.constant dense<[1.5, 0.5, 2.0, -1.0]> : tensor<4xf32>
  %0 = stablehlo.multiply %x, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @turn(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
  return %0 : tensor<4xf32>
}"""


def test_regions_and_called_functions_are_optimized() -> None:
    optimized = wl.stablehlo.optimize(LOOP)
    assert "reverse" not in optimized
    assert "call" not in optimized
    assert "private" not in optimized
    for count, chosen in ((0, True), (3, True), (2, False)):
        arrays = (np.int32(count), np.array([1, 2, 3, 4], np.float32), np.bool_(chosen))
        expected, found = wl.stablehlo.run(LOOP, *arrays), wl.stablehlo.run(optimized, *arrays)
        for before, after in zip(expected, found, strict=True):
            np.testing.assert_allclose(before, after, rtol=1e-6)


def test_what_may_fail_or_act_stays_in_its_branch() -> None:
    text = """func.func @main(%p: tensor<i1>, %x: tensor<i32>) -> tensor<i32> {
      %0 = "stablehlo.if"(%p) ({
        %a = "stablehlo.custom_call"(%x) {call_target_name = "shout", has_side_effect = true}
          : (tensor<i32>) -> tensor<i32>
        stablehlo.return %a : tensor<i32>
      }, {
        %a = "stablehlo.custom_call"(%x) {call_target_name = "shout", has_side_effect = true}
          : (tensor<i32>) -> tensor<i32>
        stablehlo.return %x : tensor<i32>
      }) : (tensor<i1>) -> tensor<i32>
      return %0 : tensor<i32>
    }"""
    optimized = wl.stablehlo.optimize(text)
    assert optimized.count("shout") == 2
    assert "stablehlo.if" in optimized
    assert optimized.index("stablehlo.if") < optimized.index("shout")


def test_recursive_functions_are_left_alone() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func private @again(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    assert "@again" in wl.stablehlo.optimize(text)


def test_a_module_without_a_name_inside_of_the_module_is_left_out() -> None:
    text = f"module {{\n  module {{ {TWICE} }}\n  module @kept {{ {TWICE} }}\n  {TWICE}\n}}"
    optimized = wl.stablehlo.optimize(text)
    assert optimized.count("sine") == 2
    assert "module @kept" in optimized


def test_constants_of_shardy_are_constants() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = sdy.constant dense<0.0> : tensor<4xf32>
      %1 = stablehlo.subtract %x, %0 : tensor<4xf32>
      return %1 : tensor<4xf32>
    }"""
    assert "constant" not in wl.stablehlo.optimize(text)


def test_a_short_sum_of_negative_zeros_stays_negative() -> None:
    text = """func.func @main(%x: tensor<4x2xf32>) -> tensor<1x2xf32> {
      %0 = stablehlo.slice %x [0:1, 0:2] : (tensor<4x2xf32>) -> tensor<1x2xf32>
      %1 = stablehlo.slice %x [1:2, 0:2] : (tensor<4x2xf32>) -> tensor<1x2xf32>
      %2 = stablehlo.slice %x [2:3, 0:2] : (tensor<4x2xf32>) -> tensor<1x2xf32>
      %3 = stablehlo.slice %x [3:4, 0:2] : (tensor<4x2xf32>) -> tensor<1x2xf32>
      %4 = stablehlo.add %3, %1 : tensor<1x2xf32>
      %5 = stablehlo.add %0, %4 : tensor<1x2xf32>
      %6 = stablehlo.add %5, %2 : tensor<1x2xf32>
      return %6 : tensor<1x2xf32>
    }"""
    optimized = wl.stablehlo.optimize(text)
    assert "stablehlo.reduce" in optimized
    zeros = np.full((4, 2), -0.0, np.float32)
    (found,) = wl.stablehlo.run(optimized, zeros)
    assert np.signbit(found).all()


def test_starts_that_may_be_any_number_are_shared() -> None:
    text = """func.func @main(%x: tensor<4x9xf32>, %u: tensor<4x2xf32>) -> tensor<4x9xf32> {
      %a = stablehlo.constant dense<0> : tensor<i32>
      %b = stablehlo.constant dense<5> : tensor<i32>
      %0 = stablehlo.dynamic_update_slice %x, %u, %a, %b
          : (tensor<4x9xf32>, tensor<4x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x9xf32>
      return %0 : tensor<4x9xf32>
    }"""
    optimized = wl.stablehlo.optimize(text)
    assert optimized.count("stablehlo.constant") == 1
    x, u = np.arange(36, dtype=np.float32).reshape(4, 9), np.ones((4, 2), np.float32)
    expected = x.copy()
    expected[:, 5:7] = 1
    (found,) = wl.stablehlo.run(optimized, x, u)
    assert np.array_equal(found, expected)
