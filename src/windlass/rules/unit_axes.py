"""Axes of size 1 in products: what was made a matrix only to be multiplied is multiplied as the vector that it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import DotGeneral, Reshape
from windlass.ops.contraction import matmul
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.contractions import sample_product, sides
from windlass.rules.letters import Term, read

__all__ = ["matmul", "tensor"]

Sizes = tuple[int, ...]


def kept_axes(shape: Sizes, goal: Sizes, may_go: Callable[[int], bool]) -> Sizes | None:
    """The axes of `shape` that are left where axes of size 1 are dropped until the sizes are `goal`'s; None if never.

    >>> kept_axes((1, 5, 1), (5, 1), lambda axis: True)
    (1, 2)
    """
    kept: list[int] = []
    ones: list[int] = []
    left = list(goal)
    for axis in range(len(shape) + 1):
        if axis < len(shape) and shape[axis] == 1:
            ones.append(axis)
            continue
        wanted = _count_leading_ones(left)
        gone = [each for each in ones if may_go(each)][: max(len(ones) - wanted, 0)]
        if len(ones) - len(gone) != wanted:
            return None
        kept += [each for each in ones if each not in gone]
        ones = []
        del left[:wanted]
        if axis < len(shape):
            if not left or left.pop(0) != shape[axis]:
                return None
            kept.append(axis)
    return None if left else tuple(kept)


def _count_leading_ones(sizes: Sequence[int]) -> int:
    return next((place for place, size in enumerate(sizes) if size != 1), len(sizes))


def with_unit_axes(draw: Draw, shape: Sizes, dtype: str, name: str) -> Value:
    """An operand that got its axes of size 1 by a reshape."""
    return Reshape(tensor(dtype, *(size for size in shape if size != 1), name=name), shape)


@rewrite(any_op(DotGeneral, takes=(Reshape,)), sample=lambda draw: sample_product(draw, with_unit_axes, with_unit_axes))
def dot_of_added_unit_axes(op: DotGeneral) -> Value | None:
    """dot(reshape(x), y) = reshape(dot(x, y)), if the reshape only adds rows or columns of which there is one

    >>> column = Reshape(tensor("f32", 3, name="y"), (3, 1))
    >>> dot_of_added_unit_axes(matmul(tensor("f32", 2, 3), column)).operand.operands
    (x, y)
    """
    product = read(op)
    sizes = product.sizes()
    for term, other in sides(product):
        value = term.value
        if not isinstance(value, Reshape):
            continue
        inner, letters = value.operand, term.letters
        kept = kept_axes(
            value.shape,
            inner.shape,
            lambda axis, letters=letters, other=other: (
                letters[axis] in product.result and letters[axis] not in other.letters
            ),
        )
        if kept is None or len(kept) == value.tensor.rank:
            continue
        smaller = Term(inner, tuple(letters[axis] for axis in kept))
        gone = set(letters) - set(smaller.letters)
        result = tuple(letter for letter in product.result if letter not in gone)
        made = product.with_term(term, smaller, other, result)
        return None if made is None else Reshape(made, tuple(sizes[letter] for letter in product.result))
    return None
