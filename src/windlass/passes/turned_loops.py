"""Arrays that the rounds of a loop transpose there and back: they are carried in the order in which they are used."""

from __future__ import annotations

from windlass.ir import Block, Builder, Op, Region, Value
from windlass.ir.values import tensor
from windlass.ops import Add, Exponential, Negate, Return, Transpose, While
from windlass.ops.counting import find_counter
from windlass.ops.sampling import Draw
from windlass.passes.loops import count_to
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.axes import Sizes, invert

__all__ = ["Negate"]

FEWEST_ROUNDS = 4
"""The array is transposed once before the loop and once after it."""


def _sample_transposing_loop(draw: Draw) -> While:
    p, q = draw.permutation(3), draw.permutation(3)
    x, y = tensor("f32", 2, 2, 2), tensor("f32", 2, 2, 2, name="y")
    kinds = draw.integer(0, 5), draw.boolean()

    def step(_: Value, x: Value, y: Value) -> tuple[Value, ...]:
        before = Transpose(x, q if kinds[1] else invert(p)) if kinds[0] else x
        return (Transpose(Add(Exponential(before), y), p), Negate(Transpose(x, q)) if kinds[0] > 2 else y)

    return count_to(draw.choose((0, 3, 4, 5)), x, y, step=step)


def _is_only_transposed(value: Value) -> bool:
    return all(isinstance(user, Transpose) and not user.extra for user in value.uses)


@rewrite(any_op(While), sample=_sample_transposing_loop)
def carried_value_that_is_transposed(op: While) -> tuple[Value, ...] | None:
    """while(c, x → transpose(f(transpose(x, q)), p), a) = transpose(while(c, x → f(transpose(x, p∘q)), b), p)

    with b = transpose(a, p⁻¹).

    >>> x = tensor("f32", 3, 5)
    >>> loop = count_to(9, x, step=lambda i, x: (Transpose(Exponential(Transpose(x, (1, 0))), (1, 0)),))
    >>> [type(each).__name__ for each in carried_value_that_is_transposed(loop)[1].operand.owner.body.block][:2]
    ['Transpose', 'Exponential']
    """
    counter = find_counter(op)
    if counter is not None and counter.rounds < FEWEST_ROUNDS:
        return None
    turned: dict[int, Transpose] = {}
    for place, given in enumerate(op.body.block.terminator.operands):
        if not isinstance(given, Transpose) or given.block is not op.body.block or given.extra or len(given.uses) != 1:
            continue
        seen = (op.cond.block.arguments[place], op.body.block.arguments[place])
        if given.permutation != tuple(range(given.tensor.rank)) and all(_is_only_transposed(each) for each in seen):
            turned[place] = given
    if not turned:
        return None
    starts = list(op.operands)
    for place, given in turned.items():
        starts[place] = Transpose(starts[place], invert(given.permutation))
    orders = {place: given.permutation for place, given in turned.items()}
    cond = _turn_block(op.cond.block, starts, orders, {})
    body = _turn_block(op.body.block, starts, orders, {given: given.operand for given in turned.values()})
    made = While(cond, body, tuple(starts))
    return tuple(
        Transpose(result, orders[place]) if place in orders else result for place, result in enumerate(made.results)
    )


def _turn_block(block: Block, starts: list[Value], orders: dict[int, Sizes], given: dict[Transpose, Value]) -> Region:
    """The block on parameters in another order of axes, and giving what the transposes in `given` were made of."""
    new = Block([start.type for start in starts], [argument.name for argument in block.arguments])
    known: dict[Value, Value] = dict(zip(block.arguments, new.arguments, strict=True))
    with Builder(new):
        for each in block:
            if each is block.last or each in given:
                continue
            place = _place_of(each, block)
            if place in orders:
                assert isinstance(each, Transpose)
                p = orders[place]
                known[each] = Transpose(new.arguments[place], tuple(p[axis] for axis in each.permutation))
            else:
                each.clone(known)
        results = [
            given.get(value, value) if isinstance(value, Transpose) else value for value in block.terminator.operands
        ]
        Return(tuple(known.get(value, value) for value in results))
    return Region(new)


def _place_of(op: Op, block: Block) -> int:
    """The place of the parameter that is transposed; -1 for all other ops."""
    if isinstance(op, Transpose):
        for place, argument in enumerate(block.arguments):
            if op.operand is argument:
                return place
    return -1
