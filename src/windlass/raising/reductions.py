"""Values that a loop accumulates: sums, products, minima, maxima and bit operations over its iterations.

While a loop's body is interpreted once for all iterations, a carried value is an `Accumulation`: the value before the
loop, combined with terms, each one for the lanes that add it. After the body the terms are reduced over the
iterations. Sums of floats are made in an order that is not the source's, as XLA's reductions are; sums of products
whose factors lie over different dimensions become contractions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from windlass.affine.choices import box_condition
from windlass.affine.dimensions import Box, Dimension, in_order
from windlass.affine.domain import Domain
from windlass.affine.index import Index
from windlass.affine.predicate import FALSE, Predicate, conjunction
from windlass.facts.integers import fit
from windlass.ir import Op, Value
from windlass.ops.combiners import EXTREMES, IDEMPOTENT, Combiner, neutral_of, prefer_numbers
from windlass.ops.comparison import Compare
from windlass.ops.contraction import DotGeneral
from windlass.ops.conversion import dtype_range
from windlass.ops.creation import Constant
from windlass.ops.elementwise import (
    Add,
    And,
    Multiply,
    Negate,
    Or,
    Select,
    Subtract,
    Xor,
)
from windlass.ops.extremes import Maximum, Minimum
from windlass.ops.reduction import reduce_with
from windlass.raising import emission
from windlass.raising.conditions import merge_items
from windlass.raising.extremes import make_test, select_by_test
from windlass.raising.items import (
    KEEPS_NUMBERS,
    LEAVES_NAN,
    PENDING,
    AccumulatedTerm,
    Accumulation,
    AccumulationTest,
    Item,
    Root,
    from_lanes,
    is_float,
)
from windlass.raising.lanes import Lanes
from windlass.raising.materialize import materialize_condition
from windlass.raising.memo import Contraction
from windlass.raising.strides import Fusion, split_back

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def combine(state: RaisingState, op: Op, items: list[Item]) -> Item:
    """An op that takes an accumulation.

    Raises Obstacle where that is no step of a reduction.
    """
    match op:
        case Add() | Multiply() | Minimum() | Maximum() | And() | Or() | Xor():
            one, other = items
            if isinstance(other, Accumulation):
                one, other = other, one
            if isinstance(one, Accumulation) and not isinstance(other, Accumulation | AccumulationTest):
                return _with_term(state, one, type(op), other)
        case Subtract():
            one, other = items
            if isinstance(one, Accumulation) and not isinstance(other, Accumulation | AccumulationTest):
                return _with_term(state, one, Add, negate_item(state, other, one.root.dtype))
        case Compare():
            return make_test(state, op, items)
        case Select():
            condition, on_true, on_false = items
            if isinstance(condition, AccumulationTest):
                return select_by_test(state, condition, on_true, on_false)
            if isinstance(condition, Predicate):
                return _merge_truths(state, condition, on_true, on_false, op.dtype)
            if isinstance(condition, Accumulation):
                # `found ? true : x` is `found or x`; `all ? x : false` is `all and x`.
                if isinstance(on_true, Predicate) and on_true.is_true and isinstance(on_false, Predicate):
                    return _with_term(state, condition, Or, on_false)
                if isinstance(on_false, Predicate) and on_false.is_false and isinstance(on_true, Predicate):
                    return _with_term(state, condition, And, on_true)
        case _:
            pass
    raise state.obstacle("a value of one iteration depends on the one before in a way that is no reduction")


def _merge_truths(state: RaisingState, condition: Predicate, on_true: Item, on_false: Item, dtype: str) -> Item:
    """A select; `c ? true : found` is `found or c`, and `c ? all : false` is `all and c`."""
    if isinstance(on_true, Predicate) and isinstance(on_false, Accumulation) and on_true.is_true:
        return _with_term(state, on_false, Or, condition)
    if isinstance(on_true, Accumulation) and isinstance(on_false, Predicate) and on_false.is_false:
        return _with_term(state, on_true, And, condition)
    if isinstance(on_true, Predicate) and isinstance(on_false, Accumulation) and on_true.is_false:
        return _with_term(state, on_false, And, ~condition)
    if isinstance(on_true, Accumulation) and isinstance(on_false, Predicate) and on_false.is_true:
        return _with_term(state, on_true, Or, ~condition)
    return merge_items(state, condition, on_true, on_false, dtype)


def _with_term(state: RaisingState, accumulation: Accumulation, combiner: Combiner, item: Item) -> Accumulation:
    state.check_depth(accumulation)
    # A pair of half an `fmin` starts from what numbers were kept before.
    is_extreme = combiner in EXTREMES and accumulation.nan == KEEPS_NUMBERS
    if accumulation.combiner not in (None, combiner) or (accumulation.nan and not is_extreme) or accumulation.leader:
        raise state.obstacle("a value is accumulated by several different operations")
    terms = (*accumulation.terms, AccumulatedTerm(item, state.domain))
    return Accumulation(accumulation.root, combiner, terms, elements=accumulation.elements)


def negate_item(state: RaisingState, item: Item, dtype: str) -> Item:
    """-item, which wraps around for integers."""
    if isinstance(item, Index):
        fitted = fit(-item, dtype, state.box)
        if fitted is not None:
            return fitted
    lanes = state.lanes(item, dtype)
    return from_lanes(Lanes(Negate(lanes.value), lanes.dims, lanes.lower))


# -- after the loop ---------------------------------------------------------------------------------------------------


def finish(
    state: RaisingState,
    accumulation: Accumulation,
    initial: Item,
    dimension: Dimension,
    fusion: Fusion | None = None,
) -> tuple[Item, str]:
    """The value after the loop, and what the reduction became. The state is that after the loop.

    With a `fusion` the terms lie over its fused dimension, and are folded over its counter.
    """
    if accumulation.nan == PENDING or accumulation.leader is not None:
        raise state.obstacle("what is kept with a minimum or maximum depends on the order")
    if accumulation.combiner is None:
        return initial, "elementwise"
    combiner, dtype = accumulation.combiner, accumulation.root.dtype
    # Sums that start from zero take that zero as their first summand: 0.0 - 0.0 is 0.0, but -0.0 is its own sum.
    start = 0.0 if combiner is Add and is_float(dtype) and _is_positive_zero(initial) else None
    reduced, summed = _contract_terms(state, accumulation, dimension, fusion, start)
    became = "contraction" if reduced else "reduce"
    for domain, lanes in summed.items():
        with state.within(domain):
            masked = _mask(state, lanes, domain, dimension, combiner, dtype)
        if fusion is not None:
            masked, domain = _split_back(masked, domain, fusion, neutral_of(combiner, dtype))
        total = _reduce(masked, domain.box, dimension, combiner, dtype, start)
        reduced.append(_extend(state, total, domain, combiner, dtype, start))
    if accumulation.nan == KEEPS_NUMBERS:
        reduced = [_with_nan(state, accumulation, initial, reduced, dimension, fusion)]
    result = initial
    for total in reduced:
        if combiner is Add and is_zero(result):
            result = from_lanes(total)
            continue
        result = _apply(state, combiner, result, total, dtype, accumulation.nan)
    return result, became


def _contract_terms(
    state: RaisingState,
    accumulation: Accumulation,
    dimension: Dimension,
    fusion: Fusion | None,
    start: float | None,
) -> tuple[list[Lanes], dict[Domain, Lanes]]:
    """The totals of those terms that are contractions, and the others, by domain, combined and yet to be reduced."""
    combiner, dtype = accumulation.combiner, accumulation.root.dtype
    assert combiner is not None
    contractions: list[Lanes] = []
    others: dict[Domain, Lanes] = {}
    for term in accumulation.terms:
        with state.within(term.domain):
            lanes = state.lanes(term.item, dtype)
            if combiner is Add and fusion is None:
                contracted = _contract(state, lanes, term.domain, dimension, start)
                if contracted is not None:
                    contractions.append(_extend(state, contracted, term.domain, combiner, dtype, start))
                    continue
            if accumulation.nan:
                lanes = _without_nan(lanes, combiner, dtype, state.box)
            if term.domain in others:
                lanes = Lanes.elementwise(combiner, state.covering(others[term.domain]), lanes, box=state.box)
            others[term.domain] = lanes
    return contractions, others


def _without_nan(lanes: Lanes, combiner: Combiner, dtype: str, box: Box) -> Lanes:
    """The term with the identity in place of NaN."""
    neutral = Lanes(emission.constant(neutral_of(combiner, dtype), dtype))
    is_number = Lanes(Compare(lanes.value, lanes.value, "EQ"), lanes.dims, lanes.lower)
    return Lanes.elementwise(Select, is_number, lanes, neutral, box=box)


def _with_nan(
    state: RaisingState,
    accumulation: Accumulation,
    initial: Item,
    reduced: list[Lanes],
    dimension: Dimension,
    fusion: Fusion | None,
) -> Lanes:
    """The total of `fmin` or `fmax`: NaN where there was no number at all.

    That matters only if there was none before the loop either.
    """
    assert accumulation.combiner is not None
    total = reduced[0]
    for other in reduced[1:]:
        one, two = state.covering(total), state.covering(other)
        total = Lanes.elementwise(accumulation.combiner, one, two, box=state.box)
    if (
        isinstance(initial, Lanes)
        and isinstance(initial.value, Constant)
        and initial.value.number == initial.value.number
    ):
        return total
    dtype = accumulation.root.dtype
    root = Root("i1", state.while_depth, accumulation.root.loop_depth)
    tests: list[AccumulatedTerm] = []
    for term in accumulation.terms:
        with state.within(term.domain):
            lanes = state.lanes(term.item, dtype)
            is_number = Lanes(Compare(lanes.value, lanes.value, "EQ"), lanes.dims, lanes.lower)
            tests.append(AccumulatedTerm(from_lanes(is_number), term.domain))
    found, _ = finish(state, Accumulation(root, Or, tuple(tests)), FALSE, dimension, fusion)
    nan = Lanes(emission.constant(float("nan"), dtype))
    return Lanes.elementwise(Select, state.lanes(found, "i1"), state.covering(total), nan, box=state.box)


def _split_back(lanes: Lanes, domain: Domain, fusion: Fusion, filling: int | float | bool) -> tuple[Lanes, Domain]:
    """A term over the fused dimension as one over the loop's counter and the thread."""
    box = domain.box
    if fusion.fused not in lanes.dims:
        lanes = Lanes.over(
            lanes.expand(in_order((*lanes.dims, fusion.fused)), box), in_order((*lanes.dims, fusion.fused)), box
        )
    dimensions = tuple(each for each in domain.dimensions if each is not fusion.fused)
    outside = Domain((*dimensions, fusion.thread), box.without([fusion.fused]), domain.mask)
    return split_back(lanes, fusion, filling), outside


def is_zero(item: Item) -> bool:
    """Whether an item is the number zero, to which sums are added for nothing."""
    if isinstance(item, Index):
        return item.constant_value == 0
    return isinstance(item, Lanes) and emission.splat_number(item.value) == 0


def _is_positive_zero(item: Item) -> bool:
    if not isinstance(item, Lanes) or not isinstance(item.value, Constant) or not is_zero(item):
        return False
    return math.copysign(1.0, float(item.value.number)) > 0


def _apply(state: RaisingState, combiner: Combiner, item: Item, total: Lanes, dtype: str, nan: str) -> Item:
    """The value before the loop combined with the total of one term."""
    if isinstance(item, Accumulation):
        if nan == LEAVES_NAN:
            test = AccumulationTest("LT" if combiner is Minimum else "GT", from_lanes(total), item)
            return select_by_test(state, test, test.item, item)
        if nan == KEEPS_NUMBERS:
            state.check_depth(item)
            if item.terms and (item.combiner is not combiner or item.nan != nan):
                raise state.obstacle("a value is accumulated by several different operations")
            terms = (*item.terms, AccumulatedTerm(from_lanes(total), state.domain))
            return Accumulation(item.root, combiner, terms, nan)
        return _with_term(state, item, combiner, from_lanes(total))
    before = state.lanes(item, dtype)
    total = state.covering(total)
    if nan == LEAVES_NAN:
        direction = "LT" if combiner is Minimum else "GT"
        better = Lanes.elementwise(lambda x, y: Compare(x, y, direction), total, before, box=state.box)
        return from_lanes(Lanes.elementwise(Select, better, total, before, box=state.box))
    combined = Lanes.elementwise(combiner, before, total, box=state.box)
    if nan == KEEPS_NUMBERS:
        combined = Lanes.elementwise(prefer_numbers, combined, total, before, box=state.box)
    return from_lanes(combined)


def _mask(
    state: RaisingState,
    lanes: Lanes,
    domain: Domain,
    dimension: Dimension,
    combiner: Combiner,
    dtype: str,
) -> Lanes:
    """The term with the identity at lanes that don't count."""
    condition = relevant_mask(domain, dimension, state)
    neutral = Lanes(emission.constant(neutral_of(combiner, dtype), dtype))
    if condition.is_true:
        return lanes
    return Lanes.elementwise(Select, state.condition_lanes(condition), lanes, neutral, box=state.box)


def relevant_mask(domain: Domain, dimension: Dimension, state: RaisingState) -> Predicate:
    """The parts of a domain's mask that say whether a term counts: not those that hold for all lanes of the loop."""
    outer = set(state.reduction_mask.conjuncts())
    return conjunction(part for part in domain.mask.conjuncts() if part not in outer)


def _reduce(
    lanes: Lanes, box: Box, dimension: Dimension, combiner: Combiner, dtype: str, start: float | None = None
) -> Lanes:
    """The lanes folded over a dimension of the box, which they may not depend on; from `start` or the identity on."""
    if dimension not in lanes.dims:
        extent = box.extent(dimension)
        if combiner in IDEMPOTENT:
            return lanes
        wide = Lanes.over(lanes.expand((*lanes.dims, dimension), box), (*lanes.dims, dimension), box)
        if combiner is Add and not is_float(dtype) and dtype != "i1":
            factor = Constant.of(wrapped(extent, dtype), dtype, lanes.value.shape)
            return Lanes(Multiply(lanes.value, factor), lanes.dims, lanes.lower)
        total = _reduce(wide, box, dimension, combiner, dtype)
        if start is None:
            return total
        # XLA turns the sum of equal numbers into a product, and forgets where it started.
        return Lanes.elementwise(combiner, total, Lanes(emission.constant(start, dtype)), box=box)
    lanes = lanes.at(box)
    axis = lanes.dims.index(dimension)
    total = reduce_with(combiner, lanes.value, (axis,), neutral_of(combiner, dtype) if start is None else start)
    return without_axis(total, lanes, dimension)


def wrapped(number: int, dtype: str) -> int:
    """The number modulo the period of an integer type."""
    least, most = dtype_range(dtype)
    return (number - least) % (most - least + 1) + least


def without_axis(value: Value, lanes: Lanes, dimension: Dimension) -> Lanes:
    """What a reduction over one dimension of the lanes gave, as lanes."""
    kept = [(each, lower) for each, lower in zip(lanes.dims, lanes.lower, strict=True) if each is not dimension]
    return Lanes(value, [each for each, _ in kept], [lower for _, lower in kept])


def _extend(
    state: RaisingState, lanes: Lanes, domain: Domain, combiner: Combiner, dtype: str, start: float | None = None
) -> Lanes:
    """A total over a term's lanes as one for all lanes of the loop: `start` or the identity where there is no term."""
    box = state.box
    missing = [each for each in box_difference(domain.box, box) if each in state.domain.dimensions]
    if not missing:
        return lanes
    condition = box_condition(Box({each: domain.box.bounds(each) for each in missing}), box)
    neutral = Lanes(emission.constant(neutral_of(combiner, dtype) if start is None else start, dtype))
    return Lanes.elementwise(Select, materialize_condition(condition, box), state.covering(lanes), neutral, box=box)


def box_difference(inner: Box, outer: Box) -> list[Dimension]:
    """The dimensions along which the inner box is shorter."""
    return [each for each in inner.restricted if inner.bounds(each) != outer.bounds(each)]


# -- contractions -----------------------------------------------------------------------------------------------------


CONTRACTED_INTEGERS = ("i32", "i64")
"""The integers whose sums of products become contractions, which wrap around as sums do."""


def _contract(
    state: RaisingState, lanes: Lanes, domain: Domain, dimension: Dimension, start: float | None
) -> Lanes | None:
    """A sum of products as a contraction, where that keeps the product from being spread out.

    Lanes that add nothing in any iteration have `start`, or what changes no sum.
    """
    condition = relevant_mask(domain, dimension, state)
    if dimension in condition.dimensions:
        return None
    found = state.memo.contractions.get(lanes.value)
    if found is not None:
        left, right, over = found.left, found.right, (*found.over, dimension)
    elif isinstance(lanes.value, Multiply) and (is_float(lanes.dtype) or lanes.dtype in CONTRACTED_INTEGERS):
        pair = state.memo.factors.get(lanes.value)
        if pair is None:
            return None
        left, right = pair
        over = (dimension,)
    else:
        return None
    box = domain.box
    left, right = left.at(box), right.at(box)
    if any(each not in left.dims or each not in right.dims for each in over):
        return None
    if left.dims == right.dims:
        # Nothing is spread out by the product.
        return None
    if not is_float(lanes.dtype) and (set(left.dims) <= set(right.dims) or set(right.dims) <= set(left.dims)):
        # Of integers XLA multiplies matrices well, but not vectors.
        return None
    result = contract(state, left, right, over, box)
    state.memo.idle.add(lanes.value)
    if condition.is_true:
        return result
    neutral = Lanes(emission.constant(neutral_of(Add, lanes.dtype) if start is None else start, lanes.dtype))
    return Lanes.elementwise(Select, state.condition_lanes(condition), result, neutral, box=box)


LAST = 2**31
"""No dimension stands so far behind."""


def _first_apart(factor: Lanes, other: Lanes) -> tuple[int, ...]:
    """Where the outermost dimension stands that only one factor has: of the factor that comes first in the result."""
    return min((each.key for each in factor.dims if each not in other.dims), default=(LAST,))


def contract(state: RaisingState, left: Lanes, right: Lanes, over: tuple[Dimension, ...], box: Box) -> Lanes:
    """The sum over some dimensions of the products of two factors, for the box."""
    left, right = left.at(box), right.at(box)
    if _first_apart(right, left) < _first_apart(left, right):
        left, right = right, left
    batching = [each for each in left.dims if each in right.dims and each not in over]
    left_value, left_dims = left.before_transpose()
    right_value, right_dims = right.before_transpose()
    dot = DotGeneral(
        left_value,
        right_value,
        tuple(left_dims.index(each) for each in batching),
        tuple(right_dims.index(each) for each in batching),
        tuple(left_dims.index(each) for each in over),
        tuple(right_dims.index(each) for each in over),
        ("HIGHEST", "HIGHEST"),
    )
    order = [
        *batching,
        *(each for each in left_dims if each not in batching and each not in over),
        *(each for each in right_dims if each not in batching and each not in over),
    ]
    dims = in_order(order)
    value = emission.transpose(dot, [order.index(each) for each in dims])
    result = Lanes.over(value, dims, box)
    state.memo.contractions[result.value] = Contraction(left, right, over)
    return result
