"""Matrices of which the structure is known: diagonal ones, symmetric ones, masks that compare indices.

Rules that `reassociates` here hold for finite values: products with the zeros off a diagonal are left out.
"""

from __future__ import annotations

from windlass.facts.structure import (
    counts_diagonal,
    find_diagonal,
    find_index,
    find_relation,
    is_symmetric,
    is_zero,
    take_diagonal,
)
from windlass.ir import Op, Value, tensor_type
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    And,
    BroadcastInDim,
    Compare,
    Concatenate,
    Constant,
    Convert,
    DotGeneral,
    Gather,
    Iota,
    Multiply,
    Or,
    Reduce,
    Reshape,
    Scatter,
    Select,
    Slice,
    Transpose,
)
from windlass.ops.contraction import matmul
from windlass.ops.reduction import reduce_sum
from windlass.ops.regions import make_region
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.chains import diagonal_slice, is_diagonal_slice, owner, summed_input
from windlass.rules.contractions import sample_product, sides
from windlass.rules.duals import LOGIC
from windlass.rules.letters import Term, is_plain, read, spread

__all__ = ["Concatenate", "matmul", "tensor"]

Sizes = tuple[int, ...]

x, y, z, p, start, limit, stride = (hole(name) for name in ("x", "y", "z", "p", "start", "limit", "stride"))


def index_mask(size: int, direction: str = "EQ", offset: int = 0) -> Compare:
    """True where the row's number plus an offset compares so with the column's, as jnp.eye, tri and diag make it.

    >>> index_mask(4).type
    tensor<4x4xi1>
    """
    rows: Value = Iota((size, size), "i32", 0)
    rows = Add(rows, Constant.of(offset, "i32", (size, size))) if offset else rows
    return Compare(rows, Iota((size, size), "i32", 1), direction)


def diagonal_matrix(vector: Value) -> Select:
    """The matrix with a vector on its diagonal, as jnp.diag makes it.

    >>> diagonal_matrix(tensor("f32", 3)).type
    tensor<3x3xf32>
    """
    size = vector.shape[0]
    zero = Constant.of(0, vector.dtype, (size, size))
    return Select(index_mask(size), BroadcastInDim(vector, (size, size), (0,)), zero)


def identity_matrix(size: int, dtype: str = "f32") -> Convert:
    """The identity, as jnp.eye makes it."""
    return Convert(index_mask(size), dtype)


def sample_diagonal(draw: Draw, size: int, dtype: str = "f32") -> Value:
    """A diagonal matrix in one of the forms in which programs have it."""
    vector = tensor(dtype, size, name="v")
    kind = draw.integer(0, 4)
    if kind == 0:
        return diagonal_matrix(vector)
    if kind == 1:
        return Select(index_mask(size, "NE"), Constant.of(0, dtype, (size, size)), tensor(dtype, size, size, name="a"))
    if kind == 2:
        return Multiply(identity_matrix(size, dtype), BroadcastInDim(tensor(dtype, name="c"), (size, size), ()))
    if kind == 3:
        return Multiply(tensor(dtype, size, size, name="a"), identity_matrix(size, dtype))
    return Add(diagonal_matrix(vector), identity_matrix(size, dtype))


def sample_product_with_diagonal(draw: Draw) -> DotGeneral:
    """A product with a diagonal matrix on either side."""

    def diagonal(draw: Draw, shape: Sizes, dtype: str, name: str) -> Value:
        return (
            sample_diagonal(draw, shape[0], dtype)
            if len(shape) == 2 and shape[0] == shape[1]
            else tensor(dtype, *shape)
        )

    size, other = draw.integer(2, 4), draw.integer(1, 4)
    left, right = sample_diagonal(draw, size), tensor("f32", size, *draw.choose(((), (other,))), name="y")
    if draw.boolean():
        return DotGeneral(left, right, (), (), (draw.integer(0, 1),), (0,))
    if draw.boolean():
        return DotGeneral(right, left, (), (), (0,), (draw.integer(0, 1),))
    return sample_product(draw, diagonal)


def without_unit_axes(term: Term) -> Term:
    """What the term's value is a reshape of, if it only added axes of size 1, which have no letter then.

    >>> without_unit_axes(Term(Reshape(tensor("f32", 3, 4), (1, 3, 1, 4)), (5, 6, 7, 8)))
    Term(value=x, letters=(6, 8))
    """
    value = term.value
    if not isinstance(value, Reshape):
        return term
    kept = tuple(axis for axis, size in enumerate(value.shape) if size != 1)
    if value.operand.shape != tuple(value.shape[axis] for axis in kept):
        return term
    return Term(value.operand, tuple(term.letters[axis] for axis in kept))


def _scaled_by_diagonal(op: DotGeneral, identity: bool) -> Value | None:
    if not is_plain(op) or all(find_diagonal(_behind_reshape(operand)) is None for operand in op.operands):
        return None
    product = read(op)
    for whole, other in sides(product):
        term = without_unit_axes(whole)
        found = find_diagonal(term.value)
        if found is None or found.is_identity != identity:
            continue
        # Axes of size 1 that were added must be such of the result alone.
        if any(each in other.letters for each in whole.letters if each not in term.letters):
            continue
        first, second = term.letters
        if (first in product.summed) == (second in product.summed) or (
            first in other.letters and second in other.letters
        ):
            continue
        gone, kept = (first, second) if first in product.summed else (second, first)
        letters = tuple(kept if letter == gone else letter for letter in other.letters)
        result = tuple(letter for letter in product.result if letter in letters)
        place = tuple(letters.index(letter) for letter in result)
        made = other.value if place == tuple(range(len(place))) else Transpose(other.value, place)
        if not identity:
            made = Multiply(spread(Term(found.make(), (kept,)), result, product.sizes()), made)
        return made if made.shape == op.shape else Reshape(made, op.shape)
    return None


def _behind_reshape(value: Value) -> Value:
    return value.operand if isinstance(value, Reshape) else value


def sample_identity(draw: Draw) -> DotGeneral:
    size = draw.integer(2, 4)
    other = tensor("f32", size, *draw.choose(((), (3,))))
    if draw.boolean():
        matrix: Value = Reshape(identity_matrix(size), (1, size, 1, size))
        return DotGeneral(matrix, other, (), (), (draw.choose((1, 3)),), (0,))
    if draw.boolean():
        return DotGeneral(identity_matrix(size), other, (), (), (draw.integer(0, 1),), (0,))
    return DotGeneral(other, identity_matrix(size), (), (), (0,), (draw.integer(0, 1),))


@rewrite(any_op(DotGeneral), reassociates=True, sample=sample_identity)
def dot_of_identity(op: DotGeneral) -> Value | None:
    """dot(I, x) = x

    >>> dot_of_identity(matmul(identity_matrix(3), tensor("f32", 3, 4)))
    x
    """
    return _scaled_by_diagonal(op, identity=True)


@rewrite(any_op(DotGeneral), reassociates=True, sample=sample_product_with_diagonal)
def dot_of_diagonal(op: DotGeneral) -> Value | None:
    """dot(diag(v), x) = v · x, each row by its element of v; and so for columns

    >>> dot_of_diagonal(matmul(diagonal_matrix(tensor("f32", 3, name="v")), tensor("f32", 3, 4)))
    Multiply(BroadcastInDim(v, shape=(3, 4), broadcast_dimensions=(0,)), x)
    """
    return _scaled_by_diagonal(op, identity=False)


def sample_symmetric(draw: Draw) -> Transpose:
    """The transpose of a matrix that is symmetric by how it is made."""
    size = draw.integer(1, 4)
    x = tensor("f32", size, size)
    made = draw.choose(
        (
            Add(x, Transpose(x, (1, 0))),
            DotGeneral(x, x, (), (), (1,), (1,)),
            Multiply(Add(x, Transpose(x, (1, 0))), Constant.of(0.5, "f32", (size, size))),
            Add(DotGeneral(x, x, (), (), (0,), (0,)), identity_matrix(size)),
        )
    )
    return Transpose(made, (1, 0))


@rewrite(Transpose(x, (1, 0)), sample=sample_symmetric)
def transpose_of_symmetric(x: Value) -> Value | None:
    """transpose(x) = x, if x is symmetric: y + yᵀ, y·yᵀ, diagonal, or made of such

    >>> x = tensor("f32", 3, 3)
    >>> transpose_of_symmetric(Transpose(matmul(x, x), (1, 0))) is None
    True
    >>> transpose_of_symmetric(Transpose(DotGeneral(x, x, (), (), (1,), (1,)), (1, 0))).lhs
    x
    """
    if is_symmetric(x):
        return x
    found = find_diagonal(x)
    # A transposed diagonal matrix could differ only in the signs of zeros that nothing has computed.
    return x if found is not None and isinstance(x, Select) else None


def sample_diagonal_of_diagonal(draw: Draw) -> Slice:
    size = draw.integer(2, 4)
    if draw.boolean():
        return diagonal_slice(sample_diagonal(draw, size))
    return diagonal_slice(stored_diagonal(tensor(draw.choose(("f32", "i32")), size, name="v")))


def stored_diagonal(vector: Value) -> Value:
    """The matrix with a vector on its diagonal, as storing at two equal ranges of indices makes it.

    >>> stored_diagonal(tensor("f32", 3)).type
    tensor<3x3xf32>
    """
    size, dtype = vector.shape[0], vector.dtype
    counted = Iota((size, 1), "i32", 0)
    zero, at = Constant.of(0, dtype, (size, size)), Concatenate((counted, counted), 1)
    body = make_region([tensor_type((), dtype)] * 2, lambda old, new: new)
    return Scatter((zero,), at, (vector,), (), (0, 1), (), (), (0, 1), 1, body).results[0]


@rewrite(Slice(Reshape(x, hole("shape")), start, limit, stride), sample=sample_diagonal_of_diagonal)
def diagonal_of_diagonal_matrix(op: Slice, x: Value) -> Value | None:
    """diagonal(diag(v)) = v

    >>> diagonal_of_diagonal_matrix(diagonal_slice(diagonal_matrix(tensor("f32", 3, name="v"))))
    v
    """
    home = owner(x)
    # Products and sums with zeros off the diagonal have been computed; these are only stored or chosen.
    is_stored = isinstance(home, Scatter) and (home.is_overwrite or x.tensor.is_integer)
    if not is_diagonal_slice(op) or not (isinstance(x, Select) or is_stored):
        return None
    found = find_diagonal(x)
    return None if found is None else found.make()


def sample_diagonal_of_transpose(draw: Draw) -> Slice:
    size = draw.integer(2, 4)
    return diagonal_slice(Transpose(tensor("f32", size, size), (1, 0)))


@rewrite(Slice(Reshape(Transpose(x, (1, 0)), hole("shape")), start, limit, stride), sample=sample_diagonal_of_transpose)
def diagonal_of_transpose(op: Slice, x: Value) -> Value | None:
    """diagonal(transpose(x)) = diagonal(x)

    >>> diagonal_of_transpose(diagonal_slice(Transpose(tensor("f32", 3, 3), (1, 0)))).operand
    Reshape(x, shape=(9,))
    """
    return take_diagonal(x) if is_diagonal_slice(op) else None


def sample_diagonal_gather(draw: Draw) -> Gather:
    """The diagonal as indexing with two equal ranges gives it."""
    size = draw.integer(2, 5)
    counted = Reshape(Iota((size,), "i32", 0), (size, 1))
    indices = Concatenate((counted, counted), 1)
    return Gather(tensor("f32", size, size), indices, (), (0, 1), (), (), (0, 1), 1, (1, 1))


@rewrite(any_op(Gather), sample=sample_diagonal_gather)
def gather_of_diagonal(op: Gather) -> Value | None:
    """x[i, i] for all i in order = diagonal(x), a strided slice of x's rows one after the other

    >>> counted = Iota((3, 1), "i32", 0)
    >>> at = Concatenate((counted, counted), 1)
    >>> gather_of_diagonal(Gather(tensor("f32", 3, 3), at, (), (0, 1), (), (), (0, 1), 1, (1, 1))).strides
    (4,)
    """
    shape = op.operand.shape
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 2 or op.slice_sizes != (1, 1):
        return None
    if op.collapsed_slice_dims != (0, 1) or op.operand_batching_dims or isinstance(op.start_indices, Iota):
        return None
    return take_diagonal(op.operand) if counts_diagonal(op.start_indices, op.index_vector_dim, shape[0]) else None


def sample_sum_of_diagonal(draw: Draw) -> Op:
    matrix = sample_diagonal(draw, draw.integer(2, 4))
    return owner(reduce_sum(matrix, draw.choose(((0,), (1,), (0, 1)))))  # pyright: ignore[reportReturnType]


@rewrite(any_op(Reduce), reassociates=True, sample=sample_sum_of_diagonal)
def sum_of_diagonal_matrix(op: Reduce) -> Value | None:
    """sum(diag(v)) = sum(v) along both axes, v along one: the trace is the sum of the diagonal

    >>> masked = Select(index_mask(3), tensor("f32", 3, 3), Constant.of(0, "f32", (3, 3)))
    >>> sum_of_diagonal_matrix(reduce_sum(masked, (0, 1)).owner).owner.inputs[0].strides
    (4,)
    """
    matrix = summed_input(op) if op.operands[0].tensor.rank == 2 else None
    found = None if matrix is None else find_diagonal(matrix)
    if found is None or not op.dimensions:
        return None
    vector = found.make()
    return vector if len(op.dimensions) == 1 else reduce_sum(vector, (0,))


def sample_nested_masks(draw: Draw) -> Select:
    """A select by indices of a select by indices, as jnp.tril of jnp.triu."""
    size = draw.integer(1, 4)
    directions = ("LT", "LE", "EQ", "NE", "GE", "GT")
    masks = [index_mask(size, draw.choose(directions), draw.integer(-1, 1)) for _ in range(2)]
    x, y, z = (tensor("f32", size, size, name=name) for name in "xyz")
    inner = Select(masks[1], x, y)
    return Select(masks[0], inner, z) if draw.boolean() else Select(masks[0], z, inner)


@rewrite(Select(p, Select(hole("q"), x, y), z), sample=sample_nested_masks)
def select_of_masked_select_on_true(op: Select, p: Value, q: Value, x: Value, y: Value, z: Value) -> Value | None:
    """select(p, select(q, x, y), z) = select(p, x, z), where q holds for all indices for which p does

    And select(p, y, z) where they are among the others: tril(tril(x)) = tril(x).

    >>> inner = Select(index_mask(3, "GE"), tensor("f32", 3, 3), tensor("f32", 3, 3, name="y"))
    >>> select_of_masked_select_on_true(Select(index_mask(3, "GT"), inner, tensor("f32", 3, 3, name="z"))).on_true
    x
    """
    outer, inner = find_relation(p), find_relation(q)
    if outer is None or inner is None:
        return None
    if outer.implies(inner):
        return Select(p, x, z)
    return Select(p, y, z) if outer.excludes(inner) else None


@rewrite(Select(p, z, Select(hole("q"), x, y)), sample=sample_nested_masks)
def select_of_masked_select_on_false(p: Value, q: Value, x: Value, y: Value, z: Value) -> Value | None:
    """select(p, z, select(q, x, y)) = select(p, z, x), where q holds for all indices for which p does not; and so for y

    >>> inner = Select(index_mask(3, "GE"), tensor("f32", 3, 3), tensor("f32", 3, 3, name="y"))
    >>> select_of_masked_select_on_false(Select(index_mask(3, "LE"), tensor("f32", 3, 3, name="z"), inner)).on_false
    x
    """
    outer, inner = find_relation(p), find_relation(q)
    if outer is None or inner is None:
        return None
    if outer.opposite.implies(inner):
        return Select(p, z, x)
    return Select(p, z, y) if outer.opposite.excludes(inner) else None


def _sample_pair(draw: Draw) -> And:
    size = draw.integer(1, 4)
    directions = ("LT", "LE", "EQ", "NE", "GE", "GT")
    return And(*(index_mask(size, draw.choose(directions), draw.integer(-1, 1)) for _ in range(2)))


@rewrite(And(x, y), sample=_sample_pair, dual=LOGIC.saying(("where p implies q", "where q implies p"), ("all", "no")))
def and_of_index_masks(op: And | Or, x: Value, y: Value) -> Value | None:
    """p and q = p, where p implies q by the indices that they compare; false where no indices satisfy them

    >>> and_of_index_masks(And(index_mask(3, "GE"), index_mask(3, "LT")))
    Constant(False)
    """
    first, second = find_relation(x), find_relation(y)
    if first is None or second is None:
        return None
    is_and = isinstance(op, And)
    if first.excludes(second) if is_and else first.opposite.implies(second):
        return Constant.of(not is_and, "i1", op.shape)
    if first.implies(second):
        return x if is_and else y
    if second.implies(first):
        return y if is_and else x
    return None


# -- one-hot ----------------------------------------------------------------------------------------------------------


def find_one_hot(value: Value) -> tuple[Value, int] | None:
    """The indices, broadcast to a value's shape, and the axis along which it is 1 (or true) at them and 0 elsewhere."""
    if isinstance(value, Convert):
        value = value.operand
    if not isinstance(value, Compare) or value.direction != "EQ":
        return None
    for indices, counted in (value.operands, value.operands[::-1]):
        found = find_index(counted)
        if found is None or found.axis is None or found.offset or found == find_index(indices):
            continue
        if isinstance(indices, BroadcastInDim) and indices.tensor.is_integer:
            repeats = found.axis not in indices.broadcast_dimensions
            place = -1 if repeats else indices.broadcast_dimensions.index(found.axis)
            if repeats or indices.operand.shape[place] == 1:
                return indices, found.axis
    return None


def one_hot(indices: Value, count: int, dtype: str = "f32") -> Convert:
    """A row for each index, 1 at it, as jax.nn.one_hot makes it.

    >>> one_hot(tensor("i32", 5), 8).type
    tensor<5x8xf32>
    """
    shape = (*indices.shape, count)
    rank = len(shape)
    counted = Iota(shape, indices.dtype, rank - 1)
    return Convert(Compare(BroadcastInDim(indices, shape, tuple(range(rank - 1))), counted, "EQ"), dtype)


def sample_one_hot_product(draw: Draw) -> DotGeneral:
    size = draw.integer(2, 4)
    table = tensor("f32", size, *draw.choose(((), (2,), (3, 2))), name="t")
    rows = one_hot(tensor("i32", *draw.choose(((), (3,), (2, 2))), name="i"), size)
    if draw.boolean():
        return DotGeneral(rows, table, (), (), (rows.tensor.rank - 1,), (0,))
    return DotGeneral(table, rows, (), (), (0,), (rows.tensor.rank - 1,))


def take_rows(table: Value, axis: int, indices: Value, result_first: bool = True) -> Value:
    """table[indices] along an axis, zero where an index is not in range; the indices' axes come first or last."""
    count, rank = indices.tensor.rank, table.tensor.rank
    offset = tuple(range(count, count + rank - 1)) if result_first else tuple(range(rank - 1))
    sizes = tuple(1 if each == axis else size for each, size in enumerate(table.shape))
    rows = Gather(table, indices, offset, (axis,), (), (), (axis,), count, sizes)
    limit = Constant.of(table.shape[axis], indices.dtype, indices.shape)
    known = And(Compare(indices, Constant.of(0, indices.dtype, indices.shape), "GE"), Compare(indices, limit, "LT"))
    own = tuple(axis for axis in range(rows.tensor.rank) if axis not in offset)
    return Select(BroadcastInDim(known, rows.shape, own), rows, Constant.of(0, rows.dtype, rows.shape))


@rewrite(any_op(DotGeneral), reassociates=True, sample=sample_one_hot_product)
def dot_of_one_hot(op: DotGeneral) -> Value | None:
    """dot(one_hot(i), t) = t[i], and 0 where i is out of range

    >>> dot_of_one_hot(matmul(one_hot(tensor("i32", 5, name="i"), 8), tensor("f32", 8, 4, name="t"))).on_true.operand
    t
    """
    if not is_plain(op) or op.lhs_batching_dimensions or len(op.lhs_contracting_dimensions) != 1:
        return None
    places = (op.lhs_contracting_dimensions[0], op.rhs_contracting_dimensions[0])
    for side in (0, 1):
        value, table = op.operands[side], op.operands[1 - side]
        found = find_one_hot(value) if isinstance(value, Convert) else None
        if found is None or found[1] != places[side] or table.shape[places[1 - side]] < 2:
            continue
        kept = tuple(axis for axis in range(value.tensor.rank) if axis != found[1])
        indices = _unrepeated(found[0], kept)
        if indices is not None:
            return take_rows(table, places[1 - side], indices, result_first=side == 0)
    return None


def _unrepeated(indices: Value, kept: Sizes) -> Value | None:
    """The indices without the axis of the one-hot encoding."""
    assert isinstance(indices, BroadcastInDim)
    dimensions = [axis for axis in indices.broadcast_dimensions if axis in kept]
    inner = indices.operand
    if len(dimensions) < len(indices.broadcast_dimensions):
        pairs = zip(inner.shape, indices.broadcast_dimensions, strict=True)
        inner = Reshape(inner, tuple(size for size, axis in pairs if axis in kept))
    return spread(Term(inner, tuple(dimensions)), kept, dict(enumerate(indices.shape)))


def sample_sum_of_one_hot(draw: Draw) -> Op:
    size = draw.integer(2, 5)
    x = tensor("f32", 3, size)
    hot = one_hot(tensor("i32", 3, name="i"), size)
    picked = Multiply(hot, x) if draw.boolean() else Select(hot.operand, x, Constant.of(0, "f32", (3, size)))
    return owner(reduce_sum(picked, (1,)))  # pyright: ignore[reportReturnType]


@rewrite(any_op(Reduce), reassociates=True, by_cost=True, sample=sample_sum_of_one_hot)
def sum_of_one_hot_choice(op: Reduce) -> Value | None:
    """sum(one_hot(i) · x) = x[i] in each row, and 0 where i is out of range

    >>> picked = Multiply(one_hot(tensor("i32", 5, name="i"), 800), tensor("f32", 5, 800))
    >>> sum_of_one_hot_choice(reduce_sum(picked, (1,)).owner).on_true.operand
    x
    """
    picked = summed_input(op, made_by=Select | Multiply)
    if len(op.dimensions) != 1 or picked is None or not is_alone(picked, op) or picked.tensor.size == 0:
        return None
    axis = op.dimensions[0]
    choices: list[tuple[Value, Value]] = []
    if isinstance(picked, Select) and is_zero(picked.on_false):
        choices = [(picked.pred, picked.on_true)]
    elif isinstance(picked, Multiply):
        choices = [picked.operands, picked.operands[::-1]]  # pyright: ignore[reportAssignmentType]
    for hot, x in choices:
        found = find_one_hot(hot)
        # What is computed within the sum's own loop should not be written out first.
        if found is None or found[1] != axis or (isinstance(x, Op) and x.is_elementwise):
            continue
        kept = tuple(each for each in range(x.tensor.rank) if each != axis)
        indices = _unrepeated(found[0], kept)
        if indices is None:
            continue
        rank = len(kept)
        taken = Gather(x, indices, (), (axis,), kept, tuple(range(rank)), (axis,), rank, (1,) * x.tensor.rank)
        limit = Constant.of(x.shape[axis], indices.dtype, indices.shape)
        zero = Constant.of(0, indices.dtype, indices.shape)
        known = And(Compare(indices, zero, "GE"), Compare(indices, limit, "LT"))
        return Select(known, taken, Constant.of(0, taken.dtype, taken.shape))
    return None
