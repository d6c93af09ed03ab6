from __future__ import annotations

import pytest

from windlass.ir import Block, Builder, Region, tensor_type
from windlass.ops import Add, Constant, CustomCall, Maximum, Multiply, Negate, Reduce, Return, While
from windlass.ops.combiners import combiner_region
from windlass.ops.comparison import Compare
from windlass.ops.reduction import reduce_max, reduce_sum
from windlass.rewriting.common_subexpressions import share_common_subexpressions


def vector_block() -> Block:
    return Block([tensor_type((4,), "f32")])


def test_sums_of_one_value_become_one() -> None:
    block = vector_block()
    with Builder(block):
        both = Add(reduce_sum(block.arguments[0], (0,)), reduce_sum(block.arguments[0], (0,)))
    assert share_common_subexpressions(block) >= 1
    assert both.lhs is both.rhs


def test_a_sum_and_a_maximum_stay_two() -> None:
    block = vector_block()
    x = block.arguments[0]
    zero = Constant.of(0, "f32")
    with Builder(block):
        first = Reduce((x,), (zero,), (0,), combiner_region(Add, "f32"))
        second = Reduce((x,), (zero,), (0,), combiner_region(Maximum, "f32"))
        both = Add(first.results[0], second.results[0])
    share_common_subexpressions(block)
    assert both.lhs is not both.rhs


def test_sums_along_different_axes_stay_two() -> None:
    block = Block([tensor_type((4, 4), "f32")])
    with Builder(block):
        both = Add(reduce_sum(block.arguments[0], (0,)), reduce_sum(block.arguments[0], (1,)))
    share_common_subexpressions(block)
    assert both.lhs is not both.rhs


def count_loop(start: Constant, step: object, outside: object) -> While:
    cond, body = (Block([tensor_type((), "f32")]) for _ in range(2))
    with Builder(cond):
        Return((Compare(cond.arguments[0], Constant.of(9, "f32"), "LT"),))
    with Builder(body):
        Return((Add(Multiply(body.arguments[0], step), outside),))  # pyright: ignore[reportArgumentType]
    return While(Region(cond), Region(body), (start,))


@pytest.mark.parametrize(("same", "left"), [(True, 1), (False, 2)])
def test_loops_are_equal_if_they_use_the_same_values_from_outside(same: bool, left: int) -> None:
    block = Block([tensor_type((), "f32")] * 2)
    x, y = block.arguments
    with Builder(block):
        start = Constant.of(1, "f32")
        loops = [count_loop(start, x, x), count_loop(start, x, x if same else y)]
        Return(tuple(loop.results[0] for loop in loops))
    share_common_subexpressions(block)
    assert sum(isinstance(op, While) for op in block) == left


def test_what_is_made_inside_is_told_from_what_comes_from_outside() -> None:
    block = vector_block()
    x = block.arguments[0]
    with Builder(block):
        both = Add(reduce_max(Negate(x), (0,)), reduce_max(x, (0,)))
    share_common_subexpressions(block)
    assert both.lhs is not both.rhs


def test_calls_configured_differently_stay_two() -> None:
    block = Block([tensor_type((3, 3), "f32")])
    a = block.arguments[0]
    with Builder(block):
        calls = [CustomCall((a, a), "lapack_strsm_ffi", (a.type,)) for _ in range(3)]
        both = Add(Add(calls[0].results[0], calls[1].results[0]), calls[2].results[0])
    for call, side in zip(calls, (76, 85, 76), strict=True):
        call.extra = {"mhlo.backend_config": f"{{uplo = {side} : ui8}}"}
    share_common_subexpressions(block)
    inner = both.lhs
    assert isinstance(inner, Add)
    assert inner.lhs is not inner.rhs


@pytest.mark.parametrize(("name", "left"), [("tool.note", 1), ("mhlo.sharding", 2), ("note", 2)])
def test_notes_of_other_tools_keep_nothing_apart(name: str, left: int) -> None:
    block = vector_block()
    x = block.arguments[0]
    with Builder(block):
        noted, plain = Negate(x), Negate(x)
        both = Add(noted, plain)
    noted.extra = {name: "1 : i32"}
    share_common_subexpressions(block)
    assert sum(isinstance(op, Negate) for op in block) == left
    if left == 1:
        # Nobody noted it at the second one.
        assert isinstance(both.lhs, Negate)
        assert both.lhs.extra is None
