"""One kernel on its way to the loop level: what each LLVM value has become, and how instructions find it."""

from __future__ import annotations

from collections.abc import Callable

from windlass.diagnostics import Position, RaisingError
from windlass.frontends.llvm.control_flow import ControlFlow
from windlass.frontends.llvm.emitter import Emitter, scalar_type
from windlass.frontends.llvm.provenance import Base, Provenance
from windlass.frontends.llvm.registry import translator_of
from windlass.frontends.llvm.values import AddressNumber, LLVMValue, PointerValue
from windlass.ir import Builder, Value, current_builder
from windlass.llvm.layout import (
    FloatType,
    IntegerType,
    LLVMType,
    PointerType,
    VectorType,
    members_of,
)
from windlass.llvm.module import DeviceModule
from windlass.llvm.syntax import (
    Expression,
    FunctionText,
    Global,
    Instruction,
    Local,
    Members,
    Null,
    Number,
    Operand,
    Text,
    Undef,
    Zero,
)
from windlass.loops import Allocate, DeviceVariableBuffer

WORD_DTYPES = {1: "i1", 8: "i8", 16: "i16", 32: "i32", 64: "i64"}


def container_of(bits: int) -> str:
    """The dtype that holds an integer of so many bits (at most 64)."""
    return WORD_DTYPES.get(bits) or next(name for width, name in WORD_DTYPES.items() if width > max(bits, 7))


class Translator:
    """What the values of one kernel have become.

    Integers of odd width (i24) are held in the next wider type, the bits above being zero.
    """

    def __init__(self, module: DeviceModule, function: FunctionText, flow: ControlFlow, kernel_name: str) -> None:
        self.module = module
        self.function = function
        self.kernel_name = kernel_name
        self.flow = flow
        self.emit = Emitter()
        self.provenance = Provenance(function, flow)
        self.values: dict[str, LLVMValue] = {}
        self.buffers: dict[Base, Value] = {}
        self.identifiers: dict[str, Value] = {}
        """The ids and sizes of the launch, by the names of `LAUNCH_DIMENSIONS`; sizes as "size of block.x"."""
        self.printed: dict[str, dict[int, tuple[Value, LLVMType]]] = {}
        """What was written into the argument block of a printf, by the block's name and offset."""
        self.position: Position | None = None

    # -- diagnostics ----------------------------------------------------------------------------------------------

    def position_of(self, instruction: Instruction | None) -> Position | None:
        """The instruction's source position, else that of the kernel."""
        if instruction is not None:
            found = self.module.positions.position(instruction.location)
            if found is not None:
                return found
        return self.module.positions.position(self.function.location)

    def refusal(
        self, code: str, headline: str, instruction: Instruction | None = None, help: str | None = None
    ) -> RaisingError:
        """The error to raise, which names the instruction's line (else the last one that was translated)."""
        position = self.position_of(instruction) if instruction is not None else self.position
        if position is None:
            position = self.position_of(None)
        return self.module.refusal(code, headline, position, self.kernel_name, help)

    # -- types ----------------------------------------------------------------------------------------------------

    def dtype_of(self, type_: LLVMType) -> str:
        """The dtype of a scalar type.

        Raises RaisingError (WL0207) for types that have none.
        """
        if isinstance(type_, IntegerType) and type_.bits <= 64:
            return container_of(type_.bits)
        if isinstance(type_, FloatType):
            return type_.dtype
        raise self.refusal("WL0207", f"values of LLVM type {type_.text} are not supported")

    # -- operands -------------------------------------------------------------------------------------------------

    def value(self, operand: Operand) -> LLVMValue:
        """What the operand has become."""
        match operand:
            case Local(name=name):
                return self.values[name]
            case Number(value=number, type=type_):
                return self.emit.constant(number, self.dtype_of(type_))
            case Null():
                return self.null_pointer()
            case Global(name=name):
                return PointerValue(self.buffer_of(Base("variable", name)), self.emit.constant(0, "i64"))
            case Undef(type=type_):
                return self.undefined(type_)
            case Zero(type=type_):
                return self.zero(type_)
            case Members(members=members):
                return tuple(self.value(member) for member in members)
            case Text(data=data):
                return tuple(self.emit.constant(byte, "i8") for byte in data)
            case Expression():
                return self.expression(operand)
            case _:
                raise self.refusal("WL0207", f"the operand {operand!r} is not supported")

    def expression(self, operand: Expression) -> LLVMValue:
        """A constant expression, translated as the instruction that it is."""
        function = translator_of(operand.opcode)
        if function is None:
            raise self.refusal("WL0207", f"the constant expression {operand.opcode} is not supported")
        found = function(self, Instruction(operand.opcode, "", operand.type, operand.operands, element=operand.element))
        assert found is not None
        return found

    def scalar(self, operand: Operand) -> Value:
        """The operand as a number.

        Raises RaisingError (WL0206) where it is an address.
        """
        found = self.value(operand)
        if isinstance(found, Value):
            return found
        if isinstance(found, AddressNumber | PointerValue):
            raise self.refusal(
                "WL0206",
                "an address is used as a number",
                help="compute with indices instead of with addresses",
            )
        raise self.refusal("WL0207", f"an aggregate of type {operand.type.text} is used as a number")

    def pointer(self, operand: Operand) -> PointerValue:
        found = self.value(operand)
        if isinstance(found, PointerValue):
            return found
        raise self.refusal("WL0207", f"a value of type {operand.type.text} is used as a pointer")

    def undefined(self, type_: LLVMType) -> LLVMValue:
        """A value of this type that may be anything."""
        members = members_of(type_)
        if members:
            return tuple(self.undefined(member) for _, member in members)
        if isinstance(type_, PointerType):
            return self.null_pointer()
        return self.emit.undefined(scalar_type(self.dtype_of(type_)))

    def zero(self, type_: LLVMType) -> LLVMValue:
        members = members_of(type_)
        if members:
            return tuple(self.zero(member) for _, member in members)
        if isinstance(type_, PointerType):
            return self.null_pointer()
        if isinstance(type_, IntegerType | FloatType):
            return self.emit.constant(0, self.dtype_of(type_))
        return ()

    def null_pointer(self) -> PointerValue:
        return PointerValue(self.emit.null(), self.emit.constant(0, "i64"))

    # -- memory ---------------------------------------------------------------------------------------------------

    def buffer_of(self, base: Base) -> Value:
        """The buffer of a base other than a "value".

        Raises RaisingError (WL0203) for functions, whose address can't be taken.
        """
        known = self.buffers.get(base)
        if known is not None:
            return known
        if base.kind == "null":
            return self.emit.null()
        assert base.kind == "variable", base
        variable = self.module.variable(base.name)
        if variable is None:
            raise self.refusal("WL0203", f"the address of the function {base.name} is taken")
        with Builder(self.emit.prologue):
            if variable.is_dynamic_shared:
                shared = Base("variable", "")
                found = self.buffers.get(shared) or Allocate("shared", -1, base.name)
                self.buffers[shared] = found
            elif variable.space == 3:
                found = Allocate("shared", variable.type.size, base.name)
            else:
                space = "constant" if variable.is_constant or variable.space == 4 else "global"
                found = DeviceVariableBuffer(base.name, space, variable.type.size)
        self.buffers[base] = found
        return found

    # -- instructions ---------------------------------------------------------------------------------------------

    def translate(self, instruction: Instruction) -> None:
        """Make the ops of one instruction that is neither a phi nor a terminator."""
        position = self.module.positions.position(instruction.location)
        if position is not None:
            self.position = position
        builder = current_builder()
        assert builder is not None
        builder.source = self.position
        function = translator_of(instruction.opcode)
        if function is None:
            raise self.refusal("WL0207", f"the LLVM instruction {instruction.opcode} is not supported")
        result = function(self, instruction)
        if instruction.name and result is not None:
            self.values[instruction.name] = result

    def each(self, instruction: Instruction, function: Callable[..., Value]) -> LLVMValue:
        """`function` of the operands, element by element where they are vectors."""
        if isinstance(instruction.type, VectorType):
            columns = [self.value(operand) for operand in instruction.operands]
            rows: list[Value] = []
            for index in range(instruction.type.count):
                row = [column[index] if isinstance(column, tuple) else column for column in columns]
                rows.append(function(*row))
            return tuple(rows)
        return function(*[self.scalar(operand) for operand in instruction.operands])


def element_of(type_: LLVMType) -> LLVMType:
    """The type itself, or that of a vector's elements."""
    return type_.element if isinstance(type_, VectorType) else type_
