"""Branches that end in the same op, of values of their own: it is done once, after them."""

from __future__ import annotations

from windlass.ir import Block, Builder, Op, Region, Value
from windlass.ir.core import Terminator
from windlass.ir.values import tensor
from windlass.ops import Case, Convert, Cosine, Exponential, If, Negate, Return, Reverse, Sine, Transpose
from windlass.ops.control import Branching
from windlass.ops.sampling import Draw
from windlass.passes.branches import choose
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite

__all__ = ["Cosine", "Sine"]

Results = tuple[Value, ...]


def _sample_alike(draw: Draw) -> If:
    x, y, p = tensor("f32", 3, 2), tensor("f32", 3, 2, name="y"), tensor("i1", name="p")
    kind = draw.integer(0, 3)
    last = (
        lambda value: Transpose(value, (1, 0)),
        lambda value: Convert(value, "f64"),
        Negate,
        lambda value: Reverse(value, (0,)),
    )[kind]
    made = draw.choose((Exponential, Negate))
    return choose(p, lambda: (last(made(x)), y), lambda: (last(Sine(Cosine(y))), Negate(x)))


@rewrite(any_op(Branching), sample=_sample_alike, by_cost=True)
def branches_that_end_alike(op: Branching) -> Results | None:
    """if(p, f(a), f(b)) = f(if(p, a, b)), for an op of one operand that is not larger than its result

    >>> x, p = tensor("f32", 3, 2), tensor("i1", name="p")
    >>> branches = [lambda: Transpose(Sine(x), (1, 0)), lambda: Transpose(Cosine(x), (1, 0))]
    >>> branches_that_end_alike(choose(p, *branches))[0].operand.type
    tensor<3x2xf32>
    """
    if len(op.regions) < 2 or not op.is_pure:
        return None
    blocks = [region.block for region in op.regions]
    ends: dict[int, list[Op]] = {}
    for place, column in enumerate(zip(*(block.terminator.operands for block in blocks), strict=True)):
        found = [
            each for each, block in zip(column, blocks, strict=True) if isinstance(each, Op) and _ends(each, block)
        ]
        if len(found) == len(blocks) and _are_alike(found):
            ends[place] = found
    if not ends:
        return None
    regions: list[Region] = []
    for number, block in enumerate(blocks):
        left_out = {found[number]: found[number].operands[0] for found in ends.values()}
        regions.append(_without(block, left_out))
    made = If(op.pred, *regions) if isinstance(op, If) else None
    if isinstance(op, Case):
        made = Case(op.index, tuple(regions))
    assert made is not None
    return tuple(
        ends[place][0].with_operands((result,)) if place in ends else result
        for place, result in enumerate(made.results)
    )


def _ends(op: Op, block: Block) -> bool:
    """Whether an op of one operand is in the block, and for its result alone."""
    if op.block is not block or op.regions or not op.is_pure or op.extra:
        return False
    return len(op.operands) == 1 and sum(op.uses.values()) == 1


def _are_alike(values: list[Op]) -> bool:
    first = values[0]
    operand = first.operands[0]
    if operand.tensor.bytes > first.tensor.bytes:
        return False
    for each in values[1:]:
        if type(each) is not type(first) or each.operands[0].type is not operand.type:
            return False
        if any(getattr(each, name) != getattr(first, name) for name in first.attribute_names):
            return False
    return True


def _without(block: Block, left_out: dict[Op, Value]) -> Region:
    """The block giving what the ops left out are made of."""
    new, known = Block(), dict[Value, Value]()
    with Builder(new):
        for each in block:
            if not isinstance(each, Terminator) and each not in left_out:
                each.clone(known)
        given = block.terminator.operands
        results = [left_out.get(value, value) if isinstance(value, Op) else value for value in given]
        Return(tuple(known.get(value, value) for value in results))
    return Region(new)
