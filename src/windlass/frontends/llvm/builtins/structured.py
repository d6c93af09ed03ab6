"""Functions that give or take more than one number: overflow flags, sine with cosine, fractions, vector reductions."""

from __future__ import annotations

from functools import partial, reduce

from windlass.frontends.llvm.arithmetic import bits_of, change_width, cut, signed
from windlass.frontends.llvm.builtins.extremes import maximum_of_numbers, minimum_of_numbers
from windlass.frontends.llvm.builtins.floats import truncate
from windlass.frontends.llvm.builtins.integers import (
    difference_overflows,
    high_product,
    signed_high_product,
    signed_maximum,
    signed_minimum,
    sum_overflows,
    unsigned_maximum,
    unsigned_minimum,
)
from windlass.frontends.llvm.emitter import Emitter
from windlass.frontends.llvm.memory import store
from windlass.frontends.llvm.registry import called
from windlass.frontends.llvm.translator import Translator, element_of
from windlass.frontends.llvm.values import LLVMValue
from windlass.ir import Value
from windlass.llvm.layout import IntegerType, StructType, VectorType
from windlass.llvm.syntax import Instruction
from windlass.ops.combiners import combiner_named
from windlass.ops.comparison import Compare
from windlass.ops.conversion import Convert
from windlass.ops.elementwise import (
    Abs,
    ShiftRightArithmetic,
    Subtract,
)
from windlass.ops.float_functions import FrexpExponent, FrexpFraction
from windlass.ops.functions import Cosine, Sine


@called(*(f"llvm.{sign}{name}.with.overflow" for sign in "su" for name in ("add", "sub", "mul")))
def translate_overflow(translator: Translator, instruction: Instruction) -> LLVMValue:
    """The wrapped result, and whether it wrapped."""
    emit = translator.emit
    left, right = (translator.scalar(operand) for operand in instruction.operands)
    width = bits_of(instruction.operands[0].type)
    if width not in (8, 16, 32, 64):
        raise translator.refusal("WL0207", f"checked arithmetic on {width} bits", instruction)
    is_signed, name = instruction.callee[5] == "s", instruction.callee[6:9]
    if name == "mul":
        return checked_product(emit, left, right, width, is_signed)
    if name == "add":
        result = emit.add(left, right)
        if is_signed:
            return (result, sum_overflows(emit, left, right, result))
        return (result, emit.compare(emit.as_unsigned(result), emit.as_unsigned(left), "LT"))
    result = emit.subtract(left, right)
    if is_signed:
        return (result, difference_overflows(emit, left, right, result))
    return (result, emit.compare(emit.as_unsigned(left), emit.as_unsigned(right), "LT"))


def checked_product(emit: Emitter, left: Value, right: Value, width: int, is_signed: bool) -> LLVMValue:
    result = emit.multiply(left, right)
    if width == 64:
        upper = (signed_high_product if is_signed else high_product)(emit, left, right)
        expected: Value = emit.constant(0, "i64")
        if is_signed:
            expected = ShiftRightArithmetic(result, emit.constant(63, "i64"))
        return (result, emit.compare(upper, expected, "NE"))
    opcode = "sext" if is_signed else "zext"
    whole = emit.multiply(change_width(emit, left, opcode, width, 64), change_width(emit, right, opcode, width, 64))
    return (result, emit.compare(whole, change_width(emit, result, opcode, width, 64), "NE"))


@called("llvm.fptosi.sat", "llvm.fptoui.sat")
def translate_saturating_conversion(translator: Translator, instruction: Instruction) -> LLVMValue:
    """To the nearest representable integer, NaN to 0, which is what `Convert` does."""
    emit, is_signed = translator.emit, "fptosi" in instruction.callee
    type_ = element_of(instruction.type)
    dtype = translator.dtype_of(type_)
    assert isinstance(type_, IntegerType)
    if type_.bits not in (8, 16, 32, 64):
        raise translator.refusal("WL0207", f"a saturating conversion to {type_.bits} bits", instruction)

    def compute(value: Value) -> Value:
        return Convert(value, dtype) if is_signed else emit.as_signless(Convert(value, "u" + dtype))

    return translator.each(instruction, compute)


@called("llvm.scmp", "llvm.ucmp")
def translate_three_way_comparison(translator: Translator, instruction: Instruction) -> LLVMValue:
    """-1, 0 or 1, in a type of its own."""
    emit, is_signed = translator.emit, instruction.callee.startswith("llvm.s")
    bits, width = bits_of(instruction.type), bits_of(instruction.operands[0].type)
    dtype = translator.dtype_of(element_of(instruction.type))

    def compute(left: Value, right: Value) -> Value:
        a, b = (signed(emit, each, width) if is_signed else emit.as_unsigned(each) for each in (left, right))
        less, more = emit.compare(a, b, "LT"), emit.compare(a, b, "GT")
        inner = emit.select(more, emit.constant(1, dtype), emit.constant(0, dtype))
        return cut(emit, emit.select(less, emit.constant(-1, dtype), inner), bits)

    return translator.each(instruction, compute)


@called("llvm.sincos")
def translate_sine_and_cosine(translator: Translator, instruction: Instruction) -> LLVMValue:
    value = translator.value(instruction.operands[0])
    if isinstance(value, tuple):
        parts = [part for part in value if isinstance(part, Value)]
        return (tuple(Sine(part) for part in parts), tuple(Cosine(part) for part in parts))
    scalar = translator.scalar(instruction.operands[0])
    return (Sine(scalar), Cosine(scalar))


@called("llvm.frexp")
def translate_fraction(translator: Translator, instruction: Instruction) -> LLVMValue:
    """The number as a fraction from 1/2 up to 1 times 2 to an exponent."""
    value = translator.scalar(instruction.operands[0])
    type_ = instruction.type
    assert isinstance(type_, StructType)
    exponent = translator.emit.extend_signed(FrexpExponent(value), translator.dtype_of(type_.fields[1]))
    return (FrexpFraction(value), exponent)


@called("frexp", "frexpf")
def translate_fraction_call(translator: Translator, instruction: Instruction) -> LLVMValue:
    value = translator.scalar(instruction.operands[0])
    place = translator.pointer(instruction.operands[1])
    store(translator, FrexpExponent(value), IntegerType("i32", 32), place, instruction)
    return FrexpFraction(value)


def whole_and_rest(emit: Emitter, value: Value) -> tuple[Value, Value]:
    whole = truncate(emit, value)
    infinite = Compare(Abs(value), emit.constant(float("inf"), value.dtype), "EQ")
    rest = emit.select(infinite, emit.constant(0, value.dtype), Subtract(value, whole))
    return whole, rest


@called("llvm.modf")
def translate_whole_part(translator: Translator, instruction: Instruction) -> LLVMValue:
    whole, rest = whole_and_rest(translator.emit, translator.scalar(instruction.operands[0]))
    return (rest, whole)


@called("modf", "modff")
def translate_whole_part_call(translator: Translator, instruction: Instruction) -> LLVMValue:
    whole, rest = whole_and_rest(translator.emit, translator.scalar(instruction.operands[0]))
    place = translator.pointer(instruction.operands[1])
    store(translator, whole, instruction.type, place, instruction)
    return rest


_EXTREMES = {
    "smin": signed_minimum,
    "smax": signed_maximum,
    "umin": unsigned_minimum,
    "umax": unsigned_maximum,
    "fmin": minimum_of_numbers,
    "fmax": maximum_of_numbers,
}


@called(*(f"llvm.vector.reduce.{name}" for name in ("add", "mul", "and", "or", "xor", "fadd", "fmul", *_EXTREMES)))
def translate_vector_reduction(translator: Translator, instruction: Instruction) -> LLVMValue:
    """The elements combined from first to last; the float ones begin with a start value."""
    name = instruction.callee.split(".")[3]
    vector = translator.value(instruction.operands[-1])
    type_ = instruction.operands[-1].type
    assert isinstance(vector, tuple) and isinstance(type_, VectorType)
    parts = [part for part in vector if isinstance(part, Value)]
    if name in ("fadd", "fmul"):
        parts.insert(0, translator.scalar(instruction.operands[0]))
    if name in _EXTREMES:
        return reduce(partial(_EXTREMES[name], translator.emit), parts)
    if parts[0].dtype == "i1":
        name = {"add": "xor", "mul": "and"}.get(name, name)
    combiner = combiner_named(name)
    assert combiner is not None
    return reduce(combiner, parts)
