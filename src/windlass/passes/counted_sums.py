"""Integers to which each round of a loop adds the same, and loops in which nothing else is left than counting."""

from __future__ import annotations

from windlass.ir import Block, Op, Result, Value
from windlass.ir.values import Argument, tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Compare,
    Constant,
    Convert,
    Maximum,
    Minimum,
    Multiply,
    Subtract,
    While,
    make_region,
)
from windlass.ops.comparison import MIRRORED
from windlass.ops.counting import find_counter, step_of
from windlass.ops.sampling import Draw
from windlass.passes.carries import rebuild_loop
from windlass.passes.loops import count_to
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite

__all__ = ["count_to"]

FEWEST_ROUNDS = 6
"""Fewer rounds are as fast as the product."""

BITS = {"i8": 8, "ui8": 8, "i16": 16, "ui16": 16, "i32": 32, "ui32": 32, "i64": 64, "ui64": 64}


def count_while(limit: Value, *carried: Value, step: int = 1, same: Value | None = None) -> While:
    """A loop for examples: it counts from 0 by steps while that is below the limit (above, by steps down).

    The same is added to each carried value in each round.
    """
    start = Constant.of(0, limit.dtype)
    types = [start.type, *(value.type for value in carried)]

    def body(*values: Value) -> tuple[Value, ...]:
        added = [each if same is None else Add(each, same) for each in values[1:]]
        return (Add(values[0], Constant.of(step, limit.dtype)), *added)

    cond = make_region(types, lambda *values: Compare(values[0], limit, "LT" if step > 0 else "GT"))
    return While(cond, make_region(types, body), (start, *carried))


def _sample_counted_sum(draw: Draw) -> While:
    limit, dtype = tensor(draw.choose(("i8", "i32")), name="n"), draw.choose(("i8", "i32"))
    shape = draw.choose(((), (3,)))
    x, y = tensor(dtype, *shape), tensor(dtype, *shape, name="y")
    if draw.boolean():
        return count_to(draw.choose((5, 6, 9, 200)), x, step=lambda i, x: (Subtract(x, y),))
    bound: Value = Minimum(Maximum(limit, Constant.of(-9, limit.dtype)), Constant.of(9, limit.dtype))
    return count_while(bound, x, step=draw.choose((1, -1)), same=draw.choose((y, Constant.of(3, dtype, shape))))


@rewrite(any_op(While), sample=_sample_counted_sum)
def integer_sum_of_the_same_each_round(op: While) -> tuple[Value, ...] | None:
    """while(i < n, (i, x) → (i + 1, x + c), (a, b)) = (r, b + (r - a) · c) with r = while(i < n, i → i + 1, a)

    For integers, which wrap around alike, if rounds use x for nothing else.

    >>> loop = count_while(tensor("i32", name="n"), tensor("i32"), same=tensor("i32", name="c"))
    >>> integer_sum_of_the_same_each_round(loop)[1].rhs.rhs
    c
    """
    body = op.body.block
    for place, (argument, following) in enumerate(zip(body.arguments, body.terminator.operands, strict=True)):
        if argument.dtype not in BITS or argument.uses != {following: 1} or op.cond.block.arguments[place].uses:
            continue
        if not isinstance(following, Add | Subtract) or following.uses != {body.terminator: 1}:
            continue
        if isinstance(following, Subtract) and following.lhs is not argument:
            continue
        same = following.rhs if following.lhs is argument else following.lhs
        if not _is_from_outside(same, body):
            continue
        found = _find_rounds(op, place)
        if found is None:
            continue
        kept = [other for other in range(len(op.operands)) if other != place]
        results = list(rebuild_loop(op, kept, {following: op.operands[place]}, (following,)))
        added = _multiple(_rounds(op, results, found, argument.dtype), same)
        results[place] = type(following)(op.operands[place], added)
        return tuple(results)
    return None


def _is_from_outside(value: Value, block: Block) -> bool:
    if isinstance(value, Constant):
        return True
    owner = value.owner if isinstance(value, Result) else value
    return not (isinstance(owner, Argument | Op) and owner.block is block)


def _find_rounds(op: While, place: int) -> int | tuple[int, int] | None:
    """How many rounds there are, or where a carried integer counts them, up or down by one."""
    counter = find_counter(op)
    if counter is not None:
        return counter.rounds if counter.rounds >= FEWEST_ROUNDS else None
    arguments = op.body.block.arguments
    for other, following in enumerate(op.body.block.terminator.operands):
        # As many bits as the sum has: what wraps around in both is the same.
        if other != place and BITS.get(arguments[other].dtype, 0) >= BITS[arguments[place].dtype]:
            step = step_of(arguments[other], following)
            if step in (1, -1):
                return other, step
    return None


def _rounds(op: While, results: list[Value], found: int | tuple[int, int], dtype: str) -> Value:
    if isinstance(found, int):
        whole = 1 << BITS[dtype]
        wrapped = found % whole
        return Constant.of(wrapped - whole if not dtype.startswith("u") and 2 * wrapped >= whole else wrapped, dtype)
    place, step = found
    first, last = op.operands[place], results[place]
    distance = Subtract(last, first) if step == 1 else Subtract(first, last)
    return distance if distance.tensor.dtype == dtype else Convert(distance, dtype)


def _multiple(rounds: Value, same: Value) -> Value:
    same = same.clone({}) if isinstance(same, Constant) else same
    if not same.shape:
        return Multiply(rounds, same)
    if isinstance(same, Constant) and same.is_splat:
        return BroadcastInDim(Multiply(rounds, Constant.of(same.number, same.dtype)), same.shape, ())
    return Multiply(BroadcastInDim(rounds, same.shape, ()), same)


def _sample_counting(draw: Draw) -> While:
    bound: Value = tensor(draw.choose(("i8", "ui8")), name="n")
    return count_while(bound, step=draw.choose((1, -1)) if bound.tensor.dtype == "i8" else 1)


@rewrite(any_op(While), sample=_sample_counting)
def loop_that_only_counts(op: While) -> tuple[Value, ...] | None:
    """while(i < n, i → i + 1, a) = max(a, n), and min(a, n) downwards

    >>> loop_that_only_counts(count_while(tensor("i32", name="n")))
    (Maximum(Constant(0), n),)
    """
    (test,) = op.cond.block.terminator.operands
    if len(op.operands) != 1 or not isinstance(test, Compare) or not op.is_pure:
        return None
    counted, limit, direction = test.lhs, test.rhs, test.direction
    if counted is not op.cond.block.arguments[0]:
        counted, limit, direction = limit, counted, MIRRORED[direction]
    if counted is not op.cond.block.arguments[0] or not _is_from_outside(limit, op.cond.block):
        return None
    step = step_of(op.body.block.arguments[0], op.body.block.terminator.operands[0])
    limit = limit.clone({}) if isinstance(limit, Constant) else limit
    if (direction, step) == ("LT", 1):
        return (Maximum(op.operands[0], limit),)
    return (Minimum(op.operands[0], limit),) if (direction, step) == ("GT", -1) else None
