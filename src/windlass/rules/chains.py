"""Products of which only sums, parts or the diagonal are wanted, and the cheapest order of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windlass.ir import Op, Result, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    Constant,
    DotGeneral,
    DynamicSlice,
    Iota,
    Reduce,
    Reshape,
    Slice,
    Transpose,
)
from windlass.ops.contraction import matmul
from windlass.ops.reduction import reduce_sum
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.contractions import sample_product, sides
from windlass.rules.letters import (
    Letters,
    Product,
    Term,
    is_plain,
    multiply_terms,
    operations,
    read,
)

__all__ = ["Iota", "matmul", "tensor"]

Sizes = tuple[int, ...]

x, y, start, limit, stride = hole("x"), hole("y"), hole("start"), hole("limit"), hole("stride")


Order = int | tuple["Order", "Order"]


def find_order(terms: list[Term], result: Letters, sizes: Mapping[int, int]) -> tuple[int, Order]:
    """The order of pairwise products that takes the fewest operations, and how many: nested pairs of places.

    Dynamic programming over subsets (Pfeifer, Haegeman, Verstraete, 2014, without its pruning).
    """
    count = len(terms)
    everything = (1 << count) - 1

    def letters_of(subset: int) -> frozenset[int]:
        """What the product of a subset has to keep: letters that the rest or the result has."""
        inside = {letter for place in range(count) if subset >> place & 1 for letter in terms[place].letters}
        outside = {letter for place in range(count) if not subset >> place & 1 for letter in terms[place].letters}
        return frozenset(inside & (outside | set(result)))

    kept = {subset: letters_of(subset) for subset in range(1, everything + 1)}
    best: dict[int, tuple[int, Order]] = {1 << place: (0, place) for place in range(count)}
    for subset in sorted(range(1, everything + 1), key=int.bit_count):
        if subset.bit_count() < 2:
            continue
        lowest = subset & -subset
        part = (subset - 1) & subset
        found: tuple[int, Order] | None = None
        while part:
            if part & lowest:
                rest = subset ^ part
                # What a single operand alone has is summed over first; so it counts with that operand.
                own = operations(kept[part] | kept[rest], sizes)
                total = best[part][0] + best[rest][0] + own
                if found is None or total < found[0]:
                    found = total, (best[part][1], best[rest][1])
            part = (part - 1) & subset
        assert found is not None
        best[subset] = found
    return best[everything]


def build_order(order: Order, terms: list[Term], result: Letters, like: DotGeneral) -> Value | None:
    """The product of the terms in this order."""

    def build(part: Order, outside: frozenset[int]) -> Term | None:
        if isinstance(part, int):
            return terms[part]
        places = _places(part)
        inside = [letter for place in places for letter in terms[place].letters]
        left = build(part[0], outside | _letters(part[1]))
        right = build(part[1], outside | _letters(part[0]))
        if left is None or right is None:
            return None
        both = [letter for letter in left.letters if letter in right.letters]
        shared = [letter for letter in (*both, *left.letters, *right.letters) if letter in outside]
        natural = tuple(dict.fromkeys(letter for letter in shared if letter in inside))
        made = multiply_terms(left, right, natural, like)
        return None if made is None else Term(made, natural)

    def _letters(part: Order) -> frozenset[int]:
        return frozenset(letter for place in _places(part) for letter in terms[place].letters)

    assert not isinstance(order, int)
    left = build(order[0], _letters(order[1]) | set(result))
    right = build(order[1], _letters(order[0]) | set(result))
    return None if left is None or right is None else multiply_terms(left, right, result, like)


def _places(order: Order) -> tuple[int, ...]:
    return (order,) if isinstance(order, int) else (*_places(order[0]), *_places(order[1]))


def summed_input(op: Reduce, made_by: Any = Value) -> Value | None:
    """What a sum of one input sums up, if it begins with zero and that input is of the class `made_by`."""
    operands = op.operands
    if len(operands) != 2 or not isinstance(operands[0], made_by) or op.combiner is not Add:
        return None
    init = operands[1]
    return operands[0] if isinstance(init, Constant) and bool(init.number == 0) else None


def owner(value: Value) -> Value:
    """The op that a value is a result of; the value itself if it is not one of several."""
    return value.owner if isinstance(value, Result) else value


def sample_sum_of_product(draw: Draw) -> Op:
    """The sum of a product along some of its axes."""
    made = sample_product(draw)
    rank = made.tensor.rank
    return owner(reduce_sum(made, draw.subset(rank, draw.integer(min(1, rank), rank))))  # pyright: ignore[reportReturnType]


SOME_ELEMENTS, MOST_ELEMENTS = 1 << 12, 1 << 19


def is_quicker_in_batches(product: Product, kept: Letters) -> bool:
    """Whether batches of a product are summed up faster than contracted, by what is moved for it.

    To contract axes that are not side by side XLA copies the operand. Batches are small at first, and written and read
    once. Measured on a CPU, batches against contraction, in ms: 64 of 64×64×64 0.28, 0.48; 16 of 32×256×32 0.13, 0.30;
    8 of 1024×128×128 23.7, 3.7; 128 of 256×8×256 153, 1.1.

    >>> many = DotGeneral(tensor("f32", 64, 64, 64), tensor("f32", 64, 64, 64, name="y"), (0,), (0,), (2,), (1,))
    >>> large = DotGeneral(tensor("f32", 128, 256, 8), tensor("f32", 128, 8, 256, name="y"), (0,), (0,), (2,), (1,))
    >>> [is_quicker_in_batches(found, found.result[1:]) for found in (read(many), read(large))]
    [True, False]
    """
    batches = set(product.result) & set(product.left.letters) & set(product.right.letters)
    if not batches - set(kept):
        return False
    contracted = (batches - set(kept)) | set(product.summed)
    copied = 0
    for term in (product.left, product.right):
        places = [place for place, letter in enumerate(term.letters) if letter in contracted]
        if places[-1] - places[0] >= len(places):
            copied += term.value.tensor.size
    size = product.op.tensor.size
    return SOME_ELEMENTS <= size <= MOST_ELEMENTS and size <= copied


@rewrite(any_op(Reduce, inputs=(any_op(DotGeneral, bind="inner"),)), reassociates=True, sample=sample_sum_of_product)
def sum_of_dot(op: Reduce, inner: DotGeneral) -> Value | None:
    """sum(dot(x, y)) = dot(sum(x), sum(y)), along axes that x or y alone has; batching axes become contracting ones

    >>> product = matmul(tensor("f32", 9, 9), tensor("f32", 9, 9, name="y"))
    >>> made = sum_of_dot(reduce_sum(product, (0, 1)).owner)
    >>> made.lhs.owner.dimensions, made.rhs.owner.dimensions
    ((0,), (1,))
    """
    if summed_input(op) is None or not is_alone(inner, op) or not op.dimensions or not is_plain(inner):
        return None
    product = read(inner)
    kept = tuple(letter for axis, letter in enumerate(product.result) if axis not in op.dimensions)
    lost = [letter for letter in product.result if letter not in kept]
    sizes = product.sizes()
    work = operations(
        (set(sizes) - set(lost)) | (set(lost) & set(product.left.letters) & set(product.right.letters)), sizes
    )
    work += sum(
        term.value.tensor.size
        for term, other in sides(product)
        if any(each in term.letters and each not in other.letters for each in lost)
    )
    if work >= inner.flops() + op.flops() or is_quicker_in_batches(product, kept):
        return None
    made = product.rebuild(product.left, product.right, kept)
    return None if isinstance(made, Transpose) and made.tensor.size > op.results[0].tensor.size else made


def sample_slice(draw: Draw) -> Slice:
    made = sample_product(draw)
    return Slice(made, **Slice.sample(draw, made.tensor))


@rewrite(Slice(any_op(DotGeneral), start, limit, stride), single_use=True, sample=sample_slice)
def slice_of_dot(op: Slice, start: Sizes, limit: Sizes, stride: Sizes) -> Value | None:
    """slice(dot(x, y)) = dot(slice(x), slice(y)): only those rows and columns are computed that are looked at

    >>> product = matmul(tensor("f32", 9, 9), tensor("f32", 9, 9, name="y"))
    >>> slice_of_dot(Slice(product, (0, 0), (2, 9), (1, 1))).lhs
    Slice(x, start_indices=(0, 0), limit_indices=(2, 9), strides=(1, 1))
    """
    inner = op.operand
    assert isinstance(inner, DotGeneral)
    if op.tensor.size >= inner.tensor.size or not is_alone(inner, op):
        return None
    product = read(inner)
    bounds = dict(zip(product.result, zip(start, limit, stride, strict=True), strict=True))

    def cut(term: Term) -> Value:
        own = [bounds.get(letter, (0, size, 1)) for letter, size in zip(term.letters, term.value.shape, strict=True)]
        if all(each == (0, size, 1) for each, size in zip(own, term.value.shape, strict=True)):
            return term.value
        return Slice(term.value, *(tuple(each[part] for each in own) for part in range(3)))

    return inner.with_operands((cut(product.left), cut(product.right)))


def sample_dynamic_slice(draw: Draw) -> DynamicSlice:
    """A part of a product at computed places."""
    made = sample_product(draw)
    starts = tuple(tensor("i32", name=f"i{axis}") for axis in range(made.tensor.rank))
    return DynamicSlice(made, starts, tuple(draw.integer(1, size) for size in made.shape))


@rewrite(DynamicSlice(any_op(DotGeneral), hole("starts"), hole("sizes")), single_use=True, sample=sample_dynamic_slice)
def dynamic_slice_of_dot(op: DynamicSlice, starts: tuple[Value, ...], sizes: Sizes) -> Value | None:
    """dynamic_slice(dot(x, y), i) = dot(dynamic_slice(x, i), dynamic_slice(y, i)), along their own axes

    >>> product = matmul(tensor("f32", 9, 9), tensor("f32", 9, 9, name="y"))
    >>> at = tensor("i32", name="i"), Constant.of(0, "i32")
    >>> dynamic_slice_of_dot(DynamicSlice(product, at, (1, 9))).rhs
    y
    """
    inner = op.operand
    assert isinstance(inner, DotGeneral)
    if op.tensor.size >= inner.tensor.size or op.tensor.rank == 0 or not is_alone(inner, op):
        return None
    product = read(inner)
    places = dict(zip(product.result, zip(starts, sizes, strict=True), strict=True))
    zero = Constant.of(0, starts[0].dtype)

    def cut(term: Term) -> Value:
        own: list[tuple[Value, int]] = [
            places.get(letter, (zero, size)) for letter, size in zip(term.letters, term.value.shape, strict=True)
        ]
        if all(size == whole for (_, size), whole in zip(own, term.value.shape, strict=True)):
            return term.value
        return DynamicSlice(term.value, tuple(at for at, _ in own), tuple(size for _, size in own))

    return inner.with_operands((cut(product.left), cut(product.right)))


def sample_diagonal_of_product(draw: Draw) -> Slice:
    """The diagonal of a square product, as a strided slice of its rows one after the other."""
    size, deep = draw.integer(2, 4), draw.integer(1, 3)
    product = matmul(tensor("f32", size, deep), tensor("f32", deep, size, name="y"))
    return diagonal_slice(product)


def diagonal_slice(x: Value) -> Slice:
    """The diagonal of a square matrix: in row-major order its elements are one row and one element apart.

    >>> diagonal_slice(tensor("f32", 3, 3)).strides
    (4,)
    """
    size = x.shape[0]
    return Slice(Reshape(x, (size * size,)), (0,), (size * size,), (size + 1,))


def is_diagonal_slice(op: Slice) -> bool:
    """Whether this takes the diagonal of a square matrix."""
    flat = op.operand
    if not isinstance(flat, Reshape) or flat.tensor.rank != 1 or flat.operand.tensor.rank != 2:
        return False
    size = flat.operand.shape[0]
    if flat.operand.shape != (size, size) or size < 2:
        return False
    return op.start_indices == (0,) and op.strides == (size + 1,) and op.tensor.size == size


@rewrite(
    Slice(Reshape(any_op(DotGeneral), hole("shape")), start, limit, stride),
    sample=sample_diagonal_of_product,
    single_use=True,
)
def diagonal_of_dot(op: Slice) -> Value | None:
    """diagonal(dot(x, y)) = dot(x, y) with rows and columns as one batching axis

    >>> product = matmul(tensor("f32", 9, 9), tensor("f32", 9, 9, name="y"))
    >>> diagonal_of_dot(diagonal_slice(product)).lhs_batching_dimensions
    (0,)
    """
    if not is_diagonal_slice(op):
        return None
    flat = op.operand
    assert isinstance(flat, Reshape)
    inner = flat.operand
    assert isinstance(inner, DotGeneral)
    if inner.block is not op.block:
        return None
    product = read(inner)
    if inner.lhs_batching_dimensions or not set(product.result).isdisjoint(product.summed):
        return None
    first, second = product.result
    if (first in product.left.letters) == (second in product.left.letters):
        return None

    def join(term: Term) -> Term:
        return Term(term.value, tuple(first if letter == second else letter for letter in term.letters))

    return product.rebuild(join(product.left), join(product.right), (first,))
