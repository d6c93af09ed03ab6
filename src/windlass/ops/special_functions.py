"""Functions that StableHLO's client dialect (chlo) names and XLA expands: special, inverse and hyperbolic ones."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import scipy  # its parts are loaded when they are first used: that takes longer than all of this package

from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.axes import CHANGED, Axes, axes_of
from windlass.ops.base import COMPLEX, FLOAT, INTEGER, Array, NoDerivative, TensorOp
from windlass.ops.contraction import wide_type
from windlass.ops.conversion import convert_array
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Divide, Multiply, Negate, Subtract
from windlass.ops.functions import Exponential, Rsqrt
from windlass.ops.loop_writer import LoopNames
from windlass.ops.pointwise import Binary, ElementwiseTest, Unary, widened
from windlass.ops.ranges import INFINITY, NOTHING_KNOWN, Range, RangeOf, between, loosened
from windlass.ops.sampling import Draw
from windlass.ops.spelling import PrecisionConfig


class RealFunction(Unary):
    """A function of real floats."""

    effort: ClassVar[int] = 16
    dtypes: ClassVar[frozenset[str]] = FLOAT


class ComplexFunction(Unary):
    """A function of real and complex floats."""

    effort: ClassVar[int] = 16
    dtypes: ClassVar[frozenset[str]] = FLOAT | COMPLEX


class Acos(ComplexFunction):
    """The inverse of the cosine."""

    name = "chlo.acos"
    limbs: ClassVar[str] = "acos"
    loop_names: ClassVar[LoopNames] = LoopNames("math.acos")

    def partial(self, position: int) -> Value:
        one = Constant.splat(1, self.type)
        return Negate(Rsqrt(Multiply(Subtract(one, self.operand), Add(one, self.operand))))

    def evaluate(self, operand: Array) -> Array:
        return widened(np.arccos, operand)


class Acosh(ComplexFunction):
    """The inverse of the hyperbolic cosine."""

    name = "chlo.acosh"
    limbs: ClassVar[str] = "acosh"
    loop_names: ClassVar[LoopNames] = LoopNames("math.acosh")

    def partial(self, position: int) -> Value:
        one = Constant.splat(1, self.type)
        # A product of roots: complex numbers have the branch of the function itself.
        return Multiply(Rsqrt(Subtract(self.operand, one)), Rsqrt(Add(self.operand, one)))

    def evaluate(self, operand: Array) -> Array:
        return widened(np.arccosh, operand)


class Asin(ComplexFunction):
    """The inverse of the sine."""

    name = "chlo.asin"
    limbs: ClassVar[str] = "asin"
    loop_names: ClassVar[LoopNames] = LoopNames("math.asin")

    def partial(self, position: int) -> Value:
        one = Constant.splat(1, self.type)
        return Rsqrt(Multiply(Subtract(one, self.operand), Add(one, self.operand)))

    def evaluate(self, operand: Array) -> Array:
        return widened(np.arcsin, operand)


class Asinh(ComplexFunction):
    """The inverse of the hyperbolic sine."""

    name = "chlo.asinh"
    limbs: ClassVar[str] = "asinh"
    loop_names: ClassVar[LoopNames] = LoopNames("math.asinh")

    def partial(self, position: int) -> Value:
        one = Constant.splat(1, self.type)
        return Rsqrt(Add(Multiply(self.operand, self.operand), one))

    def evaluate(self, operand: Array) -> Array:
        return widened(np.arcsinh, operand)


class Atan(ComplexFunction):
    """The inverse of the tangent."""

    name = "chlo.atan"
    limbs: ClassVar[str] = "atan"
    loop_names: ClassVar[LoopNames] = LoopNames("math.atan")

    def partial(self, position: int) -> Value:
        one = Constant.splat(1, self.type)
        return Divide(one, Add(one, Multiply(self.operand, self.operand)))

    def evaluate(self, operand: Array) -> Array:
        return widened(np.arctan, operand)


class Atanh(ComplexFunction):
    """The inverse of the hyperbolic tangent."""

    name = "chlo.atanh"
    limbs: ClassVar[str] = "atanh"
    loop_names: ClassVar[LoopNames] = LoopNames("math.atanh")

    def partial(self, position: int) -> Value:
        one = Constant.splat(1, self.type)
        return Divide(one, Multiply(Subtract(one, self.operand), Add(one, self.operand)))

    def evaluate(self, operand: Array) -> Array:
        return widened(np.arctanh, operand)


class Cosh(ComplexFunction):
    """The hyperbolic cosine."""

    name = "chlo.cosh"
    limbs: ClassVar[str] = "cosh"
    loop_names: ClassVar[LoopNames] = LoopNames("math.cosh")

    def partial(self, position: int) -> Value:
        return Sinh(self.operand)

    def evaluate(self, operand: Array) -> Array:
        return widened(np.cosh, operand)


class Sinh(ComplexFunction):
    """The hyperbolic sine."""

    name = "chlo.sinh"
    limbs: ClassVar[str] = "sinh"
    loop_names: ClassVar[LoopNames] = LoopNames("math.sinh")

    def partial(self, position: int) -> Value:
        return Cosh(self.operand)

    def evaluate(self, operand: Array) -> Array:
        return widened(np.sinh, operand)


class Square(ComplexFunction):
    """The operand times itself."""

    name = "chlo.square"
    limbs: ClassVar[str] = "square"
    effort: ClassVar[int] = 1

    def find_range(self, of: RangeOf) -> Range:
        return NOTHING_KNOWN if self.tensor.is_complex else of(self.operand).squared(self.tensor)

    def partial(self, position: int) -> Value:
        return Add(self.operand, self.operand)

    def evaluate(self, operand: Array) -> Array:
        return widened(np.square, operand)


class Erf(RealFunction):
    """The error function."""

    name = "chlo.erf"
    loop_names: ClassVar[LoopNames] = LoopNames("math.erf")

    def find_range(self, of: RangeOf) -> Range:
        return loosened(between(-1, 1, nan=of(self.operand).nan, negative_zero=True), self.tensor)

    def partial(self, position: int) -> Value:
        return _bell(self.operand, 2 / math.sqrt(math.pi))

    def evaluate(self, operand: Array) -> Array:
        return widened(scipy.special.erf, operand)


class Erfc(RealFunction):
    """1 - erf(operand), exact for large operands."""

    name = "chlo.erfc"
    loop_names: ClassVar[LoopNames] = LoopNames("math.erfc")

    def find_range(self, of: RangeOf) -> Range:
        return loosened(between(0, 2, nan=of(self.operand).nan), self.tensor)

    def partial(self, position: int) -> Value:
        return _bell(self.operand, -2 / math.sqrt(math.pi))

    def evaluate(self, operand: Array) -> Array:
        return widened(scipy.special.erfc, operand)


class ErfInv(RealFunction):
    """The inverse of the error function."""

    name = "chlo.erf_inv"

    def partial(self, position: int) -> Value:
        return Multiply(Constant.splat(math.sqrt(math.pi) / 2, self.type), Exponential(Multiply(self, self)))

    def evaluate(self, operand: Array) -> Array:
        return widened(scipy.special.erfinv, operand)


class Lgamma(RealFunction):
    """The logarithm of the absolute value of the gamma function."""

    name = "chlo.lgamma"

    def partial(self, position: int) -> Value:
        return Digamma(self.operand)

    def evaluate(self, operand: Array) -> Array:
        def function(x: Array) -> Array:
            return np.where(np.isinf(x), np.inf, scipy.special.gammaln(x))

        return widened(function, operand)


class Digamma(RealFunction):
    """The derivative of Lgamma; NaN at zero and the negative integers."""

    name = "chlo.digamma"

    def partial(self, position: int) -> Value:
        return Polygamma(Constant.splat(1, self.type), self.operand)

    def evaluate(self, operand: Array) -> Array:
        def function(x: Array) -> Array:
            pole = (x <= 0) & (x == np.floor(x))
            return np.where(pole, np.nan, scipy.special.digamma(x))

        return widened(function, operand)


class Polygamma(Binary):
    """The derivative of Digamma of order lhs, at rhs; NaN where the order is no whole number or negative."""

    name = "chlo.polygamma"
    effort: ClassVar[int] = 64
    dtypes: ClassVar[frozenset[str]] = FLOAT

    def partial(self, position: int) -> Value:
        if not position:
            raise NoDerivative(self)
        return Polygamma(Add(self.lhs, Constant.splat(1, self.type)), self.rhs)

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        def function(order: Array, x: Array) -> Array:
            whole = (order >= 0) & (order == np.floor(order)) & np.isfinite(order)
            safe = np.where(whole, order, 0).astype(np.int64)
            higher = (-1.0) ** (safe + 1) * scipy.special.gamma(safe + 1.0) * hurwitz_zeta(safe + 1.0, x)
            return np.where(whole, np.where(safe == 0, scipy.special.digamma(x), higher), np.nan)

        return widened(function, lhs, rhs)

    def sample_array(self, draw: Draw, position: int) -> Array:
        type_ = self._operands[position].tensor
        return np.round(draw.tame_array(type_, 0, 4)) if position == 0 else draw.tame_array(type_, 0.5, 5)


class Zeta(Binary):
    """The Hurwitz zeta function: the sum over k ≥ 0 of (k + rhs) to the power of -lhs."""

    name = "chlo.zeta"
    effort: ClassVar[int] = 64
    dtypes: ClassVar[frozenset[str]] = FLOAT

    def partial(self, position: int) -> Value:
        if not position:
            raise NoDerivative(self)
        return Negate(Multiply(self.lhs, Zeta(Add(self.lhs, Constant.splat(1, self.type)), self.rhs)))

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        return widened(hurwitz_zeta, lhs, rhs)

    def sample_array(self, draw: Draw, position: int) -> Array:
        return draw.tame_array(self._operands[position].tensor, 1.25, 6)


class NextAfter(Binary):
    """The next representable number from lhs toward rhs: lhs but for its last digit, and so is its derivative."""

    name = "chlo.next_after"
    effort: ClassVar[int] = 4
    dtypes: ClassVar[frozenset[str]] = FLOAT

    def partial(self, position: int) -> Value | float | None:
        return 1 if position == 0 else None

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(np.nextafter(lhs, rhs)).astype(lhs.dtype)


class Mulhi(Binary):
    """The upper half of the bits of the full product of integers."""

    name = "chlo.mulhi"
    dtypes: ClassVar[frozenset[str]] = INTEGER

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        bits = lhs.dtype.itemsize * 8
        product = (lhs.astype(object) * rhs.astype(object)) >> bits
        return np.asarray(product).astype(lhs.dtype)


class IsInf(ElementwiseTest):
    """Whether the operand is infinite."""

    name = "chlo.is_inf"
    limbs: ClassVar[str] = "first"
    dtypes: ClassVar[frozenset[str]] = FLOAT

    def find_range(self, of: RangeOf) -> Range:
        operand = of(self.operand)
        return Range(0, int(operand.has_infinity or operand.low == INFINITY or operand.high == -INFINITY), whole=True)

    def evaluate(self, operand: Array) -> Array:
        return np.asarray(np.isinf(operand))


class IsNegInf(ElementwiseTest):
    """Whether the operand is -inf."""

    name = "chlo.is_neg_inf"
    limbs: ClassVar[str] = "first"
    dtypes: ClassVar[frozenset[str]] = FLOAT

    def find_range(self, of: RangeOf) -> Range:
        operand = of(self.operand)
        return Range(0, int(operand.has_infinity or operand.low == INFINITY or operand.high == -INFINITY), whole=True)

    def evaluate(self, operand: Array) -> Array:
        return np.asarray(np.isneginf(operand.astype(np.float64)))


class IsPosInf(ElementwiseTest):
    """Whether the operand is +inf."""

    name = "chlo.is_pos_inf"
    limbs: ClassVar[str] = "first"
    dtypes: ClassVar[frozenset[str]] = FLOAT

    def find_range(self, of: RangeOf) -> Range:
        operand = of(self.operand)
        return Range(0, int(operand.has_infinity or operand.low == INFINITY or operand.high == -INFINITY), whole=True)

    def evaluate(self, operand: Array) -> Array:
        return np.asarray(np.isposinf(operand.astype(np.float64)))


def _bell(value: Value, factor: float) -> Value:
    """The factor times e to the power of minus the square."""
    return Multiply(Constant.splat(factor, value.type), Exponential(Negate(Multiply(value, value))))


class RaggedDot(TensorOp):
    """A matrix product per group of rows: rows of lhs, in groups of the given sizes, each times its own rhs[group].

    Only the form with one ragged free axis of lhs has a meaning here; rows past the last group give zeros.
    """

    name = "chlo.ragged_dot"
    lhs: Value
    rhs: Value
    group_sizes: Value
    lhs_batching_dimensions: tuple[int, ...]
    rhs_batching_dimensions: tuple[int, ...]
    lhs_contracting_dimensions: tuple[int, ...]
    rhs_contracting_dimensions: tuple[int, ...]
    lhs_ragged_dimensions: tuple[int, ...]
    rhs_group_dimensions: tuple[int, ...]
    shape: tuple[int, ...]  # pyright: ignore[reportIncompatibleMethodOverride]
    dtype: str  # pyright: ignore[reportIncompatibleMethodOverride]
    precision_config: PrecisionConfig = ()
    has_result_attributes: ClassVar[frozenset[str]] = frozenset({"shape", "dtype"})
    attribute_groups: ClassVar[dict[str, tuple[str, tuple[str, ...]]]] = {
        "ragged_dot_dimension_numbers": (
            "#chlo.ragged_dot",
            (
                "lhs_batching_dimensions",
                "rhs_batching_dimensions",
                "lhs_contracting_dimensions",
                "rhs_contracting_dimensions",
                "lhs_ragged_dimensions",
                "rhs_group_dimensions",
            ),
        )
    }

    def infer(self) -> Type:
        if len(self.lhs_ragged_dimensions) != 1:
            self.fault("C12", "there must be one ragged dimension")
        return tensor_type(self.shape, self.dtype)

    @property
    def is_plain(self) -> bool:
        """Whether the form is the one that has a meaning here."""
        return (
            not self.lhs_batching_dimensions
            and self.lhs_contracting_dimensions == (1,)
            and self.lhs_ragged_dimensions == (0,)
            and self.rhs_group_dimensions == (0,)
            and self.rhs_contracting_dimensions == (1,)
            and tuple(value.tensor.rank for value in self.operands) == (2, 3, 1)
        )

    def axes(self) -> Axes | None:
        if not self.is_plain:
            return None
        return axes_of(self, [(CHANGED, 0), (CHANGED, 0, 1), (CHANGED,)], [(CHANGED, 1)], Add)

    def evaluate(self, lhs: Array, rhs: Array, group_sizes: Array) -> Array:
        if not self.is_plain:
            raise NotImplementedError("this form of ragged_dot has no meaning here")
        wide = wide_type(self.dtype)
        left, right = convert_array(lhs, wide), convert_array(rhs, wide)
        result = np.zeros((lhs.shape[0], rhs.shape[2]), left.dtype)
        start = 0
        for group, size in enumerate(group_sizes.tolist()):
            result[start : start + size] = left[start : start + size] @ right[group]
            start += size
        return convert_array(result, self.dtype)

    def flops(self) -> int:
        """Two per product of the dense form."""
        return 2 * self.tensor.size * self.lhs.shape[self.lhs_contracting_dimensions[0]]

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        rows, inner, columns, groups = (draw.integer(1, 4) for _ in range(4))
        return (
            tensor_type((rows, inner), "f32"),
            tensor_type((groups, inner, columns), "f32"),
            tensor_type((groups,), "i32"),
        )

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        lhs, rhs, _ = operand_types
        return {
            "lhs_batching_dimensions": (),
            "rhs_batching_dimensions": (),
            "lhs_contracting_dimensions": (1,),
            "rhs_contracting_dimensions": (1,),
            "lhs_ragged_dimensions": (0,),
            "rhs_group_dimensions": (0,),
            "shape": (lhs.shape[0], rhs.shape[2]),
            "dtype": "f32",
        }

    def sample_array(self, draw: Draw, position: int) -> Array:
        type_ = self._operands[position].tensor
        if position < 2:
            return draw.tame_array(type_)
        remaining, sizes = self.lhs.shape[0], list[int]()
        for _ in range(type_.size):
            sizes.append(draw.integer(0, remaining))
            remaining -= sizes[-1]
        return np.array(sizes, np.int32)


def hurwitz_zeta(x: Array, q: Array) -> Array:
    """The sum over k >= 0 of (k + q) to the power of -x, in the same time for all operands.

    SciPy's adds up one term after the other while q is negative. Here the terms on both sides of zero are two sums of
    that kind each with a positive q: with q = f - m for 0 < f < 1, zeta(x, q) is
    zeta(x, f) + (-1)^x (zeta(x, 1 - f) - zeta(x, m + 1 - f)). For x that is no integer they are complex: NaN.

    >>> hurwitz_zeta(np.array([2.0, 3.0, 2.5, 2.0]), np.array([-1.5, -1e9 - 0.5, -0.5, -2.0])).round(4).tolist()
    [9.3792, 0.0, nan, inf]
    """
    x, q = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(q, np.float64))
    with np.errstate(all="ignore"):
        is_plain = ~(q <= 0)
        whole = np.floor(q)
        fraction = np.where(is_plain, 0.5, q - whole)
        sign = np.where(np.floor(x / 2) * 2 == x, 1.0, -1.0)
        beyond = scipy.special.zeta(x, np.where(is_plain, 1.0, 1 - q))
        mirrored = scipy.special.zeta(x, fraction) + sign * (scipy.special.zeta(x, 1 - fraction) - beyond)
        mirrored = np.where(np.floor(x) == x, mirrored, np.nan)
        mirrored = np.where((x == 1) | (q == whole), np.where(x >= 1, np.inf, np.nan), mirrored)
        return np.where(is_plain, scipy.special.zeta(x, np.where(is_plain, q, 1.0)), mirrored)
