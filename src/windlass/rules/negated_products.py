"""Signs of products: negated where the least is to be negated, or not at all."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Add, DotGeneral, Multiply, Negate, Subtract
from windlass.ops.contraction import matmul
from windlass.ops.sampling import Draw
from windlass.rewriting.duals import Dual
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.contractions import Sizes, dot, plain, sample_product
from windlass.rules.duals import SIGNS

__all__ = ["matmul", "tensor"]


x, y, a, b = hole("x"), hole("y"), hole("a"), hole("b")


@rewrite(Multiply(Negate(x), Subtract(a, b)), single_use=True)
def product_of_negate_and_integer_difference(x: Value, a: Value, b: Value) -> Value | None:
    """(-x) · (a - b) = x · (b - a) for integers

    >>> x, a, b = (tensor("i32", name=name) for name in "xab")
    >>> product_of_negate_and_integer_difference(Multiply(Negate(x), Subtract(a, b)))
    Multiply(x, Subtract(b, a))
    """
    return Multiply(x, Subtract(b, a)) if x.tensor.is_integer else None


@rewrite(Multiply(Negate(x), Subtract(a, b)), single_use=True, assumes="no -0.0")
def product_of_negate_and_difference(x: Value, a: Value, b: Value) -> Value | None:
    """(-x) · (a - b) = x · (b - a) for floats, but for the sign of zero where a = b

    >>> x, a, b = (tensor("f32", name=name) for name in "xab")
    >>> product_of_negate_and_difference(Multiply(Negate(x), Subtract(a, b)))
    Multiply(x, Subtract(b, a))
    """
    return Multiply(x, Subtract(b, a)) if x.tensor.is_float else None


def negated(draw: Draw, shape: Sizes, dtype: str, name: str) -> Value:
    return Negate(tensor(dtype, *shape, name=name))


@rewrite(dot(Negate(x), Negate(y)), sample=lambda draw: sample_product(draw, negated, negated))
def dot_of_negated(op: DotGeneral, x: Value, y: Value) -> Value | None:
    """dot(-x, -y) = dot(x, y)

    >>> dot_of_negated(matmul(Negate(tensor("f32", 2, 3)), Negate(tensor("f32", 3, 4, name="y")))).rhs
    y
    """
    if not op.tensor.is_float or x.dtype != op.dtype or y.dtype != op.dtype:
        # Integers have no -0, and the least of them no opposite.
        return None
    return op.with_operands((x, y))


def sample_negated_product(draw: Draw) -> Negate:
    return Negate(sample_product(draw))


@rewrite(Negate(any_op(DotGeneral)), single_use=True, reassociates=True, sample=sample_negated_product)
def negate_of_dot(op: Negate) -> Value | None:
    """-dot(x, y) = dot(-x, y), if x is smaller than the result, and so for y; for floats but for the sign of zero

    >>> negate_of_dot(Negate(matmul(tensor("f32", 9, 2), tensor("f32", 2, 8, name="y")))).rhs
    Negate(y)
    """
    inner = op.operand
    assert isinstance(inner, DotGeneral)
    smaller = min((0, 1), key=lambda place: inner.operands[place].tensor.size)
    operands = list(inner.operands)
    if operands[smaller].tensor.size >= op.tensor.size or op.tensor.is_complex or not is_alone(inner, op):
        return None
    if operands[smaller].tensor.dtype != op.dtype:
        return None
    operands[smaller] = Negate(operands[smaller])
    return inner.with_operands(tuple(operands))


def sample_sum_with_negated(draw: Draw) -> Add | Subtract:
    product = sample_product(draw, *draw.choose(((negated, plain), (plain, negated))))
    other = tensor(product.tensor.dtype, *product.shape, name="z")
    if draw.boolean():
        return Subtract(other, product)
    return Add(*draw.choose(((other, product), (product, other))))


@rewrite(
    Add(hole("z"), any_op(DotGeneral, bind="product")),
    single_use=True,
    reassociates=True,
    sample=sample_sum_with_negated,
    dual=SIGNS,
)
def sum_with_negated_dot(z: Value, product: DotGeneral, dual: Dual) -> Value | None:
    """z + dot(-x, y) = z - dot(x, y), but for the sign of zero

    >>> product = matmul(Negate(tensor("f32", 2, 3)), tensor("f32", 3, 4, name="y"))
    >>> sum_with_negated_dot(Add(tensor("f32", 2, 4, name="z"), product)).rhs.operands
    (x, y)
    """
    plainer = _without_sign(product)
    return None if plainer is None else dual(Subtract)(z, plainer)


def _without_sign(product: DotGeneral) -> Value | None:
    """The product without the negation of one operand, if that is for it alone."""
    for place, operand in enumerate(product.operands):
        if isinstance(operand, Negate) and is_alone(operand, product) and operand.dtype == product.dtype:
            operands = list(product.operands)
            operands[place] = operand.operand
            return product.with_operands(tuple(operands))
    return None
