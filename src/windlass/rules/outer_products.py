"""Products with outer products, Kronecker products among them: these are not made, but multiplied factor by factor."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import BroadcastInDim, Constant, DotGeneral, Multiply, Reshape
from windlass.ops.contraction import matmul
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.chains import build_order, find_order
from windlass.rules.contractions import Sizes, sides
from windlass.rules.letters import Letters, Term, is_plain, read, unspread

__all__ = ["matmul", "tensor"]


def kronecker(a: Value, b: Value) -> Reshape:
    """The Kronecker product of two matrices, as jnp.kron makes it.

    >>> kronecker(tensor("f32", 2, 3), tensor("f32", 4, 5, name="b")).type
    tensor<8x15xf32>
    """
    shape = (a.shape[0], b.shape[0], a.shape[1], b.shape[1])
    product = Multiply(BroadcastInDim(a, shape, (0, 2)), BroadcastInDim(b, shape, (1, 3)))
    return Reshape(product, (shape[0] * shape[1], shape[2] * shape[3]))


def sample_product_with_outer(draw: Draw) -> DotGeneral:
    """A Kronecker or an outer product, times a vector or a matrix from either side."""
    a, b = (tensor("f32", draw.integer(2, 3), draw.integer(2, 3), name=name) for name in "ab")
    whole: Value = kronecker(a, b)
    if draw.boolean():
        shape = (*a.shape, *b.shape)
        whole = Multiply(BroadcastInDim(a, shape, (0, 1)), BroadcastInDim(b, shape, (2, 3)))
    axis = draw.integer(0, whole.tensor.rank - 1)
    thin = tensor("f32", whole.shape[axis], *draw.choose(((), (2,), (40,))), name="y")
    if draw.boolean():
        return DotGeneral(whole, thin, (), (), (axis,), (0,))
    return DotGeneral(thin, whole, (), (), (0,), (axis,))


@rewrite(any_op(DotGeneral), reassociates=True, by_cost=True, sample=sample_product_with_outer)
def dot_of_outer_product(op: DotGeneral) -> Value | None:
    """dot(a ⊗ b, y) = dot(a, dot(b, y)), y's axis split in two if need be: (a ⊗ b) · vec(y) = vec(a · y · bᵀ)

    >>> a, b = tensor("f32", 9, 9, name="a"), tensor("f32", 9, 9, name="b")
    >>> made = dot_of_outer_product(DotGeneral(kronecker(a, b), tensor("f32", 81, name="y"), (), (), (1,), (0,)))
    >>> made.operand.lhs.operands
    (a, Reshape(y, shape=(9, 9)))
    """
    if not any(map(may_be_outer, op.operands)) or not is_plain(op):
        return None
    product = read(op)
    for term, other in sides(product):
        factors, groups = split_outer(term, max(product.sizes(), default=0) + 1)
        if not factors:
            continue
        parts = {letter: size for factor in factors for letter, size in factor.sizes().items()}
        split = split_letters(other, groups, parts)
        result = tuple(letter for old in product.result for letter in groups.get(old, (old,)))
        terms = [*factors, split]
        sizes = {letter: size for each in terms for letter, size in each.sizes().items()}
        least, order = find_order(terms, result, sizes)
        if 2 * least > op.flops():
            continue
        made = build_order(order, terms, result, op)
        if made is None:
            return None
        return made if made.shape == op.shape else Reshape(made, op.shape)
    return None


def may_be_outer(value: Value) -> bool:
    """Whether a value is a product of what repeats, maybe reshaped."""
    inner = value.operand if isinstance(value, Reshape) else value
    return isinstance(inner, Multiply) and all(isinstance(each, BroadcastInDim | Constant) for each in inner.operands)


def split_outer(term: Term, first: int) -> tuple[list[Term], dict[int, Letters]]:
    """The factors of an outer product, whose axes may have been merged, with letters of their own from `first` on.

    And the letters of the axes that each of the term's own letters stands for. No factors if it isn't one.
    """
    value = term.value
    inner = value.operand if isinstance(value, Reshape) else value
    if not isinstance(inner, Multiply):
        return [], {}
    groups = group_letters(term, inner.shape, first)
    if groups is None:
        return [], {}
    factors: list[Term] = []
    for operand in inner.operands:
        found = unspread(operand)
        if found is None or not found[1]:
            return [], {}
        factors.append(Term(found[0], tuple(first + axis for axis in found[1])))
    covered = set(factors[0].letters) | set(factors[1].letters)
    return (factors, groups) if len(covered) == len(inner.shape) else ([], {})


def group_letters(term: Term, inner: Sizes, first: int) -> dict[int, Letters] | None:
    """New letters, from `first` on, for the axes that a reshape merged into each of the term's; None if it did more.

    >>> group_letters(Term(tensor("f32", 6, 20), (0, 1)), (2, 3, 20), 7)
    {0: (7, 8), 1: (9,)}
    """
    merged = list(merged_axes(inner, term.value.shape))
    if [axis for axes in merged for axis in axes] != list(range(len(inner))):
        return None
    return {letter: tuple(first + axis for axis in axes) for letter, axes in zip(term.letters, merged, strict=True)}


def merged_axes(inner: Sizes, outer: Sizes) -> Iterator[tuple[int, ...]]:
    """For each axis of a reshaped value the axes that it was made of, as far as axes are merged only.

    >>> list(merged_axes((2, 3, 4, 5), (6, 20)))
    [(0, 1), (2, 3)]
    """
    axis = 0
    for size in outer:
        first = axis
        while axis < len(inner) and (axis == first or math.prod(inner[first:axis]) < size):
            axis += 1
        if math.prod(inner[first:axis]) != size:
            return
        yield tuple(range(first, axis))


def split_letters(other: Term, groups: Mapping[int, Letters], sizes: Mapping[int, int]) -> Term:
    """A term with axes split as those of these letters, whose parts have these sizes."""
    letters = tuple(letter for old in other.letters for letter in groups.get(old, (old,)))
    if len(letters) == len(other.letters):
        return Term(other.value, letters)
    own = other.sizes()
    shape = tuple(
        sizes[letter] if old in groups else own[old] for old in other.letters for letter in groups.get(old, (old,))
    )
    return Term(Reshape(other.value, shape), letters)
