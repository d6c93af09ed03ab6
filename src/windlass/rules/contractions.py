"""The normal form of products: movements of operands and results become choices of axes; what repeats is done once.

Rules that `reassociates` here hold for finite values: a product with zeros is left out, whatever it is multiplied by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import (
    BroadcastInDim,
    Constant,
    Convert,
    DotGeneral,
    Multiply,
    Pad,
    Reshape,
    Reverse,
    Slice,
    Transpose,
)
from windlass.ops.contraction import matmul
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.letters import Product, Term, has_twin, operations, read, spread, unspread

__all__ = ["matmul", "tensor"]

Sizes = tuple[int, ...]
Dress = Callable[[Draw, Sizes, str, str], Value]

x, y, p, shape = hole("x"), hole("y"), hole("p"), hole("shape")


def dot(lhs: Any, rhs: Any) -> Any:
    """A pattern for products of these, whatever their axes."""
    return any_op(DotGeneral, lhs=lhs, rhs=rhs)


def plain(draw: Draw, shape: Sizes, dtype: str, name: str) -> Value:
    """An operand about which nothing is known."""
    return tensor(dtype, *shape, name=name)


def sample_product(draw: Draw, left: Dress = plain, right: Dress = plain, least: int = 1) -> DotGeneral:
    """A random product whose operands are made by `left` and `right`, in either order of their axes."""
    batch = [draw.integer(least, 3) for _ in range(draw.choose((0, 0, 1)))]
    summed = [draw.integer(least, 4) for _ in range(draw.choose((1, 1, 2)))]
    rows = [draw.integer(least, 4) for _ in range(draw.choose((0, 1, 1, 2)))]
    columns = [draw.integer(least, 4) for _ in range(draw.choose((0, 1, 1)))]
    dtype = draw.choose(("f32", "f32", "i32", "f64"))
    orders = [draw.permutation(len(batch) + len(summed) + len(free)) for free in (rows, columns)]
    if draw.boolean():
        orders = [tuple(range(len(order))) for order in orders]
    operands: list[Value] = []
    for order, free, dress, name in zip(orders, (rows, columns), (left, right), "xy", strict=True):
        sizes = [*batch, *summed, *free]
        operands.append(dress(draw, tuple(sizes[axis] for axis in order), dtype, name))

    def places(order: Sizes, first: int, count: int) -> Sizes:
        return tuple(order.index(axis) for axis in range(first, first + count))

    left_batch, right_batch = (places(order, 0, len(batch)) for order in orders)
    left_summed, right_summed = (places(order, len(batch), len(summed)) for order in orders)
    return DotGeneral(operands[0], operands[1], left_batch, right_batch, left_summed, right_summed)


def made_by(op: DotGeneral, kind: Any) -> bool:
    """Whether an operand is of this class: asked before a product is taken apart."""
    return isinstance(op.lhs, kind) or isinstance(op.rhs, kind)


def sides(product: Product) -> tuple[tuple[Term, Term], tuple[Term, Term]]:
    """Each operand with the other one."""
    return (product.left, product.right), (product.right, product.left)


def _without_transpose(op: DotGeneral, product: Product, place: int) -> Value | None:
    term = (product.left, product.right)[place]
    moved = term.value
    assert isinstance(moved, Transpose)
    letters = [0] * len(term.letters)
    for axis, source in enumerate(moved.permutation):
        letters[source] = term.letters[axis]
    new = Term(moved.operand, tuple(letters))
    made = product.rebuild(new, product.right) if place == 0 else product.rebuild(product.left, new)
    if isinstance(made, Transpose) and made.tensor.size >= moved.tensor.size:
        return None
    return made


@rewrite(dot(Transpose(x, p), y))
def dot_of_transposed_lhs(op: DotGeneral) -> Value | None:
    """dot(transpose(x), y) = dot(x, y) along the axes of x that these were

    >>> dot_of_transposed_lhs(matmul(Transpose(tensor("f32", 3, 2), (1, 0)), tensor("f32", 3, 4, name="y")))
    DotGeneral(x, y, lhs_batching_dimensions=(), rhs_batching_dimensions=(), \
lhs_contracting_dimensions=(0,), rhs_contracting_dimensions=(0,), dtype='f32')
    """
    return _without_transpose(op, read(op), 0)


@rewrite(dot(x, Transpose(y, p)))
def dot_of_transposed_rhs(op: DotGeneral) -> Value | None:
    """dot(x, transpose(y)) = dot(x, y) along the axes of y that these were

    >>> dot_of_transposed_rhs(matmul(tensor("f32", 3, 2), Transpose(tensor("f32", 4, 2, name="y"), (1, 0))))
    DotGeneral(x, y, lhs_batching_dimensions=(), rhs_batching_dimensions=(), \
lhs_contracting_dimensions=(1,), rhs_contracting_dimensions=(1,), dtype='f32')
    """
    return _without_transpose(op, read(op), 1)


def sample_transposed_product(draw: Draw) -> Transpose:
    """A product with rows and columns, or batches, in another order."""
    product = sample_product(draw)
    return Transpose(product, draw.permutation(product.tensor.rank))


@rewrite(Transpose(any_op(DotGeneral), p), single_use=True, sample=sample_transposed_product)
def transpose_of_dot(op: Transpose, p: Sizes) -> Value | None:
    """transpose(dot(x, y)) = dot(y, x), where that is the order wanted

    >>> transpose_of_dot(Transpose(matmul(tensor("f32", 2, 3), tensor("f32", 3, 4, name="y")), (1, 0)))
    DotGeneral(y, x, lhs_batching_dimensions=(), rhs_batching_dimensions=(), \
lhs_contracting_dimensions=(0,), rhs_contracting_dimensions=(1,), dtype='f32')
    """
    inner = op.operand
    assert isinstance(inner, DotGeneral)
    if not is_alone(inner, op) or has_twin(inner):
        return None
    product = read(inner)
    made = product.rebuild(product.left, product.right, tuple(product.result[axis] for axis in p))
    return None if isinstance(made, Transpose) else made


@rewrite(any_op(DotGeneral), sample=lambda draw: sample_product(draw, least=draw.integer(0, 1)))
def dot_over_one_element(op: DotGeneral) -> Value | None:
    """dot(x, y) = broadcast(x) · broadcast(y), if only axes of size 1 are summed over

    >>> dot_over_one_element(matmul(tensor("f32", 2, 1), tensor("f32", 1, 3, name="y")))
    Multiply(BroadcastInDim(Reshape(x, shape=(2,)), shape=(2, 3), broadcast_dimensions=(0,)), \
BroadcastInDim(Reshape(y, shape=(3,)), shape=(2, 3), broadcast_dimensions=(1,)))
    """
    lhs = op.lhs
    if any(lhs.shape[axis] != 1 for axis in op.lhs_contracting_dimensions) or op.tensor.size == 0:
        return None
    product = read(op)
    sizes = product.sizes()
    if any(term.value.dtype != op.dtype for term in (product.left, product.right)):
        return None
    factors: list[Value] = []
    for term in (product.left, product.right):
        kept = tuple(letter for letter in term.letters if letter in product.result)
        value = term.value if kept == term.letters else Reshape(term.value, tuple(sizes[letter] for letter in kept))
        factors.append(spread(Term(value, kept), product.result, sizes))
    return Multiply(*factors)


def zeros(draw: Draw, shape: Sizes, dtype: str, name: str) -> Value:
    """An operand that is zero everywhere."""
    return Constant.of(0, dtype, shape)


@rewrite(any_op(DotGeneral, takes=(Constant,)), reassociates=True, sample=lambda draw: sample_product(draw, zeros))
def dot_of_zeros(op: DotGeneral) -> Value | None:
    """dot(0, y) = 0 for finite y

    >>> dot_of_zeros(matmul(Constant.of(0, "f32", (2, 3)), tensor("f32", 3, 4)))
    Constant(0.0)
    """
    for term in op.operands:
        if isinstance(term, Constant) and term.is_splat and term.number == 0:
            return Constant.of(0, op.dtype, op.shape)
    return None


def repeated(draw: Draw, shape: Sizes, dtype: str, name: str) -> Value:
    """An operand that repeats a smaller one along some axes."""
    axes = draw.subset(len(shape))
    return BroadcastInDim(tensor(dtype, *(shape[axis] for axis in axes), name=name), shape, axes)


def sample_product_of_repeated(draw: Draw) -> DotGeneral:
    """A product of which one operand or both repeat."""
    return sample_product(draw, *draw.choose(((repeated, plain), (plain, repeated), (repeated, repeated))))


def narrow(term: Term, dropped: Callable[[int], bool]) -> Term | None:
    """The term without those letters along which it repeats and that are to be dropped; None if there are none."""
    found = unspread(term.value)
    if found is None:
        return None
    inner, axes = found
    own = tuple(term.letters[axis] for axis in axes)
    sizes = term.sizes()
    lost = [letter for letter in term.letters if letter not in own and dropped(letter) and sizes[letter] != 1]
    if not lost:
        return None
    kept = tuple(letter for letter in term.letters if letter not in lost)
    return Term(spread(Term(inner, own), kept, sizes), kept)


@rewrite(any_op(DotGeneral, takes=(BroadcastInDim, Constant)), sample=sample_product_of_repeated)
def dot_of_equal_rows(op: DotGeneral) -> Value | None:
    """dot(broadcast(x), y) = broadcast(dot(x, y)), where all rows of the operand are one row

    >>> rows = BroadcastInDim(tensor("f32", 3), (2, 3), (1,))
    >>> dot_of_equal_rows(matmul(rows, tensor("f32", 3, 4, name="y"))).operand.shape
    (4,)
    """
    product = read(op)
    sizes = product.sizes()
    for term, other in sides(product):
        smaller = narrow(term, lambda letter, other=other: letter not in other.letters)
        if smaller is None:
            continue
        lost = set(term.letters) - set(smaller.letters)
        result = tuple(letter for letter in product.result if letter not in lost)
        made = product.with_term(term, smaller, other, result)
        return None if made is None else spread(Term(made, result), product.result, sizes)
    return None


@rewrite(any_op(DotGeneral, takes=(BroadcastInDim, Constant)), reassociates=True, sample=sample_product_of_repeated)
def dot_of_equal_terms(op: DotGeneral) -> Value | None:
    """dot(x, broadcast(y)) = dot(sum(x), y), where y repeats along what is summed over

    >>> ones = Constant.of(1, "f32", (300,))
    >>> dot_of_equal_terms(DotGeneral(tensor("f32", 200, 300), ones, (), (), (1,), (0,))).rhs
    Constant(1.0)
    """
    product = read(op)
    sizes = product.sizes()
    for term, other in sides(product):
        smaller = narrow(term, lambda letter: letter in product.summed)
        if smaller is None:
            continue
        left = operations({*smaller.letters, *product.result}, sizes) + other.value.tensor.size
        if left >= op.flops():
            continue
        return product.with_term(term, smaller, other)
    return None


@rewrite(any_op(DotGeneral, takes=(BroadcastInDim,)), sample=sample_product_of_repeated)
def dot_of_equal_batches(op: DotGeneral) -> Value | None:
    """dot(x, broadcast(y)) = dot(x, y) with one batching axis less, where y is the same in each batch

    >>> same = BroadcastInDim(tensor("f32", 3, 4, name="y"), (5, 3, 4), (1, 2))
    >>> dot_of_equal_batches(DotGeneral(tensor("f32", 5, 2, 3), same, (0,), (0,), (2,), (1,))).rhs
    y
    """
    product = read(op)
    sizes = product.sizes()
    for term, other in sides(product):
        found = unspread(term.value)
        if found is None:
            continue
        own = tuple(term.letters[axis] for axis in found[1])
        lost = set(term.letters) - set(own)
        batches = {letter for letter in lost if letter in other.letters and letter in product.result}
        # What repeats and is not dropped would have to stay one op; axes of size 1 are no repetition.
        units = lost - batches
        if not any(sizes[letter] != 1 for letter in batches):
            continue
        if any(sizes[letter] != 1 or letter not in product.result or letter in other.letters for letter in units):
            continue
        smaller = Term(found[0], own)
        result = tuple(letter for letter in product.result if letter not in units)
        made = product.with_term(term, smaller, other, result)
        if made is None or isinstance(made, Transpose):
            return None
        return Reshape(made, op.shape) if units else made
    return None


def padded(draw: Draw, shape: Sizes, dtype: str, name: str) -> Value:
    """An operand with zeros around or between its elements."""
    sizes, lows, highs, interiors = [], [], [], []
    for size in shape:
        low, high = (draw.integer(0, min(1, size)) for _ in range(2))
        if low + high > size or not draw.boolean():
            low = high = 0
        inner = size - low - high
        between = 1 if inner % 2 and inner > 1 and draw.boolean() else 0
        sizes.append((inner + 1) // 2 if between else inner)
        lows.append(low)
        highs.append(high)
        interiors.append(between)
    zero = Constant.of(0, dtype)
    return Pad(tensor(dtype, *sizes, name=name), zero, tuple(lows), tuple(highs), tuple(interiors))


def _is_zero(value: Value) -> bool:
    return isinstance(value, Constant) and value.is_splat and bool(value.number == 0)


@rewrite(
    any_op(DotGeneral, takes=(Pad,)),
    reassociates=True,
    in_kernels=True,
    sample=lambda draw: sample_product(draw, padded),
)
def dot_of_padded_terms(op: DotGeneral) -> Value | None:
    """dot(pad(x, 0), y) = dot(x, slice(y)), where the padding lies along what is summed over

    >>> wide = Pad(tensor("f32", 2, 3), Constant.of(0, "f32"), (0, 0), (0, 5), (0, 0))
    >>> dot_of_padded_terms(matmul(wide, tensor("f32", 8, 4, name="y"))).rhs
    Slice(y, start_indices=(0, 0), limit_indices=(3, 4), strides=(1, 1))
    """
    product = read(op)
    for term, other in sides(product):
        found = without_padding(term, other, product)
        if found is not None:
            new, cut = found
            return product.with_term(term, new, cut)
    return None


def without_padding(term: Term, other: Term, product: Product) -> tuple[Term, Term] | None:
    """The terms without the zeros that one of them has around what is summed over, and what these are multiplied by."""
    pad = term.value
    if not isinstance(pad, Pad) or not _is_zero(pad.padding_value):
        return None
    low, high, between = list(pad.edge_padding_low), list(pad.edge_padding_high), list(pad.interior_padding)
    start, limit, stride = [0] * len(other.letters), list(other.value.shape), [1] * len(other.letters)
    for axis, letter in enumerate(term.letters):
        padding = (low[axis], high[axis], between[axis])
        if letter not in product.summed or padding == (0, 0, 0) or min(padding) < 0 or not pad.operand.shape[axis]:
            continue
        place = other.letters.index(letter)
        start[place], stride[place] = low[axis], between[axis] + 1
        limit[place] = other.value.shape[place] - high[axis]
        low[axis] = high[axis] = between[axis] = 0
    whole = tuple(limit) == other.value.shape and not any(start) and set(stride) <= {1}
    if whole:
        return None
    rest = (tuple(low), tuple(high), tuple(between))
    inner = Pad(pad.operand, pad.padding_value, *rest) if any(map(any, rest)) else pad.operand
    part = Slice(other.value, tuple(start), tuple(limit), tuple(stride))
    return Term(inner, term.letters), Term(part, other.letters)


@rewrite(
    any_op(DotGeneral, takes=(Pad,)),
    reassociates=True,
    in_kernels=True,
    sample=lambda draw: sample_product(draw, padded),
)
def dot_of_padded_rows(op: DotGeneral) -> Value | None:
    """dot(pad(x, 0), y) = pad(dot(x, y), 0), where the padding lies along rows of zeros

    >>> tall = Pad(tensor("f32", 2, 3), Constant.of(0, "f32"), (0, 0), (9, 0), (0, 0))
    >>> dot_of_padded_rows(matmul(tall, tensor("f32", 3, 4, name="y"))).edge_padding_high
    (9, 0)
    """
    product = read(op)
    for term, other in sides(product):
        pad = term.value
        if not isinstance(pad, Pad) or not _is_zero(pad.padding_value):
            continue
        paddings = list(zip(pad.edge_padding_low, pad.edge_padding_high, pad.interior_padding, strict=True))
        moved = {
            letter: padding
            for letter, padding in zip(term.letters, paddings, strict=True)
            if padding != (0, 0, 0) and letter not in other.letters and min(padding) >= 0
        }
        if not moved or 0 in pad.operand.shape:
            continue
        rest = [(0, 0, 0) if each in moved else padding for each, padding in zip(term.letters, paddings, strict=True)]
        inner = Pad(pad.operand, pad.padding_value, *zip(*rest, strict=True)) if any(map(any, rest)) else pad.operand
        new = Term(inner, term.letters)
        made = product.with_term(term, new, other)
        if made is None:
            return None
        outer = [moved.get(letter, (0, 0, 0)) for letter in product.result]
        return Pad(made, Constant.of(0, op.dtype), *zip(*outer, strict=True))
    return None


def reversed_operand(draw: Draw, shape: Sizes, dtype: str, name: str) -> Value:
    return Reverse(tensor(dtype, *shape, name=name), tuple(range(len(shape))))


@rewrite(
    dot(any_op(Reverse, bind="lhs"), any_op(Reverse, bind="rhs")),
    reassociates=True,
    sample=lambda draw: sample_product(draw, reversed_operand, reversed_operand),
)
def dot_of_reversed(op: DotGeneral, lhs: Reverse, rhs: Reverse) -> Value | None:
    """dot(reverse(x), reverse(y)) = dot(x, y), where both are reversed along what is summed over

    >>> x, y = tensor("f32", 5), tensor("f32", 5, name="y")
    >>> dot_of_reversed(DotGeneral(Reverse(x, (0,)), Reverse(y, (0,)), (), (), (0,), (0,))).operands
    (x, y)
    """
    pairs = zip(op.lhs_contracting_dimensions, op.rhs_contracting_dimensions, strict=True)
    both = [(left, right) for left, right in pairs if left in lhs.dimensions and right in rhs.dimensions]
    if not both:
        return None
    operands: list[Value] = []
    for reverse, gone in zip((lhs, rhs), zip(*both, strict=True), strict=True):
        kept = tuple(axis for axis in reverse.dimensions if axis not in gone)
        operands.append(Reverse(reverse.operand, kept) if kept else reverse.operand)
    if all(isinstance(operand, Reverse) for operand in operands):
        return None
    return op.with_operands(tuple(operands))


def sample_reshaped_product(draw: Draw) -> Reshape:
    """A product of an operand whose rows were flattened, as dense layers on batches of sequences are written."""
    rows, deep, columns = (draw.integer(1, 3), draw.integer(1, 3)), draw.integer(1, 3), draw.integer(1, 3)
    flat = Reshape(tensor("f32", *rows, deep), (rows[0] * rows[1], deep))
    weights = tensor("f32", *draw.choose(((deep, columns), (deep,))), name="y")
    product = DotGeneral(flat, weights, (), (), (1,), (0,))
    return Reshape(product, (*rows, *weights.shape[1:]))


@rewrite(Reshape(dot(Reshape(x, hole("inner")), y), shape), single_use=True, sample=sample_reshaped_product)
def reshape_of_dot_of_reshape(op: Reshape, x: Value, y: Value, shape: Sizes) -> Value | None:
    """reshape(dot(reshape(x), y)) = dot(x, y), where x's rows are flattened before and unflattened after

    >>> flat = Reshape(tensor("f32", 5, 7, 3), (35, 3))
    >>> reshape_of_dot_of_reshape(Reshape(matmul(flat, tensor("f32", 3, 4, name="y")), (5, 7, 4))).operands
    (x, y)
    """
    inner = op.operand
    assert isinstance(inner, DotGeneral)
    flat = inner.lhs
    if inner.lhs_batching_dimensions or inner.lhs_contracting_dimensions != (flat.tensor.rank - 1,):
        return None
    if x.tensor.rank < 2 or flat.tensor.rank < 2 or x.shape[-1] != flat.shape[-1] or 0 in x.shape:
        return None
    columns = inner.shape[flat.tensor.rank - 1 :]
    if shape != (*x.shape[:-1], *columns):
        return None
    last = (x.tensor.rank - 1,)
    rest = (inner.precision_config, inner.algorithm, inner.dtype)
    return DotGeneral(x, y, (), (), last, inner.rhs_contracting_dimensions, *rest)


def sample_product_of_flattened(draw: Draw) -> DotGeneral:
    """A product along an axis that both operands have flattened."""
    parts = (draw.integer(1, 3), draw.integer(2, 3))
    rows, columns = draw.integer(1, 3), draw.integer(1, 3)
    lhs = Reshape(tensor("f32", rows, *parts), (rows, parts[0] * parts[1]))
    other = parts if draw.boolean() else parts[::-1]
    rhs = Reshape(tensor("f32", *other, columns, name="y"), (parts[0] * parts[1], columns))
    return matmul(lhs, rhs)


@rewrite(dot(Reshape(x, hole("left")), Reshape(y, hole("right"))), sample=sample_product_of_flattened)
def dot_of_flattened(op: DotGeneral, x: Value, y: Value) -> Value | None:
    """dot(reshape(x), reshape(y)) = dot(x, y) along several axes, where both have flattened them to one

    >>> x, y = Reshape(tensor("f32", 2, 3, 5), (2, 15)), Reshape(tensor("f32", 3, 5, 4, name="y"), (15, 4))
    >>> dot_of_flattened(matmul(x, y)).lhs_contracting_dimensions
    (1, 2)
    """
    if op.lhs_batching_dimensions or len(op.lhs_contracting_dimensions) != 1 or 0 in x.shape or 0 in y.shape:
        return None
    axes: list[Sizes] = []
    for inner, flat, axis in (
        (x, op.lhs, op.lhs_contracting_dimensions[0]),
        (y, op.rhs, op.rhs_contracting_dimensions[0]),
    ):
        # The axes before and behind are as they were.
        behind = flat.tensor.rank - axis - 1
        stop = inner.tensor.rank - behind
        if inner.shape[:axis] != flat.shape[:axis] or stop <= axis or inner.shape[stop:] != flat.shape[axis + 1 :]:
            return None
        axes.append(tuple(range(axis, stop)))
    sizes = [x.shape[axis] for axis in axes[0]]
    # An axis of size 1 more does not tell what the others are.
    if sizes != [y.shape[axis] for axis in axes[1]] or 1 in sizes:
        return None
    return DotGeneral(x, y, (), (), axes[0], axes[1], op.precision_config, op.algorithm, op.dtype)


def widened(draw: Draw, shape: Sizes, dtype: str, name: str) -> Value:
    return Convert(tensor("bf16", *shape, name=name), "f32")


EXACT_PRODUCTS = {("bf16", "f32"), ("f16", "f32"), ("i8", "i32")}
"""Element types of operands, and of a result in which their products are exact."""


@rewrite(
    dot(Convert(x, hole("left")), Convert(y, hole("right"))),
    by_cost=True,
    sample=lambda draw: sample_product(draw, widened, widened),
)
def dot_of_widened(op: DotGeneral, x: Value, y: Value) -> Value | None:
    """dot(convert(x), convert(y)) = dot(x, y) summed in the wider type, in which products of the narrow one are exact

    >>> wide = [Convert(tensor("bf16", 3, 3, name=name), "f32") for name in "xy"]
    >>> dot_of_widened(matmul(*wide)).operands
    (x, y)
    """
    if x.dtype != y.dtype or (x.dtype, op.dtype) not in EXACT_PRODUCTS or op.lhs.dtype != op.dtype or op.algorithm:
        return None
    return op.with_operands((x, y))
