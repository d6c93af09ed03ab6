"""Addresses, loads, stores, local arrays, aggregates and vectors."""

from __future__ import annotations

from windlass.frontends.llvm.emitter import number_of
from windlass.frontends.llvm.provenance import Base
from windlass.frontends.llvm.registry import translates
from windlass.frontends.llvm.translator import WORD_DTYPES, Translator
from windlass.frontends.llvm.values import AddressNumber, LLVMValue, PointerValue
from windlass.ir import Builder, Value
from windlass.ir.types import MLIR_DTYPES
from windlass.llvm.layout import (
    ArrayType,
    IntegerType,
    LLVMType,
    PointerType,
    StructType,
    VectorType,
    declared_dtype,
    members_of,
    scalars_of,
)
from windlass.llvm.syntax import Instruction, Local, Number, Operand
from windlass.loops import Allocate, Load, Store
from windlass.ops.comparison import Compare
from windlass.ops.conversion import Convert
from windlass.ops.elementwise import And

POINTER_IN_MEMORY_HELP = "pass each array as a kernel parameter of its own, and index it where it is used"


@translates("getelementptr")
def translate_address(translator: Translator, instruction: Instruction) -> LLVMValue:
    """Every index is a step over a type; the byte offsets add up."""
    emit = translator.emit
    place = translator.pointer(instruction.operands[0])
    offset = place.offset
    type_: LLVMType = instruction.element
    constant = 0
    for position, operand in enumerate(instruction.operands[1:]):
        if position > 0:
            if isinstance(type_, StructType):
                assert isinstance(operand, Number)
                constant += type_.offsets[int(operand.value)]
                type_ = type_.fields[int(operand.value)]
                continue
            assert isinstance(type_, ArrayType | VectorType)
            type_ = type_.element
        stride = type_.size
        if isinstance(operand, Number):
            constant += signed_number(operand) * stride
            continue
        index = emit.extend_signed(translator.scalar(operand), "i64")
        offset = emit.add(offset, emit.multiply(index, emit.constant(stride, "i64")))
    return PointerValue(place.buffer, emit.add(offset, emit.constant(constant, "i64")))


WIDEST_VECTOR = 16


def signed_number(operand: Number) -> int:
    """The value of an integer constant, read as signed."""
    assert isinstance(operand.type, IntegerType)
    value, bits = int(operand.value), operand.type.bits
    return value - (1 << bits) if value >> (bits - 1) else value


def stored_dtype(translator: Translator, type_: LLVMType, instruction: Instruction) -> str:
    """The dtype with which a scalar lies in memory: booleans take a byte.

    Raises RaisingError (WL0206) for pointers.
    """
    if isinstance(type_, PointerType):
        raise translator.refusal("WL0206", "a pointer is kept in memory", instruction, help=POINTER_IN_MEMORY_HELP)
    if isinstance(type_, IntegerType):
        if type_.bits == 1:
            return "i8"
        if type_.bits not in WORD_DTYPES:
            raise translator.refusal("WL0207", f"an integer of {type_.bits} bits is kept in memory", instruction)
    return translator.dtype_of(type_)


@translates("load")
def translate_load(translator: Translator, instruction: Instruction) -> LLVMValue:
    if isinstance(instruction.type, PointerType) and is_called(translator, instruction.name):
        raise translator.refusal("WL0203", "a function is called through a pointer", instruction)
    place = translator.pointer(instruction.operands[0])
    is_volatile = "volatile" in instruction.words or "atomic" in instruction.words
    return load(translator, place, instruction.type, instruction, is_volatile, alignment_of(instruction))


def alignment_of(instruction: Instruction) -> int:
    """The multiple at which a load or store promises to be."""
    found = [int(word.removeprefix("align ")) for word in instruction.words if word.startswith("align ")]
    return min(found[0], WIDEST_VECTOR) if found else 0


def beyond_own(alignment: int, dtype: str) -> int:
    """An alignment if it is more than a scalar has to have by itself; else 0."""
    width = next(each.itemsize for each, name in MLIR_DTYPES.items() if name == dtype)
    return alignment if alignment > width else 0


def load(
    translator: Translator,
    place: PointerValue,
    type_: LLVMType,
    instruction: Instruction,
    is_volatile: bool = False,
    alignment: int = 0,
) -> LLVMValue:
    """A value of any type from memory, scalar by scalar; the first tells the `alignment` of all."""
    members = members_of(type_)
    if members or isinstance(type_, StructType):
        return tuple(
            load(
                translator,
                shifted(translator, place, offset),
                member,
                instruction,
                is_volatile,
                0 if offset else alignment,
            )
            for offset, member in members
        )
    dtype = stored_dtype(translator, type_, instruction)
    found = Load(place.buffer, place.offset, dtype, is_volatile, beyond_own(alignment, dtype))
    if isinstance(type_, IntegerType) and type_.bits == 1:
        return Compare(And(found, translator.emit.constant(1, "i8")), translator.emit.constant(0, "i8"), "NE")
    return found


def is_called(translator: Translator, name: str) -> bool:
    """Whether a value of that name is called as a function."""
    return any(
        isinstance(first := each.operands[0], Local) and first.name == name
        for node in translator.flow.nodes.values()
        for each in node.instructions
        if each.opcode == "call" and not each.callee and each.operands
    )


def shifted(translator: Translator, place: PointerValue, offset: int) -> PointerValue:
    """The place so many bytes further."""
    return PointerValue(place.buffer, translator.emit.add(place.offset, translator.emit.constant(offset, "i64")))


@translates("store")
def translate_store(translator: Translator, instruction: Instruction) -> None:
    value, target = instruction.operands
    if is_print_argument(translator, instruction):
        return
    is_volatile = "volatile" in instruction.words or "atomic" in instruction.words
    place, alignment = translator.pointer(target), alignment_of(instruction)
    store(translator, translator.value(value), value.type, place, instruction, is_volatile, alignment)


def store(
    translator: Translator,
    value: LLVMValue,
    type_: LLVMType,
    place: PointerValue,
    instruction: Instruction,
    is_volatile: bool = False,
    alignment: int = 0,
) -> None:
    """A value of any type into memory, scalar by scalar; the first tells the `alignment` of all."""
    if isinstance(value, tuple):
        for (offset, member), part in zip(members_of(type_), value, strict=True):
            inner = 0 if offset else alignment
            store(translator, part, member, shifted(translator, place, offset), instruction, is_volatile, inner)
        return
    dtype = stored_dtype(translator, type_, instruction)
    if not isinstance(value, Value):
        raise translator.refusal("WL0206", "an address is kept in memory", instruction, help=POINTER_IN_MEMORY_HELP)
    if value.dtype == "i1":
        value = Convert(value, dtype)
    Store(value, place.buffer, place.offset, is_volatile, beyond_own(alignment, value.dtype))


@translates("alloca")
def translate_allocation(translator: Translator, instruction: Instruction) -> LLVMValue:
    """A local array; it stands at the kernel's beginning wherever the source has it.

    Raises RaisingError (WL0207) where its size is not constant.
    """
    count = 1
    if instruction.operands:
        size = instruction.operands[0]
        if not isinstance(size, Number):
            raise translator.refusal("WL0207", "a local array has a size that is not constant", instruction)
        count = int(size.value)
    if instruction.name in translator.printed:
        return translator.null_pointer()
    with Builder(translator.emit.prologue, source=translator.position):
        element = instruction.element
        buffer = Allocate("local", element.size * count, instruction.name, declared_dtype(element))
    translator.buffers[Base("allocation", instruction.name)] = buffer
    return PointerValue(buffer, translator.emit.constant(0, "i64"))


# -- what printf takes ------------------------------------------------------------------------------------------------


def find_print_arguments(translator: Translator) -> None:
    """Note the local blocks that hold the arguments of printf: what is stored there is not memory of the kernel."""
    for node in translator.flow.nodes.values():
        for instruction in node.instructions:
            if instruction.opcode == "call" and instruction.callee == "vprintf" and len(instruction.operands) == 2:
                block = instruction.operands[1]
                if isinstance(block, Local):
                    base = translator.provenance.base_of(block)
                    if base is not None and base.kind == "allocation":
                        translator.printed[base.name] = {}


def is_print_argument(translator: Translator, instruction: Instruction) -> bool:
    """Whether a store fills an argument of printf; then its value is noted."""
    if not translator.printed:
        return False
    value, target = instruction.operands
    base = translator.provenance.base_of(target)
    if base is None or base.kind != "allocation" or base.name not in translator.printed:
        return False
    offset = number_of(translator.pointer(target).offset)
    found = translator.value(value)
    if isinstance(found, tuple):
        return True
    if isinstance(found, PointerValue | AddressNumber):
        found = found.offset if isinstance(found, PointerValue) else found.pointer.offset
    translator.printed[base.name][int(offset or 0)] = (found, value.type)
    return True


# -- aggregates and vectors -------------------------------------------------------------------------------------------


@translates("extractvalue")
def translate_extract_value(translator: Translator, instruction: Instruction) -> LLVMValue:
    found = translator.value(instruction.operands[0])
    for index in instruction.indices:
        assert isinstance(found, tuple)
        found = found[index]
    return found


@translates("insertvalue")
def translate_insert_value(translator: Translator, instruction: Instruction) -> LLVMValue:
    whole, part = (translator.value(operand) for operand in instruction.operands)

    def insert(into: LLVMValue, indices: tuple[int, ...]) -> LLVMValue:
        if not indices:
            return part
        assert isinstance(into, tuple)
        first = indices[0]
        return (*into[:first], insert(into[first], indices[1:]), *into[first + 1 :])

    return insert(whole, instruction.indices)


@translates("extractelement")
def translate_extract_element(translator: Translator, instruction: Instruction) -> LLVMValue:
    vector = translator.value(instruction.operands[0])
    assert isinstance(vector, tuple)
    index = instruction.operands[1]
    if isinstance(index, Number):
        return vector[int(index.value)]
    place = translator.scalar(index)
    found = vector[0]
    for number, element in enumerate(vector[1:], 1):
        assert isinstance(found, Value) and isinstance(element, Value)
        found = translator.emit.select(is_index(translator, place, number), element, found)
    return found


@translates("insertelement")
def translate_insert_element(translator: Translator, instruction: Instruction) -> LLVMValue:
    vector, part = (translator.value(operand) for operand in instruction.operands[:2])
    assert isinstance(vector, tuple)
    index = instruction.operands[2]
    if isinstance(index, Number):
        number = int(index.value)
        return (*vector[:number], part, *vector[number + 1 :])
    place = translator.scalar(index)
    found: list[LLVMValue] = []
    for number, element in enumerate(vector):
        assert isinstance(part, Value) and isinstance(element, Value)
        found.append(translator.emit.select(is_index(translator, place, number), part, element))
    return tuple(found)


def is_index(translator: Translator, place: Value, number: int) -> Value:
    return translator.emit.compare(place, translator.emit.constant(number, place.dtype), "EQ")


@translates("shufflevector")
def translate_shuffle(translator: Translator, instruction: Instruction) -> LLVMValue:
    left, right = (translator.value(operand) for operand in instruction.operands)
    assert isinstance(left, tuple) and isinstance(right, tuple)
    both = left + right
    assert isinstance(instruction.type, VectorType)
    undefined = translator.undefined(instruction.type.element)
    return tuple(both[index] if index >= 0 else undefined for index in instruction.indices)


def layout_of(operand: Operand) -> list[tuple[int, LLVMType]]:
    """The scalars of an operand's type with their offsets."""
    return scalars_of(operand.type)
