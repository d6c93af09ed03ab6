"""Products with operands of which axes were split or merged, as attention splits features in heads.

Where several heads share keys and values, `jnp.repeat` is lowered to a broadcast along a new axis, which a reshape then
merges into that of the heads.
"""

from __future__ import annotations

import math

from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import BroadcastInDim, DotGeneral, Reshape
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.axes import AxisGroup, group_axes
from windlass.rules.contractions import Sizes, sides
from windlass.rules.letters import Letters, Term, arrange, read, unspread
from windlass.rules.outer_products import group_letters, split_letters

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
        made = product.with_term(term, new, _in_order_of(split, new, result), result)
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


# -- products of tiles ------------------------------------------------------------------------------------------------


def sample_product_of_tiles(draw: Draw) -> DotGeneral:
    """A product of matrices that were cut into tiles, or of one that was."""
    rows, deep, columns = ((draw.integer(1, 3), draw.integer(1, 3)) for _ in range(3))
    lhs = Reshape(tensor("f32", math.prod(rows), math.prod(deep)), (*rows, *deep))
    if draw.boolean():
        rhs = Reshape(tensor("f32", math.prod(deep), math.prod(columns), name="y"), (*deep, *columns))
        lhs_sum, rhs_sum = draw.choose((((2, 3), (0, 1)), ((3, 2), (1, 0))))
        return DotGeneral(lhs, rhs, (), (), lhs_sum, rhs_sum)
    lhs = Reshape(tensor("f32", math.prod(rows), deep[0]), (*rows, deep[0]))
    return DotGeneral(lhs, tensor("f32", deep[0], 4, name="y"), (), (), (2,), (0,))


@rewrite(any_op(DotGeneral), sample=sample_product_of_tiles, reassociates=True, in_kernels=True)
def dot_of_tiles(op: DotGeneral) -> Value | None:
    """dot(reshape(x), reshape(y)) = reshape(dot(x, y)), where the reshapes cut axes, and their parts go together

    >>> x, y = Reshape(tensor("f32", 32, 32), (2, 16, 2, 16)), Reshape(tensor("f32", 32, 8), (2, 16, 8))
    >>> dot_of_tiles(DotGeneral(x, y, (), (), (3, 2), (1, 0))).operand.operands
    (x, x)
    """
    operands: list[Value] = []
    groups: list[list[Sizes]] = []
    for operand in op.operands:
        source = operand.operand if isinstance(operand, Reshape) else operand
        found = group_axes(source.tensor.shape, operand.tensor.shape)
        if found is None:
            return None
        if any(len(group.old) != 1 or not group.new for group in found):
            source, found = operand, [AxisGroup((axis,), (axis,)) for axis in range(operand.tensor.rank)]
        operands.append(source)
        groups.append([group.new for group in found])
    if operands == list(op.operands):
        return None
    merged: list[tuple[Sizes, Sizes]] = []
    for axes in (
        (op.lhs_batching_dimensions, op.rhs_batching_dimensions),
        (op.lhs_contracting_dimensions, op.rhs_contracting_dimensions),
    ):
        pairs = _pair_groups(dict(zip(*axes, strict=True)), groups[0], groups[1])
        if pairs is None:
            return None
        merged.append(pairs)
    batching, contracting = merged
    lhs, rhs = operands
    rest = (op.precision_config, op.algorithm, op.dtype)
    made = DotGeneral(lhs, rhs, batching[0], batching[1], contracting[0], contracting[1], *rest)
    return made if made.shape == op.shape else Reshape(made, op.shape)


def _pair_groups(partners: dict[int, int], left: list[Sizes], right: list[Sizes]) -> tuple[Sizes, Sizes] | None:
    """The axes of x and of y, by the axes that they were cut into, of which each has a partner.

    None where only some parts of an axis have one, or the parts of one axis are those of several.
    """
    found: list[tuple[int, int]] = []
    for axis, parts in enumerate(left):
        own = [part for part in parts if part in partners]
        if own:
            across = tuple(partners[part] for part in own)
            if len(own) < len(parts) or across not in right:
                return None
            found.append((axis, right.index(across)))
    if sum(len(right[axis]) for _, axis in found) != len(partners):
        return None
    return tuple(axis for axis, _ in found), tuple(axis for _, axis in found)
