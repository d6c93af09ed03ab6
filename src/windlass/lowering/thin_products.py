"""Products that sum over few elements, as sums of outer products: one loop with what comes before and after.

A matrix product is a call with its operands and result in memory. Measured on two CPU cores: a million points times a
3×3 matrix takes 7.9 ms as a product and 0.3 ms as a sum of three products; 32,768 × 3 times 3 × 16 takes 0.31 and 0.15.
"""

from __future__ import annotations

import math
from itertools import product as combinations

from windlass.facts.cost import fuses
from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import Add, Constant, DotGeneral, Multiply, Reshape, Slice
from windlass.ops.contraction import matmul
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.contractions import sample_product, sides
from windlass.rules.letters import Term, is_plain, read, spread

__all__ = ["Constant", "matmul", "tensor"]

FEWEST = 64
"""Elements of a result for which it is worth to think of loops."""
MOST_TERMS = 8
WIDEST = 64
"""Columns: of two wide operands the product is as fast as its result can be written."""


def is_at_hand(value: Value) -> bool:
    """Whether reading an element several times costs no arithmetic: it is in memory, or moved from there."""
    while isinstance(value, Op) and fuses(value) and value.operands:
        if not (isinstance(value, Slice) or value.is_free):
            return False
        value = value.operands[0]
    return True


def sample_thin_product(draw: Draw) -> DotGeneral:
    """A product, about half the time one of few columns and rows."""
    made = sample_product(draw)
    if draw.boolean():
        rows = tensor("f32", draw.integer(16, 40), draw.integer(2, 5))
        made = matmul(rows, tensor("f32", rows.shape[1], draw.integer(4, 6), name="y"))
    return made


@rewrite(any_op(DotGeneral), sample=sample_thin_product, by_cost=True, reassociates=True)
def dot_over_few_elements(op: DotGeneral) -> Value | None:
    """dot(x, y) = the sum of broadcast(x[:, k]) · broadcast(y[k, :]) over all k, if these are few

    >>> dot_over_few_elements(matmul(tensor("f32", 90, 2), tensor("f32", 2, 3, name="y"))).lhs.lhs.operand.operand
    Slice(x, start_indices=(0, 0), limit_indices=(90, 1), strides=(1, 1))
    """
    count = math.prod(op.lhs.shape[axis] for axis in op.lhs_contracting_dimensions)
    if not 1 < count <= MOST_TERMS or op.tensor.size < FEWEST or not is_plain(op):
        return None
    if op.tensor.dtype not in ("f32", "f64", "i32", "i64") or not (is_at_hand(op.lhs) and is_at_hand(op.rhs)):
        return None
    product = read(op)
    sizes = product.sizes()
    wide = [
        math.prod(sizes[letter] for letter in side.letters if letter in product.result and letter not in other.letters)
        for side, other in sides(product)
    ]
    if min(wide) > WIDEST:
        return None
    total: Value | None = None
    for place in combinations(*(range(sizes[letter]) for letter in product.summed)):
        at = dict(zip(product.summed, place, strict=True))
        term = Multiply(*(spread(_row(side, at), product.result, sizes) for side in (product.left, product.right)))
        total = term if total is None else Add(total, term)
    return total


def _row(term: Term, at: dict[int, int]) -> Term:
    """The term at these places along the axes with these letters."""
    start = tuple(at.get(letter, 0) for letter in term.letters)
    limit = tuple(
        at[letter] + 1 if letter in at else size for letter, size in zip(term.letters, term.value.shape, strict=True)
    )
    kept = tuple(letter for letter in term.letters if letter not in at)
    row = Slice(term.value, start, limit, (1,) * len(start))
    return Term(Reshape(row, tuple(term.sizes()[letter] for letter in kept)), kept)
