"""Making loop-level ops: constants held once per kernel, and integer arithmetic that folds what is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from windlass.ir import Block, Builder, Op, Type, Value, tensor_type
from windlass.loops import NullBuffer, Undefined
from windlass.ops.comparison import Compare
from windlass.ops.composite import Expander, wrapped_number
from windlass.ops.conversion import BitcastConvert, Convert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import (
    Add,
    Divide,
    Multiply,
    Not,
    Select,
    Subtract,
)
from windlass.ops.extremes import Maximum


class Emitter(Expander):
    """Ops go to the innermost `Builder`; those that depend on nothing go to the `prologue`, once each."""

    def __init__(self) -> None:
        super().__init__()
        self.prologue = Block()
        self._constants: dict[tuple[str, bytes], Constant] = {}
        self._undefined: dict[Type, Value] = {}
        self._null: Value | None = None

    # -- values that depend on nothing ----------------------------------------------------------------------------

    def constant(self, number: Any, dtype: str) -> Constant:
        """A scalar; integers wrap around."""
        array = wrapped_number(number, dtype)
        key = (dtype, array.tobytes())
        known = self._constants.get(key)
        if known is None:
            with Builder(self.prologue):
                known = self._constants[key] = Constant.of(array, dtype)
        return known

    def undefined(self, type_: Type) -> Value:
        known = self._undefined.get(type_)
        if known is None:
            with Builder(self.prologue):
                known = self._undefined[type_] = Undefined(type_)
        return known

    def null(self) -> Value:
        if self._null is None:
            with Builder(self.prologue):
                self._null = NullBuffer()
        return self._null

    @property
    def true(self) -> Constant:
        return self.constant(True, "i1")

    @property
    def false(self) -> Constant:
        return self.constant(False, "i1")

    # -- folding arithmetic on integers ---------------------------------------------------------------------------

    def apply(self, kind: type[Op], *operands: Value, **attributes: Any) -> Value:
        """The op, or its value where all operands are constants."""
        if all(isinstance(operand, Constant) for operand in operands):
            with Builder(Block()):
                op = kind(*operands, **attributes)
            numbers = [operand.array for operand in operands if isinstance(operand, Constant)]
            result = op.evaluate(*numbers)
            for operand in operands:
                operand.uses.pop(op, None)
            return self.constant(np.asarray(result)[()], op.dtype)
        return kind(*operands, **attributes)

    def add(self, left: Value, right: Value) -> Value:
        if number_of(left) == 0:
            return right
        if number_of(right) == 0:
            return left
        return self.apply(Add, left, right)

    def subtract(self, left: Value, right: Value) -> Value:
        if number_of(right) == 0:
            return left
        if left is right:
            return self.constant(0, left.dtype)
        return self.apply(Subtract, left, right)

    def multiply(self, left: Value, right: Value) -> Value:
        if number_of(left) == 1:
            return right
        if number_of(right) == 1:
            return left
        if number_of(left) == 0 or number_of(right) == 0:
            return self.constant(0, left.dtype)
        return self.apply(Multiply, left, right)

    def divide(self, left: Value, right: Value) -> Value:
        """Truncating division of signed integers."""
        return left if number_of(right) == 1 else self.apply(Divide, left, right)

    def maximum(self, left: Value, right: Value) -> Value:
        return self.apply(Maximum, left, right)

    def compare(self, left: Value, right: Value, direction: str) -> Value:
        return self.apply(Compare, left, right, direction=direction)

    def negation(self, value: Value) -> Value:
        """The opposite of a boolean."""
        if isinstance(value, Not):
            return value.operand
        return self.apply(Not, value)

    def select(self, condition: Value, on_true: Value, on_false: Value) -> Value:
        if on_true is on_false:
            return on_true
        known = number_of(condition)
        if known is not None:
            return on_true if known else on_false
        return Select(condition, on_true, on_false)

    # -- changes of width -----------------------------------------------------------------------------------------

    def as_unsigned(self, value: Value) -> Value:
        """The same bits in the unsigned type."""
        if value.dtype[0] == "u" or value.dtype == "i1":
            return value
        return self.apply(BitcastConvert, value, dtype="u" + value.dtype)

    def as_signless(self, value: Value) -> Value:
        return self.apply(BitcastConvert, value, dtype=value.dtype[1:]) if value.dtype[0] == "u" else value

    def extend_signed(self, value: Value, dtype: str) -> Value:
        return value if value.dtype == dtype else self.apply(Convert, value, dtype=dtype)

    def extend_unsigned(self, value: Value, dtype: str) -> Value:
        return value if value.dtype == dtype else self.apply(Convert, self.as_unsigned(value), dtype=dtype)


def number_of(value: Value) -> int | float | None:
    """The number that a scalar constant holds; None for other values."""
    if isinstance(value, Constant) and value.value.is_splat:
        number = value.number
        return number.item() if hasattr(number, "item") else float(number)
    return None


def scalar_type(dtype: str) -> Type:
    return tensor_type((), dtype)
