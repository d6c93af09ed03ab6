"""Rounding to whole numbers, each element by itself."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from windlass.ops.base import FLOAT, Array
from windlass.ops.loop_writer import LoopNames
from windlass.ops.pointwise import Unary, widened
from windlass.ops.ranges import Range, RangeOf


class Floor(Unary):
    """The next integer below."""

    name = "stablehlo.floor"
    limbs: ClassVar[str] = "floor"
    spreads_nan: ClassVar[bool] = True
    dtypes: ClassVar[frozenset[str]] = FLOAT
    loop_names: ClassVar[LoopNames] = LoopNames("math.floor")

    def find_range(self, of: RangeOf) -> Range:
        return rounded_to_whole(of(self.operand))

    def partial(self, position: int) -> None:
        return None

    def evaluate(self, operand: Array) -> Array:
        return widened(np.floor, operand)


class Ceil(Unary):
    """The next integer above."""

    name = "stablehlo.ceil"
    limbs: ClassVar[str] = "ceil"
    spreads_nan: ClassVar[bool] = True
    dtypes: ClassVar[frozenset[str]] = FLOAT
    loop_names: ClassVar[LoopNames] = LoopNames("math.ceil")

    def find_range(self, of: RangeOf) -> Range:
        return rounded_to_whole(of(self.operand))

    def partial(self, position: int) -> None:
        return None

    def evaluate(self, operand: Array) -> Array:
        return widened(np.ceil, operand)


class RoundNearestEven(Unary):
    """The nearest integer, halves to the even one."""

    name = "stablehlo.round_nearest_even"
    limbs: ClassVar[str] = "round_nearest_even"
    spreads_nan: ClassVar[bool] = True
    dtypes: ClassVar[frozenset[str]] = FLOAT
    loop_names: ClassVar[LoopNames] = LoopNames("math.roundeven")

    def find_range(self, of: RangeOf) -> Range:
        return rounded_to_whole(of(self.operand))

    def partial(self, position: int) -> None:
        return None

    def evaluate(self, operand: Array) -> Array:
        return widened(np.rint, operand)


class RoundNearestAfz(Unary):
    """The nearest integer, halves away from zero."""

    name = "stablehlo.round_nearest_afz"
    limbs: ClassVar[str] = "round_nearest_away"
    spreads_nan: ClassVar[bool] = True
    dtypes: ClassVar[frozenset[str]] = FLOAT
    loop_names: ClassVar[LoopNames] = LoopNames("math.round")

    def find_range(self, of: RangeOf) -> Range:
        return rounded_to_whole(of(self.operand))

    def partial(self, position: int) -> None:
        return None

    def evaluate(self, operand: Array) -> Array:
        def round_away(x: Array) -> Array:
            whole = np.trunc(x)
            rounded = np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(np.ones_like(x), x), whole)
            return np.where(np.isfinite(x), np.copysign(rounded, x), x)

        return widened(round_away, operand)


def rounded_to_whole(operand: Range) -> Range:
    """What rounding to a whole number in any of the usual ways leaves."""
    with np.errstate(all="ignore"):
        low, high = float(np.floor(operand.low)), float(np.ceil(operand.high))
    negative_zero = operand.negative_zero or operand.low < 0 <= high
    return Range(low, high, operand.nan, negative_zero, True)
