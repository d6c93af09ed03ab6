"""The way in: a loop-level kernel and a launch give a tensor function."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from windlass.affine.dimensions import Box
from windlass.affine.domain import Domain
from windlass.affine.predicate import TRUE
from windlass.diagnostics import Diagnostic, RaisingError
from windlass.diagnostics.deadline import ending_at
from windlass.facts.threads import ThreadIds, split_dimensions, thread_ids
from windlass.ir import Argument, Block, Function, Value, tensor_type
from windlass.loops import BLOCKS, THREADS, Parallel
from windlass.loops.launch_specification import (
    NULL_MEMORY,
    KnownScalar,
    LaunchSpecification,
    PointerArgument,
    RecordArgument,
    TracedScalar,
)
from windlass.ops.conversion import byte_width
from windlass.ops.regions import Return
from windlass.parallel.passes import PASSES_OF_TILES, run_passes
from windlass.parallel.register_tiles import has_register_tiles, is_tiled
from windlass.parallel.serialization import can_be_serialized, serialize
from windlass.raising import emission
from windlass.raising.block_folds import find_block_folds
from windlass.raising.blocks import run_block
from windlass.raising.codes import RACE, RESULT_OF_ATOMIC, TOO_SLOW
from windlass.raising.interpreter import run_op
from windlass.raising.items import Item, Memory, MemoryState, Pointer
from windlass.raising.obstacle import Obstacle, OutOfTime, UncountedObstacle
from windlass.raising.quotients import find_cuts
from windlass.raising.records import record_memory, traced_item
from windlass.raising.reinterpretation import write_back
from windlass.raising.report import Assumption, RaisingReport
from windlass.raising.state import CountingBuilder, RaisingState
from windlass.rewriting.common_subexpressions import share_common_subexpressions

MOST_SERIALIZED = 1 << 16
"""So many blocks or threads run one after another at most: each takes a round of the loop, however little it does."""
MOST_SERIALIZED_BYTES = 1 << 32
"""Their number times the bytes of the memories at most: in the worst case each copies them, half a second in all."""


@dataclass
class RaisedKernel:
    """A tensor function that does what a launch of the kernel does.

    Its arguments are one flat tensor of words for each memory of the specification, then the traced scalars in order;
    its results are the new words of the memories in `written`.

    If it makes assumptions there is one more result, an i32: the number, from 1, of one that did not hold, or 0. Where
    one did not, the other results mean nothing.
    """

    function: Function
    written: tuple[int, ...]
    assumptions: tuple[Assumption, ...] = ()
    report: RaisingReport = field(default_factory=RaisingReport)
    race: Diagnostic | None = None
    """The race that made its blocks or threads run one after another."""


def raise_kernel(kernel: Function, specification: LaunchSpecification, seconds: float = math.inf) -> RaisedKernel:
    """The tensor form of a kernel that is specialized for a launch (`specialize_for`); it may take so many seconds.

    Raises RaisingError, with the source position and the reason, where it has none. Takes time in proportion to the
    kernel, not to its launch or arrays.
    """
    try:
        with ending_at(time.monotonic() + seconds):
            return _raise_as_possible(kernel, specification)
    except OutOfTime as late:
        raise RaisingError(
            Diagnostic(
                TOO_SLOW,
                f"kernel '{kernel.name}' can't be raised: that takes longer than {seconds:g} seconds",
                late.position or next((op.source for op in kernel.walk() if op.source is not None), None),
                notes=("WINDLASS_RAISING_SECONDS=600 in the environment raises the limit",),
                help="split it into several kernels, or unroll less",
            )
        ) from late


def _raise_as_possible(kernel: Function, specification: LaunchSpecification) -> RaisedKernel:
    """With tiles, for all threads at once, or for some after others."""
    try:
        found = _raise_tiled(kernel, specification)
        if found is not None:
            return found
        return _raise_kernel(kernel, specification)[0]
    except Obstacle as obstacle:
        raised = _raise_serialized(kernel, specification, obstacle)
        if raised is None:
            raise obstacle.as_error(kernel.name) from obstacle
        return raised


def _is_worth_serializing(specification: LaunchSpecification, what: str) -> bool:
    """Whether there are several blocks or threads, but not too many."""
    extents = specification.grid if what == BLOCKS else (*specification.grid, *specification.block)
    count = math.prod(extents)
    work = count * sum(memory.size_bytes for memory in specification.memories)
    return 1 < count <= MOST_SERIALIZED and work <= MOST_SERIALIZED_BYTES


def _raise_serialized(kernel: Function, specification: LaunchSpecification, obstacle: Obstacle) -> RaisedKernel | None:
    """The kernel with its blocks one after another, or else its threads.

    None where neither has a form, or the obstacle is none that an order takes away.
    """
    if obstacle.code not in (RACE, RESULT_OF_ATOMIC):
        return None
    uncounted: list[UncountedObstacle] = []
    for what in (BLOCKS, THREADS):
        if not (_is_worth_serializing(specification, what) and can_be_serialized(kernel, what)):
            continue
        serial = kernel.clone()
        serialize(serial.body, what)
        block = specification.block if what == BLOCKS else (1, 1, 1)
        try:
            raised, _ = _raise_kernel(serial, replace(specification, grid=(1, 1, 1), block=block))
        except UncountedObstacle as other:
            uncounted.append(other)
        except Obstacle:
            continue
        else:
            raised.report.notes.append(f"its {what} run one after another, as in the emulator: {obstacle.reason}")
            headline = f"kernel '{kernel.name}' can't be raised for all threads at once: {obstacle.reason}"
            plain = obstacle.as_diagnostic(kernel.name)
            raised.report.obstacle = replace(plain, headline=headline, severity="note")
            if obstacle.code == RACE:
                reason = f"{kernel.name}: {obstacle.reason}; its {what} run one after another"
                raised.race = Diagnostic(RACE, reason, obstacle.position, help=obstacle.help, severity="warning")
            return raised
    if uncounted:
        raise uncounted[0].as_error(kernel.name) from uncounted[0]
    return None


def _raise_tiled(kernel: Function, specification: LaunchSpecification) -> RaisedKernel | None:
    """The kernel with elements of local arrays as lanes, where that works out."""
    if not has_register_tiles(kernel.body):
        return None
    kernel = kernel.clone()
    run_passes(kernel, PASSES_OF_TILES)
    if not is_tiled(kernel.body):
        return None
    found: RaisedKernel | None = None
    with suppress(Obstacle):
        found, state = _raise_kernel(kernel, specification)
        cuts = find_cuts(state)
        if cuts:
            found, _ = _raise_kernel(kernel, specification, cuts)
    return found


def _parallel_of(kernel: Function) -> Parallel | None:
    return next((op for op in kernel.body if isinstance(op, Parallel)), None)


def _raise_kernel(
    kernel: Function,
    specification: LaunchSpecification,
    cuts: Mapping[int, Sequence[int]] | None = None,
) -> tuple[RaisedKernel, RaisingState]:
    parallel = _parallel_of(kernel)
    assert parallel is not None
    types = [
        tensor_type((each.size_bytes // byte_width(each.word_dtype),), each.word_dtype)
        for each in specification.memories
    ]
    types += [tensor_type((), dtype) for dtype in specification.traced_dtypes()]
    body = Block(types)
    words = body.arguments[: len(specification.memories)]
    with CountingBuilder(body, [0]) as builder:
        assert isinstance(builder, CountingBuilder)
        builder.source = kernel.source
        ids = split_dimensions(thread_ids(kernel, parallel, specification), cuts or {})
        state = RaisingState(run_op, specification, builder, Domain(ids.dimensions, Box(), TRUE))
        state.has_tiles = is_tiled(kernel.body)
        state.folds = find_block_folds(kernel, parallel, specification)
        _enter_memories(state, words)
        traced = iter(body.arguments[len(specification.memories) :])
        for argument, given in zip(kernel.arguments, specification.arguments, strict=True):
            if not isinstance(given, KnownScalar):
                state.environment[argument] = _argument_item(state, argument, given, traced)
        _enter_threads(state, ids, parallel.body.block)
        for op in kernel.body:
            if op is parallel:
                run_block(state, parallel.body.block)
            elif op is kernel.body.terminator:
                break
            else:
                run_op(state, op)
        written, assumptions = _return_written(state, words)
    share_common_subexpressions(body)
    remove_dead_ops(body)
    state.report.note_stores_that_are_gone()
    function = Function(kernel.name, body)
    function.source = kernel.source
    return RaisedKernel(function, written, assumptions, state.report), state


def _enter_memories(state: RaisingState, words: Sequence[Argument]) -> None:
    """The memories of the launch, which hold what the program takes, and the word of assumptions."""
    for number, (each, argument) in enumerate(zip(state.specification.memories, words, strict=True)):
        strides = tuple(stride * byte_width(each.word_dtype) for stride in each.row_strides)
        memory = Memory(f"memory {number}", each.size_bytes, MemoryState(argument), strides)
        memory.misalignment = each.misalignment
        state.memories.append(memory)
    # A memory, so that loops carry it.
    state.memories.append(Memory("assumptions", 4, MemoryState(emission.constant(0, "i32", (1,)))))


def _enter_threads(state: RaisingState, ids: ThreadIds, body: Block) -> None:
    """Which block and thread each lane is."""
    specification = state.specification
    state.environment.update(zip(body.arguments, ids.items, strict=True))
    state.thread_dimensions = ids.dimensions
    inside = {dimension for item in ids.items[3:] for dimension in item.dimensions}
    state.block_dimensions = frozenset(ids.dimensions) - inside
    x, y, z = ids.items[:3]
    state.block_number = x + (y + z.scale(specification.grid[1])).scale(specification.grid[0])
    x, y, z = state.thread_ids = ids.items[3:]
    state.thread_number = x + (y + z.scale(specification.block[1])).scale(specification.block[0])


def _return_written(state: RaisingState, words: Sequence[Argument]) -> tuple[tuple[int, ...], tuple[Assumption, ...]]:
    """Return the memories that were written; gives which, and the assumptions that the last result tells of."""
    results: list[Value] = []
    written: list[int] = []
    for number, (memory, argument) in enumerate(zip(state.memories, words, strict=False)):
        value = memory.state.words
        assert value is not None
        if memory.state.is_written:
            written.append(number)
            results.append(write_back(value, argument))
    assumptions: tuple[Assumption, ...] = ()
    failed = state.assumptions.state
    if failed.is_written and failed.words is not None:
        assumptions = tuple(state.report.assumptions)
        results.append(emission.reshape(failed.words, ()))
    Return(tuple(results))
    return tuple(written), assumptions


def _argument_item(
    state: RaisingState,
    argument: Argument,
    given: PointerArgument | TracedScalar | RecordArgument,
    traced: Iterator[Value],
) -> Item:
    """What a parameter of the kernel stands for."""
    match given:
        case PointerArgument():
            if given.memory == NULL_MEMORY:
                return Pointer(None)
            memory = state.memories[given.memory]
            memory.name = argument.name or memory.name
            return Pointer(memory, given.byte_offset)
        case TracedScalar():
            return traced_item(next(traced), argument.dtype)
        case RecordArgument():
            return record_memory(state, argument.name or "record", given, traced)


def remove_dead_ops(block: Block) -> None:
    """Erase ops whose results nothing uses, in this block and in those within it."""
    op = block.last
    while op is not None:
        previous = op.previous
        if op is not block.last and op.is_pure and op.is_unused:
            op.erase()
        else:
            for region in op.regions:
                for inner in region.blocks:
                    remove_dead_ops(inner)
        op = previous
