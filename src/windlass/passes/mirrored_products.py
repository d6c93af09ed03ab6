"""Products of the same matrices in both orders: dot(y, x) is the transpose of dot(x, y), and is not computed anew.

A matrix product in the other order adds up the same terms, though maybe in another order.
"""

from __future__ import annotations

from dataclasses import dataclass

from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import Add, BroadcastInDim, Constant, DotGeneral, Multiply, Subtract, Transpose
from windlass.ops.contraction import matmul
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone, users_of
from windlass.rules.contractions import sample_product
from windlass.rules.duals import SIGNS
from windlass.rules.letters import is_before, is_plain

__all__ = ["matmul", "tensor"]

x, y = hole("x"), hole("y")


@dataclass(frozen=True)
class Scaled:
    """A product of two matrices times scalars."""

    product: DotGeneral
    lhs: Value
    rhs: Value
    scalars: tuple[Value, ...]
    """Of rank 0."""

    def same_scalars(self, other: Scaled) -> bool:
        """Whether another product is times the same numbers."""
        return sorted(map(_key, self.scalars), key=str) == sorted(map(_key, other.scalars), key=str)

    def scale(self, value: Value) -> Value:
        """The value times the scalars."""
        for scalar in self.scalars:
            if isinstance(scalar, Constant):
                factor: Value = Constant.of(scalar.number, scalar.dtype, value.shape)
            else:
                factor = BroadcastInDim(scalar, value.shape, ())
            value = Multiply(factor, value)
        return value


def _key(scalar: Value) -> tuple[str, object]:
    return ("number", scalar.number) if isinstance(scalar, Constant) else ("value", id(scalar))


def peel(value: Value, user: Op) -> tuple[Value, tuple[Value, ...]]:
    """A value without scalars that it is multiplied by, if only the user uses it, and these scalars."""
    scalars: list[Value] = []
    while isinstance(value, Multiply) and is_alone(value, user):
        for factor, rest in (value.operands, value.operands[::-1]):
            if isinstance(factor, Constant) and factor.is_splat:
                scalar: Value = Constant.of(factor.number, factor.dtype)
            elif isinstance(factor, BroadcastInDim) and factor.operand.tensor.rank == 0:
                scalar = factor.operand
            else:
                continue
            scalars.append(scalar)
            user, value = value, rest
            break
        else:
            break
    return value, tuple(scalars)


def read_scaled(value: Value, user: Op) -> Scaled | None:
    """The value as a product times scalars, wherever the scalars were multiplied in."""
    product, outer = peel(value, user)
    if not isinstance(product, DotGeneral) or not is_plain(product):
        return None
    if product.tensor.is_integer or product.lhs is product.rhs:
        return Scaled(product, product.lhs, product.rhs, outer)
    lhs, left = peel(product.lhs, product)
    rhs, right = peel(product.rhs, product)
    return Scaled(product, lhs, rhs, (*outer, *left, *right))


def are_mirrored(first: Scaled, second: Scaled) -> bool:
    """Whether two products are, but for their scalars, of the same operands in the other order, along the same axes."""
    one, other = first.product, second.product
    return (
        first.lhs is second.rhs
        and first.rhs is second.lhs
        and one.lhs_contracting_dimensions == other.rhs_contracting_dimensions
        and one.rhs_contracting_dimensions == other.lhs_contracting_dimensions
        and one.lhs_batching_dimensions == other.rhs_batching_dimensions
        and one.rhs_batching_dimensions == other.lhs_batching_dimensions
        and tuple(one.precision_config) == tuple(reversed(other.precision_config))
        and one.algorithm == other.algorithm
    )


def turned(product: DotGeneral, value: Value) -> Transpose:
    """A value with the axes of a product, with those of the right operand before those of the left one.

    >>> product = matmul(tensor("f32", 2, 3), tensor("f32", 3, 4, name="y"))
    >>> turned(product, product).permutation
    (1, 0)
    """
    batch = len(product.lhs_batching_dimensions)
    middle = batch + len(product.lhs_free_dimensions)
    rank = product.tensor.rank
    return Transpose(value, (*range(batch), *range(middle, rank), *range(batch, middle)))


def sample_mirrored_products(draw: Draw) -> tuple[DotGeneral, DotGeneral]:
    """Two products of the same operands in different order."""
    first = sample_product(draw)
    second = DotGeneral(
        first.rhs,
        first.lhs,
        first.rhs_batching_dimensions,
        first.lhs_batching_dimensions,
        first.rhs_contracting_dimensions,
        first.lhs_contracting_dimensions,
    )
    return first, second


def sample_sum_of_mirrored(draw: Draw) -> Op:
    """A sum or difference of two products of square matrices, maybe scaled."""
    size, deep = draw.integer(1, 4), draw.integer(1, 4)
    x, y = tensor("f32", size, deep), tensor("f32", size, deep, name="y")
    if draw.boolean():
        factor = Constant.of(1.5, "f32", x.shape)
        if draw.boolean():
            factor = BroadcastInDim(tensor("f32", name="c"), x.shape, ())
        products = [DotGeneral(Multiply(factor, each), other, (), (), (1,), (1,)) for each, other in ((x, y), (y, x))]
    else:
        products = [DotGeneral(each, other, (), (), (1,), (1,)) for each, other in ((x, y), (y, x))]
    return draw.choose((Add, Subtract))(*products)


def _half(op: Add | Subtract) -> Value | None:
    if not isinstance(op.lhs, DotGeneral | Multiply) or not isinstance(op.rhs, DotGeneral | Multiply):
        return None
    first, second = read_scaled(op.lhs, op), read_scaled(op.rhs, op)
    if first is None or second is None or first.product is second.product:
        return None
    if not are_mirrored(first, second) or not first.same_scalars(second):
        return None
    if any(not is_alone(operand, op) for operand in op.operands):
        return None
    made = first.product.with_operands((first.lhs, first.rhs))
    return first.scale(type(op)(made, turned(first.product, made)))


@rewrite(
    any_op(Add, takes=(DotGeneral, Multiply)),
    reassociates=True,
    single_use=True,
    sample=sample_sum_of_mirrored,
    dual=SIGNS,
)
def sum_of_mirrored_dots(op: Add | Subtract) -> Value | None:
    """c · dot(x, yᵀ) + c · dot(y, xᵀ) = c · (s + sᵀ) with s = dot(x, yᵀ): one product instead of two

    >>> x, y = tensor("f32", 3, 3), tensor("f32", 3, 3, name="y")
    >>> made = sum_of_mirrored_dots(Add(*(DotGeneral(*each, (), (), (1,), (1,)) for each in ((x, y), (y, x)))))
    >>> made.rhs.operand is made.lhs
    True
    """
    return _half(op)


def sample_mirror_of_another(draw: Draw) -> DotGeneral:
    first, second = sample_mirrored_products(draw)
    # Something else uses the first one.
    Transpose(first, tuple(range(first.tensor.rank)))
    return second


@rewrite(any_op(DotGeneral), reassociates=True, by_cost=True, sample=sample_mirror_of_another)
def mirror_of_dot(op: DotGeneral) -> Value | None:
    """dot(y, x) = transpose(dot(x, y)), if that product is there already

    >>> x, y = tensor("f32", 3, 3), tensor("f32", 3, 3, name="y")
    >>> there = DotGeneral(x, y, (), (), (1,), (1,))
    >>> mirror_of_dot(DotGeneral(y, x, (), (), (1,), (1,))).operand is there
    True
    """
    if op.lhs is op.rhs and op.lhs_contracting_dimensions == op.rhs_contracting_dimensions:
        return None
    own = Scaled(op, op.lhs, op.rhs, ())
    for other in min(users_of(op.rhs), users_of(op.lhs), key=len):
        if not isinstance(other, DotGeneral) or other is op or other.dtype != op.dtype:
            continue
        if are_mirrored(own, Scaled(other, other.lhs, other.rhs, ())) and is_before(other, op):
            return turned(other, other)
    return None
