"""Products of products in the cheapest order, and those that are there already."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import DotGeneral
from windlass.ops.contraction import matmul
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_used_once, users_of
from windlass.rules.chains import build_order, find_order
from windlass.rules.contractions import sides
from windlass.rules.letters import Letters, Product, Term, is_before, is_plain, read

LONGEST_CHAIN = 8
"""Operands of a chain: its orders are tried by dynamic programming over all subsets of the operands."""


def sample_chain(draw: Draw, most: int = 5) -> DotGeneral:
    """A chain of matrices, some thin, in a random order of products, maybe with a vector at its end."""
    count = draw.integer(3, most)
    sizes = [draw.choose((1, 2, 3, 5, 6)) for _ in range(count + 1)]
    values: list[Value] = [tensor("f32", sizes[at], sizes[at + 1], name=f"x{at}") for at in range(count)]
    if draw.boolean():
        values[-1] = tensor("f32", sizes[-2], name="v")
    while len(values) > 1:
        at = draw.integer(0, len(values) - 2)
        left, right = values[at : at + 2]
        values[at : at + 2] = [DotGeneral(left, right, (), (), (1,), (0,))]
    assert isinstance(values[0], DotGeneral)
    return values[0]


@rewrite(any_op(DotGeneral, takes=(DotGeneral,)), reassociates=True, sample=sample_chain)
def chain_of_dots(op: DotGeneral) -> Value | None:
    """dot(dot(x, y), z) = dot(x, dot(y, z)), and so for longer chains: in the order that takes the fewest operations

    >>> a, b, v = tensor("f32", 9, 9, name="a"), tensor("f32", 9, 9, name="b"), tensor("f32", 9, name="v")
    >>> product = DotGeneral(matmul(a, b), v, (), (), (1,), (0,))
    >>> chain_of_dots(product).lhs
    a
    """
    if not is_plain(op):
        return None
    found = flatten(op)
    if found is None:
        return None
    terms, result, sizes = found
    if 0 in sizes.values():
        return None
    spent = op.flops() + _inner_flops(op, len(terms) - 2)
    least, order = find_order(terms, result, sizes)
    # A few operations less are not worth what copies may cost.
    if least > 0.95 * spent:
        return None
    return build_order(order, terms, result, op)


def _inner_flops(op: DotGeneral, count: int) -> int:
    total, pending = 0, [op]
    while pending and count:
        for operand in pending.pop(0).operands:
            if count and isinstance(operand, DotGeneral) and _joins(operand, op):
                total += operand.flops()
                pending.append(operand)
                count -= 1
    return total


def sample_repeated_product(draw: Draw) -> DotGeneral:
    """x · y · x · y or x · x · x · x, from the left or from the right."""
    size = draw.integer(2, 4)
    x, y = tensor("f32", size, size), tensor("f32", size, size, name="y")
    factors = draw.choose(((x, y, x, y), (x, x, x, x), (x, x, y, y, y, y)))
    if draw.boolean():
        product = matmul(factors[0], factors[1])
        for factor in factors[2:]:
            product = matmul(product, factor)
    else:
        product = matmul(factors[-2], factors[-1])
        for factor in factors[-3::-1]:
            product = matmul(factor, product)
    return product


@rewrite(any_op(DotGeneral, takes=(DotGeneral,)), reassociates=True, by_cost=True, sample=sample_repeated_product)
def chain_with_repeated_product(op: DotGeneral) -> Value | None:
    """dot(dot(z, x), y) = dot(z, dot(x, y)), where dot(x, y) is there already: a⁴ takes two products

    >>> x, y = tensor("f32", 3, 3), tensor("f32", 3, 3, name="y")
    >>> made = chain_with_repeated_product(matmul(matmul(matmul(x, y), x), y))
    >>> made.lhs is made.rhs
    True
    """
    product = read(op)
    for term, other in sides(product):
        inner = term.value
        if not isinstance(inner, DotGeneral) or not _joins(inner, op):
            continue
        inside = read(inner, max(product.sizes(), default=0) + 1)
        renamed = dict(zip(inside.result, term.letters, strict=True))
        factors = [
            Term(each.value, tuple(renamed.get(letter, letter) for letter in each.letters))
            for each in (inside.left, inside.right)
        ]
        for first, second in (factors, factors[::-1]):
            found = _find_product(second, other, product, inner)
            if found is not None and not set(first.letters).isdisjoint(found.letters):
                return product.with_term(term, first, found)
    return None


def _find_product(first: Term, second: Term, product: Product, but: DotGeneral) -> Term | None:
    """A product of these terms that there is, summed over the letters that they share, other than one given."""
    op = product.op
    summed = [letter for letter in first.letters if letter in second.letters]
    if not summed or any(letter not in product.summed for letter in summed):
        return None
    for left, right in ((first, second), (second, first)):
        axes = {(left.letters.index(letter), right.letters.index(letter)) for letter in summed}
        for each in users_of(left.value):
            if not isinstance(each, DotGeneral) or each in (op, but) or each.operands != (left.value, right.value):
                continue
            pairs = zip(each.lhs_contracting_dimensions, each.rhs_contracting_dimensions, strict=True)
            like = (each.precision_config, each.algorithm, each.dtype) == (op.precision_config, op.algorithm, op.dtype)
            if like and not each.lhs_batching_dimensions and set(pairs) == axes and is_before(each, op):
                kept = (*left.letters, *right.letters)
                return Term(each, tuple(letter for letter in kept if letter not in summed))
    return None


def flatten(op: DotGeneral) -> tuple[list[Term], Letters, dict[int, int]] | None:
    """The operands of a product of products of one precision, with common letters; None if it is just one product."""
    product = read(op)
    terms = [product.left, product.right]
    sizes = product.sizes()
    taken = max(sizes, default=-1) + 1
    grown = True
    while grown and len(terms) < LONGEST_CHAIN:
        grown = False
        for place, term in enumerate(terms):
            inner = term.value
            if not isinstance(inner, DotGeneral) or not _joins(inner, op):
                continue
            inside = read(inner, taken)
            taken = max(inside.sizes(), default=taken) + 1
            renamed = dict(zip(inside.result, term.letters, strict=True))
            new = [
                Term(each.value, tuple(renamed.get(letter, letter) for letter in each.letters))
                for each in (inside.left, inside.right)
            ]
            terms[place : place + 1] = new
            for each in new:
                sizes.update(each.sizes())
            grown = True
            break
    return (terms, product.result, sizes) if len(terms) > 2 else None


def _joins(inner: DotGeneral, op: DotGeneral) -> bool:
    """Whether a product is used once, beside another and in the same precision: part of one chain with it."""
    like = (inner.precision_config, inner.algorithm, inner.dtype) == (op.precision_config, op.algorithm, op.dtype)
    return like and is_plain(inner) and is_used_once(inner) and inner.block is op.block
