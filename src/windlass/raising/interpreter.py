"""Interprets a loop-level kernel once for all of its threads: each op becomes items and tensor ops.

Lockstep is one of the interleavings that a race-free kernel allows: all threads do one statement, then all do the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass import loops
from windlass.affine.enumeration import holds_somewhere
from windlass.affine.index import ZERO, Index
from windlass.affine.predicate import FALSE, TRUE, Predicate
from windlass.ir import Op, TensorType
from windlass.loops.variable_names import readable
from windlass.ops.creation import Constant
from windlass.raising.alignment import check_vector_alignment
from windlass.raising.allocation import allocate_local, allocate_shared
from windlass.raising.arithmetic import constant_item, run_scalar_op, run_subscript
from windlass.raising.assumptions import assume_never
from windlass.raising.atomics import run_atomic, run_compare_exchange
from windlass.raising.blocks import run_branch
from windlass.raising.codes import LAUNCH_MISMATCH, LOOP, NOT_RAISED, STOPS
from windlass.raising.collectives import run_collective
from windlass.raising.conditions import merge_items, split_domains, yielded_dtype
from windlass.raising.extremes import select_by_test
from windlass.raising.items import UNDEFINED, AccumulationTest, Buffer, Item, Pointer, PointerChoice, UndefinedItem
from windlass.raising.loads_and_stores import read, write
from windlass.raising.loops import run_do_while, run_for
from windlass.raising.obstacle import UncountedObstacle
from windlass.raising.operands import buffer_of, index_of, predicate_of
from windlass.raising.racing import check_race, note_load
from windlass.raising.report import Assumption
from windlass.raising.updates import run_atomic_update

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def run_op(state: RaisingState, op: Op) -> None:
    """Interpret one op and enter its results into the environment."""
    environment = state.environment
    match op:
        case Constant():
            environment[op] = constant_item(op.number, op.dtype)
        case loops.Subscript():
            environment[op] = run_subscript(state, op)
        case loops.Load():
            environment[op] = run_load(state, op)
        case loops.Store():
            run_store(state, op)
        case loops.If():
            run_if(state, op)
        case loops.For():
            run_for(state, op)
        case loops.DoWhile():
            run_do_while(state, op)
        case loops.Atomic():
            environment[op] = run_atomic(state, op)
        case loops.AtomicUpdate():
            environment[op] = run_atomic_update(state, op)
        case loops.CompareExchange():
            environment[op] = run_compare_exchange(state, op)
        case loops.Undefined():
            environment[op] = UNDEFINED
        case loops.Allocate():
            environment[op] = allocate(state, op)
        case loops.DeviceVariableBuffer():
            environment[op] = variable_pointer(state, op.variable)
        case loops.NullBuffer():
            environment[op] = Pointer(None)
        case loops.SelectBuffer():
            environment[op] = select_buffer(state, op)
        case loops.ViewBuffer():
            environment[op] = environment[op.buffer]
        case loops.SameBuffer():
            environment[op] = same_buffer(buffer_of(state, op.lhs), buffer_of(state, op.rhs))
        case loops.BufferDistance():
            environment[op] = buffer_distance(state, buffer_of(state, op.lhs), buffer_of(state, op.rhs))
        case loops.Barrier():
            run_barrier(state, op)
        case loops.Assert():
            check_assertion(state, op)
        case loops.CheckAlignment():
            check_vector_alignment(state, buffer_of(state, op.buffer), index_of(state, op.offset), op.alignment)
        case loops.CheckRange():
            check_range(state, buffer_of(state, op.buffer), index_of(state, op.offset), index_of(state, op.size))
        case loops.Print():
            pass
        case loops.Collective():
            environment.update(zip(op.results, run_collective(state, op), strict=True))
        case loops.DeviceCall():
            raise state.obstacle(f"it calls '{op.callee}', of which only the name is known", NOT_RAISED)
        case _:
            if not isinstance(op.type, TensorType) or not op.is_pure:
                raise state.obstacle(f"it holds {type(op).__name__}, which has no tensor form here", NOT_RAISED)
            environment[op] = run_scalar_op(state, op, [state.lookup(operand) for operand in op.operands])


def run_load(state: RaisingState, op: loops.Load) -> Item:
    """What each lane loads."""
    offset = index_of(state, op.offset)
    if op.alignment:
        check_vector_alignment(state, buffer_of(state, op.buffer), offset, op.alignment)
    note_load(state, op, offset)
    return read(state, buffer_of(state, op.buffer), offset, op.dtype_read)


def run_store(state: RaisingState, op: loops.Store) -> None:
    """Each lane stores its value, if it has one."""
    item = state.lookup(op.value)
    if isinstance(item, UndefinedItem):
        return
    offset = index_of(state, op.offset)
    if op.alignment:
        check_vector_alignment(state, buffer_of(state, op.buffer), offset, op.alignment)
    check_race(state, op, offset)
    write(state, buffer_of(state, op.buffer), offset, item, op.value.dtype)


def check_assertion(state: RaisingState, op: loops.Assert) -> None:
    """Raise Obstacle if the kernel surely stops here; let the program look where that depends on data.

    What makes the trips of a loop known has to be shown: raises Obstacle where it can't be.
    """
    if op.counted_loop:
        violated = ~predicate_of(state, op.condition).simplify(state.box)
        if not state.domain.restrict(violated).is_empty:
            reason = f"it can't be shown that this does not happen: {op.message}"
            if violated.is_true:
                raise state.obstacle(reason, LOOP)
            raise UncountedObstacle(op.counted_loop, reason, state.position)
        return
    stop_where(state, ~predicate_of(state, op.condition), op.message)


def check_range(state: RaisingState, pointer: Buffer, offset: Index, size: Index) -> None:
    """The same where bytes are copied, or set, of which some are beyond a memory."""
    if isinstance(pointer, PointerChoice):
        for condition, choice in ((pointer.condition, pointer.on_true), (~pointer.condition, pointer.on_false)):
            with state.within(state.domain.restrict(condition)):
                check_range(state, choice, offset, size)
        return
    memory = pointer.memory
    if memory is None:
        stop_where(state, Predicate.compare("NE", size, ZERO), "memory is copied or set through a null pointer")
        return
    limit = Index(memory.size_bytes if memory.limit is None else memory.limit)
    start = offset + pointer.byte_offset
    # A size beyond 2**63 - 1 is negative here.
    below = Predicate.compare("LT", size, ZERO) | Predicate.compare("LT", start, ZERO)
    beyond = Predicate.compare("LT", limit - start, size) & Predicate.compare("NE", size, ZERO)
    stop_where(state, below | beyond, f"more is copied or set than {memory.name} has")


def stop_where(state: RaisingState, violated: Predicate, reason: str) -> None:
    """Raise Obstacle if a lane surely stops; let the program look where that depends on data."""
    violated = violated.simplify(state.box)
    found = holds_somewhere(state.domain.mask, violated, state.box)
    if found:
        raise state.obstacle(reason, STOPS)
    if found is None:
        assume_never(state, violated, Assumption(reason, state.position, STOPS))


# -- operands ---------------------------------------------------------------------------------------------------------


# -- branches ---------------------------------------------------------------------------------------------------------


def run_if(state: RaisingState, op: loops.If) -> None:
    """Interpret each side for the lanes that take it."""
    if isinstance(state.lookup(op.condition), AccumulationTest):
        _run_if_of_test(state, op)
        return
    condition, takes_true, takes_false = split_domains(state, predicate_of(state, op.condition))
    outer = state.domain
    sides: list[list[Item] | None] = []
    for taken, side, region in ((takes_true, condition, op.then), (takes_false, ~condition, op.otherwise)):
        if not taken:
            sides.append(None)
            continue
        with state.within(outer.restrict(side)):
            sides.append(run_branch(state, region.block))
    on_true, on_false = sides
    for position, result in enumerate(op.results):
        if on_true is None or on_false is None:
            side = on_true or on_false
            state.environment[result] = side[position] if side else UNDEFINED
        else:
            dtype = yielded_dtype(op, position)
            merged = merge_items(state, condition, on_true[position], on_false[position], dtype)
            state.environment[result] = merged


def _run_if_of_test(state: RaisingState, op: loops.If) -> None:
    """`if (x < least) least = x`: both sides hold no effects, and are interpreted for all lanes."""
    test = state.lookup(op.condition)
    assert isinstance(test, AccumulationTest)
    for region in op.regions:
        if any(not inner.is_pure for inner in region.walk() if inner is not region.block.terminator):
            raise state.obstacle("what happens in one iteration depends on the ones before")
    on_true = run_branch(state, op.then.block)
    on_false = run_branch(state, op.otherwise.block)
    for result, one, other in zip(op.results, on_true, on_false, strict=True):
        state.environment[result] = one if one is other else select_by_test(state, test, one, other)


# -- buffers ----------------------------------------------------------------------------------------------------------


def allocate(state: RaisingState, op: loops.Allocate) -> Pointer:
    """A local array of each thread, or a shared one of each block."""
    if op.space == "shared":
        return Pointer(allocate_shared(state, readable(op.variable) or "shared memory", op.size))
    return Pointer(allocate_local(state, readable(op.variable) or "local array", op.size, op.axes))


def variable_pointer(state: RaisingState, variable: str) -> Pointer:
    """Where a `__device__` or `__constant__` variable begins."""
    for name, place in state.specification.variables:
        if name == variable:
            return Pointer(state.memories[place.memory], place.byte_offset)
    raise state.obstacle(f"the launch gives no memory for the variable '{variable}'", LAUNCH_MISMATCH)


def select_buffer(state: RaisingState, op: loops.SelectBuffer) -> Item:
    """One of two pointers, lane by lane."""
    condition = predicate_of(state, op.condition)
    return merge_items(state, condition, state.environment[op.on_true], state.environment[op.on_false], None)


def same_buffer(one: Buffer, other: Buffer) -> Predicate:
    """Whether two pointers go into the same memory."""
    if isinstance(one, PointerChoice):
        return (one.condition & same_buffer(one.on_true, other)) | (~one.condition & same_buffer(one.on_false, other))
    if isinstance(other, PointerChoice):
        return same_buffer(other, one)
    return TRUE if one.memory is other.memory else FALSE


def buffer_distance(state: RaisingState, one: Buffer, other: Buffer) -> Index:
    """How many bytes one pointer is behind the other in the same memory; 0 for different ones."""
    if isinstance(one, PointerChoice) or isinstance(other, PointerChoice):
        raise state.obstacle("pointers are compared of which one is chosen as the kernel runs")
    return Index(one.byte_offset - other.byte_offset if one.memory is other.memory else 0)


def run_barrier(state: RaisingState, op: loops.Barrier) -> None:
    """Lockstep keeps what barriers ask for, so long as the iterations around them stay in order.

    Iterations side by side are independent only if no thread sees what another has stored in an earlier one.
    """
    threads = state.thread_dimensions if op.scope == "grid" else {*state.thread_dimensions} - state.block_dimensions
    for frame in state.frames:
        if frame.is_fused:
            raise state.obstacle("its iterations are ordered by barriers")
        frame.inner_dimensions.update(threads)
    state.barriers += 1
    state.meetings.append(state.domain)
