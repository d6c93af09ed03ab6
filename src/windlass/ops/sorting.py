"""Sorting, and choosing the largest."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any, ClassVar

import numpy as np

from windlass.ir.builder import Builder
from windlass.ir.core import Block, Region
from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.axes import Axes, axes_in_place
from windlass.ops.base import ANY, BOOLEAN, COMPLEX, Array, OnNewAxis, TensorOp
from windlass.ops.comparison import Compare, total_order_key
from windlass.ops.control import regions_are_pure
from windlass.ops.creation import Constant, Iota
from windlass.ops.evaluation import Scope
from windlass.ops.indexing import Gather
from windlass.ops.ranges import Range, RangeOf
from windlass.ops.regions import make_region
from windlass.ops.sampling import Draw


class Sort(TensorOp):
    """The inputs reordered together along `dimension`, so that `comparator` holds between neighbours.

    `comparator` takes the left and right element of each input in turn: left0, right0, left1, right1, ...
    """

    name = "stablehlo.sort"
    limbs: ClassVar[str] = "sort"
    inputs: tuple[Value, ...]
    comparator: Region
    dimension: int = -1
    is_stable: bool = False
    needs_scope: ClassVar[bool] = True
    on_new_axis: ClassVar[OnNewAxis] = {"dimension": lambda axis, size: axis + (axis >= 0)}

    def infer(self) -> tuple[Type, ...]:
        types = [value.tensor for value in self.inputs]
        if not types:
            self.fault("C1", "there are no inputs")
        if not all(type_.shape == types[0].shape for type_ in types):
            self.fault("C2", f"the shapes differ: {types}")
        rank = types[0].rank
        if not -rank <= self.dimension < rank:
            self.fault("C4", f"dimension {self.dimension} of rank {rank}")
        block = self.comparator.block
        taken = [argument.type for argument in block.arguments]
        wanted = [tensor_type((), type_.dtype) for type_ in types for _ in range(2)]
        if taken != wanted:
            self.fault("C5", f"the comparator takes {taken}, not {wanted}")
        given = [value.type for value in block.terminator.operands]
        if given != [tensor_type((), "i1")]:
            self.fault("C5", f"the comparator gives {given}, not one boolean")
        return tuple(types)

    def find_range(self, of: RangeOf) -> tuple[Range, ...]:
        return tuple(of(each) for each in self.inputs)

    @property
    def is_pure(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether nothing that it holds has an effect."""
        return regions_are_pure(self)

    def axes(self) -> Axes:
        return axes_in_place(self, {self.dimension % self.inputs[0].tensor.rank})

    def evaluate(self, *arrays: Array, scope: Scope | None = None) -> tuple[Array, ...]:
        scope = scope or Scope()
        results = [array.copy() for array in arrays]
        moved = [np.moveaxis(array, self.dimension, -1) for array in arrays]
        targets = [np.moveaxis(result, self.dimension, -1) for result in results]

        for place in np.ndindex(*moved[0].shape[:-1]):
            lines = [array[place] for array in moved]

            def compare(left: int, right: int, lines: list[Array] = lines) -> int:
                def precedes(first: int, second: int) -> bool:
                    pairs = [line[at].reshape(()) for line in lines for at in (first, second)]
                    return bool(scope.run(self.comparator, *pairs)[0])

                return -1 if precedes(left, right) else int(precedes(right, left))

            order = sorted(range(lines[0].size), key=cmp_to_key(compare))
            for target, line in zip(targets, lines, strict=True):
                target[place] = line[order]
        return tuple(results)

    def tangents(self, given: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        places = self._order()
        return tuple(None if each is None else taken_along(each, places, self.dimension) for each in given)

    def _order(self) -> Value:
        """Where each element of the results was, by sorting numbers along with the inputs."""
        first, axis = self.inputs[0].tensor, self.dimension % self.inputs[0].tensor.rank
        scalars = [argument.type for argument in self.comparator.block.arguments]
        number = tensor_type((), "i32")
        block = Block([*scalars, number, number])
        mapping: dict[Value, Value] = dict(zip(self.comparator.block.arguments, block.arguments, strict=False))
        with Builder(block):
            for op in self.comparator.block:
                op.clone(mapping)
        inputs = (*self.inputs, Iota(first.shape, "i32", axis))
        return Sort(inputs, Region(block), axis, True).results[-1]

    def flops(self) -> int:
        """One comparison for each element and each doubling of the length."""
        first = self.inputs[0].tensor
        return first.size * first.shape[self.dimension].bit_length() if first.size else 0

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        shape = draw.shape(least_rank=1)
        return tuple(tensor_type(shape, draw.dtype(ANY - COMPLEX)) for _ in range(draw.choose((1, 2))))

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        kind = "TOTALORDER" if operand_types[0].is_float else None
        direction = draw.choose(("LT", "GT"))
        scalars = [tensor_type((), type_.dtype) for type_ in operand_types for _ in range(2)]
        return {
            "comparator": make_region(scalars, lambda *values: Compare(values[0], values[1], direction, kind)),
            "dimension": draw.integer(0, operand_types[0].rank - 1),
            "is_stable": True,
        }


class TopK(TensorOp):
    """The k largest elements along the last axis, largest first, and their indices; the lower index of equal ones."""

    name = "chlo.top_k"
    operand: Value
    k: int
    on_new_axis: ClassVar[OnNewAxis] = {}

    def infer(self) -> tuple[Type, ...]:
        type_ = self.operand.tensor
        if type_.rank < 1:
            self.fault("C1", "the operand is a scalar")
        if not 0 <= self.k <= type_.shape[-1]:
            self.fault("C2", f"{self.k} of {type_.shape[-1]} elements")
        shape = (*type_.shape[:-1], self.k)
        return (tensor_type(shape, type_.dtype), tensor_type(shape, "i32"))

    def axes(self) -> Axes:
        return axes_in_place(self, {self.operand.tensor.rank - 1})

    def evaluate(self, operand: Array) -> tuple[Array, Array]:
        if self.operand.tensor.is_float:
            key = np.bitwise_not(total_order_key(operand))
        else:
            key = np.bitwise_not(operand)
        order = np.argsort(key, axis=-1, kind="stable")[..., : self.k]
        return np.take_along_axis(operand, order, -1), order.astype(np.int32)

    def tangents(self, given: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        (tangent,) = given
        return (None if tangent is None else taken_along(tangent, self.results[1], -1), None)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return (tensor_type(draw.shape(least_rank=1, least_size=1), draw.dtype(ANY - COMPLEX - BOOLEAN)),)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        return {"k": draw.integer(1, operand_types[0].shape[-1])}


def taken_along(operand: Value, places: Value, dimension: int) -> Value:
    """The operand's elements at these places along one axis, for each index along the others.

    >>> from windlass.ir.values import tensor
    >>> taken_along(tensor("f32", 5, 7), tensor("i32", 5, 2), 1).type
    tensor<5x2xf32>
    """
    rank = operand.tensor.rank
    axis = dimension % rank
    others = tuple(other for other in range(rank) if other != axis)
    if 0 in places.shape:
        return Constant.of(0, operand.dtype, places.shape)
    return Gather(operand, places, (), (axis,), others, others, (axis,), rank, (1,) * rank)
