"""Reductions that are spelled out: trees of sums of parts of one value, as kernels make them in shared memory.

    for (int s = 64; s > 0; s >>= 1) { if (i < s) x[i] += x[i + s]; __syncthreads(); }

is x[:64] + x[64:], then of that y[:32] + y[32:] and so on: one `reduce`.
"""

from __future__ import annotations

from collections.abc import Sequence

from windlass.facts.places import MOVEMENTS, Place, points_of, step_back, view
from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import Add, Reshape, Slice
from windlass.ops.combiners import COMBINERS, EXTREMES, IDEMPOTENT, is_order_free
from windlass.ops.pointwise import Binary
from windlass.ops.reduction import reduce_with
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import users_of

FEWEST_TERMS = 8
"""Fewer terms than this stay as they are spelled."""
MOST_TERMS = 4096
MOST_RETRIES = 8
FURTHEST_USER = 4
"""Movement that is followed from a value to see whether a larger tree goes on from there."""


class _Stuck(Exception):
    """Elements can't be followed back beyond a value."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


def _fold_of_tree(op: Binary) -> Value | None:
    """The reduction that a tree of ops of one class is."""
    if not op.tensor.size or not _may_be_tree(op) or _goes_on(op, type(op), FURTHEST_USER):
        return None
    stops: set[Value] = set()
    for _ in range(MOST_RETRIES):
        leaf = _origin(op, type(op), stops)
        if leaf is op:
            return None
        try:
            places = _terms(op, leaf)
        except _Stuck as stuck:
            if stuck.value in stops:
                return None
            stops.add(stuck.value)
            continue
        return None if places is None else _reduce(op, leaf, places)
    return None


def _may_be_tree(op: Binary) -> bool:
    """A quick test: both sides are parts of something, or sums of such."""
    return all(isinstance(each, (*MOVEMENTS, type(op))) for each in op.operands)


def _goes_on(value: Value, combiner: type[Op], distance: int) -> bool:
    """Whether parts of a value are combined further: then a larger tree than this one is to be made a reduction."""
    for user in users_of(value):
        if isinstance(user, combiner):
            return True
        if distance and isinstance(user, MOVEMENTS) and _goes_on(user, combiner, distance - 1):
            return True
    return False


def _origin(value: Value, combiner: type[Op], stops: set[Value]) -> Value:
    """The one value that all terms of a tree are parts of; the value itself, where it is no tree."""
    known: dict[Value, Value] = {}
    waiting = [value]  # chains are longer than Python's stack is deep
    while waiting:
        each = waiting[-1]
        parts = [] if each in stops else _parts(each, combiner)
        unknown = [part for part in parts if part not in known]
        if unknown:
            waiting += unknown
            continue
        origins = {known[part] for part in parts}
        known[each] = origins.pop() if len(origins) == 1 else each
        waiting.pop()
    return known[value]


def _parts(value: Value, combiner: type[Op]) -> Sequence[Value]:
    """What a value combines, or whose elements it moves."""
    if isinstance(value, combiner):
        return value.operands
    return _moved(value) if isinstance(value, MOVEMENTS) else ()


def _moved(op: Op) -> list[Value]:
    """The values whose elements an op moves."""
    name = {"Select": slice(1, 3), "Concatenate": slice(None), "DynamicUpdateSlice": slice(2)}
    return list(op.operands[name.get(type(op).__name__, slice(1))])


def _terms(op: Binary, leaf: Value) -> list[Place] | None:
    """The places in the leaf of all terms, each once.

    None where something else uses a part of the tree, where a sum has a term twice, or there are too many.
    """
    combiner, box = type(op), op.tensor.shape
    found: list[Place] = []
    inside: set[Value] = set()
    waiting: list[tuple[Value, Place]] = [(op, points_of(box))]
    visited: set[tuple[Value, Place]] = set()
    has_twice = False
    while waiting:
        value, place = waiting.pop()
        if (value, place) in visited:
            has_twice = True
            continue
        visited.add((value, place))
        if len(visited) > 4 * MOST_TERMS:
            return None
        if value is leaf:
            found.append(place)
            if len(found) > MOST_TERMS or len(found) * op.tensor.size > leaf.tensor.size:
                return None  # no view of the leaf has an element twice
            continue
        if value is not op:
            inside.add(value)
        if isinstance(value, combiner):
            waiting += [(operand, place) for operand in value.operands]
            continue
        back = step_back(value, place, box) if isinstance(value, MOVEMENTS) else None
        if back is None or (back[0] is not leaf and not isinstance(back[0], (*MOVEMENTS, combiner))):
            raise _Stuck(value)
        waiting.append(back)
    if has_twice and combiner not in IDEMPOTENT:
        return None
    others = {user for value in inside for user in users_of(value) if user is not op and user not in inside}
    if not others:
        return found
    # Trees side by side (one for each warp) share their lower levels: if all become reductions, those go.
    spent = sum(value.tensor.size for value in inside if isinstance(value, combiner))
    is_shared = all(isinstance(user, (*MOVEMENTS, combiner)) for user in others)
    return found if is_shared and 2 * len(found) * op.tensor.size <= spent else None


def _reduce(op: Binary, leaf: Value, places: list[Place]) -> Value | None:
    """The leaf's elements at the places, which are one step apart, folded."""
    combiner = type(op)
    count = len(places)
    if not FEWEST_TERMS <= count <= MOST_TERMS or len({place.steps for place in places}) > 1:
        return None
    starts = sorted(place.start for place in places)
    step = starts[1] - starts[0]
    if step == 0 or starts != list(range(starts[0], starts[-1] + 1, step)):
        return None
    shape = op.tensor.shape
    kept = [axis for axis, size in enumerate(shape) if size > 1]
    sizes = tuple(shape[axis] for axis in kept)
    together = view(leaf, Place(starts[0], (*(places[0].steps[axis] for axis in kept), step)), (*sizes, count))
    if together is None:
        return None
    total = reduce_with(combiner, together, (len(sizes),))
    return total if sizes == shape else Reshape(total, shape)


# -- the rules --------------------------------------------------------------------------------------------------------


def halves(draw: Draw, combiner: type[Binary], dtype: str) -> Op:
    """A tree of a few rows, by halves or by neighbours, whose length need not be all of the value's."""
    rows, length = draw.integer(1, 3), draw.choose((8, 16))
    value: Value = Slice(tensor(dtype, rows, length + 1), (0, 1), (rows, length + 1), (1, 1))
    by_halves = draw.boolean()
    while length > 1:
        half = length // 2
        if by_halves:
            parts = [Slice(value, (0, start), (rows, start + half), (1, 1)) for start in (0, half)]
        else:
            parts = [Slice(value, (0, start), (rows, length - 1 + start), (1, 2)) for start in (0, 1)]
        value = combiner(*(parts if draw.boolean() else reversed(parts)))
        length = half
    assert isinstance(value, Op)
    return value


@rewrite(
    any_op(Add),
    sample=lambda draw: halves(draw, Add, draw.choose(("f32", "f64"))),
    reassociates=True,
    in_kernels=True,
)
def sum_of_tree(op: Add) -> Value | None:
    """x[0] + x[1] + … = sum(x), for floats, however the sums are nested

    >>> x = tensor("f32", 8)
    >>> y = Add(Slice(x, (0,), (4,), (1,)), Slice(x, (4,), (8,), (1,)))
    >>> z = Add(Slice(y, (0,), (2,), (1,)), Slice(y, (2,), (4,), (1,)))
    >>> sum_of_tree(Add(Slice(z, (0,), (1,), (1,)), Slice(z, (1,), (2,), (1,)))).operand.owner.combiner.__name__
    'Add'
    """
    return _fold_of_tree(op) if op.tensor.is_float else None


def sample_exact(draw: Draw) -> Op:
    combiner = draw.choose(COMBINERS)
    return halves(draw, combiner, "f32" if combiner in EXTREMES and draw.boolean() else "i32")


@rewrite(any_op(Binary, only=COMBINERS), sample=sample_exact)
def fold_of_tree(op: Binary) -> Value | None:
    """x[0] ∘ x[1] ∘ … = reduce(x, ∘), for integers, and the least and greatest of floats, however they are nested

    >>> x = Reshape(tensor("i32", 8), (4, 2))
    >>> y = Reshape(Add(Slice(x, (0, 0), (4, 1), (1, 1)), Slice(x, (0, 1), (4, 2), (1, 1))), (2, 2))
    >>> z = Reshape(Add(Slice(y, (0, 0), (2, 1), (1, 1)), Slice(y, (0, 1), (2, 2), (1, 1))), (1, 2))
    >>> fold_of_tree(Add(Slice(z, (0, 0), (1, 1), (1, 1)), Slice(z, (0, 1), (1, 2), (1, 1)))).operand.owner.dimensions
    (0,)
    """
    return _fold_of_tree(op) if is_order_free(type(op), op.tensor) else None
