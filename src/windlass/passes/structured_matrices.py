"""Products with sums of bands, of products of vectors and of matrices: each part is multiplied in the cheapest way.

These hold for finite values: products with the zeros outside of a band are left out.
"""

from __future__ import annotations

from windlass.facts.matrix_parts import Band, Outer, Part, Rest, Scalar, find_parts, shift
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Compare,
    Constant,
    Convert,
    Divide,
    DotGeneral,
    Iota,
    Multiply,
    Negate,
    Select,
    Subtract,
    Transpose,
)
from windlass.ops.contraction import matmul
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.chains import build_order, find_order
from windlass.rules.contractions import sides
from windlass.rules.diagonals import diagonal_matrix, identity_matrix, index_mask
from windlass.rules.letters import Letters, Product, Term, is_plain, lay, read, spread

__all__ = ["diagonal_matrix", "identity_matrix", "matmul"]

MOST_PARTS = 6

MADE_OF_PARTS = (Add, Subtract, Multiply, Divide, Negate, Select, Convert, BroadcastInDim, Constant)


def sample_part(draw: Draw, rows: int, columns: int) -> Value:
    """A matrix of one part."""
    kind, shape = draw.integer(0, 6), (rows, columns)
    match kind:
        case 0:
            row, column = (Iota(shape, "i32", axis) for axis in (0, 1))
            moved = Add(row, Constant.of(draw.integer(-2, 2), "i32", shape))
            inner = tensor("f32", *(shape if draw.boolean() else (columns,)), name="b")
            whole = inner if inner.tensor.rank == 2 else BroadcastInDim(inner, shape, (1,))
            return Select(Compare(moved, column, "EQ"), whole, Constant.of(0, "f32", shape))
        case 1:
            u, v = tensor("f32", rows, name="u"), tensor("f32", columns, name="v")
            return Multiply(BroadcastInDim(u, shape, (0,)), BroadcastInDim(v, shape, (1,)))
        case 2:
            return BroadcastInDim(tensor("f32", columns, name="w"), shape, (1,))
        case 3 if rows == columns:
            return Convert(index_mask(rows, "EQ", draw.integer(-2, 2)), "f32")
        case 4:
            return Constant.of(draw.integer(1, 3), "f32", shape)
        case 5:
            return matmul(tensor("f32", rows, 1, name="c"), tensor("f32", 1, columns, name="d"))
        case _:
            return tensor("f32", rows, columns, name="a")


def sample_structured_product(draw: Draw) -> DotGeneral:
    """The product of a sum of parts with a vector or a thin matrix, from either side."""
    shape = draw.integer(2, 5), draw.integer(2, 5)
    matrix = sample_part(draw, *shape)
    for _ in range(draw.integer(0, 2)):
        other = sample_part(draw, *shape)
        if draw.boolean():
            other = Multiply(Constant.of(draw.integer(2, 4), "f32", shape), other)
        matrix = draw.choose((Add, Subtract))(matrix, other)
    axis = draw.integer(0, 1)
    thin = tensor("f32", shape[axis], *draw.choose(((), (2,), (3,))), name="y")
    if draw.boolean():
        return DotGeneral(matrix, thin, (), (), (axis,), (0,))
    return DotGeneral(thin, matrix, (), (), (0,), (axis,))


@rewrite(any_op(DotGeneral, takes=MADE_OF_PARTS), reassociates=True, by_cost=True, sample=sample_structured_product)
def dot_of_structured_matrix(op: DotGeneral) -> Value | None:
    """dot(a + band(v) + u·wᵀ, y) = dot(a, y) + v · shift(y) + u · dot(w, y): no matrix is made of the parts

    >>> x, u = tensor("f32", 9, 9), tensor("f32", 9, name="u")
    >>> shifted = Add(x, diagonal_matrix(u))
    >>> dot_of_structured_matrix(DotGeneral(shifted, tensor("f32", 9, name="y"), (), (), (1,), (0,)))
    Add(DotGeneral(x, y, lhs_batching_dimensions=(), rhs_batching_dimensions=(), lhs_contracting_dimensions=(1,), \
rhs_contracting_dimensions=(0,), dtype='f32'), Multiply(u, y))
    """
    if not is_plain(op):
        return None
    product = read(op)
    found: list[tuple[Term, Term, list[Part]]] = []
    for term, other in sides(product):
        value = term.value
        if not isinstance(value, MADE_OF_PARTS) or value.tensor.rank != 2 or min(value.shape) < 2:
            continue
        if [letter in product.summed for letter in term.letters].count(True) != 1:
            continue
        if any(letter in other.letters and letter in product.result for letter in term.letters):
            continue
        parts = find_parts(value, MOST_PARTS)
        if parts is not None and may_be_split(parts):
            found.append((term, other, parts))
    if not found:
        return None
    return _sum_of_parts(product, *min(found, key=lambda each: sum(isinstance(part, Rest) for part in each[2])))


def may_be_split(parts: list[Part]) -> bool:
    """Whether there are parts, and the sum is not a difference that is better taken first.

    Where a matrix and what is subtracted from it nearly cancel, as data and their means may, so do their products, of
    which the difference has few correct digits.
    """
    if not any(isinstance(part, Rest) for part in parts):
        return True
    return len(parts) > 1 and not any(_is_subtracted(part) for part in parts if not isinstance(part, Band))


def _is_subtracted(part: Part) -> bool:
    signs = [scalar.number < 0 for _, scalar in part.scalars if isinstance(scalar, Constant)]
    return part.is_negative != (sum(signs) % 2 == 1)


def _sum_of_parts(product: Product, term: Term, other: Term, parts: list[Part]) -> Value | None:
    # What is added comes first, so that nothing has to be negated.
    ordered = sorted(parts, key=lambda part: part.is_negative)
    total: Value | None = None
    for part in ordered:
        made = _multiply_part(product, term, other, part)
        if made is None:
            return None
        if total is None:
            total = Negate(made) if part.is_negative else made
        else:
            total = Subtract(total, made) if part.is_negative else Add(total, made)
    return total


def _multiply_part(product: Product, term: Term, other: Term, part: Part) -> Value | None:
    """The product of one part of the term with the other one, but for its sign."""
    sizes = product.sizes()
    summed = next(letter for letter in term.letters if letter in product.summed)
    free = next(letter for letter in term.letters if letter != summed)
    is_row_free = term.letters[0] == free
    match part:
        case Band():
            return scale(_multiply_band(product, other, part, summed, free, is_row_free), part.scalars)
        case Outer():
            kept, gone = (part.column, part.row) if is_row_free else (part.row, part.column)
            if gone is None:
                gone = Constant.of(1, other.value.dtype, (sizes[summed],))
            thin = tuple(letter for letter in product.result if letter != free)
            small = product.with_term(term, Term(gone, (summed,)), other, thin)
            if small is None:
                return None
            small = spread(Term(scale(small, part.scalars), thin), product.result, sizes)
            return small if kept is None else Multiply(spread(Term(kept, (free,)), product.result, sizes), small)
        case _:
            made = _multiply_rest(product, term, other, part)
            return None if made is None else scale(made, part.scalars)


def _multiply_rest(product: Product, term: Term, other: Term, part: Rest) -> Value | None:
    """The product of a matrix and the other term; factor by factor where the matrix is a product itself."""
    inner = part.value
    if isinstance(inner, DotGeneral) and is_plain(inner) and not inner.lhs_batching_dimensions:
        factors = read(inner, max(product.sizes()) + 1)
        renamed = dict(zip(factors.result, term.letters, strict=True))
        terms = [
            Term(each.value, tuple(renamed.get(letter, letter) for letter in each.letters))
            for each in (factors.left, factors.right)
        ]
        terms.append(other)
        sizes = {letter: size for each in terms for letter, size in each.sizes().items()}
        return build_order(find_order(terms, product.result, sizes)[1], terms, product.result, product.op)
    return product.with_term(term, Term(inner, term.letters), other)


def _multiply_band(product: Product, other: Term, band: Band, summed: int, free: int, is_row_free: bool) -> Value:
    sizes = product.sizes()
    place = other.letters.index(summed)
    letters: Letters = tuple(free if letter == summed else letter for letter in other.letters)

    def weigh(value: Value, letters: Letters, sizes: dict[int, int]) -> Value:
        if band.make is None:
            return value
        return Multiply(spread(Term(band.make(), (letters[place],)), letters, sizes), value)

    if is_row_free:
        value = weigh(shift(other.value, place, band.offset, sizes[free]), letters, sizes)
    else:
        value = shift(weigh(other.value, other.letters, sizes), place, -band.offset, sizes[free])
    order = tuple(letters.index(letter) for letter in product.result)
    return value if order == tuple(range(len(order))) else Transpose(value, order)


def scale(value: Value, scalars: tuple[Scalar, ...]) -> Value:
    """The value times and divided by the scalars."""
    for kind, scalar in scalars:
        factor = lay(scalar, value.shape, ())
        value = kind(value, factor)
    return value
