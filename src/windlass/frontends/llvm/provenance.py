"""Where each pointer of a function points into.

Most pointers lead, through address arithmetic, to one parameter, variable or local array: their *base*. A phi or
select of pointers with different bases is a base of its own, whose buffer is known only when the program runs.
"""

from __future__ import annotations

from typing import NamedTuple

from windlass.frontends.llvm.control_flow import ControlFlow
from windlass.llvm.layout import IntegerType, PointerType
from windlass.llvm.syntax import Expression, FunctionText, Global, Instruction, Local, Null, Operand


class Base(NamedTuple):
    """What a pointer points into. `kind` is "parameter", "variable", "allocation", "null" or "value" (told at run time
    by the pointer of that name)."""

    kind: str
    name: str


NULL = Base("null", "")

_FOLLOW_FIRST = frozenset({
    "getelementptr", "addrspacecast", "bitcast", "freeze", "ptrtoint", "ptrtoaddr", "inttoptr", "trunc", "zext", "sext",
})  # fmt: skip
_ADDRESS_ARITHMETIC = frozenset({"add", "sub", "and", "or", "xor"})
_HOLDING_ADDRESSES = frozenset({"phi", "select", "ptrtoint", "ptrtoaddr", "freeze", "trunc", "zext", "sext"})


class Provenance:
    """The base of every pointer, and of every integer that was made from one."""

    def __init__(self, function: FunctionText, flow: ControlFlow) -> None:
        self.bases: dict[str, Base] = {
            name: Base("parameter", name) for name, type_, _ in function.parameters if isinstance(type_, PointerType)
        }
        relevant = [
            instruction
            for node in flow.nodes.values()
            for instruction in (*node.phis, *node.instructions)
            if instruction.name and _may_hold_address(instruction)
        ]
        changed = True
        while changed:
            changed = False
            for instruction in relevant:
                found = self._transfer(instruction)
                if found is not None and self.bases.get(instruction.name) != found:
                    self.bases[instruction.name] = found
                    changed = True

    def base_of(self, operand: Operand) -> Base | None:
        """The base of an operand; None for numbers that hold no address, and for undef."""
        match operand:
            case Local(name=name):
                return self.bases.get(name)
            case Global(name=name):
                return Base("variable", name)
            case Null():
                return NULL
            case Expression(operands=operands, opcode=opcode, type=type_):
                found = [base for each in operands if (base := self.base_of(each)) is not None]
                if opcode == "sub" and len(found) == 2:
                    return None
                if not found and opcode == "inttoptr" and isinstance(type_, PointerType):
                    return NULL
                return found[0] if found else None
            case _:
                return None

    def _transfer(self, instruction: Instruction) -> Base | None:
        opcode, operands = instruction.opcode, instruction.operands
        own = Base("value", instruction.name)
        if opcode in _FOLLOW_FIRST or instruction.callee == "__windlass_shared_pointer":
            found = self.base_of(operands[0])
            if found is None and opcode == "inttoptr" and not isinstance(operands[0], Local):
                return NULL
            return found
        if opcode in ("phi", "select"):
            if self.bases.get(instruction.name) == own:
                return own
            incoming = operands if opcode == "phi" else operands[1:]
            found = {base for each in incoming if (base := self.base_of(each)) is not None}
            if not found:
                return None
            single = found.pop() if len(found) == 1 else own
            # A phi hands its own buffer on even where one other value tells it: that one may stand within a loop.
            return own if opcode == "phi" and single.kind == "value" else single
        if opcode == "alloca":
            return Base("allocation", instruction.name)
        if opcode in _ADDRESS_ARITHMETIC:
            left, right = (self.base_of(each) for each in operands)
            if left is not None and right is not None:
                return None
            return left or right
        return own if isinstance(instruction.type, PointerType) else None


def _may_hold_address(instruction: Instruction) -> bool:
    type_ = instruction.type
    if isinstance(type_, PointerType):
        return True
    if not (isinstance(type_, IntegerType) and type_.bits in (32, 64)):
        return False
    return instruction.opcode in _ADDRESS_ARITHMETIC | _HOLDING_ADDRESSES
