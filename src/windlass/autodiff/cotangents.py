"""Cotangents, and where they are zero whatever they are multiplied by.

What a `Select` does not take has no cotangent there, even where the factor by which it changes is infinite: the product
of a zero with that factor would be NaN. So the zeros are put in late. A cotangent that comes through a `Select` keeps
its value at all places, beside the condition; products work on all places, and the zeros follow at their end, where the
value is added to another, moved, or given as a result. That is one `Select` as before, in another place. So it is with
elements that an update replaces by others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

from windlass.autodiff.forward import scaled, spread
from windlass.facts.terms import op_of
from windlass.ir import TensorType, Value
from windlass.ops import (
    Add,
    And,
    BroadcastInDim,
    Compare,
    Constant,
    Convert,
    DynamicSlice,
    DynamicUpdateSlice,
    Not,
    Or,
    Reshape,
    Scatter,
    Select,
    reduce_or,
)
from windlass.ops.base import TensorOp
from windlass.ops.combiners import combiners_of

Mask: TypeAlias = frozenset[tuple[Value, bool]]
"""Where all of these conditions hold, or do not, as is said beside each: of the cotangent's shape or single."""

EVERYWHERE: Mask = frozenset()


@dataclass(frozen=True)
class Cotangent:
    """A value where the mask holds, and zero elsewhere; `is_zero_elsewhere` if the value itself is."""

    value: Value
    mask: Mask = EVERYWHERE
    is_zero_elsewhere: bool = True

    def settle(self) -> Value:
        """The cotangent as one value.

        >>> from windlass.ir.values import tensor
        >>> value, condition = tensor("f32", 3), tensor("i1", 3, name="p")
        >>> Cotangent(value).restricted(condition, False).settle()
        Select(p, Constant(0.0), x)
        """
        if self.is_zero_elsewhere or not self.mask:
            return self.value
        zero = Constant.splat(0, self.value.type)
        if len(self.mask) == 1:
            ((condition, holds),) = self.mask
            return Select(condition, self.value, zero) if holds else Select(condition, zero, self.value)
        return Select(condition_of(self.mask, self.value.tensor), self.value, zero)

    def restricted(self, condition: Value, holds: bool) -> Cotangent | None:
        """The cotangent where the condition holds, or does not; None where it is zero everywhere."""
        if (condition, not holds) in self.mask:
            return None
        return Cotangent(self.value, self.mask | {(condition, holds)}, False)

    def times(self, factor: Value | float | None) -> Cotangent | None:
        """The product with what `TensorOp.partial` gives."""
        product = scaled(self.value, factor)
        if product is None:
            return None
        return replace(self, value=product, is_zero_elsewhere=self.is_zero_elsewhere and not isinstance(factor, Value))


def sum_of_cotangents(left: Cotangent | None, right: Cotangent | None) -> Cotangent | None:
    """The sum; None is zero. Of what two sides of a `Select` give it is again a `Select`."""
    if left is None or right is None:
        return left or right
    both = left.mask & right.mask
    own, others = left.mask - both, right.mask - both
    is_zero_elsewhere = left.is_zero_elsewhere and right.is_zero_elsewhere
    if not own and not others:
        return Cotangent(added(left.value, right.value), both, is_zero_elsewhere)
    if len(own) == len(others) == 1:
        ((condition, holds),), ((other, _),) = own, others
        if condition is other:
            taken, rest = (left, right) if holds else (right, left)
            return Cotangent(Select(condition, taken.value, rest.value), both, is_zero_elsewhere)
    total = added(left.settle(), right.settle())
    if not left.mask or not right.mask:
        return Cotangent(total)
    one, another = (condition_of(each.mask, total.tensor) for each in (left, right))
    return Cotangent(total, frozenset({(Or(one, another), True)}))


def added(left: Value, right: Value) -> Value:
    """left + right; where one of them is zeros to whose parts something is added, it is added to the other.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import DynamicUpdateSlice
    >>> x, row, start = tensor("f32", 1000, name="x"), tensor("f32", 1, name="row"), tensor("i32", name="i")
    >>> zeros = Constant.splat(0, x.type)
    >>> added(x, DynamicUpdateSlice(zeros, row, (start,)))
    DynamicUpdateSlice(x, Add(DynamicSlice(x, (i,), slice_sizes=(1,)), row), (i,))
    """
    for whole, part in ((left, right), (right, left)):
        if op_of(whole) is not op_of(part):
            found = _added_to(whole, part)
            if found is not None:
                return found
    return Add(left, right)


def _added_to(whole: Value, parts: Value) -> Value | None:
    """The whole with what is added to parts of zeros; None where that is no sum of parts."""
    match op_of(parts):
        case DynamicUpdateSlice(operand=operand, update=update, start_indices=starts):
            more = update
            if not _is_zero(operand):
                taken, more = _summands(update)
                if not _is_slice_of(taken, operand, starts):
                    taken, more = more, taken
                if not _is_slice_of(taken, operand, starts):
                    return None
                base = _added_to(whole, operand)
                if base is None:
                    return None
                whole = base
            return DynamicUpdateSlice(whole, Add(DynamicSlice(whole, starts, update.shape), more), starts)
        case Scatter(inputs=(operand,)) as op if combiners_of(op.update_computation) == (Add,):
            base = whole if _is_zero(operand) else _added_to(whole, operand)
            if base is None:
                return None
            return op.with_fields(
                (base, op.scatter_indices, *op.updates), update_computation=op.update_computation.clone({})
            ).results[0]
        case Reshape(operand=operand):
            base = _added_to(Reshape(whole, operand.shape), operand)
            return None if base is None else Reshape(base, parts.shape)
        case _:
            return None


def _is_zero(value: Value) -> bool:
    op = op_of(value)
    return isinstance(op, Constant) and op.is_splat and not op.number


def _summands(value: Value) -> tuple[Value, Value]:
    op = op_of(value)
    return (op.lhs, op.rhs) if isinstance(op, Add) else (value, value)


def _is_slice_of(value: Value, whole: Value, starts: tuple[Value, ...]) -> bool:
    op = op_of(value)
    return isinstance(op, DynamicSlice) and op.operand is whole and op.start_indices == starts


def settle_all(values: Sequence[Value], found: Mapping[Value, Cotangent]) -> tuple[Value, ...]:
    """The cotangents that were found of these values, each as one value; zeros where there is none."""
    return tuple(found[value].settle() if value in found else Constant.splat(0, value.type) for value in values)


def condition_of(mask: Mask, type_: TensorType) -> Value:
    """The mask of a value of this type as one value; not of `EVERYWHERE`."""
    parts = [spread(value if holds else Not(value), type_) for value, holds in mask]
    return reduce(And, parts)


def moved_mask(op: TensorOp, given: Sequence[Cotangent | None], position: int) -> Mask:
    """Where the cotangent of an operand that the op is linear in may be other than zero, by those of its results."""
    places = [place for place, each in enumerate(given) if each is not None]
    operand = op.operands[position]
    cotangent = given[places[0]] if len(places) == 1 else None
    if cotangent is None or not cotangent.mask:
        unreplaced = op.unreplaced(position)
        return EVERYWHERE if unreplaced is None else frozenset({(unreplaced, True)})
    place, type_ = places[0], cotangent.value.tensor
    if op.is_elementwise and operand.shape == type_.shape:
        return cotangent.mask
    condition = condition_of(cotangent.mask, type_)
    if op.adds_elements() and len(op.results) == 1 and not op.follows_letters:
        reached = op.pullback((Convert(condition, type_.dtype),), position)
        return frozenset({(Compare(reached, Constant.splat(0, reached.type), "NE"), True)})
    return frozenset({(_by_letters(op, place, condition, position), True)})


def _by_letters(op: TensorOp, place: int, condition: Value, position: int) -> Value:
    """Whether the condition holds for any of the elements of a result that an element of the operand is part of."""
    axes = op.axes()
    shape = op.operands[position].shape
    own = axes.operands[position] if axes is not None else ()
    result = axes.results[place] if axes is not None else ()
    kept = [axis for axis, letters in enumerate(result) if letters and letters in own]
    others = tuple(axis for axis in range(condition.tensor.rank) if axis not in kept)
    value = reduce_or(condition, others) if others else condition
    return BroadcastInDim(value, shape, tuple(own.index(result[axis]) for axis in kept))
