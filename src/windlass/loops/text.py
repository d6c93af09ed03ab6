"""The loop level as MLIR text of the scf, memref, arith, math and gpu dialects, for people and other tools to read.

A buffer that is accessed by elements of one type is a memref of these. Any other is a memref of bytes, in which a
scalar is read and written through a `memref.view` at its byte offset. The kernel's `Parallel` is a `gpu.launch` whose
sizes are the function's first six arguments. Integers are signless: what is unsigned shows in the operation
(`arith.divui`). Operations that these dialects lack are calls of functions that bear the operation's name. In a program
of launches each is a call of the kernel, whose seventh argument is then the size of dynamic shared memory; all its
buffers are memrefs of bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from windlass.ir import Argument, BufferType, Function, Module, Op, Value
from windlass.loops import LAUNCH_DIMENSIONS, launch_extent
from windlass.loops.memory import (
    ATOMIC_KINDS,
    Access,
    Allocate,
    Atomic,
    CompareExchange,
    DeviceVariableBuffer,
    accessed_dtype,
)
from windlass.loops.subscripts import counts_elements
from windlass.ops.conversion import byte_width
from windlass.ops.loop_writer import SPACES, LoopWriter, signless

_SIZES = [f"{launch_extent(dimension)}: index" for dimension in LAUNCH_DIMENSIONS]


def loop_text(function: Function) -> str:
    """The kernel as the text of an MLIR module, which jaxlib's parser reads.

    Raises TypeError for functions that are not of the loop level.
    """
    writer = LoopWriter(find_memories(function))
    return _module_text(writer, _function_lines(writer, function, _SIZES))


def program_text(program: Module) -> str:
    """A program of launches, its kernels first, as the text of an MLIR module, which jaxlib's parser reads.

    Raises TypeError for functions that are not of the loop level.
    """
    writer = LoopWriter()
    main, lines = program.main, list[str]()
    writer.shared_bytes = "%shared_bytes"
    for function in program.functions.values():
        if function is not main:
            lines += _function_lines(writer, function, [*_SIZES, "%shared_bytes: i32"])
    writer.shared_bytes = None
    return _module_text(writer, [*lines, *_function_lines(writer, main, ())])


def _module_text(writer: LoopWriter, lines: Sequence[str]) -> str:
    declared = [f"  {line}" for _, line in sorted(writer.declarations.items())]
    return "\n".join(["module {", *declared, *lines, "}", ""])


def _function_lines(writer: LoopWriter, function: Function, first: Sequence[str]) -> list[str]:
    """The lines of a function that takes the `first` parameters before its own."""
    parameters = list(first)
    taken = {f"{name}{axis}" for name in ("grid_", "block_", "bid_", "tid_", "g", "b") for axis in "xyz"}
    taken.add("shared_bytes")
    for index, argument in enumerate(function.arguments):
        name = "".join(each if each.isalnum() else "_" for each in argument.name or "arg")
        if name in taken or not name[0].isalpha():
            name = f"{name if name[0].isalpha() else 'arg'}_{index}"
        taken.add(name)
        writer.names[argument] = f"%{name}"
        parameters.append(f"{writer.names[argument]}: {writer.type_of(argument)}")
    writer.lines, writer.count, writer.indent, writer.known = [], 0, "    ", {}
    writer.write_block(function.body)
    return [f'  func.func @"{function.name}"({", ".join(parameters)}) {{', *writer.lines, "  }"]


def find_memories(function: Function) -> dict[Value, str]:
    """The types of buffers all of whose uses are accesses of whole elements of one type, by subscripts."""
    found: dict[Value, str] = {}
    variables = [op.variable for op in function.walk() if isinstance(op, DeviceVariableBuffer)]
    for buffer in (*function.arguments, *function.walk()):
        if not isinstance(buffer, Argument | Allocate | DeviceVariableBuffer):
            continue
        if not isinstance(buffer.type, BufferType) or buffer.type.size == 0:
            continue
        if isinstance(buffer, Allocate) and buffer.size < 0:
            continue  # all dynamic shared memory is one, of bytes
        if isinstance(buffer, DeviceVariableBuffer) and variables.count(buffer.variable) > 1:
            continue
        dtypes = {_element_of(user) for user in buffer.uses}
        dtype = dtypes.pop() if len(dtypes) == 1 else None
        if dtype is None:
            continue
        count, rest = divmod(buffer.type.size or 0, byte_width(dtype))
        if not rest:
            found[buffer] = f"memref<{count or '?'}x{signless(dtype)}{SPACES.get(buffer.type.space, '')}>"
    return found


def _element_of(user: Op) -> str | None:
    """The type of the whole element that is accessed; None where something else is done, or MLIR has no op for it."""
    if not isinstance(user, Access) or isinstance(user, CompareExchange):
        return None
    if isinstance(user, Atomic) and ATOMIC_KINDS[user.kind] is None:
        return None
    dtype = signless(accessed_dtype(user))
    return dtype if counts_elements(user.offset, byte_width(dtype)) else None
