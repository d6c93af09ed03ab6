"""Folds over whole axes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from windlass.ir.core import Op, Region
from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.axes import Axes, axes_of
from windlass.ops.base import SMALL_FLOATS, Array, BroadcastInDim, NoDerivative, OnNewAxis, TensorOp, later
from windlass.ops.combiners import (
    EXTREMES,
    combiner_of,
    combiner_region,
    combiners_of,
    find_choice,
    identity_of,
    sample_reducer,
)
from windlass.ops.comparison import Compare
from windlass.ops.control import regions_are_pure
from windlass.ops.conversion import Convert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, And, Divide, Multiply, Or, Select
from windlass.ops.evaluation import Scope, run_pointwise
from windlass.ops.extremes import Maximum, Minimum
from windlass.ops.movement import Pad, Reshape, slice_along
from windlass.ops.ranges import Range, RangeOf, everything
from windlass.ops.regions import check_reducer
from windlass.ops.sampling import Draw


class Folding(TensorOp):
    """Base of the ops that fold several inputs at once by a body, each from its own initial value."""

    inputs: tuple[Value, ...]
    init_values: tuple[Value, ...]
    needs_scope: ClassVar[bool] = True
    shared_operands: ClassVar[frozenset[str]] = frozenset({"init_values"})

    @property
    def combiner(self) -> type[Op] | None:
        """The class of the binary op that the body applies, if it is one op: Add for a sum."""
        return combiner_of(self.regions[0])

    @property
    def is_pure(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether nothing in the body has an effect."""
        return regions_are_pure(self)

    def check_inputs(self, count: str, shapes: str, inits: str) -> tuple[int, ...]:
        """The inputs' shape; the parameters are the specification's names of the constraints."""
        inputs, init_values = self.inputs, self.init_values
        if not (bool(inputs) and len(inputs) == len(init_values)):
            self.fault(count, f"{len(inputs)} inputs, {len(init_values)} inits")
        shape = inputs[0].shape
        if not all(value.shape == shape for value in inputs):
            self.fault(shapes, "the inputs differ in shape")
        for value, init in zip(inputs, init_values, strict=True):
            same = init.type is tensor_type((), value.dtype)
            if not same:
                self.fault(inits, f"the input is {value.type}, its initial value {init.type}")
        return shape


class Reduce(Folding):
    """The inputs folded along `dimensions` by `body`, beginning with init_values; the order is not defined.

    init_values must be what leaves others unchanged under the body (0 for a sum): XLA may begin with them as often as
    it likes, or not at all. Combine any other beginning with the result. `body` takes one accumulator per input, then
    one element per input. Gives one result per input (`.results`).
    """

    name = "stablehlo.reduce"
    limbs: ClassVar[str] = "fold"
    dimensions: tuple[int, ...]
    body: Region
    on_new_axis: ClassVar[OnNewAxis] = {"dimensions": later}

    def infer(self) -> tuple[Type, ...]:
        shape = self.check_inputs(count="C3", shapes="C1", inits="C2")
        dimensions = self.dimensions
        inside = all(0 <= axis < len(shape) for axis in dimensions)
        if not inside:
            self.fault("C4", f"dimensions {dimensions} of rank {len(shape)}")
        if len(set(dimensions)) != len(dimensions):
            self.fault("C5", f"{dimensions} repeats a dimension")
        dtypes = check_reducer(self, self.body, [value.dtype for value in self.inputs], "C6")
        kept = tuple([size for axis, size in enumerate(shape) if axis not in dimensions])
        return tuple(tensor_type(kept, dtype) for dtype in dtypes)

    def find_range(self, of: RangeOf) -> tuple[Range, ...]:
        (first, *others), start = self.inputs, of(self.init_values[0])
        count = math.prod(first.shape[axis] for axis in self.dimensions)
        if others or count == 0:
            return tuple(everything(result.type) for result in self.results)
        element = of(first)
        type_ = tensor_type((), first.dtype)
        combiner = self.combiner
        if combiner is Add and not type_.is_boolean and not type_.is_complex:
            total = element.summed(count, type_)
            return (total.plus(start, type_).join(total),)
        if combiner is Maximum or combiner is Minimum:
            # The initial value may be taken in, or not.
            both = element.join(start)
            return (replace(both, low=element.low) if combiner is Maximum else replace(both, high=element.high),)
        return (everything(type_),)

    def axes(self) -> Axes:
        given = range(self.inputs[0].tensor.rank)
        kept = [axis for axis in given if axis not in self.dimensions]
        count = len(self.inputs)
        operands = [*[given] * count, *[()] * count]
        return axes_of(self, operands, [kept] * count, self.combiner or self.body)

    def evaluate(self, *arrays: Array, scope: Scope | None = None) -> tuple[Array, ...]:
        count = len(arrays) // 2
        scope = scope or Scope()
        kept = [axis for axis in range(arrays[0].ndim) if axis not in self.dimensions]
        count_along = math.prod(arrays[0].shape[axis] for axis in self.dimensions)
        lines = [
            array.transpose(*self.dimensions, *kept).reshape(count_along, *(array.shape[axis] for axis in kept))
            for array in arrays[:count]
        ]
        types = [result.tensor for result in self.results]
        state = tuple(
            np.broadcast_to(init, type_.shape).astype(type_.numpy_dtype)
            for init, type_ in zip(arrays[count:], types, strict=True)
        )
        return fold(self.body, scope, state, lines)

    def linear_positions(self) -> tuple[frozenset[int], ...]:
        sums = [place for place, combiner in enumerate(combiners_of(self.body)) if combiner is Add]
        return tuple(frozenset({place}) for place in sums)

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        return self._spread(cotangents[position])

    def _spread(self, value: Value) -> Value:
        """A result at all places of the inputs."""
        shape = self.inputs[0].shape
        return BroadcastInDim(value, shape, tuple(axis for axis in range(len(shape)) if axis not in self.dimensions))

    def tangents(self, given: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        count = len(self.inputs)
        combiners, starts = combiners_of(self.body), given[count:]
        if any(start is not None for start in starts):
            raise NoDerivative(self)
        if find_choice(self.body) is not None:
            return (None if given[0] is None else self._tangent_of_equals(given[0], (0, 1)), None)
        is_empty = not math.prod(self.inputs[0].shape[axis] for axis in self.dimensions)
        found: list[Value | None] = []
        for place, (combiner, tangent) in enumerate(zip(combiners, given[:count], strict=True)):
            if combiner is Add:
                found.append(None if tangent is None else reduce_sum(tangent, self.dimensions))
            elif combiner in EXTREMES and not is_empty:
                found.append(None if tangent is None else self._tangent_of_equals(tangent, (place,)))
            elif combiner is Multiply:
                found.append(
                    None if tangent is None else tangent_of_product(self.inputs[place], tangent, self.dimensions)
                )
            elif is_empty or not (self.results[place].tensor.is_float or self.results[place].tensor.is_complex):
                found.append(None)
            else:
                raise NoDerivative(self)
        return tuple(found)

    def _tangent_of_equals(self, tangent: Value, places: tuple[int, ...]) -> Value:
        """The mean tangent of those inputs that equal the results, at all of these places."""
        pairs = [(self.inputs[place], self._spread(self.results[place])) for place in places]
        equal: Value = Compare(*pairs[0], "EQ")
        for pair in pairs[1:]:
            equal = And(equal, Compare(*pair, "EQ"))
        # Small floats can't count far.
        wide = "f32" if tangent.dtype in SMALL_FLOATS else tangent.dtype
        one, none = (Constant.of(number, wide, tangent.shape) for number in (1, 0))
        count = reduce_sum(Select(equal, one, none), self.dimensions)
        total = reduce_sum(Select(equal, tangent, Constant.splat(0, tangent.type)), self.dimensions)
        return Divide(total, count if wide == tangent.dtype else Convert(count, tangent.dtype))

    def flops(self) -> int:
        """One body for each element but the first of each result, which combines with nothing that counts."""
        ops = sum(1 for _ in self.body.walk()) - 1
        given, made = self.inputs[0].tensor.size, self.results[0].tensor.size
        return ops * max(given - made, min(given, made))

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        shape = draw.shape(least_rank=1)
        first = draw.dtype(("f32", "i32", "i1", "f64", "ui8", "bf16"))
        # XLA does not accept floats of different widths in one reduction.
        dtypes = [first, draw.choose((first, "i32"))][: draw.choose((1, 1, 2))]
        return (*(tensor_type(shape, dtype) for dtype in dtypes), *(tensor_type((), dtype) for dtype in dtypes))

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        dtypes = [type_.dtype for type_ in operand_types[: len(operand_types) // 2]]
        rank = operand_types[0].rank
        # XLA takes a reduction over no dimensions for the operand itself, whatever the body does with init_values.
        dimensions = draw.subset(rank, draw.integer(1, rank))
        return {"dimensions": dimensions, "body": sample_reducer(draw, dtypes)}

    def sample_array(self, draw: Draw, position: int) -> Array:
        return sample_folded(self, draw, position, len(self.inputs))


def fold(body: Region, scope: Scope, state: tuple[Array, ...], lines: list[Array]) -> tuple[Array, ...]:
    """The state after `body` has taken in each line, in order: all places of the state at once."""
    for index in range(lines[0].shape[0]):
        state = run_pointwise(body, scope, *state, *(line[index] for line in lines))
    return state


def sample_folded(op: TensorOp, draw: Draw, position: int, count: int) -> Array:
    """A value for one of `count` inputs, or for the initial value of one.

    Special values where the order is no matter, ordinary ones where rounding would depend on it; the identity of the
    body's op as initial value.
    """
    type_ = op.operands[position].tensor
    if position < count:
        return draw.tame_array(type_) if type_.is_float else draw.array(type_)
    returned = op.regions[0].block.terminator.operands[position - count]
    assert isinstance(returned, Op)
    return np.array(identity_of(type(returned), type_.dtype), type_.numpy_dtype)


def reduce_with(combiner: Any, operand: Value, dimensions: tuple[int, ...], start: Any = None) -> Value:
    """The operand folded by a binary op; from `start` on, which leaves others unchanged, or from the op's identity."""
    dtype = operand.dtype
    init = Constant.of(identity_of(combiner, dtype) if start is None else start, dtype)
    return Reduce((operand,), (init,), dimensions, combiner_region(combiner, dtype)).results[0]


def reduce_sum(operand: Value, dimensions: tuple[int, ...]) -> Value:
    """The sum along the dimensions.

    >>> from windlass.ir.values import tensor
    >>> reduce_sum(tensor("f32", 2, 3), (1,)).type
    tensor<2xf32>
    """
    return reduce_with(Add, operand, dimensions)


def reduce_product(operand: Value, dimensions: tuple[int, ...]) -> Value:
    """The product along the dimensions."""
    return reduce_with(Multiply, operand, dimensions)


def reduce_max(operand: Value, dimensions: tuple[int, ...]) -> Value:
    """The largest element along the dimensions; NaN if one is NaN."""
    return reduce_with(Maximum, operand, dimensions)


def reduce_min(operand: Value, dimensions: tuple[int, ...]) -> Value:
    """The smallest element along the dimensions; NaN if one is NaN."""
    return reduce_with(Minimum, operand, dimensions)


def reduce_and(operand: Value, dimensions: tuple[int, ...]) -> Value:
    """All bits, or whether all elements are true, along the dimensions."""
    return reduce_with(And, operand, dimensions)


def reduce_or(operand: Value, dimensions: tuple[int, ...]) -> Value:
    """Any bits, or whether any element is true, along the dimensions."""
    return reduce_with(Or, operand, dimensions)


def tangent_of_product(operand: Value, tangent: Value, dimensions: tuple[int, ...]) -> Value | None:
    """What the product along the dimensions changes by: by halves, as quotients would fail at zeros."""
    for axis in dimensions:
        while operand.shape[axis] > 1:
            half = (operand.shape[axis] + 1) // 2
            operand, tangent = multiply_with_tangents(
                (slice_along(operand, axis, 0, half), slice_along(tangent, axis, 0, half)),
                (_second_half(operand, axis, half, 1), _second_half(tangent, axis, half, 0)),
            )
        if operand.shape[axis] == 0:
            return None
    return Reshape(tangent, tuple(size for axis, size in enumerate(tangent.shape) if axis not in dimensions))


def _second_half(operand: Value, axis: int, half: int, number: int) -> Value:
    """The elements from `half` on along an axis, and a number where there is one too few."""
    shape = operand.shape
    rest = slice_along(operand, axis, half, shape[axis])
    if rest.shape[axis] == half:
        return rest
    none, highs = (0,) * len(shape), tuple(int(place == axis) for place in range(len(shape)))
    return Pad(rest, Constant.of(number, operand.dtype), none, highs, none)


def multiply_with_tangents(left: tuple[Value, Value], right: tuple[Value, Value]) -> tuple[Value, Value]:
    """The product of two values that come with their tangents, and its own."""
    tangent = Add(Multiply(left[1], right[0]), Multiply(right[1], left[0]))
    return Multiply(left[0], right[0]), tangent
