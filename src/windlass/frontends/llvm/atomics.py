"""Read-modify-write and compare-exchange."""

from __future__ import annotations

from windlass.frontends.llvm.memory import POINTER_IN_MEMORY_HELP
from windlass.frontends.llvm.registry import called, translates
from windlass.frontends.llvm.translator import Translator
from windlass.frontends.llvm.values import LLVMValue
from windlass.llvm.layout import PointerType
from windlass.llvm.syntax import Instruction
from windlass.loops import Atomic, CompareExchange
from windlass.ops.comparison import Compare
from windlass.ops.conversion import BitcastConvert

KINDS = {
    "add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor", "nand": "nand", "xchg": "exchange",
    "min": "min", "max": "max", "umin": "umin", "umax": "umax", "fadd": "fadd", "fsub": "fsub", "fmin": "fmin",
    "fmax": "fmax", "uinc_wrap": "inc", "udec_wrap": "dec",
}  # fmt: skip


@translates("atomicrmw")
def translate_atomic(translator: Translator, instruction: Instruction) -> LLVMValue:
    kind = KINDS.get(instruction.words[0])
    if kind is None:
        raise translator.refusal("WL0207", f"the atomic operation {instruction.words[0]}", instruction)
    if isinstance(instruction.type, PointerType):
        raise translator.refusal("WL0206", "a pointer is kept in memory", instruction, help=POINTER_IN_MEMORY_HELP)
    place = translator.pointer(instruction.operands[0])
    return Atomic(kind, place.buffer, place.offset, translator.scalar(instruction.operands[1]))


@called("llvm.nvvm.atomic.load.inc.32", "llvm.nvvm.atomic.load.dec.32", "llvm.nvvm.atomic.load.inc",
        "llvm.nvvm.atomic.load.dec")  # fmt: skip
def translate_wrapping_atomic(translator: Translator, instruction: Instruction) -> LLVMValue:
    place = translator.pointer(instruction.operands[0])
    kind = "inc" if ".inc" in instruction.callee else "dec"
    return Atomic(kind, place.buffer, place.offset, translator.scalar(instruction.operands[1]))


@translates("cmpxchg")
def translate_compare_exchange(translator: Translator, instruction: Instruction) -> LLVMValue:
    """The old value and whether it was the expected one, told by its bits."""
    if isinstance(instruction.operands[1].type, PointerType):
        raise translator.refusal("WL0206", "a pointer is kept in memory", instruction, help=POINTER_IN_MEMORY_HELP)
    place = translator.pointer(instruction.operands[0])
    expected, desired = (translator.scalar(operand) for operand in instruction.operands[1:])
    old = CompareExchange(place.buffer, place.offset, expected, desired)
    left, right = old, expected
    if old.tensor.is_float:
        word = f"i{8 * old.tensor.numpy_dtype.itemsize}"
        left, right = BitcastConvert(old, word), BitcastConvert(expected, word)
    return (old, Compare(left, right, "EQ"))
