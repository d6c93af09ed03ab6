"""The loop level as MLIR text of the scf, memref, arith, math and gpu dialects, for people and other tools to read.

A buffer is a memref of bytes; a scalar is read and written through a `memref.view` at its byte offset. The kernel's
`Parallel` is a `gpu.launch` whose sizes are the function's first six arguments. Integers are signless: what
is unsigned shows in the operation (`arith.divui`). Operations that these dialects lack are calls of functions that bear
the operation's name.
"""

from __future__ import annotations

from windlass.ir import Function
from windlass.loops import LAUNCH_DIMENSIONS, launch_extent
from windlass.ops.loop_writer import LoopWriter, type_text


def loop_text(function: Function) -> str:
    """The kernel as the text of an MLIR module, which jaxlib's parser reads.

    Raises TypeError for functions that are not of the loop level.
    """
    writer = LoopWriter()
    parameters = [f"{launch_extent(dimension)}: index" for dimension in LAUNCH_DIMENSIONS]
    taken = {f"{name}{axis}" for name in ("grid_", "block_", "bid_", "tid_", "g", "b") for axis in "xyz"}
    for index, argument in enumerate(function.arguments):
        name = "".join(each if each.isalnum() else "_" for each in argument.name or "arg")
        if name in taken or not name[0].isalpha():
            name = f"{name if name[0].isalpha() else 'arg'}_{index}"
        taken.add(name)
        writer.names[argument] = f"%{name}"
        parameters.append(f"{writer.names[argument]}: {type_text(argument.type)}")
    writer.indent = "    "
    writer.write_block(function.body)
    head = f'  func.func @"{function.name}"({", ".join(parameters)}) {{'
    declared = [f"  {line}" for _, line in sorted(writer.declarations.items())]
    return "\n".join(["module {", *declared, head, *writer.lines, "  }", "}", ""])
