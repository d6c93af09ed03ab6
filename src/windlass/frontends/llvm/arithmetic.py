"""Integer and float arithmetic, comparisons, conversions, select.

LLVM's integers have no sign: where an operation asks for unsigned numbers, the bits are read as such and back. Integers
of odd width live in a wider type with zeros above; signed operations extend their sign first, and results are cut.
"""

from __future__ import annotations

import math

from windlass.frontends.llvm.emitter import Emitter, number_of
from windlass.frontends.llvm.registry import called, translates
from windlass.frontends.llvm.translator import WORD_DTYPES, Translator, container_of, element_of
from windlass.frontends.llvm.values import AddressNumber, LLVMValue, PointerValue
from windlass.ir import BufferType, Op, Value
from windlass.llvm.layout import FloatType, IntegerType, LLVMType, PointerType, VectorType
from windlass.llvm.syntax import Instruction
from windlass.loops import BufferDistance, NullBuffer, SameBuffer, SelectBuffer
from windlass.ops.comparison import OPPOSITE, Compare
from windlass.ops.conversion import BitcastConvert, Convert
from windlass.ops.elementwise import (
    Add,
    And,
    Divide,
    Multiply,
    Negate,
    Not,
    Or,
    Remainder,
    ShiftLeft,
    ShiftRightArithmetic,
    ShiftRightLogical,
    Subtract,
    Xor,
)

# -- widths -----------------------------------------------------------------------------------------------------------


def is_odd(bits: int) -> bool:
    """Whether no dtype has exactly this many bits."""
    return bits not in WORD_DTYPES


def cut(emit: Emitter, value: Value, bits: int) -> Value:
    """The lowest `bits` bits of a value in its container."""
    return emit.apply(And, value, emit.constant((1 << bits) - 1, value.dtype)) if is_odd(bits) else value


def signed(emit: Emitter, value: Value, bits: int) -> Value:
    """An integer with its sign extended through its container."""
    if not is_odd(bits):
        return value
    spare = emit.constant(8 * value.tensor.numpy_dtype.itemsize - bits, value.dtype)
    return emit.apply(ShiftRightArithmetic, emit.apply(ShiftLeft, value, spare), spare)


def bits_of(type_: LLVMType) -> int:
    element = element_of(type_)
    return element.bits if isinstance(element, IntegerType) else 0


# -- integer arithmetic -----------------------------------------------------------------------------------------------

_WRAPPING: dict[str, type[Op]] = {"add": Add, "sub": Subtract, "mul": Multiply, "and": And, "or": Or, "xor": Xor}
_ON_BOOLEANS: dict[str, type[Op]] = {"add": Xor, "sub": Xor, "mul": And, "and": And, "or": Or, "xor": Xor}


@translates("add", "sub", "mul", "and", "or", "xor")
def translate_wrapping(translator: Translator, instruction: Instruction) -> LLVMValue:
    """Arithmetic modulo 2**bits, in which the sign does not matter; also on integers that hold addresses."""
    emit, opcode, bits = translator.emit, instruction.opcode, bits_of(instruction.type)
    if bits in (32, 64) and not isinstance(instruction.type, VectorType):
        left, right = (translator.value(operand) for operand in instruction.operands)
        if isinstance(left, AddressNumber) or isinstance(right, AddressNumber):
            wide = [emit.extend_signed(each, "i64") if isinstance(each, Value) else each for each in (left, right)]
            return address_arithmetic(translator, opcode, wide[0], wide[1])
    translator.dtype_of(element_of(instruction.type))
    kind = _ON_BOOLEANS[opcode] if bits == 1 else _WRAPPING[opcode]

    def compute(left: Value, right: Value) -> Value:
        if bits == 1 and kind is Xor and number_of(right) == 1:
            return emit.negation(left)
        match opcode:
            case "add" if bits > 1:
                result = emit.add(left, right)
            case "sub" if bits > 1:
                result = emit.subtract(left, right)
            case "mul" if bits > 1:
                result = emit.multiply(left, right)
            case _:
                return emit.apply(kind, left, right)
        return cut(emit, result, bits)

    return translator.each(instruction, compute)


def address_arithmetic(translator: Translator, opcode: str, left: LLVMValue, right: LLVMValue) -> LLVMValue:
    """Arithmetic on addresses held as integers: offsets, differences and alignment.

    Raises RaisingError (WL0206) for anything else.
    """
    emit = translator.emit
    if isinstance(left, AddressNumber) and isinstance(right, AddressNumber):
        if opcode == "sub" and left.pointer.buffer is right.pointer.buffer:
            return emit.subtract(left.pointer.offset, right.pointer.offset)
        raise translator.refusal("WL0206", "arithmetic on addresses of different arrays")
    if isinstance(right, AddressNumber) and opcode != "sub":
        left, right = right, left
    if isinstance(left, AddressNumber) and isinstance(right, Value):
        buffer, offset = left.pointer.buffer, left.pointer.offset
        number = number_of(right)
        match opcode:
            case "add":
                return AddressNumber(PointerValue(buffer, emit.add(offset, right)))
            case "sub":
                return AddressNumber(PointerValue(buffer, emit.subtract(offset, right)))
            case "and" if number is not None and 0 <= number < 256:
                return emit.apply(And, offset, right)
            case "and" if number is not None and -256 <= number < 0:
                return AddressNumber(PointerValue(buffer, emit.apply(And, offset, right)))
            case "or" if number is not None and 0 <= number < 256:
                return AddressNumber(PointerValue(buffer, emit.apply(Or, offset, right)))
            case _:
                pass
    raise translator.refusal(
        "WL0206", "an address is used as a number", help="compute with indices instead of with addresses"
    )


@translates("sdiv", "srem")
def translate_signed_division(translator: Translator, instruction: Instruction) -> LLVMValue:
    emit, bits = translator.emit, bits_of(instruction.type)
    translator.dtype_of(element_of(instruction.type))
    kind: type[Op] = Divide if instruction.opcode == "sdiv" else Remainder

    def compute(left: Value, right: Value) -> Value:
        if bits == 1:
            return left if kind is Divide else emit.false
        return cut(emit, emit.apply(kind, signed(emit, left, bits), signed(emit, right, bits)), bits)

    return translator.each(instruction, compute)


@translates("udiv", "urem")
def translate_unsigned_division(translator: Translator, instruction: Instruction) -> LLVMValue:
    emit, bits = translator.emit, bits_of(instruction.type)
    translator.dtype_of(element_of(instruction.type))
    kind: type[Op] = Divide if instruction.opcode == "udiv" else Remainder

    def compute(left: Value, right: Value) -> Value:
        if bits == 1:
            return left if kind is Divide else emit.false
        return emit.as_signless(emit.apply(kind, emit.as_unsigned(left), emit.as_unsigned(right)))

    return translator.each(instruction, compute)


@translates("shl", "lshr", "ashr")
def translate_shift(translator: Translator, instruction: Instruction) -> LLVMValue:
    """Shifts by the width or more have no meaning in C and LLVM: any value will do."""
    emit, opcode, bits = translator.emit, instruction.opcode, bits_of(instruction.type)
    translator.dtype_of(element_of(instruction.type))

    def compute(value: Value, amount: Value) -> Value:
        if bits == 1:
            return value
        match opcode:
            case "shl":
                return cut(emit, emit.apply(ShiftLeft, value, amount), bits)
            case "lshr":
                return emit.apply(ShiftRightLogical, value, amount)
            case _:
                return cut(emit, emit.apply(ShiftRightArithmetic, signed(emit, value, bits), amount), bits)

    return translator.each(instruction, compute)


# -- float arithmetic -------------------------------------------------------------------------------------------------

_FLOAT: dict[str, type[Op]] = {
    "fadd": Add,
    "fsub": Subtract,
    "fmul": Multiply,
    "fdiv": Divide,
    "frem": Remainder,
    "fneg": Negate,
}


@translates("fadd", "fsub", "fmul", "fdiv", "frem", "fneg")
def translate_float(translator: Translator, instruction: Instruction) -> LLVMValue:
    """Each rounded by itself; fast-math flags are permissions that are not used."""
    translator.dtype_of(element_of(instruction.type))
    kind = _FLOAT[instruction.opcode]
    return translator.each(instruction, kind)


# -- comparison -------------------------------------------------------------------------------------------------------

_DIRECTIONS = {"eq": "EQ", "ne": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE"}


@translates("icmp")
def translate_integer_comparison(translator: Translator, instruction: Instruction) -> LLVMValue:
    emit, predicate = translator.emit, instruction.words[-1]
    type_ = element_of(instruction.operands[0].type)
    if isinstance(type_, PointerType):
        return compare_pointers(translator, instruction, predicate)
    if not isinstance(instruction.type, VectorType):
        left, right = (translator.value(operand) for operand in instruction.operands)
        if isinstance(left, AddressNumber) or isinstance(right, AddressNumber):
            return compare_addresses(translator, left, right, predicate)
    translator.dtype_of(type_)
    bits = bits_of(type_)

    def compute(left: Value, right: Value) -> Value:
        return compare_integers(emit, left, right, predicate, bits)

    return translator.each(instruction, compute)


def compare_integers(emit: Emitter, left: Value, right: Value, predicate: str, bits: int) -> Value:
    """Two integers compared by an LLVM predicate (eq, ne, slt, ult, ...)."""
    if predicate in ("eq", "ne"):
        return emit.compare(left, right, _DIRECTIONS[predicate])
    direction = _DIRECTIONS[predicate[1:]]
    if predicate[0] == "s":
        if bits == 1:  # true is -1
            left, right = right, left
        return emit.compare(signed(emit, left, bits), signed(emit, right, bits), direction)
    return emit.compare(emit.as_unsigned(left), emit.as_unsigned(right), direction)


def compare_pointers(translator: Translator, instruction: Instruction, predicate: str) -> Value:
    left, right = (translator.pointer(operand) for operand in instruction.operands)
    return compare_places(translator, left, right, predicate)


def compare_addresses(translator: Translator, left: LLVMValue, right: LLVMValue, predicate: str) -> Value:
    """Addresses held as integers."""
    if isinstance(left, AddressNumber) and isinstance(right, AddressNumber):
        return compare_places(translator, left.pointer, right.pointer, predicate)
    if isinstance(left, AddressNumber) and isinstance(right, Value) and number_of(right) == 0:
        return compare_places(translator, left.pointer, translator.null_pointer(), predicate)
    raise translator.refusal("WL0206", "an address is compared with a number")


def compare_places(translator: Translator, left: PointerValue, right: PointerValue, predicate: str) -> Value:
    """Pointers into one buffer compare as their offsets do; others are equal if their buffers lie in one memory and
    the places in it are the same. No pointer but null is equal to null.

    Raises RaisingError (WL0206) where one asks which of two arrays comes first: where they lie is not known here.
    """
    emit = translator.emit
    if left.buffer is right.buffer:
        direction = _DIRECTIONS[predicate if predicate in _DIRECTIONS else predicate[1:]]
        return emit.compare(left.offset, right.offset, direction)
    is_left_null, is_right_null = isinstance(left.buffer, NullBuffer), isinstance(right.buffer, NullBuffer)
    has_null = is_left_null or is_right_null
    if predicate not in ("eq", "ne") and not (has_null and predicate in ("ugt", "ult")):
        raise translator.refusal("WL0206", "pointers into different arrays are compared")
    if predicate in ("ugt", "ult") and is_right_null == (predicate == "ult"):
        # No address is below null, and all others are above it.
        return emit.false
    same: Value = SameBuffer(left.buffer, right.buffer)
    if not has_null:
        place = emit.add(BufferDistance(left.buffer, right.buffer), left.offset)
        same = And(same, emit.compare(place, right.offset, "EQ"))
    return same if predicate == "eq" else emit.negation(same)


@translates("fcmp")
def translate_float_comparison(translator: Translator, instruction: Instruction) -> LLVMValue:
    emit, predicate = translator.emit, instruction.words[-1]
    translator.dtype_of(element_of(instruction.operands[0].type))
    return translator.each(instruction, lambda left, right: compare_floats(emit, left, right, predicate))


def compare_floats(emit: Emitter, left: Value, right: Value, predicate: str) -> Value:
    """Two floats compared by an LLVM predicate: ordered ones are false with NaN, unordered ones true."""

    def compare(direction: str) -> Value:
        return Compare(left, right, direction)

    def is_ordered(value: Value) -> Value:
        number = number_of(value)
        return emit.true if number is not None and not math.isnan(number) else Compare(value, value, "EQ")

    match predicate:
        case "false":
            return emit.false
        case "true":
            return emit.true
        case "oeq" | "olt" | "ole" | "ogt" | "oge":
            return compare(_DIRECTIONS[predicate[1:]])
        case "une":
            return compare("NE")
        case "ult" | "ule" | "ugt" | "uge":
            return Not(compare(OPPOSITE[_DIRECTIONS[predicate[1:]]]))
        case "one":
            return Or(compare("LT"), compare("GT"))
        case "ueq":
            return Not(Or(compare("LT"), compare("GT")))
        case _:
            pass
    first, second = is_ordered(left), is_ordered(right)
    if left is right or number_of(second) == 1:
        ordered = first
    else:
        ordered = second if number_of(first) == 1 else And(first, second)
    return ordered if predicate == "ord" else emit.negation(ordered)


@translates("select")
def translate_select(translator: Translator, instruction: Instruction) -> LLVMValue:
    condition = translator.value(instruction.operands[0])
    on_true, on_false = (translator.value(operand) for operand in instruction.operands[1:])
    return select_value(translator, condition, on_true, on_false, instruction)


def select_value(
    translator: Translator, condition: LLVMValue, on_true: LLVMValue, on_false: LLVMValue, instruction: Instruction
) -> LLVMValue:
    """One of two values of any kind."""
    emit = translator.emit
    if isinstance(on_true, tuple) and isinstance(on_false, tuple):
        conditions = condition if isinstance(condition, tuple) else (condition,) * len(on_true)
        return tuple(
            select_value(translator, test, left, right, instruction)
            for test, left, right in zip(conditions, on_true, on_false, strict=True)
        )
    assert isinstance(condition, Value)
    if isinstance(on_true, Value) and isinstance(on_false, Value):
        return emit.select(condition, on_true, on_false)
    if isinstance(on_true, AddressNumber) and isinstance(on_false, AddressNumber):
        place = select_pointer(translator, condition, on_true.pointer, on_false.pointer)
        return AddressNumber(place)
    if isinstance(on_true, PointerValue) and isinstance(on_false, PointerValue):
        return select_pointer(translator, condition, on_true, on_false)
    raise translator.refusal("WL0206", "an address is used as a number", instruction)


def select_pointer(
    translator: Translator, condition: Value, on_true: PointerValue, on_false: PointerValue
) -> PointerValue:
    buffer = on_true.buffer
    if buffer is not on_false.buffer:
        buffer = SelectBuffer(condition, on_true.buffer, on_false.buffer)
    return PointerValue(buffer, translator.emit.select(condition, on_true.offset, on_false.offset))


# -- conversion -------------------------------------------------------------------------------------------------------


@translates("zext", "sext", "trunc")
def translate_width(translator: Translator, instruction: Instruction) -> LLVMValue:
    emit, opcode = translator.emit, instruction.opcode
    source, target = bits_of(instruction.operands[0].type), bits_of(instruction.type)
    if {source, target} == {32, 64} and not isinstance(instruction.type, VectorType):
        address = translator.value(instruction.operands[0])
        if isinstance(address, AddressNumber) and has_short_addresses(address.pointer):
            return address
    translator.dtype_of(element_of(instruction.type))
    translator.dtype_of(element_of(instruction.operands[0].type))
    return translator.each(instruction, lambda value: change_width(emit, value, opcode, source, target))


def change_width(emit: Emitter, value: Value, opcode: str, source: int, target: int) -> Value:
    """`zext`, `sext` or `trunc` from so many bits to so many."""
    dtype = container_of(target)
    if opcode == "trunc":
        if target == 1:
            lowest = emit.apply(And, value, emit.constant(1, value.dtype))
            return emit.compare(lowest, emit.constant(0, value.dtype), "NE")
        return cut(emit, emit.extend_signed(value, dtype), target)
    if opcode == "zext":
        return emit.apply(Convert, value, dtype=dtype) if source == 1 else emit.extend_unsigned(value, dtype)
    if source == 1:
        return cut(emit, emit.apply(Negate, emit.apply(Convert, value, dtype=dtype)), target)
    return cut(emit, emit.extend_signed(signed(emit, value, source), dtype), target)


@translates("fptrunc", "fpext")
def translate_float_width(translator: Translator, instruction: Instruction) -> LLVMValue:
    dtype = translator.dtype_of(element_of(instruction.type))
    translator.dtype_of(element_of(instruction.operands[0].type))
    return translator.each(instruction, lambda value: Convert(value, dtype))


@translates("sitofp", "uitofp")
def translate_to_float(translator: Translator, instruction: Instruction) -> LLVMValue:
    emit, opcode = translator.emit, instruction.opcode
    source = bits_of(instruction.operands[0].type)
    dtype = translator.dtype_of(element_of(instruction.type))
    translator.dtype_of(element_of(instruction.operands[0].type))

    def compute(value: Value) -> Value:
        if source == 1:
            # The one bit of a signed number is -1; its zero has no sign.
            number = Convert(value, "i32") if opcode == "sitofp" else value
            return Convert(Negate(number) if opcode == "sitofp" else number, dtype)
        if opcode == "sitofp":
            return Convert(signed(emit, value, source), dtype)
        return Convert(emit.as_unsigned(value), dtype)

    return translator.each(instruction, compute)


@translates("fptosi", "fptoui")
def translate_to_integer(translator: Translator, instruction: Instruction) -> LLVMValue:
    """Out of range LLVM promises nothing; the conversion saturates and NaN gives 0, as the GPU's 32-bit one does."""
    emit, is_signed = translator.emit, instruction.opcode == "fptosi"
    bits = bits_of(instruction.type)
    dtype = translator.dtype_of(element_of(instruction.type))

    def compute(value: Value) -> Value:
        if bits == 1:
            return Compare(value, emit.constant(0, value.dtype), "NE")
        if is_signed:
            return cut(emit, Convert(value, dtype), bits)
        return cut(emit, emit.as_signless(Convert(value, "u" + dtype)), bits)

    return translator.each(instruction, compute)


@translates("bitcast")
def translate_bitcast(translator: Translator, instruction: Instruction) -> LLVMValue:
    source, target = instruction.operands[0].type, instruction.type
    value = translator.value(instruction.operands[0])
    if isinstance(target, PointerType):
        return value
    parts = value if isinstance(value, tuple) else (value,)
    wide, narrow = element_of(source), element_of(target)
    dtype = translator.dtype_of(narrow)
    pieces: list[Value] = []
    for part in parts:
        if not isinstance(part, Value):
            raise translator.refusal("WL0206", "an address is used as a number", instruction)
        pieces.append(part)
    if _bits(wide) == _bits(narrow):
        found = [bitcast(translator.emit, piece, dtype) for piece in pieces]
    elif _bits(wide) > _bits(narrow):
        found = [part for piece in pieces for part in split(translator.emit, piece, _bits(wide), _bits(narrow), dtype)]
    else:
        count = _bits(narrow) // _bits(wide)
        found = [
            join(translator.emit, pieces[index : index + count], _bits(wide), dtype)
            for index in range(0, len(pieces), count)
        ]
    return tuple(found) if isinstance(target, VectorType) else found[0]


def _bits(type_: LLVMType) -> int:
    return type_.bits if isinstance(type_, IntegerType) else 8 * type_.size


def bitcast(emit: Emitter, value: Value, dtype: str) -> Value:
    """The same bits as another dtype of the same width."""
    return value if value.dtype == dtype else emit.apply(BitcastConvert, value, dtype=dtype)


def split(emit: Emitter, value: Value, wide: int, narrow: int, dtype: str) -> list[Value]:
    """The parts of a number of `wide` bits, lowest first, each of `narrow` bits and of the dtype."""
    whole = bitcast(emit, value, container_of(wide))
    parts: list[Value] = []
    for place in range(0, wide, narrow):
        amount = emit.constant(place, whole.dtype)
        moved = whole if place == 0 else emit.apply(ShiftRightLogical, whole, amount)
        parts.append(bitcast(emit, change_width(emit, moved, "trunc", wide, narrow), dtype))
    return parts


def join(emit: Emitter, parts: list[Value], narrow: int, dtype: str) -> Value:
    """The number whose parts, lowest first, are given; the reverse of `split`."""
    wide = narrow * len(parts)
    container = container_of(wide)
    whole: Value | None = None
    for index, part in enumerate(parts):
        piece = change_width(emit, bitcast(emit, part, container_of(narrow)), "zext", narrow, wide)
        if index:
            piece = emit.apply(ShiftLeft, piece, emit.constant(index * narrow, container))
        whole = piece if whole is None else emit.apply(Or, whole, piece)
    assert whole is not None
    return bitcast(emit, whole, dtype)


@translates("ptrtoint", "ptrtoaddr")
def translate_pointer_to_integer(translator: Translator, instruction: Instruction) -> LLVMValue:
    place = translator.pointer(instruction.operands[0])
    if bits_of(instruction.type) != 64 and not (bits_of(instruction.type) == 32 and has_short_addresses(place)):
        raise translator.refusal("WL0206", "an address is used as a number", instruction)
    return AddressNumber(place)


def has_short_addresses(place: PointerValue) -> bool:
    """Whether addresses have 32 bits, too: in shared memory."""
    type_ = place.buffer.type
    return isinstance(type_, BufferType) and type_.space == "shared"


@called("__windlass_shared_pointer")
@translates("inttoptr")
def translate_integer_to_pointer(translator: Translator, instruction: Instruction) -> LLVMValue:
    found = translator.value(instruction.operands[0])
    if isinstance(found, AddressNumber):
        return found.pointer
    if isinstance(found, Value) and number_of(found) is not None:
        return PointerValue(translator.emit.null(), found)
    raise translator.refusal(
        "WL0206", "a pointer is made from a number", instruction, help="pass the array itself as a parameter"
    )


@translates("addrspacecast", "freeze")
def translate_same(translator: Translator, instruction: Instruction) -> LLVMValue:
    return translator.value(instruction.operands[0])


def float_type_of(type_: LLVMType) -> FloatType | None:
    element = element_of(type_)
    return element if isinstance(element, FloatType) else None
