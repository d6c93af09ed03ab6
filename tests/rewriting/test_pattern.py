"""Patterns for ops of a class: of several, and of those fields that matter."""

from __future__ import annotations

from windlass.ir import Op, Value
from windlass.ir.values import Result, tensor
from windlass.ops import Abs, Add, Concatenate, Constant, Maximum, Multiply, Negate, Reduce, Subtract, Transpose
from windlass.ops.contraction import matmul
from windlass.ops.pointwise import Binary
from windlass.ops.reduction import reduce_max, reduce_sum
from windlass.rewriting import Rule, RuleSet, rewrite
from windlass.rewriting.pattern import any_op, every, hole

x, y = hole("x"), hole("y")
SUM = any_op(Binary, only=(Add, Subtract), bind="total")
ROW = tensor("f32", 3, name="v")


def given(rule: Rule, op: Value) -> object:
    """What the rule gives for an op, which the driver's table of candidates has to agree with."""
    found = rule(op)
    assert isinstance(op, Op)
    tried = [apply(op) for _, apply in RuleSet([rule]).candidates(op)]
    assert found is next((each for each in tried if each is not None), None)
    return found


def owner_of(value: Value) -> Op:
    assert isinstance(value, Result)
    return value.owner


def test_one_of_several_classes_is_matched_and_given_by_name() -> None:
    @rewrite(Negate(SUM), register=False)
    def rule(total: Add | Subtract) -> Value:
        return total

    for total in (Add(ROW, ROW), Subtract(ROW, ROW)):
        assert given(rule, Negate(total)) is total
    assert given(rule, Negate(Multiply(ROW, ROW))) is None


def test_fields_that_are_not_mentioned_may_be_anything() -> None:
    @rewrite(any_op(Reduce, inputs=(Negate(x),), combiner=Add), register=False)
    def rule(x: Value) -> Value:
        return x

    matrix = tensor("f32", 3, 4)
    for axes in ((0,), (1,), (0, 1)):
        assert given(rule, owner_of(reduce_sum(Negate(matrix), axes))) is matrix
    assert given(rule, owner_of(reduce_max(Negate(matrix), (0,)))) is None
    assert given(rule, owner_of(reduce_sum(Abs(matrix), (0,)))) is None


def test_one_hole_in_two_fields_stands_for_one_value() -> None:
    left, right = tensor("f32", 3, 3), tensor("f32", 3, 3, name="y")

    @rewrite(any_op(type(matmul(left, right)), lhs=x, rhs=x), register=False)
    def rule(x: Value) -> Value:
        return x

    assert given(rule, matmul(left, left)) is left
    assert given(rule, matmul(left, right)) is None


def test_two_operands_of_one_class_are_tried_in_one_order() -> None:
    tried: list[Op] = []

    @rewrite(Maximum(any_op(Abs), any_op(Abs)), register=False)
    def rule(op: Op) -> Value | None:
        tried.append(op)
        return None

    rule(Maximum(Abs(ROW), Abs(Negate(ROW))))
    assert len(tried) == 1


def test_a_named_op_on_either_side_is_found() -> None:
    @rewrite(Add(x, any_op(Constant, bind="known")), register=False)
    def rule(x: Value, known: Constant) -> Value:
        return known

    one = Constant.of(1, "f32", (3,))
    assert given(rule, Add(ROW, one)) is one and given(rule, Add(one, ROW)) is one


def test_pattern_of_an_op_with_results_stands_for_its_one_result() -> None:
    @rewrite(Negate(any_op(Reduce, bind="inner", inputs=(Abs(x),))), register=False)
    def rule(inner: Reduce, x: Value) -> Value:
        assert isinstance(inner, Reduce)
        return x

    assert given(rule, Negate(reduce_sum(Abs(ROW), (0,)))) is ROW
    assert given(rule, Negate(reduce_sum(ROW, (0,)))) is None
    assert given(rule, Negate(ROW)) is None


def test_every_operand_has_to_be_like_the_pattern_with_the_same_fields() -> None:
    @rewrite(any_op(Concatenate, inputs=every(Transpose(x, hole("p"))), dimension=hole("d")), register=False)
    def rule(x: tuple[Value, ...], p: tuple[int, ...], d: int) -> Value:
        assert (p, d) == ((1, 0), 0)
        return x[-1]

    matrix, square = tensor("f32", 3, 4), tensor("f32", 3, 3, name="s")
    turned = Transpose(matrix, (1, 0))
    assert given(rule, Concatenate((turned, turned, Transpose(square, (1, 0))), 0)) is square
    assert given(rule, Concatenate((Transpose(square, (1, 0)), Transpose(square, (0, 1))), 0)) is None
    assert given(rule, Concatenate((turned, Transpose(square, (1, 0)), tensor("f32", 2, 3)), 0)) is None
    assert given(rule, Concatenate((turned,), 0)) is None


def test_every_operand_has_one_use_where_the_rule_asks_for_that() -> None:
    @rewrite(any_op(Concatenate, inputs=every(any_op(Negate, bind="parts"))), single_use=True, register=False)
    def rule(parts: tuple[Negate, ...]) -> Value:
        return parts[-1].operand

    first, second = Negate(ROW), Negate(Abs(ROW))
    whole = Concatenate((first, second), 0)
    assert given(rule, whole) is second.operand
    Abs(second)
    assert given(rule, whole) is None
