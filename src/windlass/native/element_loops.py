"""Loops over elements of tensor programs that run as native code, where that is faster than XLA's own.

XLA goes round a loop at the cost of some operations of its own, and does each step on whole arrays; a loop whose rounds
read and write single elements is code of a few instructions (tensor_loops.py). Others are loops over whole arrays
(tensor_regions.py). Loops are taken from the outside inwards: where one can't be, those in it may.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from windlass.facts.indices import IndexReader
from windlass.facts.threads import thread_ids
from windlass.ir import Block, Builder, Module, Op, TensorType, Value
from windlass.loops import Parallel
from windlass.loops.launch_specification import LaunchSpecification, MemorySpecification, PointerArgument
from windlass.lowering.native_loops import ElementLoop, told_of_defect
from windlass.native.block_plan import compile_kernel
from windlass.native.complex_pairs import SplitLoop, has_complex
from windlass.native.launch_facts import LaunchFacts, MemoryFacts
from windlass.native.refusal import NotNative
from windlass.native.straight_regions import take_straight_regions
from windlass.native.tensor_elements import stored_dtype
from windlass.native.tensor_loops import Entry, LoopFunction, write_loop
from windlass.native.tensor_regions import take_region
from windlass.native.xla_call import Slot, XlaCall, enter, is_supported
from windlass.native.xla_rows import Kind
from windlass.ops.control import While
from windlass.ops.conversion import byte_width
from windlass.ops.creation import Constant
from windlass.ops.dynamic_slices import DynamicSlice, DynamicUpdateSlice
from windlass.parallel.known_conditions import fold_known_conditions
from windlass.parallel.memory_sums import move_sums_inward

WORTH = 1e5
"""Operations, those of going round included, that a loop does where native code is worth compiling."""
WORTH_OF_ARRAYS = 1e6
"""The same for array code outside of loops, with which XLA is not slow."""
ONE = (1, 1, 1)


def take_element_loops(module: Module, name: str, *, is_exact: bool = True) -> list[ElementLoop]:
    """Replace loops over elements, and array code around them, by calls of native code, in place; gives what was found,
    outer loops first. Unless it `is_exact`, functions of whole arrays may be those of libmvec."""
    if not is_supported():
        return []
    found = [each for function in module.functions.values() for each in _take_in(function.body, name, is_exact)]
    if len(module.functions) == 1:
        found += take_straight_regions(module.main.body, f"{name}_arrays", WORTH_OF_ARRAYS, is_exact=is_exact)
    return found


def _take_in(block: Block, name: str, is_exact: bool) -> Iterator[ElementLoop]:
    for op in list(block):
        if isinstance(op, While) and op.flops() >= WORTH:
            found = _taken(op, f"{name}_loop", is_exact)
            yield found
            if not found.reason:
                continue
        for region in op.regions:
            for inner in region.blocks:
                yield from _take_in(inner, name, is_exact)


def _taken(loop: While, name: str, is_exact: bool) -> ElementLoop:
    """The loop, which native code takes the place of if there is some."""
    position = loop.source
    try:
        if has_complex(loop):
            split = SplitLoop(loop)
            try:
                _take(split.loop, name, is_exact)
            except BaseException:
                split.undo()
                raise
            split.accept()
        else:
            _take(loop, name, is_exact)
        return ElementLoop(position, "")
    except NotNative as refusal:
        return ElementLoop(refusal.position or position, refusal.reason)
    except Exception as defect:  # ours, which must not take the user's result away
        return ElementLoop(position, told_of_defect(defect))


def _take(loop: While, name: str, is_exact: bool) -> None:
    """Raises NotNative, before anything is changed."""
    if _is_over_elements(loop):
        with suppress(NotNative):
            _replace(loop, *_compile(loop, name))
            return
    take_region(loop, name, is_exact=is_exact)


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
    memories = tuple(MemoryFacts(_bytes(entry.type), _width(entry.type)) for entry in entries)
    facts = LaunchFacts((*ONE, *ONE), memories, names=tuple(f"array {place}" for place in range(len(entries))))
    code = compile_kernel(function, facts)
    return written, enter(function.name, code, _slots(entries), loop.flops())


def _specification(entries: list[Entry]) -> LaunchSpecification:
    memories = tuple(
        MemorySpecification(_bytes(entry.type), stored_dtype(entry.type.dtype).removeprefix("u")) for entry in entries
    )
    return LaunchSpecification(ONE, ONE, 0, tuple(map(PointerArgument, range(len(entries)))), memories)


def _slots(entries: list[Entry]) -> list[Slot]:
    slots: list[Slot] = []
    results = 0
    for place, entry in enumerate(entries):
        kind = Kind.WRITTEN if entry.is_written else Kind.READ
        size = entry.type.size
        slots.append(Slot(kind, place, results, size, _bytes(entry.type), _width(entry.type)))
        results += kind is Kind.WRITTEN
    return slots


def _width(type_: TensorType) -> int:
    return byte_width(stored_dtype(type_.dtype))


def _bytes(type_: TensorType) -> int:
    return type_.size * _width(type_)


def _replace(loop: While, written: LoopFunction, call: XlaCall) -> None:
    """Call the code in the place of the loop."""
    assert loop.block is not None
    entries = written.entries
    changing = [(place, entry) for place, entry in enumerate(entries) if entry.is_written]
    with Builder(loop.block, before=loop, source=loop.source):
        inputs = tuple(_outside(entry, loop) for entry in entries)
        done = call.on(
            inputs,
            tuple(entry.type for _, entry in changing),
            {place: number for number, (place, _) in enumerate(changing)},
        )
    for (_, entry), result in zip(changing, done.results, strict=True):
        if entry.result is None:
            continue
        loop.results[entry.result].replace_all_uses_with(result)
    for place, result in enumerate(loop.results):
        if result.uses:
            result.replace_all_uses_with(loop.operands[place])
    loop.erase()


def _outside(entry: Entry, loop: While) -> Value:
    """What the call is given: constants from within the loop are made anew, and so is room."""
    value = entry.value
    if value is None:
        return Constant.of(0, entry.type.dtype, entry.type.shape)
    return Constant(value.value) if isinstance(value, Constant) and _is_within(value, loop) else value


def _is_within(op: Op, loop: While) -> bool:
    around = op.parent_op
    while around is not None and around is not loop:
        around = around.parent_op
    return around is loop


__all__ = ["take_element_loops"]
