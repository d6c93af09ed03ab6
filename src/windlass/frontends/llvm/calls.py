"""Calls: launch sizes, barriers, what lanes do together, assertions, printf, copies of memory, and the rest."""

from __future__ import annotations

import re
from collections.abc import Callable

from windlass.emulator.intrinsics import RUNTIME_CALLS, fits
from windlass.emulator.mathematics import FUNCTIONS
from windlass.frontends.llvm.arithmetic import bits_of, cut, is_odd, signed
from windlass.frontends.llvm.emitter import number_of
from windlass.frontends.llvm.memory import shifted
from windlass.frontends.llvm.registry import called, callee_of, mathematical_function, translates
from windlass.frontends.llvm.translator import Translator
from windlass.frontends.llvm.values import AddressNumber, LLVMValue, PointerValue
from windlass.ir import Block, BufferType, Builder, Region, Value
from windlass.ir.types import MLIR_DTYPES
from windlass.llvm.layout import LLVMType, StructType, VectorType, members_of
from windlass.llvm.names import ENTER, IN_ORDER, ITERATION, OWN_THREAD, collective_name
from windlass.llvm.syntax import Expression, Global, Instruction, Number, Operand, Text
from windlass.loops import (
    Assert,
    Barrier,
    CheckRange,
    Collective,
    DeviceCall,
    For,
    Load,
    Mark,
    Print,
    Store,
    Yield,
)
from windlass.ops.elementwise import And, Or

_ALLOCATORS = frozenset({
    "malloc", "free", "_Znwm", "_Znam", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm", "calloc", "realloc",
})  # fmt: skip


@translates("call")
def translate_call(translator: Translator, instruction: Instruction) -> LLVMValue | None:
    """Anything called by name.

    Raises RaisingError for recursion (WL0202), calls through pointers (WL0203), memory allocation (WL0204) and inline
    assembly (WL0205).
    """
    name = instruction.callee
    if not name:
        if instruction.words[:1] == ("asm",):
            if '""' in instruction.words:
                return None
            raise translator.refusal("WL0205", "inline assembly", instruction, help="write it in CUDA C++")
        raise translator.refusal("WL0203", "a function is called through a pointer", instruction)
    if not _has_its_types(instruction):
        return translate_unknown(translator, instruction)
    function = callee_of(name)
    if function is not None:
        return function(translator, instruction)
    mathematical = mathematical_function(name)
    if mathematical is not None:
        return translate_mathematical(translator, instruction, mathematical)
    if name in _ALLOCATORS:
        raise translator.refusal(
            "WL0204", "memory is allocated within a kernel", instruction, help="allocate it before the launch"
        )
    if name in translator.module.function_names:
        raise translator.refusal("WL0202", f"the function {name} calls itself", instruction, help="write a loop")
    if name.startswith(("__windlass_shfl", "llvm.nvvm.shfl", "llvm.nvvm.vote", "llvm.nvvm.match", "llvm.nvvm.redux")):
        return translate_collective(translator, instruction)
    return translate_unknown(translator, instruction)


def _has_its_types(instruction: Instruction) -> bool:
    """Whether a function that is known by its name is declared with the types that are known of it.

    Names are anybody's to declare; those of LLVM's intrinsics have been checked by clang.
    """
    kinds = [operand.type.text for operand in instruction.operands]
    function = FUNCTIONS.get(instruction.callee)
    if function is not None:
        return (function.result, list(function.arguments)) == (instruction.type.text, kinds)
    runtime = RUNTIME_CALLS.get(instruction.callee)
    return runtime is None or fits(runtime, kinds)


def translate_mathematical(
    translator: Translator, instruction: Instruction, function: Callable[..., Value]
) -> LLVMValue:
    """A function of numbers.

    Raises RaisingError (WL0207) for integers of odd width whose container has another answer.
    """
    emit, width = translator.emit, bits_of(instruction.type)
    kind = instruction.callee.removeprefix("llvm.").split(".")[0]
    if width <= 1 or not is_odd(width) or kind in ("umin", "umax", "ctpop"):
        return translator.each(instruction, lambda *operands: function(emit, *operands))
    if kind not in ("smin", "smax"):
        raise translator.refusal("WL0207", f"{instruction.callee} on {width} bits", instruction)
    return translator.each(
        instruction,
        lambda *operands: cut(emit, function(emit, *(signed(emit, each, width) for each in operands)), width),
    )


def result_dtypes(translator: Translator, type_: LLVMType) -> tuple[str, ...]:
    """The dtypes of a call's results."""
    if type_.text == "void":
        return ()
    members = members_of(type_)
    if members:
        return tuple(dtype for _, member in members for dtype in result_dtypes(translator, member))
    return (translator.dtype_of(type_),)


def results_of(type_: LLVMType, results: tuple[Value, ...]) -> LLVMValue | None:
    """Results as the call's type has them: a scalar, or a tuple for structs and vectors."""
    if isinstance(type_, StructType | VectorType):
        return tuple(results)
    return results[0] if results else None


def translate_collective(translator: Translator, instruction: Instruction) -> LLVMValue | None:
    kind = collective_name(instruction.callee)
    inputs = tuple(translator.scalar(operand) for operand in instruction.operands)
    made = Collective(kind, inputs, result_dtypes(translator, instruction.type))
    return results_of(instruction.type, made.results)


def translate_unknown(translator: Translator, instruction: Instruction) -> LLVMValue | None:
    """A call that nothing is known of; raising will explain it."""
    inputs: list[Value] = []
    for operand in instruction.operands:
        value = translator.value(operand)
        pending = [value]
        while pending:
            each = pending.pop(0)
            if isinstance(each, tuple):
                pending = [*each, *pending]
            elif isinstance(each, Value):
                inputs.append(each)
            else:
                place = each.pointer if isinstance(each, AddressNumber) else each
                inputs += [place.buffer, place.offset]
    made = DeviceCall(instruction.callee, tuple(inputs), result_dtypes(translator, instruction.type))
    return results_of(instruction.type, made.results)


# -- the launch -------------------------------------------------------------------------------------------------------

_DIMENSIONS = {"tid": "thread", "ctaid": "block"}
_SIZES = {"ntid": "thread", "nctaid": "block"}
_REGISTER = re.compile(r"llvm\.nvvm\.read\.ptx\.sreg\.(\w+)(?:\.([xyz]))?$")


@called(
    *(f"llvm.nvvm.read.ptx.sreg.{name}.{axis}" for name in ("tid", "ctaid", "ntid", "nctaid") for axis in "xyz"),
)
def translate_launch_register(translator: Translator, instruction: Instruction) -> LLVMValue:
    found = _REGISTER.match(instruction.callee)
    assert found is not None
    name, axis = found.groups()
    if name in _DIMENSIONS:
        return translator.identifiers[f"{_DIMENSIONS[name]}.{axis}"]
    return translator.identifiers[f"size of {_SIZES[name]}.{axis}"]


def thread_number(translator: Translator) -> Value:
    """The thread's number within its block, as warps count."""
    emit, ids = translator.emit, translator.identifiers
    rows = emit.add(emit.multiply(ids["thread.z"], ids["size of thread.y"]), ids["thread.y"])
    return emit.add(emit.multiply(rows, ids["size of thread.x"]), ids["thread.x"])


@called("llvm.nvvm.read.ptx.sreg.laneid")
def translate_lane(translator: Translator, instruction: Instruction) -> LLVMValue:
    return And(thread_number(translator), translator.emit.constant(31, "i32"))


@called("llvm.nvvm.read.ptx.sreg.warpid")
def translate_warp(translator: Translator, instruction: Instruction) -> LLVMValue:
    return translator.emit.divide(thread_number(translator), translator.emit.constant(32, "i32"))


@called("llvm.nvvm.read.ptx.sreg.warpsize")
def translate_warp_size(translator: Translator, instruction: Instruction) -> LLVMValue:
    return translator.emit.constant(32, "i32")


@called(*(f"llvm.nvvm.read.ptx.sreg.lanemask.{kind}" for kind in ("eq", "lt", "le", "gt", "ge")))
def translate_lane_mask(translator: Translator, instruction: Instruction) -> LLVMValue:
    """A bit for each lane that is equal, below or above this one."""
    from windlass.ops.elementwise import Not, ShiftLeft, Subtract

    emit = translator.emit
    lane = And(thread_number(translator), emit.constant(31, "i32"))
    own = ShiftLeft(emit.constant(1, "i32"), lane)
    below = Subtract(own, emit.constant(1, "i32"))
    match instruction.callee.rsplit(".", 1)[1]:
        case "eq":
            return own
        case "lt":
            return below
        case "le":
            return Or(below, own)
        case "gt":
            return Not(Or(below, own))
        case _:
            return Not(below)


# -- meeting ----------------------------------------------------------------------------------------------------------


@called("llvm.nvvm.barrier0", "llvm.nvvm.barrier.cta.sync.aligned.all", "llvm.nvvm.barrier.cta.sync.all")
def translate_barrier(translator: Translator, instruction: Instruction) -> None:
    """All threads of the block.

    Raises RaisingError (WL0207) for barriers other than number 0.
    """
    for operand in instruction.operands:
        if number_of(translator.scalar(operand)) != 0:
            raise translator.refusal("WL0207", "a named barrier", instruction)
    Barrier("block")


@called("llvm.nvvm.bar.warp.sync")
def translate_warp_barrier(translator: Translator, instruction: Instruction) -> None:
    Barrier("warp")


@called("__windlass_grid_sync")
def translate_grid_barrier(translator: Translator, instruction: Instruction) -> None:
    Barrier("grid")


@called("__windlass_barrier_wait", "__windlass_barrier_passed")
def translate_wait(translator: Translator, instruction: Instruction) -> LLVMValue | None:
    """A wait at a barrier object: where all threads of the block come to it, whoever has to arrive has arrived."""
    Collective("barrier_object.wait", (), ())
    Barrier("block")
    return None if instruction.type.text == "void" else translator.emit.constant(1, "i32")


@called("__windlass_barrier_is_last")
def translate_completion(translator: Translator, instruction: Instruction) -> LLVMValue | None:
    """Asked by barriers that call a function at the end of a phase; raising refuses them."""
    return results_of(instruction.type, Collective("barrier_object.is_last", (), ("i32",)).results)


@called("__windlass_barrier_arrive")
def translate_arrival(translator: Translator, instruction: Instruction) -> LLVMValue:
    """Nothing, as threads go in step; the number of the phase does not matter."""
    return translator.emit.constant(0, "i32")


@called(
    "llvm.nvvm.membar.gl", "llvm.nvvm.membar.cta", "llvm.nvvm.membar.sys", "llvm.lifetime.start", "llvm.lifetime.end",
    "llvm.assume", "llvm.dbg.value", "llvm.dbg.declare", "llvm.dbg.label", "llvm.dbg.assign", "llvm.donothing",
    "llvm.sideeffect", "llvm.experimental.noalias.scope.decl", "llvm.nvvm.nanosleep", "llvm.prefetch",
    "llvm.var.annotation", "llvm.invariant.end", "llvm.pseudoprobe", "llvm.fake.use", "__windlass_prefetch",
    "__windlass_barrier_open", "__windlass_warp_meets",
)  # fmt: skip
def translate_nothing(translator: Translator, instruction: Instruction) -> None:
    """Fences order memory within one thread's view, which the loop level does by itself; hints change no result."""


@called(ENTER, ITERATION, IN_ORDER, OWN_THREAD)
def translate_mark(translator: Translator, instruction: Instruction) -> None:
    """What the source says of the loop around; the number is none where several loops have become one."""
    number = instruction.operands[0] if instruction.operands else None
    Mark(instruction.callee, int(number.value) if isinstance(number, Number) else -1)


@translates("fence")
def translate_fence(translator: Translator, instruction: Instruction) -> None:
    """As other fences: nothing."""


@called("llvm.nvvm.barrier0.popc", "llvm.nvvm.barrier0.and", "llvm.nvvm.barrier0.or")
def translate_barrier_reduction(translator: Translator, instruction: Instruction) -> LLVMValue | None:
    return translate_collective(translator, instruction)


@called(
    "llvm.nvvm.barrier.cta.red.popc.aligned.all", "llvm.nvvm.barrier.cta.red.and.aligned.all",
    "llvm.nvvm.barrier.cta.red.or.aligned.all", "llvm.nvvm.activemask",
)  # fmt: skip
def translate_other_collective(translator: Translator, instruction: Instruction) -> LLVMValue | None:
    return translate_collective(translator, instruction)


# -- stopping and telling ---------------------------------------------------------------------------------------------


@called("llvm.trap", "llvm.debugtrap", "llvm.ubsantrap", "__windlass_trap")
def translate_trap(translator: Translator, instruction: Instruction) -> None:
    Assert(translator.emit.false, "the kernel traps")


@called("__assertfail", "__assert_fail", "__windlass_assert_fail")
def translate_assert(translator: Translator, instruction: Instruction) -> None:
    text = string_of(translator, instruction.operands[0])
    Assert(translator.emit.false, text if text is not None else "an assertion fails")


def string_of(translator: Translator, operand: Operand) -> str | None:
    """The text of a string literal that the operand points to."""
    offset = 0
    while isinstance(operand, Expression):
        if operand.opcode == "getelementptr":
            for index in operand.operands[1:]:
                if isinstance(index, Number):
                    offset += int(index.value) * (operand.element.size if index is operand.operands[1] else 1)
        operand = operand.operands[0]
    if not isinstance(operand, Global):
        return None
    variable = translator.module.variable(operand.name)
    if variable is None or not isinstance(variable.initializer, Text):
        return None
    return variable.initializer.data[offset:].split(b"\0", 1)[0].decode("utf-8", "replace")


@called("vprintf")
def translate_print(translator: Translator, instruction: Instruction) -> LLVMValue:
    """printf: its arguments lie in a local block that clang fills before the call."""
    text = string_of(translator, instruction.operands[0])
    if text is None:
        raise translator.refusal("WL0207", "printf with a format that is not a literal", instruction)
    base = translator.provenance.base_of(instruction.operands[1])
    noted: dict[int, tuple[Value, LLVMType]] = {}
    if base is not None and base.kind == "allocation":
        noted = translator.printed[base.name]
    Print(text, tuple(noted[offset][0] for offset in sorted(noted)))
    noted.clear()
    return translator.emit.constant(len(noted), "i32")


# -- blocks of memory -------------------------------------------------------------------------------------------------

UNROLLED_BYTES = 256
"""Copies up to this size become single loads and stores, longer ones a loop."""


@called("llvm.memcpy", "llvm.memcpy.inline", "llvm.memmove")
def translate_copy(translator: Translator, instruction: Instruction) -> None:
    """A copy in words as wide as size and offsets allow, or in the elements that the source array declares.

    Raises RaisingError (WL0207) for overlapping moves whose size is not constant.
    """
    target, source = (translator.pointer(operand) for operand in instruction.operands[:2])
    emit = translator.emit
    size = instruction.operands[2]
    length = int(size.value) if isinstance(size, Number) else None
    dtype, width = word_for(translator, instruction, (target, source), length)
    if length is not None and (length <= UNROLLED_BYTES or "memmove" in instruction.callee):
        if length > 16 * UNROLLED_BYTES:
            raise translator.refusal("WL0207", "a memmove of a large block", instruction)
        values = [
            Load(source.buffer, shifted(translator, source, place).offset, dtype) for place in range(0, length, width)
        ]
        for place, value in zip(range(0, length, width), values, strict=True):
            Store(value, target.buffer, shifted(translator, target, place).offset)
        return
    if "memmove" in instruction.callee:
        raise translator.refusal("WL0207", "a memmove whose size is not constant", instruction)
    total = byte_count(translator, size)
    CheckRange(source.buffer, source.offset, total)
    CheckRange(target.buffer, target.offset, total)
    count = emit.divide(total, emit.constant(width, "i64"))

    def body(offset: Value) -> None:
        value = Load(source.buffer, emit.add(source.offset, offset), dtype)
        Store(value, target.buffer, emit.add(target.offset, offset))

    loop_over_words(translator, count, width, body)


@called("llvm.memset", "llvm.memset.inline")
def translate_fill(translator: Translator, instruction: Instruction) -> None:
    """Every byte set to the same value, in words as wide as size and alignment allow."""
    emit = translator.emit
    target = translator.pointer(instruction.operands[0])
    filling, size = instruction.operands[1:3]
    length = int(size.value) if isinstance(size, Number) else None
    byte = translator.scalar(filling)
    known = number_of(byte)
    dtype, width = word_for(translator, instruction, (target,), length)
    if known is None:
        dtype, width = "i8", 1
        word: Value = byte
    else:
        pattern = bytes([int(known) & 255]) * width
        import numpy as np

        from windlass.ir.types import NUMPY_DTYPES

        word = emit.constant(np.frombuffer(pattern, NUMPY_DTYPES[dtype])[0], dtype)
    if length is not None and length <= UNROLLED_BYTES:
        for place in range(0, length, width):
            Store(word, target.buffer, shifted(translator, target, place).offset)
        return
    total = byte_count(translator, size)
    CheckRange(target.buffer, target.offset, total)
    count = emit.divide(total, emit.constant(width, "i64"))

    def body(offset: Value) -> None:
        Store(word, target.buffer, emit.add(target.offset, offset))

    loop_over_words(translator, count, width, body)


def byte_count(translator: Translator, size: Operand) -> Value:
    value = translator.scalar(size)
    return translator.emit.extend_unsigned(value, "i64")


def loop_over_words(translator: Translator, count: Value, width: int, body: Callable[[Value], None]) -> None:
    """A `For` whose body gets the byte offset of each word."""
    from windlass.frontends.llvm.emitter import scalar_type

    block = Block([scalar_type("i64")], ["iteration"])
    with Builder(block, source=translator.position):
        offset = translator.emit.multiply(block.arguments[0], translator.emit.constant(width, "i64"))
        body(offset)
        Yield(())
    For(count, (), Region(block))


def word_for(
    translator: Translator, instruction: Instruction, places: tuple[PointerValue, ...], length: int | None
) -> tuple[str, int]:
    """The dtype and width of the words in which a block is copied or filled."""
    widths = [length] if length is not None else [known_multiple(translator, instruction.operands[2])]
    for place in places:
        offset = number_of(place.offset)
        if offset is not None:
            widths.append(int(offset))
    types = [each.buffer.type for each in places]
    declared = {type_.dtype for type_ in types if isinstance(type_, BufferType) and type_.dtype is not None} - {"i1"}
    alignment = alignment_of(instruction, len(places))
    for dtype in sorted(declared):
        width = _width(dtype)
        if width <= alignment and all(each % width == 0 for each in widths):
            return dtype.removeprefix("u") if dtype.startswith("ui") else dtype, width
    for dtype, width in (("i32", 4), ("i16", 2)):
        if width <= alignment and all(each % width == 0 for each in widths):
            return dtype, width
    return "i8", 1


def _width(dtype: str) -> int:
    return next(each.itemsize for each, name in MLIR_DTYPES.items() if name == dtype)


def alignment_of(instruction: Instruction, count: int) -> int:
    """The alignment that the call promises for all its pointers."""
    found = [int(word.removeprefix("align ")) for word in instruction.words if word.startswith("align ")]
    return min(found) if len(found) >= count and found else 1


def known_multiple(translator: Translator, size: Operand) -> int:
    """A number of which a size that is not constant is known to be a multiple."""
    from windlass.llvm.syntax import Local
    from windlass.ops.elementwise import Multiply, ShiftLeft

    value = translator.values.get(size.name) if isinstance(size, Local) else None
    if isinstance(value, ShiftLeft):
        amount = number_of(value.rhs)
        return 1 << int(amount) if amount is not None else 1
    if isinstance(value, Multiply):
        factor = number_of(value.rhs)
        return abs(int(factor)) if factor else 1
    return 1


# -- small questions --------------------------------------------------------------------------------------------------


@called(
    "llvm.expect", "llvm.expect.with.probability", "llvm.launder.invariant.group", "llvm.strip.invariant.group",
    "llvm.ptr.annotation", "llvm.annotation", "llvm.arithmetic.fence", "llvm.ssa.copy", "llvm.threadlocal.address",
)  # fmt: skip
def translate_first(translator: Translator, instruction: Instruction) -> LLVMValue:
    return translator.value(instruction.operands[0])


@called("llvm.ptrmask")
def translate_pointer_mask(translator: Translator, instruction: Instruction) -> LLVMValue:
    from windlass.frontends.llvm.arithmetic import address_arithmetic

    place = translator.pointer(instruction.operands[0])
    masked = address_arithmetic(translator, "and", AddressNumber(place), translator.scalar(instruction.operands[1]))
    if not isinstance(masked, AddressNumber):
        raise translator.refusal("WL0206", "an address is used as a number", instruction)
    return masked.pointer


@called("llvm.is.constant", "llvm.objectsize")
def translate_unknowable(translator: Translator, instruction: Instruction) -> LLVMValue:
    return translator.zero(instruction.type)


@called("llvm.invariant.start")
def translate_invariant(translator: Translator, instruction: Instruction) -> LLVMValue:
    return translator.null_pointer()


@called(*(f"llvm.nvvm.isspacep.{space}" for space in ("global", "shared", "const", "local", "param")))
def translate_space_question(translator: Translator, instruction: Instruction) -> LLVMValue:
    """Which kind of memory a pointer goes into, where its base tells.

    Raises RaisingError (WL0206) where the base is known at run time only.
    """
    base = translator.provenance.base_of(instruction.operands[0])
    place = translator.pointer(instruction.operands[0])
    if base is None or base.kind in ("value", "null"):
        raise translator.refusal("WL0206", "the address space of a pointer that is known at run time only", instruction)
    asked = instruction.callee.rsplit(".", 1)[1]
    space = {"constant": "const"}.get(getattr(place.buffer.type, "space", ""), getattr(place.buffer.type, "space", ""))
    return translator.emit.constant(space == asked, "i1")
