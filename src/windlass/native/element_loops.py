"""Loops over elements of tensor programs that run as native code, where that is faster than XLA's own.

XLA goes round a loop at the cost of some operations of its own, and does each step on whole arrays; a loop whose rounds
read and write single elements is code of a few instructions (tensor_loops.py). Loops are taken from the outside
inwards: where one can't be, those in it may.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from windlass.diagnostics import Position
from windlass.facts.indices import IndexReader
from windlass.facts.threads import thread_ids
from windlass.ir import Block, Builder, Module, Op, Value
from windlass.loops import Parallel
from windlass.loops.launch_specification import LaunchSpecification, MemorySpecification, PointerArgument
from windlass.native.block_plan import compile_kernel
from windlass.native.launch_facts import LaunchFacts, MemoryFacts
from windlass.native.refusal import NotNative
from windlass.native.tensor_loops import Entry, LoopFunction, stored_dtype, write_loop
from windlass.native.xla_call import Slot, XlaCall, enter, is_supported
from windlass.native.xla_rows import Kind
from windlass.ops.control import While
from windlass.ops.conversion import byte_width
from windlass.ops.creation import Constant
from windlass.ops.custom_call import CustomCall
from windlass.ops.dynamic_slices import DynamicSlice, DynamicUpdateSlice
from windlass.ops.native_call import NATIVE_TARGET
from windlass.parallel.known_conditions import fold_known_conditions
from windlass.parallel.memory_sums import move_sums_inward

WORTH = 1e5
"""Operations, those of going round included, that a loop does where native code is worth compiling."""
ONE = (1, 1, 1)


@dataclass(frozen=True)
class ElementLoop:
    """A loop that was looked at: its place, and why it has no native code, "" if it has."""

    position: Position | None
    reason: str


def take_element_loops(module: Module, name: str) -> list[ElementLoop]:
    """Replace loops over elements by calls of native code, in place; gives what was found, outer loops first."""
    if not is_supported():
        return []
    return [each for function in module.functions.values() for each in _take_in(function.body, name)]


def _take_in(block: Block, name: str) -> Iterator[ElementLoop]:
    for op in list(block):
        if isinstance(op, While) and _is_over_elements(op) and op.flops() >= WORTH:
            try:
                call = _compile(op, f"{name}_loop")
            except NotNative as refusal:
                yield ElementLoop(refusal.position or op.source, refusal.reason)
            else:
                yield ElementLoop(op.source, "")
                _replace(op, *call)
                continue
        for region in op.regions:
            for inner in region.blocks:
                yield from _take_in(inner, name)


def _is_over_elements(loop: While) -> bool:
    """Whether rounds read or write elements of arrays."""
    return any(
        isinstance(op, DynamicSlice | DynamicUpdateSlice) and op.operands[0].tensor.size > 1 for op in loop.body.walk()
    )


def _compile(loop: While, name: str) -> tuple[LoopFunction, XlaCall]:
    """Raises NotNative."""
    written = write_loop(loop, re.sub(r"\W+", "_", name))
    function, entries = written.function, written.entries
    specification = _specification(entries)
    launch = next(op for op in function.body if isinstance(op, Parallel))
    reader = IndexReader.of_launch(launch, thread_ids(function, launch, specification))
    fold_known_conditions(launch.body.block, reader)
    move_sums_inward(function, specification)
    memories = tuple(MemoryFacts(_bytes(entry.value), _width(entry.value)) for entry in entries)
    facts = LaunchFacts((*ONE, *ONE), memories, names=tuple(f"array {place}" for place in range(len(entries))))
    code = compile_kernel(function, facts)
    return written, enter(function.name, code, _slots(entries), loop.flops())


def _specification(entries: list[Entry]) -> LaunchSpecification:
    memories = tuple(
        MemorySpecification(_bytes(entry.value), stored_dtype(entry.value.dtype).removeprefix("u")) for entry in entries
    )
    return LaunchSpecification(ONE, ONE, 0, tuple(map(PointerArgument, range(len(entries)))), memories)


def _slots(entries: list[Entry]) -> list[Slot]:
    slots: list[Slot] = []
    results = 0
    for place, entry in enumerate(entries):
        kind = Kind.READ if entry.result is None else Kind.WRITTEN
        size = entry.value.tensor.size
        slots.append(Slot(kind, place, results, size, _bytes(entry.value), _width(entry.value)))
        results += kind is Kind.WRITTEN
    return slots


def _width(value: Value) -> int:
    return byte_width(stored_dtype(value.dtype))


def _bytes(value: Value) -> int:
    return value.tensor.size * _width(value)


def _replace(loop: While, written: LoopFunction, call: XlaCall) -> None:
    """Call the code in the place of the loop."""
    assert loop.block is not None
    entries = written.entries
    changing = [(place, entry) for place, entry in enumerate(entries) if entry.result is not None]
    with Builder(loop.block, before=loop, source=loop.source):
        inputs = tuple(_outside(entry.value, loop) for entry in entries)
        aliases = ", ".join(
            f"#stablehlo.output_operand_alias<output_tuple_indices = [{number if len(changing) > 1 else ''}], "
            f"operand_index = {place}, operand_tuple_indices = []>"
            for number, (place, _) in enumerate(changing)
        )
        types = tuple(entry.value.type for _, entry in changing)
        done = CustomCall(inputs, NATIVE_TARGET, types, backend_config='""', output_operand_aliases=f"[{aliases}]")
        done.extra = {"mhlo.backend_config": f'{{code = {call.attribute} : i64, kernel = "{call.kernel}"}}'}
    for (_, entry), result in zip(changing, done.results, strict=True):
        assert entry.result is not None
        loop.results[entry.result].replace_all_uses_with(result)
    for place, result in enumerate(loop.results):
        if result.uses:
            result.replace_all_uses_with(loop.operands[place])
    loop.erase()


def _outside(value: Value, loop: While) -> Value:
    """The value where the call is: constants from within the loop are made there again."""
    if isinstance(value, Constant) and value.block is not loop.block and any(_is_within(value, loop)):
        return Constant(value.value)
    return value


def _is_within(op: Op, loop: While) -> Iterator[bool]:
    around = op.parent_op
    while around is not None:
        yield around is loop
        around = around.parent_op


__all__ = ["ElementLoop", "take_element_loops"]
