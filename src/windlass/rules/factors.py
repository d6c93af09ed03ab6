"""Scale factors and common factors of products: done on whatever is smallest, and once.

All of them reorder products and sums, so results differ in the last digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import Add, BroadcastInDim, Constant, Divide, DotGeneral, Multiply, Subtract
from windlass.ops.contraction import matmul
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.contractions import made_by, plain, sample_product, sides
from windlass.rules.duals import SIGNS
from windlass.rules.letters import Letters, Term, is_plain, read, spread, unspread

__all__ = ["matmul", "tensor"]

Sizes = tuple[int, ...]

x, y, z = hole("x"), hole("y"), hole("z")


def factors_of(value: Value, user: Op) -> Iterator[tuple[Value, Value, type[Any]]]:
    """Each way to see a value as (what is scaled, what by, Multiply or Divide), if just the user uses it."""
    if not is_alone(value, user):
        return
    if isinstance(value, Multiply):
        yield value.lhs, value.rhs, Multiply
        yield value.rhs, value.lhs, Multiply
    elif isinstance(value, Divide) and not value.tensor.is_integer:
        yield value.lhs, value.rhs, Divide


def repeating(value: Value, letters: Letters) -> Term | None:
    """What a broadcast value with these letters repeats."""
    found = unspread(value)
    return None if found is None else Term(found[0], tuple(letters[axis] for axis in found[1]))


def scaled(draw: Draw, shape: Sizes, dtype: str, name: str) -> Value:
    """An operand scaled along some of its axes."""
    axes = draw.subset(len(shape))
    inner = tensor(dtype, *(shape[axis] for axis in axes), name=f"{name}_scale")
    factor: Value = Constant.of(2, dtype, shape) if draw.boolean() else BroadcastInDim(inner, shape, axes)
    kind = Divide if draw.boolean() and dtype != "i32" and isinstance(factor, Constant) else Multiply
    return kind(tensor(dtype, *shape, name=name), factor)


def sample_product_of_scaled(draw: Draw) -> DotGeneral:
    return sample_product(draw, *draw.choose(((scaled, plain), (plain, scaled))))


@rewrite(any_op(DotGeneral, takes=(Multiply, Divide)), reassociates=True, sample=sample_product_of_scaled)
def dot_of_scaled_operand(op: DotGeneral) -> Value | None:
    """dot(c · x, y) = c · dot(x, y), if c is constant along what is summed over and the result is smaller than x

    >>> x = Multiply(tensor("f32", 2, 300), Constant.of(3, "f32", (2, 300)))
    >>> dot_of_scaled_operand(matmul(x, tensor("f32", 300, 4, name="y"))).lhs
    Constant(3.0)
    """
    if not is_plain(op):
        return None
    product = read(op)
    for term, other in sides(product):
        if term.value.tensor.size <= op.tensor.size:
            continue
        for value, by, kind in factors_of(term.value, op):
            factor = repeating(by, term.letters)
            if factor is None or any(letter in product.summed for letter in factor.letters):
                continue
            made = product.with_term(term, Term(value, term.letters), other)
            if made is None:
                continue
            whole = spread(factor, product.result, product.sizes())
            return Multiply(whole, made) if kind is Multiply else Divide(made, whole)
    return None


@rewrite(any_op(DotGeneral, takes=(Multiply, Divide)), reassociates=True, sample=sample_product_of_scaled)
def dot_of_weighted_operand(op: DotGeneral) -> Value | None:
    """dot(c · x, y) = dot(x, c · y), if c has no axes that y lacks and y is smaller than x

    >>> weights = BroadcastInDim(tensor("f32", 30, name="w"), (20, 30), (1,))
    >>> weighted = Multiply(tensor("f32", 20, 30), weights)
    >>> dot_of_weighted_operand(DotGeneral(weighted, tensor("f32", 30, name="y"), (), (), (1,), (0,))).rhs
    Multiply(y, w)
    """
    if not is_plain(op):
        return None
    product = read(op)
    for term, other in sides(product):
        if term.value.tensor.size <= other.value.tensor.size:
            continue
        for value, by, kind in factors_of(term.value, op):
            factor = repeating(by, term.letters)
            if factor is None or any(letter not in other.letters for letter in factor.letters):
                continue
            weighted = kind(other.value, spread(factor, other.letters, other.sizes()))
            return product.with_term(term, Term(value, term.letters), Term(weighted, other.letters))
    return None


def sample_scaled_product(draw: Draw) -> Op:
    """A product scaled along some of its axes, larger than one of its operands."""
    rows, columns, deep = draw.integer(3, 5), draw.integer(3, 5), draw.integer(1, 2)
    made = matmul(tensor("f32", rows, deep), tensor("f32", deep, columns, name="y"))
    axes = draw.subset(2)
    inner = tensor("f32", *(made.shape[axis] for axis in axes), name="c")
    if draw.boolean():
        return Multiply(made, BroadcastInDim(inner, made.shape, axes))
    return Divide(made, Constant.of(draw.integer(2, 5), "f32", made.shape))


def _scale_operand(op: Op, inner: Value, by: Value, kind: type[Any]) -> Value | None:
    if not isinstance(inner, DotGeneral) or not is_alone(inner, op) or not is_plain(inner) or inner.tensor.is_integer:
        return None
    product = read(inner)
    factor = repeating(by, product.result)
    if factor is None:
        return None
    for term, other in sorted(sides(product), key=lambda pair: pair[0].value.tensor.size):
        # Where it isn't much smaller, the factor is better done in the loop of what takes the product.
        if 2 * term.value.tensor.size >= inner.tensor.size or any(each not in term.letters for each in factor.letters):
            continue
        new = kind(term.value, spread(factor, term.letters, term.sizes()))
        return product.with_term(term, Term(new, term.letters), other)
    return None


@rewrite(Multiply(any_op(DotGeneral), y), single_use=True, reassociates=True, sample=sample_scaled_product)
def scale_of_dot(op: Multiply, y: Value) -> Value | None:
    """c · dot(x, y) = dot(c · x, y), if x is smaller than the result and has all axes that c has; and so for y

    >>> scores = matmul(tensor("f32", 100, 8), tensor("f32", 8, 50, name="y"))
    >>> scale_of_dot(Multiply(scores, Constant.of(0.5, "f32", (100, 50)))).rhs
    Multiply(y, Constant(0.5))
    """
    return _scale_operand(op, op.rhs if op.lhs is y else op.lhs, y, Multiply)


@rewrite(Divide(any_op(DotGeneral), y), single_use=True, reassociates=True, sample=sample_scaled_product)
def quotient_of_dot(op: Divide, y: Value) -> Value | None:
    """dot(x, y) / c = dot(x / c, y), if x is smaller than the result and has all axes that c has; and so for y

    >>> scores = matmul(tensor("f32", 100, 8), tensor("f32", 8, 50, name="y"))
    >>> quotient_of_dot(Divide(scores, Constant.of(8, "f32", (100, 50)))).rhs
    Divide(y, Constant(8.0))
    """
    return _scale_operand(op, op.lhs, y, Divide)


def sample_sum_with_scaled(draw: Draw) -> Op:
    """A sum or difference of a product with a scaled operand and something else."""
    rows, columns, deep = draw.integer(2, 5), draw.integer(2, 5), draw.integer(2, 5)
    operands: list[Value] = [tensor("f32", rows, deep), tensor("f32", deep, columns, name="y")]
    place = draw.integer(0, 1)
    operands[place] = scaled(draw, operands[place].shape, "f32", "xy"[place])
    product, z = matmul(*operands), tensor("f32", rows, columns, name="z")
    return draw.choose((Add, Subtract))(*draw.choose(((product, z), (z, product))))


def _scale_after(op: Add | Subtract) -> Value | None:
    for place in (0, 1):
        inner = op.operands[place]
        if not isinstance(inner, DotGeneral) or not is_alone(inner, op) or not is_plain(inner):
            continue
        if not made_by(inner, Multiply | Divide) or inner.tensor.is_integer:
            continue
        product = read(inner)
        for term, other in sides(product):
            if 2 * term.value.tensor.size < inner.tensor.size:
                continue
            for value, by, kind in factors_of(term.value, inner):
                factor = repeating(by, term.letters)
                if factor is None or any(letter in product.summed for letter in factor.letters):
                    continue
                made = product.with_term(term, Term(value, term.letters), other)
                if made is None:
                    continue
                whole = spread(factor, product.result, product.sizes())
                operands = list(op.operands)
                operands[place] = Multiply(whole, made) if kind is Multiply else Divide(made, whole)
                return op.with_operands(tuple(operands))
    return None


@rewrite(any_op(Add, takes=(DotGeneral,)), reassociates=True, by_cost=True, sample=sample_sum_with_scaled, dual=SIGNS)
def sum_with_scaled_product(op: Add | Subtract) -> Value | None:
    """dot(c · x, y) + z = c · dot(x, y) + z: the factor is done in the loop of the sum

    >>> x = Multiply(tensor("f32", 9, 9), Constant.of(3, "f32", (9, 9)))
    >>> sum_with_scaled_product(Add(matmul(x, tensor("f32", 9, 9, name="y")), tensor("f32", 9, 9, name="z"))).lhs.lhs
    Constant(3.0)
    """
    return _scale_after(op)


def _common(op: Add | Subtract) -> tuple[DotGeneral, DotGeneral] | None:
    """Both operands, if they are products of like axes in one precision."""
    first, second = op.lhs, op.rhs
    if not (is_alone(first, op) and is_alone(second, op)):
        return None
    if not (isinstance(first, DotGeneral) and isinstance(second, DotGeneral)):
        return None
    if first.attributes != second.attributes or not is_plain(first) or not is_plain(second):
        return None
    return first, second


def sample_sum_with_common_factor(draw: Draw) -> Op:
    """Two products that share an operand."""
    first = sample_product(draw)
    lhs, rhs = first.operands
    place = draw.integer(0, 1)
    operands = [lhs, rhs]
    operands[place] = tensor(first.tensor.dtype, *operands[place].shape, name="z")
    second = first.with_operands(tuple(operands))
    return draw.choose((Add, Subtract))(first, second)


def _factor_out(op: Add | Subtract) -> Value | None:
    pair = _common(op)
    if pair is None:
        return None
    first, second = pair
    for place in (0, 1):
        own, others = first.operands[place], second.operands[place]
        shared = first.operands[1 - place] is second.operands[1 - place]
        saved = first.flops() + op.tensor.size - own.tensor.size
        if shared and own.type is others.type and saved > 0:
            operands = list(first.operands)
            operands[place] = type(op)(own, others)
            return first.with_operands(tuple(operands))
    return None


@rewrite(
    Add(any_op(DotGeneral), any_op(DotGeneral)),
    single_use=True,
    reassociates=True,
    by_cost=True,
    sample=sample_sum_with_common_factor,
    dual=SIGNS,
)
def sum_of_dots_with_common_factor(op: Add | Subtract) -> Value | None:
    """dot(x, y) + dot(x, z) = dot(x, y + z), and so on the other side

    >>> x, y, z = tensor("f32", 9, 9), tensor("f32", 9, 9, name="y"), tensor("f32", 9, 9, name="z")
    >>> sum_of_dots_with_common_factor(Add(matmul(x, y), matmul(x, z))).rhs
    Add(y, z)
    """
    return _factor_out(op)
