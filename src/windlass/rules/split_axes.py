"""Products with operands of which axes were split or merged, as attention splits features in heads.

Where several heads share keys and values, `jnp.repeat` is lowered to a broadcast along a new axis, which a reshape then
merges into that of the heads.
"""

from __future__ import annotations

from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import BroadcastInDim, DotGeneral, Reshape, Transpose
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.contractions import Sizes, sides
from windlass.rules.factors import in_order
from windlass.rules.letters import Letters, Term, arrange, read, unspread
from windlass.rules.outer_products import group_letters, merged_axes, split_letters

__all__ = ["tensor"]


def sample_grouped_product(draw: Draw) -> DotGeneral:
    """Queries of several heads times keys that they share, axes in some order; or weights times values."""
    batch, groups, members, rows, columns, deep = (draw.integer(1, 3) for _ in range(6))
    wide = (batch, columns, groups, members, deep)
    keys = BroadcastInDim(tensor("f32", batch, columns, groups, deep, name="k"), wide, (0, 1, 2, 4))
    shared = Reshape(keys, (batch, columns, groups * members, deep))
    if draw.boolean():
        queries = tensor("f32", batch, rows, groups * members, deep, name="q")
        operands, axes = (queries, shared), ((0, 2), (0, 2), (3,), (3,))
    else:
        weights = tensor("f32", batch, groups * members, rows, columns, name="w")
        operands, axes = (weights, shared), ((0, 1), (0, 2), (3,), (1,))
    return _in_either_order(draw, operands, axes)


def _in_either_order(draw: Draw, operands: tuple[Value, Value], axes: tuple[Sizes, Sizes, Sizes, Sizes]) -> DotGeneral:
    (lhs, rhs), (lhs_batch, rhs_batch, lhs_sum, rhs_sum) = operands, axes
    if draw.boolean():
        return DotGeneral(rhs, lhs, rhs_batch, lhs_batch, rhs_sum, lhs_sum)
    return DotGeneral(lhs, rhs, lhs_batch, rhs_batch, lhs_sum, rhs_sum)


def reshapes(op: DotGeneral, kind: type[Op]) -> bool:
    """Whether an operand is a reshape of an op of this class: asked before a product is taken apart."""
    return any(isinstance(operand, Reshape) and isinstance(operand.operand, kind) for operand in op.operands)


@rewrite(any_op(DotGeneral), by_cost=True, reassociates=True, sample=sample_grouped_product)
def dot_of_repeated_groups(op: DotGeneral) -> Value | None:
    """dot(q, repeat(k)) = dot(q, k), q's axis of heads split in groups that share k

    >>> keys = Reshape(BroadcastInDim(tensor("f32", 2, 5, 9, name="k"), (2, 4, 5, 9), (0, 2, 3)), (8, 5, 9))
    >>> made = dot_of_repeated_groups(DotGeneral(tensor("f32", 8, 3, 9, name="q"), keys, (0,), (0,), (2,), (2,)))
    >>> made.operand.rhs, made.operand.lhs.shape
    (k, (2, 4, 3, 9))
    """
    if not reshapes(op, BroadcastInDim):
        return None
    product = read(op)
    for term, other in sides(product):
        value = term.value
        spread = value.operand if isinstance(value, Reshape) else None
        if not isinstance(spread, BroadcastInDim) or 0 in value.shape:
            continue
        groups = group_letters(term, spread.shape, max(product.sizes(), default=0) + 1)
        found = unspread(spread)
        if groups is None or found is None:
            continue
        inner, axes = found
        letters = tuple(letter for group in groups.values() for letter in group)
        new = Term(inner, tuple(letters[axis] for axis in axes))
        lost = [old for old, group in groups.items() if any(letter not in new.letters for letter in group)]
        # Along what is left of an axis the other operand goes on alone: it has to be an axis of both and of the result.
        if not lost or any(old not in other.letters or old not in product.result for old in lost):
            continue
        sizes = dict(zip(letters, spread.shape, strict=True))
        split = split_letters(other, groups, sizes)
        result = tuple(letter for old in product.result for letter in groups.get(old, (old,)))
        made = product.rebuild(*in_order(product, term, new, _in_order_of(split, new, result)), result)
        return None if made is None else Reshape(made, op.shape)
    return None


def _in_order_of(term: Term, other: Term, result: Letters) -> Term:
    """The term with the axes that it alone has in the order of the result, so that this need not be transposed."""
    own = [letter for letter in term.letters if letter in result and letter not in other.letters]
    if own == [letter for letter in result if letter in own]:
        return term
    kept = [letter for letter in result if letter in term.letters]
    order = (
        *(letter for letter in kept if letter in other.letters),
        *(letter for letter in kept if letter not in other.letters),
        *(letter for letter in term.letters if letter not in result),
    )
    return Term(arrange(term, order), order)


def sample_product_of_split_transpose(draw: Draw) -> DotGeneral:
    """A product with an operand that was transposed before its axes were split."""
    rows, columns, heads, deep = (draw.integer(1, 3) for _ in range(4))
    turned = Transpose(tensor("f32", columns, heads * deep, name="k"), (1, 0))
    split = Reshape(turned, (heads, deep, columns))
    operands, axes = (tensor("f32", rows, heads, deep, name="q"), split), ((1,), (0,), (2,), (1,))
    return _in_either_order(draw, operands, axes)


@rewrite(any_op(DotGeneral), sample=sample_product_of_split_transpose)
def dot_of_split_transpose(op: DotGeneral) -> Value | None:
    """dot(q, reshape(transpose(k))) = dot(q, reshape(k)) along the axes of k that these were, if these are but split

    >>> turned = Transpose(tensor("f32", 5, 6, name="k"), (1, 0))
    >>> split, queries = Reshape(turned, (2, 3, 5)), tensor("f32", 4, 2, 3, name="q")
    >>> dot_of_split_transpose(DotGeneral(queries, split, (1,), (0,), (2,), (1,))).rhs
    Reshape(k, shape=(5, 2, 3))
    """
    if not reshapes(op, Transpose):
        return None
    product = read(op)
    for term, other in sides(product):
        value = term.value
        moved = value.operand if isinstance(value, Reshape) else None
        if not isinstance(moved, Transpose) or len(moved.uses) > 1 or 0 in value.shape:
            continue
        groups = list(merged_axes(value.shape, moved.shape))
        if [axis for group in groups for axis in group] != list(range(value.tensor.rank)):
            continue
        axes = [axis for place in range(len(groups)) for axis in groups[moved.permutation.index(place)]]
        split = Reshape(moved.operand, tuple(value.shape[axis] for axis in axes))
        new = Term(split, tuple(term.letters[axis] for axis in axes))
        made = product.rebuild(*in_order(product, term, new, other))
        return None if isinstance(made, Transpose) and made.tensor.size >= moved.tensor.size else made
    return None
