"""How floats lie in their bits, and what is made of them bit by bit: powers of two, exponents, fractions."""

from __future__ import annotations

from dataclasses import dataclass

from windlass.ir import Value
from windlass.ops.composite import Expander
from windlass.ops.conversion import BitcastConvert, Convert
from windlass.ops.elementwise import Abs, And, Multiply, Or, ShiftLeft, ShiftRightLogical, Subtract
from windlass.ops.extremes import Clamp


@dataclass(frozen=True, slots=True)
class Format:
    """How a float type lies in its bits."""

    word: str
    bits: int
    mantissa: int
    bias: int

    @property
    def exponent_mask(self) -> int:
        return (1 << (self.bits - 1 - self.mantissa)) - 1

    @property
    def infinity(self) -> int:
        return self.exponent_mask << self.mantissa

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)


def format_of(dtype: str) -> Format:
    """The format of f16, bf16, f32 or f64."""
    bits, mantissa, bias = {"f16": (16, 10, 15), "bf16": (16, 7, 127), "f32": (32, 23, 127), "f64": (64, 52, 1023)}[
        dtype
    ]
    return Format(f"i{bits}", bits, mantissa, bias)


def bits_of(value: Value) -> Value:
    return BitcastConvert(value, format_of(value.dtype).word)


def clamp_integer(emit: Expander, value: Value, least: int, most: int) -> Value:
    """The integer, or the bound that it is beyond."""
    return Clamp(emit.constant(least, value.dtype), value, emit.constant(most, value.dtype))


def power_of_two(emit: Expander, exponent: Value, dtype: str) -> Value:
    """2 to an integer exponent (i32) within the range of normal numbers."""
    form = format_of(dtype)
    biased = emit.add(emit.extend_signed(exponent, form.word), emit.constant(form.bias, form.word))
    return BitcastConvert(ShiftLeft(biased, emit.constant(form.mantissa, form.word)), dtype)


def scale_by_power(emit: Expander, value: Value, exponent: Value) -> Value:
    """value * 2**exponent, rounded once: three factors of which only the last can make the result inexact."""
    form = format_of(value.dtype)
    largest, digits = form.bias, form.mantissa + 1
    downward = form.bias - 1 - digits
    exponent = emit.extend_signed(exponent, "i32")
    zero = emit.constant(0, "i32")
    for _ in range(2):
        # Upwards in steps of the largest power; downwards in steps that keep all digits for the last factor.
        step = clamp_integer(emit, exponent, -downward, largest)
        is_far = emit.compare(step, exponent, "NE")
        taken = emit.select(is_far, step, zero)
        value = Multiply(value, power_of_two(emit, taken, value.dtype))
        exponent = emit.subtract(exponent, taken)
    last = clamp_integer(emit, exponent, 1 - form.bias, largest)
    return Multiply(value, power_of_two(emit, last, value.dtype))


def split_exponent(emit: Expander, value: Value) -> tuple[Value, Value]:
    """A positive finite number as fraction (from 1 up to 2) times 2 to an integer exponent (i32)."""
    form = format_of(value.dtype)
    smallest_normal = emit.constant(1 << form.mantissa, form.word)
    is_small = emit.compare(bits_of(Abs(value)), smallest_normal, "LT")
    lifted = Multiply(value, emit.constant(2.0 ** (form.mantissa + 1), value.dtype))
    bits = bits_of(emit.select(is_small, lifted, value))
    field = And(
        ShiftRightLogical(bits, emit.constant(form.mantissa, form.word)), emit.constant(form.exponent_mask, form.word)
    )
    exponent = Subtract(Convert(field, "i32"), emit.constant(form.bias, "i32"))
    exponent = emit.select(is_small, emit.subtract(exponent, emit.constant(form.mantissa + 1, "i32")), exponent)
    kept = And(bits, emit.constant(form.sign | ((1 << form.mantissa) - 1), form.word))
    fraction = BitcastConvert(Or(kept, emit.constant(form.bias << form.mantissa, form.word)), value.dtype)
    return fraction, exponent
