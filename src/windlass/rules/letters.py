"""Products with their axes named by letters, as in einsum: what rules on contractions compute with.

A letter that both operands of a product have is summed over if the result lacks it, and batching otherwise. Rules take
a product apart with `read`, move letters about, and put it together with `multiply_terms`, which finds the axes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from windlass.ir import Op, Value
from windlass.ops import BroadcastInDim, Constant, DotGeneral, Reshape, Transpose
from windlass.ops.reduction import reduce_sum
from windlass.rewriting.sharing import users_of

Letters = tuple[int, ...]

FURTHEST = 4000
"""How many ops before a product another one is looked for."""


@dataclass(frozen=True)
class Term:
    """A value and the letter of each of its axes."""

    value: Value
    letters: Letters

    def sizes(self) -> dict[int, int]:
        return dict(zip(self.letters, self.value.shape, strict=True))


@dataclass(frozen=True)
class Product:
    """A dot_general as letters. The summed letters come first in numerical order, as the op lists them."""

    left: Term
    right: Term
    result: Letters
    op: DotGeneral

    @property
    def summed(self) -> Letters:
        """The letters of the contracting axes."""
        return tuple(letter for letter in sorted(self.left.letters) if letter not in self.result)

    def sizes(self) -> dict[int, int]:
        return {**self.left.sizes(), **self.right.sizes()}

    def rebuild(self, left: Term, right: Term, result: Letters | None = None) -> Value | None:
        """Another product in the same precision and of the same element type."""
        return multiply_terms(left, right, self.result if result is None else result, self.op)

    def with_term(self, term: Term, new: Term, other: Term, result: Letters | None = None) -> Value | None:
        """As `rebuild`, of a new term in the place of the one given, and of the other one."""
        return self.rebuild(new, other, result) if term is self.left else self.rebuild(other, new, result)


@dataclass(frozen=True)
class Kind:
    """Element type and precision of a product that there is none like yet."""

    dtype: str
    precision_config: tuple[str, ...] = ()
    algorithm: str | None = None


def read(op: DotGeneral, first: int = 0) -> Product:
    """The product with letters from `first` on.

    >>> from windlass.ops.contraction import matmul
    >>> from windlass.ir.values import tensor
    >>> product = read(matmul(tensor("f32", 2, 3), tensor("f32", 3, 4)))
    >>> product.left.letters, product.right.letters, product.result
    ((1, 0), (0, 2), (1, 2))
    """
    left, right, result = op.letters(first)
    return Product(Term(op.lhs, left), Term(op.rhs, right), result, op)


def multiply_terms(left: Term, right: Term, result: Letters, like: DotGeneral | Kind) -> Value | None:
    """The sum of products over all letters that the result lacks, with the axes of the result in its order.

    Letters that only one operand has and the result lacks are summed over before. It is one dot_general, of the
    precision of `like`, if the order of the operands allows it; a transpose follows otherwise. None where sums before
    would be in a narrower element type than that of the result.
    """
    dtype = like.dtype
    for term, others in ((left, right.letters), (right, left.letters)):
        if term.value.dtype != dtype and any(each not in others and each not in result for each in term.letters):
            return None
    left, right = _sum_lonely(left, right.letters, result), _sum_lonely(right, left.letters, result)
    orders = [_natural_order(left, right, result), _natural_order(right, left, result)]
    if orders[0] != result and orders[1] == result:
        left, right = right, left
        orders.reverse()
    batch = [letter for letter in result if letter in left.letters and letter in right.letters]
    summed = [letter for letter in sorted(left.letters) if letter in right.letters and letter not in result]
    made = DotGeneral(
        left.value,
        right.value,
        tuple(left.letters.index(letter) for letter in batch),
        tuple(right.letters.index(letter) for letter in batch),
        tuple(left.letters.index(letter) for letter in summed),
        tuple(right.letters.index(letter) for letter in summed),
        like.precision_config,
        like.algorithm,
        dtype,
    )
    order = orders[0]
    return made if order == result else Transpose(made, tuple(order.index(letter) for letter in result))


def arrange(term: Term, letters: Letters) -> Value:
    """The term's value with its axes in this order.

    >>> from windlass.ir.values import tensor
    >>> arrange(Term(tensor("f32", 2, 3), (5, 6)), (6, 5))
    Transpose(x, permutation=(1, 0))
    """
    order = tuple(term.letters.index(letter) for letter in letters)
    return term.value if order == tuple(range(len(order))) else Transpose(term.value, order)


def _natural_order(left: Term, right: Term, result: Letters) -> Letters:
    batch = [letter for letter in result if letter in left.letters and letter in right.letters]
    free = [letter for letter in (*left.letters, *right.letters) if letter in result and letter not in batch]
    return (*batch, *free)


def _sum_lonely(term: Term, others: Letters, result: Letters) -> Term:
    lonely = [letter for letter in term.letters if letter not in others and letter not in result]
    return sum_letters(term, lonely)


def sum_letters(term: Term, dropped: Iterable[int]) -> Term:
    """The term summed over the letters; itself if there are none."""
    axes = tuple(sorted(term.letters.index(letter) for letter in dropped))
    if not axes:
        return term
    kept = tuple(letter for axis, letter in enumerate(term.letters) if axis not in axes)
    return Term(reduce_sum(term.value, axes), kept)


def lay(value: Value, shape: tuple[int, ...], axes: tuple[int, ...]) -> Value:
    """The value with its axes as these ones of the shape, repeated along the others.

    >>> from windlass.ir.values import tensor
    >>> lay(tensor("f32", 3, 3), (3, 3), (1, 0))
    BroadcastInDim(x, shape=(3, 3), broadcast_dimensions=(1, 0))
    """
    if isinstance(value, Constant) and value.is_splat:
        return Constant.of(value.number, value.dtype, shape)
    in_place = value.shape == shape and axes == tuple(range(len(shape)))
    return value if in_place else BroadcastInDim(value, shape, axes)


def spread(term: Term, letters: Letters, sizes: Mapping[int, int]) -> Value:
    """The term broadcast to axes with these letters, of these sizes."""
    shape = tuple(sizes[letter] for letter in letters)
    return lay(term.value, shape, tuple(letters.index(letter) for letter in term.letters))


def operations(letters: Iterable[int], sizes: Mapping[int, int]) -> int:
    """How many operations a product with these letters in its operands takes."""
    return 2 * math.prod(sizes[letter] for letter in set(letters))


def is_plain(op: DotGeneral) -> bool:
    """Whether operands and result have one element type, in which products of products make sense."""
    return op.lhs.dtype == op.rhs.dtype == op.dtype


def has_twin(op: Op) -> bool:
    """Whether an equal op is beside this one: the two will be shared, and then have two uses."""
    key = op.structural_key()
    users = users_of(op.operands[0])
    return any(other is not op and type(other) is type(op) and other.structural_key() == key for other in users)


def is_before(other: Op, op: Op) -> bool:
    """Whether an op stands not too far before another one in the same block."""
    if op.block is None or other.block is not op.block:
        return op.block is other.block
    each = op.previous
    for _ in range(FURTHEST):
        if each is None or each is other:
            return each is not None
        each = each.previous
    return False


def unspread(value: Value) -> tuple[Value, tuple[int, ...]] | None:
    """What a value repeats, and the axes along which it does not; None where it repeats nothing.

    Axes along which a size of 1 is repeated are dropped. Constants that are one number repeat along all axes.

    >>> from windlass.ir.values import tensor
    >>> unspread(BroadcastInDim(tensor("f32", 3), (2, 3), (1,)))
    (x, (1,))
    """
    if isinstance(value, Constant) and value.is_splat and value.shape:
        return Constant.of(value.number, value.dtype), ()
    if not isinstance(value, BroadcastInDim):
        return None
    inner = value.operand
    pairs = list(zip(inner.shape, value.broadcast_dimensions, strict=True))
    kept = [(size, axis) for size, axis in pairs if value.shape[axis] == size]
    if len(kept) == value.tensor.rank:
        return None
    if len(kept) < len(pairs):
        inner = Reshape(inner, tuple(size for size, _ in kept))
    return inner, tuple(axis for _, axis in kept)
