"""Products with matrices made of blocks: the blocks that are zero are left out, and blocks are not put together first.

Rules here hold for finite values: a product with a block of zeros is left out, whatever it is multiplied by.
"""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Add, Concatenate, Constant, DotGeneral, Pad
from windlass.ops.contraction import matmul
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.contractions import Sizes, dot, sample_product, sides, without_padding
from windlass.rules.letters import Term, is_plain, read

__all__ = ["matmul", "tensor"]


def stacked(draw: Draw, shape: Sizes, dtype: str, name: str) -> Value:
    """An operand of blocks along an axis, some of them partly zero."""
    long = [axis for axis, size in enumerate(shape) if size > 1]
    if not long:
        return tensor(dtype, *shape, name=name)
    axis = draw.choose(long)
    zero, parts, left = Constant.of(0, dtype), list[Value](), shape[axis]
    while left:
        size = draw.integer(1, left)
        part = (*shape[:axis], size, *shape[axis + 1 :])
        left -= size
        low = tuple(0 if each == axis else draw.integer(0, length - 1) for each, length in enumerate(part))
        inner = tuple(length - before for length, before in zip(part, low, strict=True))
        none = (0,) * len(shape)
        block = tensor(dtype, *inner, name=f"{name}{len(parts)}")
        parts.append(Pad(block, zero, low, none, none) if any(low) else block)
    return Concatenate(tuple(parts), axis) if len(parts) > 1 else parts[0]


@rewrite(
    any_op(DotGeneral, takes=(Concatenate,)),
    reassociates=True,
    by_cost=True,
    sample=lambda draw: sample_product(draw, stacked, stacked),
)
def dot_of_blocks_with_zeros(op: DotGeneral) -> Value | None:
    """dot([a 0; 0 b], y) = [dot(a, y's first rows); dot(b, the others)], block by block: zeros are left out

    >>> zero = Constant.of(0, "f32")
    >>> a, b = tensor("f32", 2, 3, name="a"), tensor("f32", 4, 5, name="b")
    >>> rows = Pad(a, zero, (0, 0), (0, 5), (0, 0)), Pad(b, zero, (0, 3), (0, 0), (0, 0))
    >>> made = dot_of_blocks_with_zeros(matmul(Concatenate(rows, 0), tensor("f32", 8, 4, name="y")))
    >>> [part.lhs for part in made.inputs]
    [a, b]
    """
    product = read(op)
    for term, other in sides(product):
        stack = term.value
        if not isinstance(stack, Concatenate):
            continue
        letter = term.letters[stack.dimension]
        if letter in other.letters or not any(isinstance(part, Pad) for part in stack.inputs):
            continue
        parts: list[Value] = []
        is_narrower = False
        for block in stack.inputs:
            own = Term(block, term.letters)
            found = without_padding(own, other, product)
            is_narrower |= found is not None
            part = product.with_term(term, *(found or (own, other)))
            if part is None:
                return None
            parts.append(part)
        if is_narrower:
            return Concatenate(tuple(parts), product.result.index(letter))
    return None


def sample_product_of_rows_and_columns(draw: Draw) -> DotGeneral:
    """A product of blocks beside each other with blocks one above the other."""
    rows, columns, deep = (
        draw.integer(1, 3),
        draw.integer(1, 3),
        [draw.integer(1, 3) for _ in range(draw.integer(2, 3))],
    )
    left = Concatenate(tuple(tensor("f32", rows, size, name=f"a{at}") for at, size in enumerate(deep)), 1)
    right = Concatenate(tuple(tensor("f32", size, columns, name=f"b{at}") for at, size in enumerate(deep)), 0)
    return matmul(left, right)


@rewrite(
    dot(any_op(Concatenate, bind="lhs"), any_op(Concatenate, bind="rhs")),
    reassociates=True,
    by_cost=True,
    sample=sample_product_of_rows_and_columns,
)
def dot_of_blocks_in_line(op: DotGeneral, lhs: Concatenate, rhs: Concatenate) -> Value | None:
    """dot([a b], [c; d]) = dot(a, c) + dot(b, d), where both are put together of parts of the same sizes

    >>> left = Concatenate((tensor("f32", 2, 3, name="a"), tensor("f32", 2, 4, name="b")), 1)
    >>> right = Concatenate((tensor("f32", 3, 5, name="c"), tensor("f32", 4, 5, name="d")), 0)
    >>> made = dot_of_blocks_in_line(matmul(left, right))
    >>> made.lhs.operands, made.rhs.operands
    ((a, c), (b, d))
    """
    if not is_plain(op):
        return None
    pairs = zip(op.lhs_contracting_dimensions, op.rhs_contracting_dimensions, strict=True)
    if (lhs.dimension, rhs.dimension) not in pairs:
        return None
    sizes = [[part.shape[stack.dimension] for part in stack.inputs] for stack in (lhs, rhs)]
    if sizes[0] != sizes[1]:
        return None
    parts = [op.with_operands(pair) for pair in zip(lhs.inputs, rhs.inputs, strict=True)]
    total: Value = parts[0]
    for part in parts[1:]:
        total = Add(total, part)
    return total
