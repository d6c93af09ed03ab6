from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from windlass.diagnostics import WindlassError
from windlass.facts.cost import Device
from windlass.ir import Block, Builder, Function, Op, TypeFault, Value, tensor_type
from windlass.ir.verifier import verify
from windlass.ops import (
    Add,
    Compare,
    Constant,
    Exponential,
    Multiply,
    Negate,
    Return,
    Slice,
    Subtract,
    While,
    make_region,
)
from windlass.ops.evaluation import evaluate_function
from windlass.ops.pointwise import Binary
from windlass.passes.loops import carried_value_that_never_changes
from windlass.rewriting import Budget, Rule, RuleSet, rewrite, rewrite_function
from windlass.rewriting.passes import Change, Pass
from windlass.rewriting.pattern import any_op, hole

x, y, z = hole("x"), hole("y"), hole("z")


@rewrite(Add(x, y), register=False)
def swap_addition(op: Add, x: Value, y: Value) -> Value:
    """x + y = y + x: never settles"""
    return Add(y, x)


@rewrite(Negate(Negate(x)), register=False)
def cancel_negations(x: Value) -> Value:
    """-(-x) = x"""
    return x


@rewrite(Multiply(Exponential(x), y), register=False)
def match_product_in_either_order(x: Value, y: Value) -> Value:
    """exp(x) · y = y - x: wrong on purpose, to see it happen"""
    return Subtract(y, x)


@rewrite(Slice(x, hole("start"), hole("limit"), hole("strides")), register=False)
def decline_after_building(x: Value) -> None:
    """builds an op, then declines"""
    Negate(x)


@rewrite(Negate(x), register=False)
def change_the_type(x: Value) -> Value:
    """a defect: the replacement has another type"""
    return Constant.of(0, "i32")


@rewrite(Negate(Exponential(x)), register=False, single_use=True)
def need_single_use(x: Value) -> Value:
    """-exp(x) = x: wrong on purpose"""
    return x


def function_of(build: Callable[..., Value | tuple[Value, ...]], *shapes: tuple[int, ...]) -> Function:
    block = Block([tensor_type(shape, "f32") for shape in shapes])
    with Builder(block):
        results = build(*block.arguments)
        Return(results if isinstance(results, tuple) else (results,))
    return Function("main", block)


def names_of(function: Function) -> list[str]:
    return [type(op).__name__ for op in function.walk()]


def test_budget_stops_rules_that_go_round_and_names_them() -> None:
    function = function_of(Add, (2,), (2,))
    ledger = rewrite_function(function, RuleSet([swap_addition]), Budget(steps=50))
    assert ledger.exhausted == "steps"
    assert len(ledger.entries) == 50
    assert "swap_addition" in (ledger.describe_cycle() or "")
    assert names_of(function) == ["Add", "Return"]
    np.testing.assert_array_equal(evaluate_function(function, np.ones(2, "f4"), np.ones(2, "f4"))[0], [2, 2])


def test_each_rewrite_is_recorded_and_replayed_up_to_any_step() -> None:
    def build(a: Value) -> Value:
        return Negate(Negate(Negate(Negate(a))))

    ledger = rewrite_function(function_of(build, (2,)), RuleSet([cancel_negations]))
    assert [entry.rule for entry in ledger.entries] == ["cancel_negations"] * 2
    assert ledger.exhausted is None
    partly = function_of(build, (2,))
    rewrite_function(partly, RuleSet([cancel_negations]), Budget(steps=1))
    assert names_of(partly) == ["Negate", "Negate", "Return"]


def test_commutative_pattern_matches_in_either_order() -> None:
    rules = RuleSet([match_product_in_either_order])
    for build in (lambda a, b: Multiply(Exponential(a), b), lambda a, b: Multiply(b, Exponential(a))):
        function = function_of(build, (2,), (2,))
        rewrite_function(function, rules)
        assert names_of(function) == ["Subtract", "Return"]
        assert function.body.first is not None
        assert function.body.first.operands == (function.arguments[1], function.arguments[0])


def test_ops_of_a_rule_that_declines_are_removed() -> None:
    function = function_of(lambda a: Slice(a, (0,), (1,), (1,)), (2,))
    assert not rewrite_function(function, RuleSet([decline_after_building])).entries
    assert names_of(function) == ["Slice", "Return"]
    assert len(function.arguments[0].uses) == 1


def test_rule_that_changes_a_type_is_an_error_that_names_it() -> None:
    with pytest.raises(TypeFault, match="change_the_type"):
        rewrite_function(function_of(Negate, (2,)), RuleSet([change_the_type]))


def test_single_use_rule_leaves_shared_values_alone() -> None:
    def build(a: Value) -> tuple[Value, ...]:
        shared = Exponential(a)
        return Negate(shared), shared

    function = function_of(build, (2,))
    assert not rewrite_function(function, RuleSet([need_single_use])).entries
    alone = function_of(lambda a: Negate(Exponential(a)), (2,))
    assert len(rewrite_function(alone, RuleSet([need_single_use])).entries) == 1


def test_dead_ops_go_and_equal_ops_are_shared() -> None:
    def build(a: Value, b: Value) -> Value:
        Exponential(b)
        return Subtract(Add(a, b), Add(b, a))

    function = function_of(build, (2,), (2,))
    rewrite_function(function, RuleSet())
    assert names_of(function) == ["Add", "Subtract", "Return"]


def test_new_ops_carry_the_rule_that_made_them() -> None:
    function = function_of(lambda a, b: Multiply(Exponential(a), b), (2,), (2,))
    rewrite_function(function, RuleSet([match_product_in_either_order]))
    assert function.body.first is not None
    assert function.body.first.made_by == ("match_product_in_either_order",)


def fail(block: Block, device: Device) -> Iterator[Change]:
    raise KeyError("nothing there")


def test_a_failing_pass_is_named() -> None:
    block = Block([tensor_type((4,), "f32")])
    with Builder(block):
        Return((Negate(block.arguments[0]),))
    rules = RuleSet([])
    rules.passes.append(Pass("failing", "x = x", fail))
    with pytest.raises(WindlassError, match=r"WL0804.*rule failing failed: KeyError"):
        rewrite_function(Function("f", block), rules)


def test_operands_of_inner_commutative_ops_match_in_either_order_where_a_hole_stands_elsewhere_too() -> None:
    from windlass.ir import Hole
    from windlass.ir.values import tensor
    from windlass.ops import And, Or

    a, b = Hole("a"), Hole("b")

    @rewrite(And(a, Or(a, b)), register=False)
    def absorb(a: Value) -> Value:
        return a

    x, y = tensor("i1", name="x"), tensor("i1", name="y")
    for inner in (Or(x, y), Or(y, x)):
        assert absorb(And(x, inner)) is x
        assert absorb(And(inner, x)) is x


def test_rules_are_asked_only_about_ops_that_their_pattern_may_stand_for() -> None:
    asked: list[Op] = []

    @rewrite(any_op(Binary, only=(Add, Multiply), takes=(Negate,)), register=False)
    def look(op: Binary) -> None:
        """takes note of what it is asked about"""
        asked.append(op)

    def build(a: Value, b: Value) -> Value:
        negated = Negate(a)
        return Subtract(Multiply(Add(a, b), Add(negated, b)), negated)

    function = function_of(build, (3,), (3,))
    rewrite_function(function, RuleSet([look]))
    found = {repr(op) for op in asked}
    assert found == {"Add(Negate(%arg0), %arg1)"}
    assert look(Subtract(*function.arguments)) is None
    assert look(Add(*function.arguments)) is None
    assert len({id(op) for op in asked}) == 1


def test_passes_come_back_only_to_blocks_that_have_changed() -> None:
    seen: list[Block] = []

    def look(block: Block, _: Device) -> Iterator[Change]:
        seen.append(block)
        yield from ()

    def change(block: Block, _: Device) -> Iterator[Change]:
        if block.parent is None and not any(isinstance(op, Exponential) for op in block):
            assert block.first is not None
            with Builder(block, block.first):
                made = Exponential(block.arguments[0])
            block.terminator.replace_operand(block.terminator.operands[0], made)
            yield Change("Return", None, [made], 0.0)

    block = Block([tensor_type((), "f32")])
    with Builder(block):
        Return(while_loop(block.arguments[0], 1))
    rules = RuleSet([cancel_negations])
    rules.passes = [Pass("look", "", look), Pass("change", "", change)]
    rewrite_function(Function("main", block), rules)
    assert seen.count(block) == 2
    assert all(seen.count(each) == 1 for each in seen if each is not block)


def while_loop(start: Value, length: int) -> tuple[Value, ...]:
    """A loop that carries a number that never changes, and another through a chain of exponentials."""
    number = tensor_type((), "f32")

    def step(each: Value, fixed: Value) -> tuple[Value, ...]:
        for _ in range(length):
            each = Exponential(each)
        return Add(Negate(Negate(each)), fixed), fixed

    cond = make_region([number, number], lambda each, fixed: Compare(each, fixed, "LT"))
    return While(cond, make_region([number, number], step), (start, Constant.of(9, "f32"))).results


def test_ops_of_a_loop_that_is_made_anew_are_not_tried_again() -> None:
    tried: list[Op] = []

    @rewrite(Exponential(x), register=False)
    def look(op: Exponential) -> None:
        """takes note of what it is tried on"""
        tried.append(op)

    block = Block([tensor_type((), "f32")])
    with Builder(block):
        Return(while_loop(block.arguments[0], 20))
    function = Function("main", block)
    # The loop comes first, and again when all in it has been tried, since something in it has changed.
    rules = RuleSet([look, cancel_negations, need_all_tried(tried)])
    ledger = rewrite_function(function, rules)
    assert [entry.rule for entry in ledger.entries] == ["cancel_negations", "drop_fixed_carry"]
    assert len(tried) == 2 * 20  # once at first, once in the only sweep
    verify(function)


def need_all_tried(tried: list[Op]) -> Rule:
    """A rule that makes loops anew once their ops have been tried."""

    @rewrite(any_op(While), register=False)
    def drop_fixed_carry(op: While) -> Value | tuple[Value, ...] | None:
        """a value that never changes is not carried"""
        return carried_value_that_never_changes(op) if len(tried) >= 20 else None

    return drop_fixed_carry


def test_nothing_is_collected_while_programs_are_rewritten() -> None:
    enabled: list[bool] = []

    @rewrite(Negate(x), register=False)
    def look(op: Negate) -> None:
        """takes note of whether garbage is collected"""
        enabled.append(gc.isenabled())

    rewrite_function(function_of(Negate, (3,)), RuleSet([look]))
    assert enabled
    assert not any(enabled)
    assert gc.isenabled()
