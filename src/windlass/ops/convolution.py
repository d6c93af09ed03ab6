"""Convolution, with strides, paddings, dilations, groups and any order of axes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.axes import CHANGED, Axes, Axis, axes_of
from windlass.ops.base import Array, TensorOp
from windlass.ops.contraction import converted, filled, wide_type
from windlass.ops.conversion import convert_array
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add
from windlass.ops.movement import Reshape, Reverse, Transpose, pad_array
from windlass.ops.sampling import Draw, Unsuitable
from windlass.ops.spelling import Matrix, PrecisionConfig
from windlass.ops.windows import window_shape

_LIST_DEFAULTS = {"window_strides": 1, "lhs_dilation": 1, "rhs_dilation": 1, "window_reversal": False}


class Convolution(TensorOp):
    """Windows of lhs multiplied with rhs and summed. `dtype` is the result's element type (None: that of lhs)."""

    name = "stablehlo.convolution"
    limbs: ClassVar[str] = "convolution"
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"lhs"}), frozenset({"rhs"}))
    is_contraction: ClassVar[bool] = True
    lhs: Value
    rhs: Value
    window_strides: tuple[int, ...]
    padding: Matrix
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]
    window_reversal: tuple[bool, ...]
    input_batch_dimension: int
    input_feature_dimension: int
    input_spatial_dimensions: tuple[int, ...]
    kernel_input_feature_dimension: int
    kernel_output_feature_dimension: int
    kernel_spatial_dimensions: tuple[int, ...]
    output_batch_dimension: int
    output_feature_dimension: int
    output_spatial_dimensions: tuple[int, ...]
    feature_group_count: int = 1
    batch_group_count: int = 1
    precision_config: PrecisionConfig = ()
    dtype: str | None = None  # pyright: ignore[reportIncompatibleMethodOverride]
    has_result_attributes: ClassVar[frozenset[str]] = frozenset({"dtype"})
    attribute_groups: ClassVar[dict[str, tuple[str, tuple[str, ...]]]] = {
        "dimension_numbers": (
            "#stablehlo.conv",
            (
                "input_batch_dimension",
                "input_feature_dimension",
                "input_spatial_dimensions",
                "kernel_input_feature_dimension",
                "kernel_output_feature_dimension",
                "kernel_spatial_dimensions",
                "output_batch_dimension",
                "output_feature_dimension",
                "output_spatial_dimensions",
            ),
        )
    }

    def mlir_attributes(self) -> dict[str, str]:
        texts = super().mlir_attributes()
        lists = (
            {self.input_batch_dimension: "b", self.input_feature_dimension: "f"}
            | {axis: str(place) for place, axis in enumerate(self.input_spatial_dimensions)},
            {self.kernel_input_feature_dimension: "i", self.kernel_output_feature_dimension: "o"}
            | {axis: str(place) for place, axis in enumerate(self.kernel_spatial_dimensions)},
            {self.output_batch_dimension: "b", self.output_feature_dimension: "f"}
            | {axis: str(place) for place, axis in enumerate(self.output_spatial_dimensions)},
        )
        lhs, rhs, result = (f"[{', '.join(letters[axis] for axis in range(len(letters)))}]" for letters in lists)
        texts["dimension_numbers"] = f"#stablehlo.conv<{lhs}x{rhs}->{result}>"
        return texts

    @classmethod
    def fields_from_mlir(cls, texts: Mapping[str, str], result_types: tuple[Type, ...]) -> dict[str, Any]:
        numbers = texts["dimension_numbers"]
        rest = {name: text for name, text in texts.items() if name != "dimension_numbers"}
        fields = super().fields_from_mlir(rest, result_types)
        lhs, rhs, result = (
            [word.strip() for word in group.split(",")] for group in re.findall(r"\[([^\]]*)\]", numbers)
        )
        rank = len(lhs) - 2
        fields |= {
            "input_batch_dimension": lhs.index("b"),
            "input_feature_dimension": lhs.index("f"),
            "input_spatial_dimensions": tuple(lhs.index(str(place)) for place in range(rank)),
            "kernel_input_feature_dimension": rhs.index("i"),
            "kernel_output_feature_dimension": rhs.index("o"),
            "kernel_spatial_dimensions": tuple(rhs.index(str(place)) for place in range(rank)),
            "output_batch_dimension": result.index("b"),
            "output_feature_dimension": result.index("f"),
            "output_spatial_dimensions": tuple(result.index(str(place)) for place in range(rank)),
        }
        for name, default in _LIST_DEFAULTS.items():
            fields.setdefault(name, (default,) * rank)
        fields.setdefault("padding", ((0, 0),) * rank)
        return fields

    def infer(self) -> Type:
        lhs, rhs = self.lhs.tensor, self.rhs.tensor
        self._check_axes()
        self._check_groups()
        spatial = window_shape(
            self,
            tuple(lhs.shape[axis] for axis in self.input_spatial_dimensions),
            tuple(rhs.shape[axis] for axis in self.kernel_spatial_dimensions),
            self.window_strides,
            self.lhs_dilation,
            self.rhs_dilation,
            tuple((low, high) for low, high in self.padding),
        )
        shape = [0] * lhs.rank
        shape[self.output_batch_dimension] = lhs.shape[self.input_batch_dimension] // self.batch_group_count
        shape[self.output_feature_dimension] = rhs.shape[self.kernel_output_feature_dimension]
        for axis, size in zip(self.output_spatial_dimensions, spatial, strict=True):
            shape[axis] = size
        dtype = self.__dict__["dtype"]
        if dtype is None:
            if lhs.dtype != rhs.dtype:
                self.fault("C27", f"element types differ: {lhs} and {rhs}")
            self.__dict__["dtype"] = dtype = lhs.dtype
        return tensor_type(tuple(shape), dtype)

    def _check_axes(self) -> None:
        """Raise TypeFault unless each axis has one meaning."""
        lhs, rhs = self.lhs.tensor, self.rhs.tensor
        if not (lhs.rank == rhs.rank and lhs.rank >= 2):
            self.fault("C1", f"ranks differ: {lhs} and {rhs}")
        rank = lhs.rank - 2
        lists = (self.window_strides, self.padding, self.lhs_dilation, self.rhs_dilation, self.window_reversal)
        if not all(len(each) == rank for each in lists):
            self.fault("C2", f"a window list does not have {rank} entries")
        inputs = (self.input_batch_dimension, self.input_feature_dimension, *self.input_spatial_dimensions)
        features = (self.kernel_input_feature_dimension, self.kernel_output_feature_dimension)
        outputs = (self.output_batch_dimension, self.output_feature_dimension, *self.output_spatial_dimensions)
        axes = {"C13": inputs, "C18": (*features, *self.kernel_spatial_dimensions), "C20": outputs}
        for constraint, each in axes.items():
            if sorted(each) != list(range(rank + 2)):
                self.fault(constraint, f"{each} are not all the axes")

    def _check_groups(self) -> None:
        """Raise TypeFault unless features and samples fall into the groups."""
        lhs, rhs = self.lhs.tensor, self.rhs.tensor
        features, groups = lhs.shape[self.input_feature_dimension], self.feature_group_count
        batch, batch_groups = lhs.shape[self.input_batch_dimension], self.batch_group_count
        outputs = rhs.shape[self.kernel_output_feature_dimension]
        if not (groups > 0 and features % groups == 0):
            self.fault("C11", f"{features} features in {groups} groups")
        if not (batch_groups > 0 and batch % batch_groups == 0):
            self.fault("C10", f"{batch} samples in {batch_groups} groups")
        inputs = rhs.shape[self.kernel_input_feature_dimension]
        if inputs != features // groups:
            self.fault("C14", f"the kernel takes {inputs} features, there are {features}")
        if outputs % groups != 0:
            self.fault("C16", f"{outputs} outputs in {groups} groups")
        if outputs % batch_groups != 0:
            self.fault("C15", f"{outputs} outputs in {batch_groups} batch groups")
        if not (groups == 1 or batch_groups == 1):
            self.fault("C23", "both groups are in use")

    def axes(self) -> Axes:
        left: list[Axis | int] = [CHANGED] * self.lhs.tensor.rank
        right, result = left.copy(), left.copy()
        if self.batch_group_count == 1:
            left[self.input_batch_dimension] = result[self.output_batch_dimension] = 0
            if self.feature_group_count == 1:
                right[self.kernel_output_feature_dimension] = result[self.output_feature_dimension] = 1
        if self.feature_group_count == 1:
            left[self.input_feature_dimension] = right[self.kernel_input_feature_dimension] = 2
        return axes_of(self, [left, right], [result], Add)

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        wide = wide_type(self.tensor.dtype)
        images = convert_array(lhs, wide).transpose(
            self.input_batch_dimension, self.input_feature_dimension, *self.input_spatial_dimensions
        )
        kernel = convert_array(rhs, wide).transpose(
            self.kernel_output_feature_dimension, self.kernel_input_feature_dimension, *self.kernel_spatial_dimensions
        )
        reversed_axes = tuple(axis + 2 for axis, is_reversed in enumerate(self.window_reversal) if is_reversed)
        kernel = np.flip(kernel, reversed_axes)
        images = pad_array(
            images,
            0,
            (0, 0, *(low for low, _ in self.padding)),
            (0, 0, *(high for _, high in self.padding)),
            (0, 0, *(dilation - 1 for dilation in self.lhs_dilation)),
        )
        groups, batch_groups = self.feature_group_count, self.batch_group_count
        spatial = tuple(self.tensor.shape[axis] for axis in self.output_spatial_dimensions)
        batch = images.shape[0] // batch_groups
        outputs = kernel.shape[0]
        total = np.zeros((batch, outputs, *spatial), images.dtype)
        if total.size:
            with np.errstate(all="ignore"):
                for offset in np.ndindex(*kernel.shape[2:]):
                    places = tuple(
                        slice(at * dilation, at * dilation + (size - 1) * stride + 1, stride)
                        for at, dilation, size, stride in zip(
                            offset, self.rhs_dilation, spatial, self.window_strides, strict=True
                        )
                    )
                    window = images[(slice(None), slice(None), *places)]
                    weights = kernel[(slice(None), slice(None), *offset)]
                    # B, g: groups of samples and features; n: sample; f: feature; s: place; o: output.
                    window = window.reshape(batch_groups, batch, groups, images.shape[1] // groups, -1)
                    weights = weights.reshape(batch_groups, groups, outputs // groups // batch_groups, -1)
                    product = np.einsum("Bngfs,Bgof->nBgos", window, weights)
                    total += product.reshape(batch, outputs, *spatial).astype(total.dtype)
        order = (self.output_batch_dimension, self.output_feature_dimension, *self.output_spatial_dimensions)
        return convert_array(total.transpose(np.argsort(order)), self.tensor.dtype)

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        (cotangent,) = cotangents
        wanted = self.operands[position]
        if not cotangent.tensor.size or not wanted.tensor.size:
            return Constant.splat(0, wanted.type)
        found = self._pull_back_kernel(cotangent) if position else self._pull_back_images(cotangent)
        return converted(found, wanted.dtype)

    def _pull_back_images(self, cotangent: Value) -> Value:
        """The results convolved with the kernel turned around, input features for outputs."""
        groups = max(self.feature_group_count, self.batch_group_count)
        inputs, outputs = self.kernel_input_feature_dimension, self.kernel_output_feature_dimension
        paddings: list[tuple[int, int]] = []
        for images, reach, made, (low, _) in self._dilated_sizes():
            paddings.append((reach - low - 1, images - made + low))
        found = Convolution(
            cotangent,
            _move_groups(converted(self.rhs, cotangent.dtype), groups, outputs, inputs),
            self.lhs_dilation,
            tuple(paddings),
            self.window_strides,
            self.rhs_dilation,
            tuple(not is_reversed for is_reversed in self.window_reversal),
            self.output_batch_dimension,
            self.output_feature_dimension,
            self.output_spatial_dimensions,
            outputs,
            inputs,
            self.kernel_spatial_dimensions,
            self.input_batch_dimension,
            self.input_feature_dimension,
            self.input_spatial_dimensions,
            groups,
            precision_config=self.precision_config,
        )
        return _move_groups(found, self.batch_group_count, self.input_feature_dimension, self.input_batch_dimension)

    def _pull_back_kernel(self, cotangent: Value) -> Value:
        """The images convolved with the results, samples for input features."""
        paddings: list[tuple[int, int]] = []
        for images, reach, made, (low, _) in self._dilated_sizes():
            paddings.append((low, made - images + reach - low - 1))
        found = Convolution(
            converted(self.lhs, cotangent.dtype),
            cotangent,
            self.rhs_dilation,
            tuple(paddings),
            self.lhs_dilation,
            self.window_strides,
            (False,) * len(paddings),
            self.input_feature_dimension,
            self.input_batch_dimension,
            self.input_spatial_dimensions,
            self.output_batch_dimension,
            self.output_feature_dimension,
            self.output_spatial_dimensions,
            self.kernel_input_feature_dimension,
            self.kernel_output_feature_dimension,
            self.kernel_spatial_dimensions,
            self.batch_group_count,
            self.feature_group_count,
            tuple(reversed(self.precision_config)),
        )
        axes = zip(self.kernel_spatial_dimensions, self.window_reversal, strict=True)
        turned = tuple(axis for axis, is_reversed in axes if is_reversed)
        return Reverse(found, turned) if turned else found

    def _dilated_sizes(self) -> Iterator[tuple[int, int, int, tuple[int, int]]]:
        """Of each spatial axis: the sizes of images, kernel and result, as they are dilated, and the padding."""
        for axis, (low, high) in enumerate(self.padding):
            sizes = (
                self.lhs.shape[self.input_spatial_dimensions[axis]],
                self.rhs.shape[self.kernel_spatial_dimensions[axis]],
                self.tensor.shape[self.output_spatial_dimensions[axis]],
            )
            dilations = self.lhs_dilation[axis], self.rhs_dilation[axis], self.window_strides[axis]
            images, reach, made = ((size - 1) * step + 1 for size, step in zip(sizes, dilations, strict=True))
            yield images, reach, made, (low, high)

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...] | None:
        """Images of all times are one batch of them; kernels that differ are not batched."""
        if is_batched != (True, False) or self.batch_group_count != 1:
            return None
        images, kernel = operands
        own, place = self.lhs.shape, self.input_batch_dimension
        order = (*range(1, place + 1), 0, *range(place + 1, len(own) + 1))
        merged = Transpose(images, order) if place else images
        whole = Reshape(merged, (*own[:place], size * own[place], *own[place + 1 :]))
        made = self.with_operands((whole, kernel))
        assert isinstance(made, Convolution)
        shape, place = self.tensor.shape, self.output_batch_dimension
        split = Reshape(made, (*shape[:place], size, *shape[place:]))
        if not place:
            return (split,)
        return (Transpose(split, (place, *(axis for axis in range(len(shape) + 1) if axis != place))),)

    def flops(self) -> int:
        """Two per product; products with padding count too."""
        kernel = self.rhs.tensor
        return 2 * self.tensor.size * kernel.size // max(kernel.shape[self.kernel_output_feature_dimension], 1)

    def operations_in_units(self, side: int) -> int:
        """Convolutions of one input feature by another leave units idle, as depthwise ones are known to.

        Of several features, all places of the kernel are taken to be packed well.
        """
        outputs = self.rhs.shape[self.kernel_output_feature_dimension] // (
            self.feature_group_count * self.batch_group_count
        )
        if side == 1 or not self.rhs.tensor.size or self.rhs.shape[self.kernel_input_feature_dimension] > 1:
            return self.flops()
        windows = self.tensor.size // outputs
        return 2 * windows * filled(kernel_size(self), side) * filled(outputs, side)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        rank, dtype = draw.integer(0, 2), draw.dtype(("f32", "f32", "f64", "bf16"))
        samples, inputs, outputs = draw.integer(1, 4), draw.integer(1, 4), draw.integer(1, 4)
        groups = draw.choose([count for count in range(1, inputs + 1) if inputs % count == 0])
        lhs = (samples, inputs, *(draw.integer(1, 5) for _ in range(rank)))
        rhs = (outputs * groups, inputs // groups, *(draw.integer(1, 3) for _ in range(rank)))
        return (tensor_type(lhs, dtype), tensor_type(rhs, dtype))

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        lhs, rhs = operand_types
        rank = lhs.rank - 2
        axes, kernel_axes = tuple(range(lhs.rank)), (1, 0, *range(2, lhs.rank))
        if draw.boolean():
            axes, kernel_axes = draw.permutation(lhs.rank), draw.permutation(lhs.rank)
        batch, features = (lhs.shape[axis] for axis in axes[:2])
        inputs, outputs = (rhs.shape[axis] for axis in kernel_axes[:2])
        groups = features // inputs
        if features % inputs or outputs % groups:
            raise Unsuitable("these axes don't divide into groups")
        possible = [count for count in (1, 2, 3, 4) if batch % count == outputs % count == 0]
        output = draw.permutation(lhs.rank)
        return {
            "window_strides": tuple(draw.choose((1, 1, 2)) for _ in range(rank)),
            "padding": tuple((draw.integer(-1, 2), draw.integer(0, 2)) for _ in range(rank)),
            "lhs_dilation": tuple(draw.choose((1, 1, 2)) for _ in range(rank)),
            "rhs_dilation": tuple(draw.choose((1, 1, 2)) for _ in range(rank)),
            "window_reversal": tuple(draw.boolean() for _ in range(rank)),
            "input_batch_dimension": axes[0],
            "input_feature_dimension": axes[1],
            "input_spatial_dimensions": axes[2:],
            "kernel_input_feature_dimension": kernel_axes[0],
            "kernel_output_feature_dimension": kernel_axes[1],
            "kernel_spatial_dimensions": kernel_axes[2:],
            "output_batch_dimension": output[0],
            "output_feature_dimension": output[1],
            "output_spatial_dimensions": output[2:],
            "feature_group_count": groups,
            "batch_group_count": draw.choose(possible) if groups == 1 else 1,
        }

    def sample_array(self, draw: Draw, position: int) -> Array:
        return draw.tame_array(self._operands[position].tensor)


def _move_groups(value: Value, count: int, source: int, target: int) -> Value:
    """The value, of whose axis `source` the outer part, so many groups, has become the outer part of axis `target`."""
    if count == 1:
        return value
    shape = value.shape
    split = Reshape(value, (*shape[:source], count, shape[source] // count, *shape[source + 1 :]))
    order = [axis for axis in range(len(shape) + 1) if axis != source]
    order.insert(target, source)
    moved = Transpose(split, tuple(order))
    merged = list(moved.shape)
    merged[target : target + 2] = [merged[target] * merged[target + 1]]
    return Reshape(moved, tuple(merged))


def kernel_size(op: Convolution) -> int:
    """How many places of lhs each window covers.

    >>> from windlass.ir.values import tensor
    >>> x, k = tensor("f32", 1, 1, 8, 8), tensor("f32", 1, 1, 3, 3)
    >>> ones, axes, padding = (1, 1), (2, 3), ((1, 1), (1, 1))
    >>> order = (0, 1, axes, 1, 0, axes, 0, 1, axes)
    >>> kernel_size(Convolution(x, k, ones, padding, ones, ones, (False, False), *order))
    9
    """
    return math.prod(op.rhs.shape[axis] for axis in op.kernel_spatial_dimensions)
