"""Folds over windows, and their reverse."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from windlass.ir.core import Region
from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.axes import Axes, axes_in_place
from windlass.ops.base import Array, BroadcastInDim, NoDerivative, OnNewAxis, TensorOp, beginning_with
from windlass.ops.combiners import (
    EXTREMES,
    combiner_of,
    combiner_region,
    combiners_of,
    find_selection,
    identity_of,
    sample_reducer,
    selecting_region,
)
from windlass.ops.comparison import Compare
from windlass.ops.control import regions_are_pure
from windlass.ops.creation import Constant, Iota
from windlass.ops.elementwise import Add, Multiply
from windlass.ops.evaluation import Scope, run_pointwise
from windlass.ops.extremes import Maximum, Minimum
from windlass.ops.indexing import Scatter
from windlass.ops.movement import Pad, Reshape, Slice, pad_array, slice_along
from windlass.ops.reduction import Folding, Reduce, multiply_with_tangents, sample_folded
from windlass.ops.regions import check_reducer, make_region
from windlass.ops.sampling import Draw
from windlass.ops.spelling import Matrix


def window_shape(
    op: TensorOp,
    shape: tuple[int, ...],
    window: tuple[int, ...],
    strides: tuple[int, ...],
    base_dilations: tuple[int, ...],
    window_dilations: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
) -> tuple[int, ...]:
    """How many windows fit along each axis."""
    result: list[int] = []
    for size, extent, stride, base, dilation, (low, high) in zip(
        shape, window, strides, base_dilations, window_dilations, padding, strict=True
    ):
        if extent <= 0:
            op.fault("C5", f"a window of {extent} elements")
        if stride <= 0:
            op.fault("C7", f"a window stride of {stride}")
        if base <= 0:
            op.fault("C9", f"a base dilation of {base}")
        if dilation <= 0:
            op.fault("C11", f"a window dilation of {dilation}")
        dilated = (0 if size == 0 else (size - 1) * base + 1) + low + high
        reach = (extent - 1) * dilation + 1
        result.append(0 if dilated == 0 or reach > dilated else (dilated - reach) // stride + 1)
    return tuple(result)


BEST = {"GE": Maximum, "GT": Maximum, "LE": Minimum, "LT": Minimum}
"""Which number of a window is selected by comparing so."""


class ReduceWindow(Folding):
    """Each window of the inputs folded by `body`, beginning with init_values, which also stand for the padding."""

    name = "stablehlo.reduce_window"
    limbs: ClassVar[str] = "combine"
    window_dimensions: tuple[int, ...]
    window_strides: tuple[int, ...]
    base_dilations: tuple[int, ...]
    window_dilations: tuple[int, ...]
    padding: Matrix
    body: Region
    on_new_axis: ClassVar[OnNewAxis] = {
        "window_dimensions": beginning_with(1),
        "window_strides": beginning_with(1),
        "base_dilations": beginning_with(1),
        "window_dilations": beginning_with(1),
        "padding": beginning_with((0, 0)),
    }

    @classmethod
    def fields_from_mlir(cls, texts: Any, result_types: tuple[Type, ...]) -> dict[str, Any]:
        fields = super().fields_from_mlir(texts, result_types)
        rank = len(fields["window_dimensions"])
        for name in ("window_strides", "base_dilations", "window_dilations"):
            fields.setdefault(name, (1,) * rank)
        fields.setdefault("padding", ((0, 0),) * rank)
        return fields

    def infer(self) -> tuple[Type, ...]:
        shape = self.check_inputs(count="C1", shapes="C2", inits="C3")
        lists = (self.window_dimensions, self.window_strides, self.base_dilations, self.window_dilations, self.padding)
        if not all(len(each) == len(shape) for each in lists):
            self.fault("C4", f"a window list does not have rank {len(shape)}")
        dtypes = check_reducer(self, self.body, [value.dtype for value in self.inputs], "C13")
        pairs = tuple((low, high) for low, high in self.padding)
        result = window_shape(
            self, shape, self.window_dimensions, self.window_strides, self.base_dilations, self.window_dilations, pairs
        )
        return tuple(tensor_type(result, dtype) for dtype in dtypes)

    def axes(self) -> Axes:
        windows = zip(self.window_dimensions, self.window_strides, self.base_dilations, self.padding, strict=True)
        return axes_in_place(self, [axis for axis, window in enumerate(windows) if window != (1, 1, 1, (0, 0))])

    def evaluate(self, *arrays: Array, scope: Scope | None = None) -> tuple[Array, ...]:
        count = len(arrays) // 2
        lows, highs = tuple(low for low, _ in self.padding), tuple(high for _, high in self.padding)
        interiors = tuple(base - 1 for base in self.base_dilations)
        padded = [
            pad_array(array, init, lows, highs, interiors)
            for array, init in zip(arrays[:count], arrays[count:], strict=True)
        ]
        types = [result.tensor for result in self.results]
        state = tuple(
            np.broadcast_to(init, type_.shape).astype(type_.numpy_dtype)
            for init, type_ in zip(arrays[count:], types, strict=True)
        )
        if types[0].size == 0:
            return state
        for offset in np.ndindex(*self.window_dimensions):
            places = tuple(
                slice(at * dilation, at * dilation + (size - 1) * stride + 1, stride)
                for at, dilation, size, stride in zip(
                    offset, self.window_dilations, types[0].shape, self.window_strides, strict=True
                )
            )
            state = run_pointwise(self.body, scope or Scope(), *state, *(array[places] for array in padded))
        return state

    def linear_positions(self) -> tuple[frozenset[int], ...]:
        if find_selection(self.body) in BEST:
            return tuple(frozenset({place}) for place in range(1, len(self.inputs)))
        sums = [place for place, combiner in enumerate(combiners_of(self.body)) if combiner is Add]
        return tuple(frozenset({place}) for place in sums)

    def adds_elements(self) -> bool:
        return True

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        cotangent = cotangents[position]
        operand = self.inputs[position].tensor
        if not cotangent.tensor.size or not operand.size:
            return Constant.splat(0, operand)
        direction = find_selection(self.body)
        if direction in BEST:
            return self._pull_back_selected(direction, cotangent)
        lows, highs = self._padding_of_reverse(cotangent.shape)
        inside = tuple(min(low, 0) for low in lows), tuple(min(high, 0) for high in highs)
        strides, dilations = self.window_strides, self.base_dilations
        if any(map(any, inside)):
            interiors = tuple(stride - 1 for stride in strides)
            cotangent = Pad(cotangent, Constant.of(0, operand.dtype), *inside, interiors)
            strides = (1,) * len(strides)
        padding = tuple((max(low, 0), max(high, 0)) for low, high in zip(lows, highs, strict=True))
        start, body = Constant.of(0, operand.dtype), combiner_region(Add, operand.dtype)
        windows = self.window_dimensions, dilations, strides, self.window_dilations
        return ReduceWindow((cotangent,), (start,), *windows, padding, body).results[0]

    def _padding_of_reverse(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What the results, dilated by the strides, are padded with, so that their windows are the inputs."""
        lows: list[int] = []
        highs: list[int] = []
        for axis, (size, whole) in enumerate(zip(shape, self.inputs[0].shape, strict=True)):
            reach = (self.window_dimensions[axis] - 1) * self.window_dilations[axis] + 1
            dilated = (size - 1) * self.window_strides[axis] + 1
            lows.append(reach - 1 - self.padding[axis][0])
            highs.append((whole - 1) * self.base_dilations[axis] + reach - lows[-1] - dilated)
        return tuple(lows), tuple(highs)

    def tangents(self, given: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        count = len(self.inputs)
        if any(start is not None for start in given[count:]):
            raise NoDerivative(self)
        direction = find_selection(self.body)
        combiners = combiners_of(self.body)
        found: list[Value | None] = []
        for place, tangent in enumerate(given[:count]):
            type_, combiner = self.results[place].tensor, combiners[place]
            is_known = direction in BEST or combiner in (Add, Multiply, *EXTREMES)
            if not is_known and (type_.is_float or type_.is_complex):
                raise NoDerivative(self)
            if tangent is None or not is_known or not type_.size:
                found.append(None)
            elif direction in BEST:
                found.append(self._fold_selected(self.inputs[0], direction, tangent))
            elif combiner is Add:
                start = Constant.of(0, tangent.dtype)
                found.append(self._fold((tangent,), (start,), combiner_region(Add, tangent.dtype)))
            elif combiner is Multiply:
                found.append(self._tangent_of_products(self.inputs[place], tangent))
            else:
                better = "GE" if combiner is Maximum else "LE"
                found.append(self._fold_selected(self.inputs[place], better, tangent))
        return tuple(found)

    def _fold(self, inputs: tuple[Value, ...], starts: tuple[Value, ...], body: Region) -> Value:
        """The last result for other inputs, in the same windows."""
        fields = self.field_values() | {"inputs": inputs, "init_values": starts, "body": body}
        return ReduceWindow.from_fields(fields).results[-1]

    def _fold_selected(self, best: Value, direction: str, payload: Value, start: int = 0) -> Value:
        """The payload where the first best one of each window stands, `start` where there is only padding."""
        starts = Constant.of(identity_of(BEST[direction], best.dtype), best.dtype), Constant.of(start, payload.dtype)
        return self._fold((best, payload), starts, selecting_region([best.dtype, payload.dtype], direction))

    def _pull_back_selected(self, direction: str, cotangent: Value) -> Value:
        best = self.inputs[0]
        if any(dilation > 1 for dilation in self.window_dilations):
            return self._scatter_selected(direction, cotangent)
        # XLA on the CPU doesn't take paddings here.
        lows, highs = tuple(low for low, _ in self.padding), tuple(high for _, high in self.padding)
        interiors = tuple(dilation - 1 for dilation in self.base_dilations)
        start = Constant.of(identity_of(BEST[direction], best.dtype), best.dtype)
        whole = Pad(best, start, lows, highs, interiors) if any((*lows, *highs, *interiors)) else None
        found = SelectAndScatter(
            whole or best,
            cotangent,
            Constant.of(0, best.dtype),
            self.window_dimensions,
            self.window_strides,
            ((0, 0),) * len(lows),
            combiner_region(lambda left, right: Compare(left, right, direction), best.dtype),
            combiner_region(Add, best.dtype),
        )
        return found if whole is None else whole.pullback((found,), 0)

    def _scatter_selected(self, direction: str, cotangent: Value) -> Value:
        """By the numbers of the elements that were selected."""
        type_ = self.inputs[0].tensor
        numbers = Reshape(Iota((type_.size,), "i32", 0), type_.shape)
        places = self._fold_selected(self.inputs[0], direction, numbers, type_.size)
        zeros = Constant.of(0, type_.dtype, (type_.size,))
        body = combiner_region(Add, type_.dtype)
        found = Scatter((zeros,), places, (cotangent,), (), (0,), (), (), (0,), type_.rank, body).results[0]
        return Reshape(found, type_.shape)

    def _tangent_of_products(self, operand: Value, tangent: Value) -> Value:
        """Along one axis after the other, windows made of two windows of half the size."""
        lows, highs = tuple(low for low, _ in self.padding), tuple(high for _, high in self.padding)
        interiors = tuple(dilation - 1 for dilation in self.base_dilations)
        fill = [Constant.of(number, operand.dtype) for number in (1, 0)]
        whole = (
            Pad(each, number, lows, highs, interiors) for each, number in zip((operand, tangent), fill, strict=True)
        )
        pair: tuple[Value, ...] = tuple(whole)
        for axis, (size, dilation) in enumerate(zip(self.window_dimensions, self.window_dilations, strict=True)):
            pair = _multiply_along(pair, axis, size, dilation)
        strides = self.window_strides
        return pair[1] if set(strides) <= {1} else Slice(pair[1], (0,) * len(strides), pair[1].shape, strides)

    def flops(self) -> int:
        """One body, and one look whether it is padding, for each element of each window."""
        ops = sum(1 for _ in self.body.walk())
        size = self.results[0].tensor.size
        each = ops * math.prod(self.window_dimensions)
        # XLA folds those in blocks, and then the blocks.
        return size * (min(each, self.RUNNING_EFFORT) if self.is_running else each)

    RUNNING_EFFORT: ClassVar[int] = 100
    """Operations that each result of a running fold is worth."""

    @property
    def is_running(self) -> bool:
        """Whether each window has all elements along an axis from one end to its own place, as for jnp.cumsum."""
        return self.running_axis is not None

    @property
    def running_axis(self) -> tuple[int, bool, int] | None:
        """The axis along which each window takes in all elements up to its own, whether they come from the end, and how
        many windows before these take in none: one if a window leaves out its own element. None where windows differ.
        """
        if any(base != 1 for base in (*self.base_dilations, *self.window_dilations, *self.window_strides)):
            return None
        wide = [axis for axis, size in enumerate(self.window_dimensions) if size > 1]
        if len(wide) != 1 or self.window_dimensions[wide[0]] < self.inputs[0].shape[wide[0]]:
            return None
        (axis,) = wide
        if any(pads != (0, 0) for each, pads in enumerate(self.padding) if each != axis):
            return None
        low, high = self.padding[axis]
        empty = max(low, high) - (self.window_dimensions[axis] - 1)
        return (axis, low == 0, empty) if min(low, high) == 0 and empty >= 0 else None

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return Reduce.sample_operands(draw)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        count, rank = len(operand_types) // 2, operand_types[0].rank
        return {
            "window_dimensions": tuple(draw.integer(1, 3) for _ in range(rank)),
            "window_strides": tuple(draw.choose((1, 1, 2)) for _ in range(rank)),
            "base_dilations": tuple(draw.choose((1, 1, 2)) for _ in range(rank)),
            "window_dilations": tuple(draw.choose((1, 1, 2)) for _ in range(rank)),
            "padding": tuple((draw.integer(0, 2), draw.integer(0, 2)) for _ in range(rank)),
            "body": sample_reducer(draw, [type_.dtype for type_ in operand_types[:count]]),
        }

    def sample_array(self, draw: Draw, position: int) -> Array:
        return sample_folded(self, draw, position, len(self.inputs))


def _multiply_along(pair: tuple[Value, ...], axis: int, size: int, dilation: int) -> tuple[Value, ...]:
    """The products of so many elements each along an axis, at this distance, with their tangents."""

    def multiply(left: tuple[Value, ...], right: tuple[Value, ...], count: int) -> tuple[Value, ...]:
        """Windows, the others `count` elements behind them."""
        length = right[0].shape[axis] - count * dilation
        first = tuple(slice_along(each, axis, 0, length) for each in left)
        second = tuple(slice_along(each, axis, count * dilation, count * dilation + length) for each in right)
        return multiply_with_tangents((first[0], first[1]), (second[0], second[1]))

    found, taken, width = None, 0, 1
    while True:
        if size & width:
            found, taken = pair if found is None else multiply(found, pair, taken), taken + width
        if taken == size:
            assert found is not None
            return found
        pair, width = multiply(pair, pair, width), 2 * width


def fold_windows(
    combiner: Any,
    operand: Value,
    window: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
    padding: tuple[tuple[int, int], ...] | None = None,
    start: Any = None,
) -> Value:
    """The operand's windows folded by an op, as pooling layers do; from `start` on, or from the op's identity.

    >>> from windlass.ir.values import tensor
    >>> fold_windows(Maximum, tensor("f32", 8, 8), (2, 2), (2, 2)).type
    tensor<4x4xf32>
    """
    dtype, ones = operand.dtype, (1,) * len(window)
    init = Constant.of(identity_of(combiner, dtype) if start is None else start, dtype)
    return ReduceWindow(
        (operand,),
        (init,),
        window,
        strides or ones,
        ones,
        ones,
        padding or ((0, 0),) * len(window),
        combiner_region(combiner, dtype),
    ).results[0]


class SelectAndScatter(TensorOp):
    """Adds each element of source_operand, by `scatter`, where `select` chooses in its window of operand."""

    name = "stablehlo.select_and_scatter"
    operand: Value
    source_operand: Value
    init_value: Value
    window_dimensions: tuple[int, ...]
    window_strides: tuple[int, ...]
    padding: Matrix
    select: Region
    scatter: Region
    needs_scope: ClassVar[bool] = True
    on_new_axis: ClassVar[OnNewAxis] = {
        "window_dimensions": beginning_with(1),
        "window_strides": beginning_with(1),
        "padding": beginning_with((0, 0)),
    }
    shared_operands: ClassVar[frozenset[str]] = frozenset({"init_value"})

    @classmethod
    def fields_from_mlir(cls, texts: Any, result_types: tuple[Type, ...]) -> dict[str, Any]:
        fields = super().fields_from_mlir(texts, result_types)
        first = result_types[0]
        rank = first.rank if isinstance(first, TensorType) else 0
        fields.setdefault("window_dimensions", (1,) * rank)
        fields.setdefault("window_strides", (1,) * rank)
        fields.setdefault("padding", ((0, 0),) * rank)
        return fields

    def infer(self) -> Type:
        operand, source = self.operand.tensor, self.source_operand.tensor
        same = self.init_value.type is tensor_type((), operand.dtype) and source.dtype == operand.dtype
        if not same:
            self.fault("C3", f"{operand}, {source} and {self.init_value.type} differ in element type")
        lists = (self.window_dimensions, self.window_strides, self.padding)
        if not all(len(each) == operand.rank for each in lists):
            self.fault("C4", "a window list has another rank")
        ones = (1,) * operand.rank
        pairs = tuple((low, high) for low, high in self.padding)
        windows = window_shape(self, operand.shape, self.window_dimensions, self.window_strides, ones, ones, pairs)
        if source.shape != windows:
            self.fault("C1", f"the source is {source}, the windows are {windows}")
        return operand

    @property
    def is_pure(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether nothing in the regions has an effect."""
        return regions_are_pure(self)

    def axes(self) -> Axes:
        windows = zip(self.window_dimensions, self.window_strides, self.padding, strict=True)
        return axes_in_place(self, [axis for axis, window in enumerate(windows) if window != (1, 1, (0, 0))])

    def evaluate(self, operand: Array, source: Array, init_value: Array, scope: Scope | None = None) -> Array:
        scope = scope or Scope()
        result = np.full(operand.shape, init_value, operand.dtype)
        for place in np.ndindex(*source.shape):
            chosen: tuple[int, ...] | None = None
            for offset in np.ndindex(*self.window_dimensions):
                at = tuple(
                    index * stride + step - low
                    for index, stride, step, (low, _) in zip(
                        place, self.window_strides, offset, self.padding, strict=True
                    )
                )
                if not all(0 <= index < size for index, size in zip(at, operand.shape, strict=True)):
                    continue
                if chosen is None or not scope.run(self.select, operand[chosen], operand[at])[0]:
                    chosen = at
            if chosen is not None:
                result[chosen] = scope.run(self.scatter, result[chosen], source[place])[0]
        return result

    def linear_positions(self) -> tuple[frozenset[int], ...]:
        return (frozenset({1, 2}),) if combiner_of(self.scatter) is Add else ()

    def tangents(self, given: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        """What is chosen doesn't change with the operand, at almost every point."""
        _, source, start = given
        if combiner_of(self.scatter) is not Add:
            raise NoDerivative(self)
        if source is None:
            return (None if start is None else BroadcastInDim(start, self.shape, ()),)
        fields: dict[str, Any] = {"select": self.select.clone({}), "scatter": self.scatter.clone({})}
        return (self.with_fields((self.operand, source, start or Constant.of(0, self.dtype)), **fields),)

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        (cotangent,) = cotangents
        block, dtype = self.select.block, self.dtype
        if position == 2:
            return cotangent
        (test,) = block.terminator.operands
        if not isinstance(test, Compare) or test.operands != (*block.arguments,) or test.direction not in BEST:
            raise NoDerivative(self)
        ones = (1,) * cotangent.tensor.rank
        starts = Constant.of(identity_of(BEST[test.direction], dtype), dtype), Constant.of(0, dtype)
        windows = self.window_dimensions, self.window_strides, ones, ones
        body = selecting_region([dtype, dtype], test.direction)
        return ReduceWindow((self.operand, cotangent), starts, *windows, self.padding, body).results[1]

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        dtype = draw.dtype(("f32", "i32", "f64"))
        shape = draw.shape(least_rank=1, most_rank=2, least_size=2)
        source = tuple(size - 1 for size in shape)
        return (tensor_type(shape, dtype), tensor_type(source, dtype), tensor_type((), dtype))

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        operand, rank = operand_types[0], operand_types[0].rank
        scalars = [tensor_type((), operand.dtype)] * 2
        return {
            "window_dimensions": (2,) * rank,
            "window_strides": (1,) * rank,
            "padding": ((0, 0),) * rank,
            "select": make_region(scalars, _is_at_least),
            "scatter": combiner_region(Add, operand.dtype),
        }

    def sample_array(self, draw: Draw, position: int) -> Array:
        return draw.tame_array(self._operands[position].tensor)


def _is_at_least(left: Value, right: Value) -> Value:
    return Compare(left, right, "GE")
