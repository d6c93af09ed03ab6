"""Sums of products over shared axes."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from windlass.ir.types import NUMPY_DTYPES, TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.axes import Axes, axes_of
from windlass.ops.base import ANY, BOOLEAN, Array, TensorOp
from windlass.ops.conversion import Convert, convert_array
from windlass.ops.elementwise import Add
from windlass.ops.movement import Transpose
from windlass.ops.ranges import INFINITY, Range, RangeOf, between, everything
from windlass.ops.sampling import Draw
from windlass.ops.spelling import MLIRText, PrecisionConfig

MOST_IN_ORDER = 32
"""Longer sums of products are left to einsum when a product is evaluated."""


class DotGeneral(TensorOp):
    """Sums of products over the contracting axes, for each index of the batching axes.

    The result's axes are batching, free axes of lhs, free axes of rhs. `dtype` is the result's element type, which may
    be wider than the operands' (None: that of lhs); products and sums are then made in it.
    """

    name = "stablehlo.dot_general"
    limbs: ClassVar[str] = "dot"
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"lhs"}), frozenset({"rhs"}))
    is_contraction: ClassVar[bool] = True
    lhs: Value
    rhs: Value
    lhs_batching_dimensions: tuple[int, ...]
    rhs_batching_dimensions: tuple[int, ...]
    lhs_contracting_dimensions: tuple[int, ...]
    rhs_contracting_dimensions: tuple[int, ...]
    precision_config: PrecisionConfig = ()
    algorithm: MLIRText = None
    dtype: str | None = None  # pyright: ignore[reportIncompatibleMethodOverride]
    has_result_attributes: ClassVar[frozenset[str]] = frozenset({"dtype"})
    attribute_groups: ClassVar[dict[str, tuple[str, tuple[str, ...]]]] = {
        "dot_dimension_numbers": (
            "#stablehlo.dot",
            (
                "lhs_batching_dimensions",
                "rhs_batching_dimensions",
                "lhs_contracting_dimensions",
                "rhs_contracting_dimensions",
            ),
        )
    }

    @property
    def lhs_free_dimensions(self) -> tuple[int, ...]:
        """Axes of lhs that are neither batching nor contracting, in order."""
        taken = {*self.lhs_batching_dimensions, *self.lhs_contracting_dimensions}
        return tuple(axis for axis in range(self.lhs.tensor.rank) if axis not in taken)

    @property
    def rhs_free_dimensions(self) -> tuple[int, ...]:
        """Axes of rhs that are neither batching nor contracting, in order."""
        taken = {*self.rhs_batching_dimensions, *self.rhs_contracting_dimensions}
        return tuple(axis for axis in range(self.rhs.tensor.rank) if axis not in taken)

    def infer(self) -> Type:
        lhs, rhs = self.lhs.tensor, self.rhs.tensor
        lhs_batch, rhs_batch = self.lhs_batching_dimensions, self.rhs_batching_dimensions
        lhs_contract, rhs_contract = self.lhs_contracting_dimensions, self.rhs_contracting_dimensions
        if len(lhs_batch) != len(rhs_batch):
            self.fault("C1", "the numbers of batching axes differ")
        if len(lhs_contract) != len(rhs_contract):
            self.fault("C2", "the numbers of contracting axes differ")
        for constraint, axes, type_ in (
            ("C3", (*lhs_batch, *lhs_contract), lhs),
            ("C4", (*rhs_batch, *rhs_contract), rhs),
        ):
            unique = len(set(axes)) == len(axes) and all(0 <= axis < type_.rank for axis in axes)
            if not unique:
                self.fault(constraint, f"{axes} are not distinct axes of {type_}")
        for constraint, pairs in (("C9", zip(lhs_batch, rhs_batch)), ("C10", zip(lhs_contract, rhs_contract))):  # noqa: B905
            for left, right in pairs:
                same = lhs.shape[left] == rhs.shape[right]
                if not same:
                    self.fault(constraint, f"sizes differ: {lhs.shape[left]} and {rhs.shape[right]}")
        shape = (
            *(lhs.shape[axis] for axis in lhs_batch),
            *(lhs.shape[axis] for axis in self.lhs_free_dimensions),
            *(rhs.shape[axis] for axis in self.rhs_free_dimensions),
        )
        dtype = self.__dict__["dtype"]
        if dtype is None:
            if lhs.dtype != rhs.dtype:
                self.fault("C13", f"element types differ: {lhs} and {rhs}")
            self.__dict__["dtype"] = dtype = lhs.dtype
        return tensor_type(shape, dtype)

    def find_range(self, of: RangeOf) -> Range:
        left, right = of(self.lhs), of(self.rhs)
        # How precisely a device multiplies is its own choice: only signs are certain.
        signless = not (left.may_be_negative or right.may_be_negative) and self.tensor.is_float
        if not signless:
            return everything(self.tensor)
        undefined = (left.has_zero and right.has_infinity) or (left.has_infinity and right.has_zero)
        return between(0, INFINITY, nan=left.nan or right.nan or undefined)

    def letters(self, first: int = 0) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """The letters of lhs, of rhs and of the result, from `first` on: contracting, batching, then free axes."""
        left, right = [-1] * self.lhs.tensor.rank, [-1] * self.rhs.tensor.rank
        letter = first
        pairs = (
            *zip(self.lhs_contracting_dimensions, self.rhs_contracting_dimensions, strict=True),
            *zip(self.lhs_batching_dimensions, self.rhs_batching_dimensions, strict=True),
        )
        for left_axis, right_axis in pairs:
            left[left_axis] = right[right_axis] = letter
            letter += 1
        result = [left[axis] for axis in self.lhs_batching_dimensions]
        for letters in (left, right):
            for axis, known in enumerate(letters):
                if known < 0:
                    letters[axis] = letter
                    result.append(letter)
                    letter += 1
        return tuple(left), tuple(right), tuple(result)

    def axes(self) -> Axes:
        left, right, result = self.letters()
        return axes_of(self, [left, right], [result], Add)

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        wide = wide_type(self.tensor.dtype)
        left, right = convert_array(lhs, wide), convert_array(rhs, wide)
        batch = [lhs.shape[axis] for axis in self.lhs_batching_dimensions]
        rows = [lhs.shape[axis] for axis in self.lhs_free_dimensions]
        columns = [rhs.shape[axis] for axis in self.rhs_free_dimensions]
        count = math.prod(lhs.shape[axis] for axis in self.lhs_contracting_dimensions)
        left = left.transpose(
            *self.lhs_contracting_dimensions, *self.lhs_batching_dimensions, *self.lhs_free_dimensions
        ).reshape(count, math.prod(batch), math.prod(rows), 1)
        right = right.transpose(
            *self.rhs_contracting_dimensions, *self.rhs_batching_dimensions, *self.rhs_free_dimensions
        ).reshape(count, math.prod(batch), 1, math.prod(columns))
        with np.errstate(all="ignore"):
            if count and count <= MOST_IN_ORDER:
                # In the order of the contracting axes, so that it doesn't depend on how the operands are stored.
                product = left[0] * right[0]
                for index in range(1, count):
                    product = product + left[index] * right[index]
            else:
                product = np.einsum("kbmo,kbon->bmn", left, right)
        return convert_array(np.ascontiguousarray(product).reshape((*batch, *rows, *columns)), self.tensor.dtype)

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        """The cotangent times the other operand, contracted over the other's free axes."""
        (cotangent,) = cotangents
        wanted, other = self.operands[position], self.operands[1 - position]
        batching = self.lhs_batching_dimensions, self.rhs_batching_dimensions
        contracting = self.lhs_contracting_dimensions, self.rhs_contracting_dimensions
        free = self.lhs_free_dimensions, self.rhs_free_dimensions
        count, first = len(batching[0]), len(batching[0]) + (0 if position else len(free[0]))
        others = tuple(range(first, first + len(free[1 - position])))
        product = DotGeneral(
            cotangent,
            converted(other, cotangent.dtype),
            tuple(range(count)),
            batching[1 - position],
            others,
            free[1 - position],
            tuple(reversed(self.precision_config)) if position else self.precision_config,
            self.algorithm,
        )
        # The other's contracting axes come last, in its own order of them.
        pairs = sorted(zip(contracting[1 - position], contracting[position], strict=True))
        made = (*batching[position], *free[position], *(axis for _, axis in pairs))
        order = tuple(made.index(axis) for axis in range(len(made)))
        found = product if order == tuple(range(len(order))) else Transpose(product, order)
        return converted(found, wanted.dtype)

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...] | None:
        lhs, rhs = operands
        both = all(is_batched)
        left, right = (int(batched) for batched in is_batched)
        product = DotGeneral(
            lhs,
            rhs,
            (*((0,) if both else ()), *(axis + left for axis in self.lhs_batching_dimensions)),
            (*((0,) if both else ()), *(axis + right for axis in self.rhs_batching_dimensions)),
            tuple(axis + left for axis in self.lhs_contracting_dimensions),
            tuple(axis + right for axis in self.rhs_contracting_dimensions),
            self.precision_config,
            self.algorithm,
            self.tensor.dtype,
        )
        # The new axis of one operand alone is the first of its free axes.
        place = len(self.lhs_batching_dimensions) + (0 if is_batched[0] else len(self.lhs_free_dimensions))
        if both or place == 0:
            return (product,)
        others = [axis for axis in range(product.tensor.rank) if axis != place]
        return (Transpose(product, (place, *others)),)

    def flops(self) -> int:
        """Two per product."""
        return 2 * self.tensor.size * math.prod(self.lhs.shape[axis] for axis in self.lhs_contracting_dimensions)

    def operations_in_units(self, side: int) -> int:
        """Summed elements and columns are filled up to whole units; rows stream through. Vectors need no units."""
        batch = math.prod(self.lhs.shape[axis] for axis in self.lhs_batching_dimensions)
        summed = math.prod(self.lhs.shape[axis] for axis in self.lhs_contracting_dimensions)
        rows = math.prod(self.lhs.shape[axis] for axis in self.lhs_free_dimensions)
        columns = math.prod(self.rhs.shape[axis] for axis in self.rhs_free_dimensions)
        if side == 1 or min(rows, columns) <= 1:
            return self.flops()
        return 2 * batch * max(rows, columns) * filled(min(rows, columns), side) * filled(summed, side)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        dtype = draw.dtype(ANY - BOOLEAN)
        shared = draw.shape(most_rank=2)
        left = (*shared, *draw.shape(most_rank=1))
        right = (*shared, *draw.shape(most_rank=1))
        left_order, right_order = draw.permutation(len(left)), draw.permutation(len(right))
        return (
            tensor_type(tuple(left[axis] for axis in left_order), dtype),
            tensor_type(tuple(right[axis] for axis in right_order), dtype),
        )

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        lhs, rhs = operand_types
        free = list(range(rhs.rank))
        kinds: dict[str, list[tuple[int, int]]] = {"batching": [], "contracting": []}
        for axis in draw.permutation(lhs.rank):
            fitting = [other for other in free if rhs.shape[other] == lhs.shape[axis]]
            if fitting and draw.integer(0, 3):
                other = draw.choose(fitting)
                free.remove(other)
                kinds[draw.choose(("batching", "contracting"))].append((axis, other))
        return {
            "lhs_batching_dimensions": tuple(left for left, _ in kinds["batching"]),
            "rhs_batching_dimensions": tuple(right for _, right in kinds["batching"]),
            "lhs_contracting_dimensions": tuple(left for left, _ in kinds["contracting"]),
            "rhs_contracting_dimensions": tuple(right for _, right in kinds["contracting"]),
            "dtype": draw.choose(_wider_types(lhs.dtype)),
        }

    def sample_array(self, draw: Draw, position: int) -> Array:
        return draw.tame_array(self._operands[position].tensor)


def _wider_types(dtype: str) -> tuple[str, ...]:
    return {"bf16": ("bf16", "f32"), "f16": ("f16", "f32"), "i8": ("i8", "i32")}.get(dtype, (dtype,))


def converted(value: Value, dtype: str) -> Value:
    """The value in an element type, itself if it has that."""
    return value if value.dtype == dtype else Convert(value, dtype)


def wide_type(dtype: str) -> str:
    """The type in which sums for a result of `dtype` are made.

    >>> wide_type("bf16"), wide_type("i8"), wide_type("f64")
    ('f32', 'i8', 'f64')
    """
    is_small_float = dtype.startswith(("f", "bf")) and NUMPY_DTYPES[dtype].itemsize < 4
    return "f32" if is_small_float else {"i4": "i32", "ui4": "ui32", "complex<f32>": "complex<f64>"}.get(dtype, dtype)


def matmul(lhs: Value, rhs: Value) -> DotGeneral:
    """The matrix product of two matrices.

    >>> from windlass.ir.values import tensor
    >>> matmul(tensor("f32", 2, 3), tensor("f32", 3, 5)).type
    tensor<2x5xf32>
    """
    return DotGeneral(lhs, rhs, (), (), (1,), (0,))


def filled(size: int, side: int) -> int:
    """The size rounded up to a multiple of a side.

    >>> filled(9, 8)
    16
    """
    return -(-size // side) * side
