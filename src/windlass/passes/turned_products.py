"""Transposes after matrix products, which give their axes in other orders for nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Constant,
    Convert,
    Convolution,
    DotGeneral,
    Elementwise,
    Exponential,
    Negate,
    Transpose,
)
from windlass.ops.contraction import matmul
from windlass.ops.sampling import Draw
from windlass.passes.undone_movement import list_cone
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone, users_of
from windlass.rules.axes import Sizes, invert
from windlass.rules.contractions import sample_product
from windlass.rules.convolutions import convolve, result_in_order
from windlass.rules.elementwise_movement import same_everywhere
from windlass.rules.letters import Product, Term, has_twin, read

__all__ = ["Exponential", "matmul"]

p = hole("p")


def _without_transposes(product: Product, op: DotGeneral) -> tuple[Term, Term, int]:
    """The terms before the transposes that are for the product alone, and how many these are."""
    terms: list[Term] = []
    count = 0
    for term in (product.left, product.right):
        moved = term.value
        if isinstance(moved, Transpose) and is_alone(moved, op):
            back = invert(moved.permutation)
            term = replace(term, value=moved.operand, letters=tuple(term.letters[axis] for axis in back))
            count += 1
        terms.append(term)
    return terms[0], terms[1], count


def _sample_transposed_products(draw: Draw) -> Transpose:
    product = sample_product(draw)
    operands = tuple(
        Transpose(tensor(each.dtype, *(each.shape[axis] for axis in invert(order)), name=name), order)
        if draw.boolean()
        else each
        for name, each, order in (
            (name, each, draw.permutation(each.tensor.rank)) for name, each in zip("xy", product.operands, strict=True)
        )
    )
    return Transpose(product.with_operands(operands), draw.permutation(product.tensor.rank))


@rewrite(Transpose(any_op(DotGeneral), p), single_use=True, sample=_sample_transposed_products)
def transpose_of_dot_of_transposes(op: Transpose, p: Sizes) -> Value | None:
    """transpose(dot(transpose(x), y), p) = transpose(dot(x, y), q), one transpose for several, or none

    >>> x, y = tensor("f32", 5, 2, 9), tensor("f32", 2, 4, name="y")
    >>> product = DotGeneral(Transpose(x, (2, 1, 0)), y, (), (), (1,), (0,))
    >>> transpose_of_dot_of_transposes(Transpose(product, (2, 1, 0))).operands
    (y, x)
    """
    inner = op.operand
    assert isinstance(inner, DotGeneral)
    if not any(isinstance(each, Transpose) for each in inner.operands) or not is_alone(inner, op) or has_twin(inner):
        return None
    product = read(inner)
    left, right, count = _without_transposes(product, inner)
    return product.rebuild(left, right, tuple(product.result[axis] for axis in p)) if count else None


def _in_order(leaf: Value, order: Sizes, users: set[Op]) -> Value | None:
    """The transpose of a value that elementwise ops take, if that moves nothing."""
    shape = tuple(leaf.shape[axis] for axis in order) if leaf.shape else ()
    number = same_everywhere(leaf, shape)
    if number is not None:
        return number
    if isinstance(leaf, Constant):
        return Constant.of(np.ascontiguousarray(leaf.array.transpose(order)), leaf.dtype)
    if isinstance(leaf, BroadcastInDim):
        return BroadcastInDim(leaf.operand, shape, tuple(order.index(axis) for axis in leaf.broadcast_dimensions))
    if isinstance(leaf, Transpose):
        both = tuple(leaf.permutation[axis] for axis in order)
        return leaf.operand if both == tuple(range(len(both))) else None
    if isinstance(leaf, Convolution):
        within = leaf.block is not None and leaf.block.parent is not None
        return result_in_order(leaf, order, within) if users.issuperset(users_of(leaf)) else None
    if not isinstance(leaf, DotGeneral) or not users.issuperset(users_of(leaf)) or has_twin(leaf):
        return None
    product = read(leaf)
    left, right, _ = _without_transposes(product, leaf)
    made = product.rebuild(left, right, tuple(product.result[axis] for axis in order))
    return None if isinstance(made, Transpose) else made


def _sample_function_of_product(draw: Draw) -> Transpose:
    product, kind = sample_product(draw), draw.integer(0, 4)
    shape, dtype = product.shape, product.tensor.dtype
    other: Value = Add(product, Negate(product))
    if kind == 0:
        other = Convert(product, "f64")
    elif kind == 1 and shape:
        axis = draw.integer(0, len(shape) - 1)
        other = Add(product, BroadcastInDim(tensor(dtype, shape[axis], name="r"), shape, (axis,)))
    elif kind == 2:
        other = Add(Constant.of(3, dtype, shape), product)
    elif kind == 3:
        order = draw.permutation(len(shape))
        other = Add(product, Transpose(tensor(dtype, *(shape[axis] for axis in invert(order)), name="z"), order))
    return Transpose(other, draw.permutation(len(shape)))


@rewrite(any_op(Transpose), sample=_sample_function_of_product)
def transpose_of_functions_of_products(op: Transpose) -> Value | None:
    """transpose(f(dot(x, y), b)) = f(dot(y, x), b), for any number of elementwise ops after products and broadcasts

    >>> product = matmul(tensor("f32", 2, 3), tensor("f32", 3, 4, name="y"))
    >>> transpose_of_functions_of_products(Transpose(Exponential(product), (1, 0))).operand.operands
    (y, x)
    """
    return _without_transpose(op, DotGeneral)


def _sample_function_of_convolution(draw: Draw) -> Transpose:
    made = convolve(tensor("f32", 2, 3, 6), tensor("f32", 4, 3, 2, name="k"))
    biased = Add(made, BroadcastInDim(tensor("f32", 4, name="r"), made.shape, (1,)))
    return Transpose(Exponential(biased) if draw.boolean() else biased, draw.permutation(3))


@rewrite(any_op(Transpose), sample=_sample_function_of_convolution, by_cost=True)
def transpose_of_functions_of_convolutions(op: Transpose) -> Value | None:
    """transpose(f(convolution(x, k), b)) = f(convolution(x, k), b), the axes of its result named otherwise

    >>> made = Exponential(convolve(tensor("f32", 1, 2, 8), tensor("f32", 4, 2, 3)))
    >>> transpose_of_functions_of_convolutions(Transpose(made, (0, 2, 1))).operand.output_feature_dimension
    2
    """
    return _without_transpose(op, Convolution)


def _without_transpose(op: Transpose, kind: type[Op]) -> Value | None:
    """The elementwise ops before a transpose done in the order that it gives, if products of this class are theirs."""
    found = list_cone(op) if isinstance(op.operand, Elementwise) else None
    if found is None:
        return None
    ops, leaves = found
    kinds = {type(leaf) for leaf in leaves}
    if kind not in kinds or (kind is DotGeneral and Convolution in kinds):
        return None
    users: set[Op] = {*ops}
    before: dict[Value, Value] = {}
    for leaf in leaves:
        made = _in_order(leaf, op.permutation, users)
        if made is None:
            return None
        before[leaf] = made
    for each in ops:
        before[each] = each.with_operands(tuple(before[operand] for operand in each.operands))
    return before[op.operand]
