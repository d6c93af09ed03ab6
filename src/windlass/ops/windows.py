"""Folds over windows, and their reverse."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from windlass.ir.core import Region
from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.axes import Axes, axes_in_place
from windlass.ops.base import Array, OnNewAxis, TensorOp, beginning_with
from windlass.ops.combiners import combiner_region, identity_of, sample_reducer
from windlass.ops.comparison import Compare
from windlass.ops.control import regions_are_pure
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add
from windlass.ops.evaluation import Scope, run_pointwise
from windlass.ops.movement import pad_array
from windlass.ops.reduction import Folding, Reduce, sample_folded
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


class ReduceWindow(Folding):
    """Each window of the inputs folded by `body`, beginning with init_values, which also stand for the padding."""

    name = "stablehlo.reduce_window"
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
        wide = [axis for axis, size in enumerate(self.window_dimensions) if size > 1]
        if len(wide) != 1 or self.window_dimensions[wide[0]] != self.inputs[0].shape[wide[0]]:
            return False
        return sorted(self.padding[wide[0]]) == [0, self.inputs[0].shape[wide[0]] - 1]

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
        rank = len(result_types[0].shape)  # pyright: ignore[reportAttributeAccessIssue]
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

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        dtype = draw.dtype(("f32", "i32"))
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
