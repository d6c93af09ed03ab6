"""Sums that the rounds of a loop carry along without looking at them: products are summed over all rounds at once.

The way back through a recurrence adds a small product to each weight's derivative in every round. The factors saved
instead, the sum is one large product after the loop, which matrix units are made for.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from windlass.facts.terms import op_of
from windlass.ir import Argument, Block, Region, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    Concatenate,
    Constant,
    Convolution,
    DotGeneral,
    DynamicSlice,
    DynamicUpdateSlice,
    Multiply,
    Negate,
    Reduce,
    Reshape,
    Reverse,
    Subtract,
    Tanh,
    Transpose,
    While,
    make_region,
)
from windlass.ops.base import FLOAT
from windlass.ops.reduction import reduce_with
from windlass.ops.sampling import Draw
from windlass.passes.batcher import Batcher, CannotBatch
from windlass.passes.carries import copy_block
from windlass.passes.element_loops import Rounds, find_rounds, round_number
from windlass.passes.loops import count_to
from windlass.passes.saved_values import find_saved, rows_of, spellings
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rules.pads import is_zero

__all__ = ["tensor"]

LINEAR = (Add, Concatenate, Negate, Reshape, Subtract, Transpose)
"""What can be done once to sums as well as to each term."""
LARGEST_SAVED = 1 << 26
"""Bytes that the factors saved for a loop may have in all."""


def sample_accumulating_loop(draw: Draw) -> While:
    """A recurrence that adds products of its states, and sums of their rows, to what it carries."""
    if draw.integer(0, 4) == 0:
        return _sample_accumulated_convolution(draw)
    rounds = draw.integer(2, 4)
    x = tensor("f32", rounds, 2, 3, name="x")
    zero = Constant.of(0, "i32")
    backward, swapped, kind = draw.boolean(), draw.boolean(), draw.integer(0, 3)

    def step(i: Value, state: Value, weights: Value, sums: Value) -> tuple[Value, ...]:
        at = Subtract(Constant.of(rounds - 1, "i32"), i) if backward else i
        row = Reshape(DynamicSlice(x, (at, zero, zero), (1, 2, 3)), (2, 3))
        following = Tanh(Multiply(state, row))
        product: Value = DotGeneral(row if kind else state, following, (), (), (0,), (0,))
        if kind == 2:
            product = Transpose(Negate(product), (1, 0))
        if kind == 3:
            product = Concatenate((product, DotGeneral(state, following, (), (), (0,), (0,))), 0)
        added = Add(product, weights) if swapped else Add(weights, product)
        return following, added, Add(sums, reduce_with(Add, following, (0,)))

    weights = tensor("f32", 6 if kind == 3 else 3, 3, name="w")
    return count_to(rounds, tensor("f32", 2, 3, name="h"), weights, tensor("f32", 3, name="s"), step=step)


def _sample_accumulated_convolution(draw: Draw) -> While:
    """A recurrence that adds up what its states make of a convolution's kernel."""
    x, w = tensor("f32", 2, 3, 4, name="x"), tensor("f32", 4, 4, name="w")

    def step(i: Value, state: Value, kernel: Value) -> tuple[Value, ...]:
        del i
        following = Tanh(DotGeneral(state, w, (), (), (2,), (0,)))
        # Batch and features change places, as they do in derivatives of kernels.
        added = Convolution(
            state, following, (1,), ((1, 1),), (1,), (1,), (False,), 2, 0, (1,), 0, 2, (1,), 0, 2, (1,)
        )  # fmt: skip
        return following, Add(kernel, added)

    return count_to(draw.integer(2, 3), x, tensor("f32", 4, 3, 4, name="k"), step=step)


@dataclass
class _Factors:
    """What has to be had of all rounds to add up a term: factors of products, and what is summed along axes."""

    block: Block
    of_products: list[Value] = field(default_factory=list[Value])
    of_sums: list[Value] = field(default_factory=list[Value])

    def enter(self, term: Value) -> bool:
        """Whether the term consists of products and sums."""
        op = op_of(term)
        if op is None or op.block is not self.block:
            return False
        if isinstance(op, DotGeneral) or (
            isinstance(op, Convolution) and op.feature_group_count == op.batch_group_count == 1
        ):
            self.of_products += op.operands
            return all(self._changes(operand) for operand in op.operands)
        if isinstance(op, Reduce) and op.combiner is Add and len(op.inputs) == 1 and is_zero(op.init_values[0]):
            self.of_sums.append(op.inputs[0])
            return True
        return isinstance(op, LINEAR) and all(self.enter(operand) for operand in op.operands)

    def _changes(self, value: Value) -> bool:
        op = op_of(value)
        return op.block is self.block if op is not None else isinstance(value, Argument) and value.block is self.block


@rewrite(any_op(While), sample=sample_accumulating_loop, by_cost=True, reassociates=True)
def products_summed_over_rounds(op: While) -> tuple[Value, ...] | None:
    """while((i, h, s) → (f(h), s + x[i]ᵀ @ h)) = s + xᵀ @ h over all rounds, with h saved in each

    >>> loop = sample_accumulating_loop(Draw(lambda low, high: low))
    >>> type(products_summed_over_rounds(loop)[2]).__name__
    'Add'
    """
    terms: dict[int, tuple[Value, _Factors]] = {}
    for place in range(len(op.operands)):
        term, factors = _term_at(op, place), _Factors(op.body.block)
        if term is not None and factors.enter(term):
            terms[place] = term, factors
    rounds = find_rounds(op) if any(factors.of_products for _, factors in terms.values()) else None
    if rounds is None:
        return None
    had = {value for update in find_saved(rounds).values() for value in spellings(update.update)}
    products = dict.fromkeys(value for _, factors in terms.values() for value in factors.of_products)
    new = [value for value in products if value not in had and not rounds.is_independent(value)]
    # Sums along axes stay in the loop unless what they sum is had for a product.
    chosen = {
        place: term
        for place, (term, factors) in terms.items()
        if all(value in had or value in products or rounds.is_independent(value) for value in factors.of_sums)
    }
    moved = sum(value.tensor.bytes for value in new)
    if moved * rounds.counter.rounds > LARGEST_SAVED or moved > 2 * sum(term.tensor.bytes for term in chosen.values()):
        return None
    try:
        return _sum_afterwards(rounds, chosen, new)
    except CannotBatch:
        return None


def _term_at(loop: While, place: int) -> Value | None:
    """What each round adds to the carried floats, if nothing else is done with them."""
    block = loop.body.block
    argument, value = block.arguments[place], block.terminator.operands[place]
    if not isinstance(value, Add) or sum(argument.uses.values()) != 1 or sum(value.uses.values()) != 1:
        return None
    if argument.tensor.dtype not in FLOAT or loop.cond.block.arguments[place].uses:
        return None
    if value.lhs is argument:
        return value.rhs
    return value.lhs if value.rhs is argument else None


def _sum_afterwards(rounds: Rounds, chosen: dict[int, Value], new: list[Value]) -> tuple[Value, ...]:
    """The loop saving the new values instead of adding up the chosen terms, and all that it gives.

    Raises CannotBatch.
    """
    loop, count = rounds.loop, rounds.counter.rounds
    kept = [place for place in range(len(loop.operands)) if place not in chosen]
    is_backward = any(_is_backward(rounds, value) for value in rounds.independent)
    saving = [Constant.of(0, value.dtype, (count, *value.shape)) for value in new]

    sums = {rounds.following[place] for place in chosen}

    def body(*values: Value) -> tuple[Value, ...]:
        block = loop.body.block
        known: dict[Value, Value] = {block.arguments[at]: value for at, value in zip(kept, values, strict=False)}
        for each in block:
            if each is not block.last and each not in sums:
                each.clone(known)
        carried = [known.get(rounds.arguments[place], rounds.arguments[place]) for place in range(len(loop.operands))]
        number = round_number(rounds.counter, carried)
        zero, last = Constant.of(0, number.dtype), Constant.of(count - 1, number.dtype)
        at = Subtract(last, number) if is_backward else number
        parts = [Reshape(known.get(value, value), (1, *value.shape)) for value in new]
        return (
            *(known.get(rounds.following[place], rounds.following[place]) for place in kept),
            *(
                DynamicUpdateSlice(array, part, (at, *(zero for _ in part.shape[1:])))
                for array, part in zip(values[len(kept) :], parts, strict=True)
            ),
        )

    types = [value.type for value in (*(loop.operands[place] for place in kept), *saving)]
    cond = copy_block(loop.cond.block, kept, {})
    for array in saving:
        cond.add_argument(array.type)
    initial = (*(loop.operands[place] for place in kept), *saving)
    made = While(Region(cond), make_region(types, body), initial)
    results = dict(zip(kept, made.results, strict=False))
    batcher = rounds.batcher()
    for place, update in find_saved(rounds).items():
        rows = rows_of(rounds, results[place], update)
        batcher.many.update((value, Reshape(rows, (count, *value.shape))) for value in spellings(update.update))
    for value, array in zip(new, made.results[len(kept) :], strict=True):
        batcher.many[value] = Reverse(array, (0,)) if is_backward else array
    for place, term in chosen.items():
        results[place] = Add(loop.operands[place], _sum_of(term, batcher))
    return tuple(results[place] for place in range(len(loop.operands)))


def _is_backward(rounds: Rounds, value: Value) -> bool:
    """Whether the value is read from an array from its end on."""
    if not isinstance(value, DynamicSlice):
        return False
    tables = [rounds.tables[start] for start in value.start_indices if start in rounds.tables]
    return any((table[1:] < table[:-1]).all() for table in tables)


def _sum_of(term: Value, batcher: Batcher) -> Value:
    """The sum of a term over all rounds."""
    op = op_of(term)
    match op:
        case DotGeneral():
            return DotGeneral(
                batcher.batched(op.lhs),
                batcher.batched(op.rhs),
                tuple(axis + 1 for axis in op.lhs_batching_dimensions),
                tuple(axis + 1 for axis in op.rhs_batching_dimensions),
                (0, *(axis + 1 for axis in op.lhs_contracting_dimensions)),
                (0, *(axis + 1 for axis in op.rhs_contracting_dimensions)),
                op.precision_config,
                op.algorithm,
                op.dtype,
            )
        case Convolution():
            # The features that are summed over are those of all rounds.
            lhs = _merge_rounds(batcher.batched(op.lhs), op.input_feature_dimension)
            rhs = _merge_rounds(batcher.batched(op.rhs), op.kernel_input_feature_dimension)
            return op.with_operands((lhs, rhs))
        case Reduce():
            rows = batcher.batched(op.inputs[0])
            return reduce_with(Add, rows, (0, *(axis + 1 for axis in op.dimensions)))
        case _:
            assert op is not None
            return op.with_operands(tuple(_sum_of(operand, batcher) for operand in op.operands))


def _merge_rounds(rows: Value, axis: int) -> Value:
    """The first axis, of the rounds, made the outer part of another (counted without it)."""
    rank, shape = rows.tensor.rank, rows.shape
    moved = Transpose(rows, (*range(1, axis + 1), 0, *range(axis + 1, rank))) if axis else rows
    return Reshape(moved, (*shape[1 : axis + 1], shape[0] * shape[axis + 1], *shape[axis + 2 :]))
