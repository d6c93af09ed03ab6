"""Random programs of every op that has a meaning, regions included, under random subsets and orders of the rules.

They settle; the IR stays valid; and they mean what they meant, to the last bit, on special values too: these are the
rules that keep the order of sums.
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from tests.laws.op_instances import meaningful_classes
from windlass import ops
from windlass.catalogue import catalogue
from windlass.ir import Block, Builder, Function, Region, TensorType, TypeFault, Value, tensor_type
from windlass.ir.verifier import verify
from windlass.ops import (
    Add,
    BroadcastInDim,
    Compare,
    Constant,
    Convert,
    If,
    Pad,
    Reshape,
    Return,
    Slice,
    While,
)
from windlass.ops.base import TensorOp
from windlass.ops.collective import Collective
from windlass.ops.evaluation import evaluate_function
from windlass.ops.sampling import RandomDraw, Unsuitable
from windlass.rewriting import Budget, RuleSet, rewrite_function
from windlass.rewriting.laws import same_bits

DTYPES = frozenset({"f32", "i32", "i1", "ui8", "f64"})
LARGEST = 300
CLASSES = [cls for cls in meaningful_classes() if not issubclass(cls, Collective | ops.Iota | While)]
"""Loops are made by `grow_loop`: others might run for ever on these values."""


def adapt(value: Value, type_: TensorType, draw: RandomDraw) -> Value:
    """A value of the type made of another one by moving and converting elements."""
    if value.type is type_:
        return value
    if value.tensor.size == 0 or not value.shape:
        scalar = value if not value.shape else Constant.of(draw.integer(0, 2), value.dtype)
        return BroadcastInDim(scalar if value.dtype == type_.dtype else Convert(scalar, type_.dtype), type_.shape, ())
    flat = Reshape(value, (value.tensor.size,))
    missing = type_.size - value.tensor.size
    if missing < 0:
        flat = Slice(flat, (0,), (type_.size,), (1,))
    elif missing > 0:
        flat = Pad(flat, Constant.of(draw.integer(0, 1), value.dtype), (0,), (missing,), (0,))
    shaped = Reshape(flat, type_.shape)
    return shaped if value.dtype == type_.dtype else Convert(shaped, type_.dtype)


def grow(values: list[Value], draw: RandomDraw, depth: int) -> tuple[Value, ...]:
    """The results of one more random op on some of the values."""
    if depth and draw.integer(0, 7) == 0:
        blocks = [Block(), Block()]
        try:
            return (grow_loop if draw.boolean() else grow_branches)(blocks, values, draw, depth)
        except (TypeFault, Unsuitable, NotImplementedError):
            for block in blocks:
                for op in block.walk():
                    op.drop_operands()
            raise
    cls = draw.choose(CLASSES)
    types = cls.sample_operands(draw)
    if any(type_.dtype not in DTYPES or type_.size > LARGEST for type_ in types):
        raise Unsuitable
    fields = cls.sample(draw, *types)
    operands = [adapt(draw.choose(values[-6:]), type_, draw) for type_ in types]
    op = cls(**share_out(cls, operands), **fields)
    if any(result.tensor.size > LARGEST or result.dtype not in DTYPES for result in op.results):
        raise Unsuitable
    return op.results


def share_out(cls: type[TensorOp], operands: list[Value]) -> dict[str, Any]:
    kinds = [field for field in cls.fields if field.kind in ("operand", "variadic")]
    singles = sum(field.kind == "operand" for field in kinds)
    share = (len(operands) - singles) // max(len(kinds) - singles, 1)
    remaining = list(operands)
    shares: dict[str, Any] = {}
    for field in kinds:
        taken = 1 if field.kind == "operand" else share
        shares[field.name] = remaining[0] if field.kind == "operand" else tuple(remaining[:taken])
        del remaining[:taken]
    return shares


def grow_block(block: Block, values: list[Value], draw: RandomDraw, depth: int, size: int) -> list[Value]:
    """Ops at the end of a block, on values around it and its own; gives all values there are then."""
    values = [*values, *block.arguments]
    with Builder(block):
        goal = len(values) + size
        while len(values) < goal:
            try:
                values += grow(values, draw, depth)
            except (TypeFault, Unsuitable, NotImplementedError):
                # What was placed for the op that did not come to be is dead code.
                continue
    return values


def grow_loop(blocks: list[Block], values: list[Value], draw: RandomDraw, depth: int) -> tuple[Value, ...]:
    """A loop of a few rounds, known or not, on a counter and two values; its body may use what is around it."""
    carried = [draw.choose(values[-6:]) for _ in range(2)]
    types = [tensor_type((), "i32"), *(value.tensor for value in carried)]
    condition, body = blocks
    for block in blocks:
        for each in types:
            block.add_argument(each)
    known = draw.boolean()
    rounds: Value = Constant.of(draw.integer(-1, 4), "i32")
    if not known:
        rounds = ops.Clamp(Constant.of(0, "i32"), adapt(draw.choose(values), types[0], draw), Constant.of(3, "i32"))
    with Builder(condition):
        Return((Compare(condition.arguments[0], rounds, "LT"),))
    inside = grow_block(body, values, draw, depth - 1, 5)
    with Builder(body):
        counter = Add(body.arguments[0], Constant.of(draw.integer(1, 2), "i32"))
        news = [adapt(draw.choose(inside[-5:]), type_, draw) for type_ in types[1:]]
        Return((counter, *news))
    start = Constant.of(draw.integer(-1, 1), "i32")
    return While(cond=Region(condition), body=Region(body), operands=(start, *carried)).results


def grow_branches(blocks: list[Block], values: list[Value], draw: RandomDraw, depth: int) -> tuple[Value, ...]:
    chosen = adapt(draw.choose(values[-6:]), tensor_type((), "i1"), draw)
    type_ = draw.choose(values[-6:]).tensor
    for block in blocks:
        inside = grow_block(block, values, draw, depth - 1, 4)
        with Builder(block):
            Return((adapt(draw.choose(inside[-4:]), type_, draw),))
    return If(pred=chosen, true_branch=Region(blocks[0]), false_branch=Region(blocks[1])).results


def make_program(seed: int) -> Function:
    draw = RandomDraw(seed)
    types = [tensor_type(draw.shape(0, 3), draw.choose(sorted(DTYPES))) for _ in range(3)]
    block = Block(types)
    values = grow_block(block, [], draw, 2, 22)
    with Builder(block):
        Return(tuple(values[-4:]))
    return Function("main", block)


def check(seed: int) -> None:
    function = make_program(seed)
    verify(function)
    draw = RandomDraw(seed)
    arrays = [
        draw.array(argument.tensor) if seed % 2 else draw.tame_array(argument.tensor) for argument in function.arguments
    ]
    with np.errstate(all="ignore"):
        try:
            expected = evaluate_function(function, *arrays)
        except (ValueError, np.linalg.LinAlgError):
            return  # a decomposition of a matrix with NaN in it
    shuffler = random.Random(seed)
    rules = list(catalogue.choose(exact=True))
    shuffler.shuffle(rules)
    kept = rules if seed % 3 == 0 else [rule for rule in rules if shuffler.random() < 0.7]
    ledger = rewrite_function(function, RuleSet(kept), Budget(seconds=math.inf))
    assert ledger.exhausted is None, ledger.describe_cycle()
    verify(function)
    with np.errstate(all="ignore"):
        found = evaluate_function(function, *arrays)
    for before, after in zip(expected, found, strict=True):
        assert same_bits(np.asarray(before), np.asarray(after)), (seed, ledger.count_by_rule())


@pytest.mark.parametrize("first", range(0, 150, 10))
def test_random_programs_settle_and_keep_their_meaning(first: int) -> None:
    for seed in range(first, first + 10):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(150, 3150, 100))
def test_many_random_programs_settle_and_keep_their_meaning(first: int) -> None:
    for seed in range(first, first + 100):
        check(seed)


def test_programs_hold_loops_branches_and_most_ops() -> None:
    held = {type(op) for seed in range(60) for op in make_program(seed).walk()}
    assert {While, If} <= held
    assert len(held & set(CLASSES)) > 0.6 * len(CLASSES)
