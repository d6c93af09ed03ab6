"""Comparison of two tensors, element by element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.base import Array
from windlass.ops.creation import Constant
from windlass.ops.loop_writer import LoopWriter, is_unsigned, signless
from windlass.ops.pointwise import Elementwise
from windlass.ops.ranges import Range, RangeOf
from windlass.ops.sampling import Draw
from windlass.ops.spelling import ComparisonDirection, ComparisonType

COMPARISONS = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}


OPPOSITE = {"EQ": "NE", "NE": "EQ", "LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT"}
"""What holds where a comparison does not, of numbers that are no NaN."""

MIRRORED = {"EQ": "EQ", "NE": "NE", "LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}
"""The same comparison of the operands the other way round."""


class Compare(Elementwise):
    """Whether lhs compares to rhs in the direction EQ, NE, LT, LE, GT or GE; comparison with NaN is false save for NE.

    `compare_type` is TOTALORDER or None: TOTALORDER orders floats as -NaN < -inf < ... < -0 < +0 < ... < inf < NaN.
    """

    name = "stablehlo.compare"
    limbs: ClassVar[str] = "compare"
    lhs: Value
    rhs: Value
    direction: ComparisonDirection
    compare_type: ComparisonType = None
    mlir_names: ClassVar[dict[str, str]] = {"direction": "comparison_direction"}

    @property
    def disorder(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Constants belong on the right."""
        return int(isinstance(self.lhs, Constant) and not isinstance(self.rhs, Constant))

    @classmethod
    def extra_from_mlir(cls, texts: Mapping[str, str]) -> dict[str, str]:
        """With a kind that only says what the element type says."""
        kind = texts.get("compare_type", "TOTALORDER")
        return super().extra_from_mlir(texts) | ({} if "TOTALORDER" in kind else {"compare_type": kind})

    def infer(self) -> Type:
        lhs, rhs = self._operands
        type_ = lhs.tensor
        if rhs.type is not type_:
            self.fault("C1", f"operand types differ: {type_} and {rhs.type}")
        if self.direction not in COMPARISONS:
            self.fault("I3", f"unknown direction {self.direction!r}")
        if type_.is_complex and self.direction not in ("EQ", "NE"):
            self.fault("C3", "complex numbers compare with EQ and NE only")
        if self.compare_type != "TOTALORDER":
            # The others (FLOAT, SIGNED, UNSIGNED) only say what the element type says.
            self.__dict__["compare_type"] = None
        return tensor_type(type_.shape, "i1")

    def find_range(self, of: RangeOf) -> Range:
        left, right = of(self.lhs), of(self.rhs)
        outcome = None
        if not self.lhs.tensor.is_complex and self.compare_type != "TOTALORDER":
            outcome = decide(self.direction, left, right)
        return Range(0 if outcome is None else int(outcome), 1 if outcome is None else int(outcome), whole=True)

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        if self.compare_type == "TOTALORDER" and self.lhs.tensor.is_float:
            lhs, rhs = total_order_key(lhs), total_order_key(rhs)
        with np.errstate(invalid="ignore"):
            return np.asarray(COMPARISONS[self.direction](lhs, rhs))

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        (type_, _) = operand_types
        if type_.is_complex:
            return {"direction": draw.choose(("EQ", "NE")), "compare_type": None}
        kind = draw.choose((None, "TOTALORDER")) if type_.is_float else None
        return {"direction": draw.choose(tuple(COMPARISONS)), "compare_type": kind}

    def write_loop(self, writer: LoopWriter) -> None:
        direction, dtype = self.direction.lower(), self.lhs.dtype
        if self.lhs.tensor.is_float:
            name = f"cmpf {'une' if direction == 'ne' else 'o' + direction}"
        elif direction in ("eq", "ne"):
            name = f"cmpi {direction}"
        else:
            name = f"cmpi {'u' if is_unsigned(dtype) else 's'}{direction}"
        writer.define(self, f"arith.{name}, {writer.listed(self.operands)} : {signless(dtype)}")


def total_order_key(array: Array) -> Array:
    """Integers that compare as the floats do in the total order of IEEE 754.

    >>> total_order_key(np.array([-0.0, 0.0], np.float32)).tolist()
    [-1, 0]
    """
    signed = np.dtype(f"i{array.dtype.itemsize}")
    bits = np.ascontiguousarray(array).view(signed).reshape(array.shape)
    return np.where(bits < 0, bits ^ np.iinfo(signed).max, bits)


def decide(direction: str, left: Range, right: Range) -> bool | None:
    """What comparing any elements of two ranges gives, if it is always the same.

    >>> from windlass.ops.ranges import Range
    >>> decide("LT", Range(0, 3), Range(4, 9)), decide("EQ", Range(0, 3), Range(3, 3))
    (True, None)
    """
    if direction in ("GT", "GE"):
        return decide("LT" if direction == "GT" else "LE", right, left)
    if direction == "NE":
        equal = decide("EQ", left, right)
        return None if equal is None else not equal
    numbers = not (left.nan or right.nan)
    if direction == "LT":
        always, never = left.high < right.low, left.low >= right.high
    elif direction == "LE":
        always, never = left.high <= right.low, left.low > right.high
    else:
        always = left.low == left.high == right.low == right.high
        never = left.high < right.low or left.low > right.high
    # NaN compares as false, save for NE.
    return True if always and numbers else False if never else None
