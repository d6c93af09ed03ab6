"""Loops within loops: what is known of them stays right, and what it costs to find out grows with their number only."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from windlass.catalogue import catalogue
from windlass.diagnostics.deadline import ending_at
from windlass.facts.ranges import range_of
from windlass.ir import Block, Builder, Function, Module, TensorType, Value, tensor_type
from windlass.ir.captures import captures
from windlass.ir.verifier import verify
from windlass.ops import Add, Call, Compare, Constant, Maximum, Minimum, Negate, Return, Sine, Subtract, While
from windlass.ops.evaluation import evaluate_function
from windlass.ops.ranges import Range, RangeOf
from windlass.ops.regions import make_region
from windlass.rewriting import Budget, RuleSet, rewrite, rewrite_function
from windlass.rewriting.pattern import any_op, hole

COUNT, FLOAT = tensor_type((), "i32"), tensor_type((), "f32")


def number(value: int) -> Constant:
    return Constant.of(value, "i32")


def nest(depth: int, x: Value, n: Value) -> Value:
    """Loops of which each goes round more often, and begins with more, from round to round of the one around it."""
    if depth == 0:
        return Sine(x)
    types = [COUNT, FLOAT, COUNT]

    def go_on(i: Value, _: Value, m: Value) -> Value:
        return Compare(i, Add(m, number(5)), "LT")

    def step(i: Value, x: Value, m: Value) -> tuple[Value, ...]:
        return Add(i, number(1)), nest(depth - 1, x, Add(n, m)), Minimum(Add(m, number(1)), number(7))

    return While(make_region(types, go_on), make_region(types, step), (number(0), x, n)).results[1]


def nested(depth: int) -> Function:
    block = Block([FLOAT, COUNT])
    with Builder(block):
        Return((nest(depth, *block.arguments),))
    return Function("main", block)


def test_cost_of_ten_nested_loops_is_not_multiplied(monkeypatch: pytest.MonkeyPatch) -> None:
    visits = 0
    find_range = Minimum.find_range

    def count_visit(self: Minimum, of: RangeOf) -> Range:
        nonlocal visits
        visits += 1
        assert visits < 5000, "loops are gone through again and again"
        return find_range(self, of)

    monkeypatch.setattr(Minimum, "find_range", count_visit)
    function = nested(10)
    assert rewrite_function(function, catalogue).exhausted is None
    verify(function)


def test_minimum_bounds_what_each_of_the_nested_loops_carries() -> None:
    function = nested(4)
    loops = [op for op in function.walk() if isinstance(op, While)]
    for loop in loops:
        assert range_of(loop.body.block.terminator.operands[2]).high == 7


def draw_loop(random: random.Random, known: list[Value], depth: int) -> list[Value]:
    """The results of a loop that computes with integers from around it, and of loops in it."""
    types = [COUNT] * 4
    rounds = random.randint(0, 3)

    def step(i: Value, *carried: Value) -> tuple[Value, ...]:
        values = [*known, i, *carried]
        for _ in range(4):
            cls = random.choice((Add, Subtract, Minimum, Maximum))
            values.append(cls(random.choice(values[-6:]), random.choice([*values, number(random.randint(-3, 3))])))
            if depth and random.random() < 0.4:
                values += draw_loop(random, values[-5:], depth - 1)
        return Add(i, number(1)), *random.sample(values[-6:], 3)

    cond = make_region(types, lambda i, *_: Compare(i, number(rounds), "LT"))
    start = (number(0), *(random.choice([*known, number(random.randint(-2, 2))]) for _ in range(3)))
    return list(While(cond, make_region(types, step), start).results)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_known_of_nested_loops_holds(seed: int) -> None:
    draw = random.Random(seed)
    block = Block([COUNT])
    with Builder(block):
        small = Minimum(Maximum(block.arguments[0], number(-5)), number(5))
        Return(tuple(draw_loop(draw, [small], 2)))
    function = Function("main", block)
    values = [result for op in function.walk() for result in op.results if isinstance(result.type, TensorType)]
    draw.shuffle(values)
    for value in values:
        range_of(value)
    for argument in (-9, 0, 3):
        for value, found in zip(
            block.terminator.operands, evaluate_function(function, np.array(argument, np.int32)), strict=True
        ):
            known = range_of(value)
            assert known.low <= int(found) <= known.high


def test_captures_and_effects_are_found_anew_when_something_inside_changes() -> None:
    block = Block([FLOAT, FLOAT])
    x, y = block.arguments

    def inner(i: Value, each: Value) -> tuple[Value, ...]:
        return Add(i, number(1)), Add(each, x)

    def outer(i: Value, each: Value) -> tuple[Value, ...]:
        return Add(i, number(1)), loop(inner, each).results[1]

    def loop(step: Callable[..., tuple[Value, ...]], start: Value) -> While:
        cond = make_region([COUNT, FLOAT], lambda i, _: Compare(i, number(3), "LT"))
        return While(cond, make_region([COUNT, FLOAT], step), (number(0), start))

    with Builder(block):
        whole = loop(outer, x)
        Return(whole.results)
    (held,) = (op for op in whole.body.walk() if isinstance(op, While))
    assert captures(whole.body) == [x]
    assert captures(held.body) == [x]
    assert whole.is_pure
    x.replace_all_uses_with(y)
    assert captures(whole.body) == captures(held.body) == [y]
    with Builder(held.body.block, held.body.block.terminator):
        negated = Negate(x)
    assert captures(whole.body) == [y, x]
    negated.erase()
    assert captures(whole.body) == [y]
    with Builder(held.body.block, held.body.block.terminator):
        Call("other", (), ())
    assert not whole.is_pure


def test_loop_is_looked_at_again_once_its_body_is_settled() -> None:
    tried = Counter[str]()
    x = hole("x")

    @rewrite(Negate(Negate(x)), register=False)
    def cancel_negations(x: Value) -> Value:
        """-(-x) = x"""
        tried["negate"] += 1
        return x

    @rewrite(any_op(While), register=False)
    def look_at_loop(op: While) -> None:
        """declines"""
        tried["while"] += 1

    def step(i: Value, each: Value) -> tuple[Value, ...]:
        for _ in range(20):
            each = Sine(Negate(Negate(each)))
        return Add(i, number(1)), each

    block = Block([FLOAT])
    with Builder(block):
        cond = make_region([COUNT, FLOAT], lambda i, _: Compare(i, number(3), "LT"))
        Return(While(cond, make_region([COUNT, FLOAT], step), (number(0), block.arguments[0])).results)
    rewrite_function(Function("main", block), RuleSet([cancel_negations, look_at_loop]))
    assert tried["negate"] == 20
    assert tried["while"] <= 5


@pytest.mark.parametrize("looks", [0, 1, 20, 100])
def test_work_ends_when_the_time_is_over(looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    def tick() -> float:
        nonlocal calls
        calls += 1
        return float(calls)

    function = nested(9)
    monkeypatch.setattr(time, "monotonic", tick)
    ledger = rewrite_function(function, catalogue, Budget(seconds=float(looks)))
    monkeypatch.undo()
    assert ledger.exhausted == "seconds"
    assert calls < looks + 20
    verify(function)


def test_nothing_is_found_out_of_loops_when_the_time_is_over() -> None:
    def counting() -> Value:
        cond = make_region([COUNT], lambda i: Compare(i, number(3), "LT"))
        return While(cond, make_region([COUNT], lambda i: Add(i, number(1))), (number(0),)).results[0]

    assert range_of(counting()).high == 3
    with ending_at(0.0):
        assert range_of(counting()).high == 2**31 - 1


def test_module_is_whole_after_the_time_is_over() -> None:
    function = nested(8)
    rewrite_function(function, catalogue, Budget(seconds=0.0))
    module = Module()
    module.functions["main"] = function
    verify(module)
