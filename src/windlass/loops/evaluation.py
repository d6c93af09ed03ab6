"""Kernels evaluated as they are written, thread by thread: slow, and the oracle of all that changes or raises them.

Arithmetic is what the tensor ops' `evaluate` says, memory is bytes. The threads of a block go on by turns: each runs
until it waits. Lanes of a warp that wait at the same exchange or warp barrier go on together once no lane of the warp
can go on by itself; the threads of a block at a barrier once all that have not ended are at one; those of the grid
likewise. So threads race as little as the barriers let them: what a kernel with races gives is one of its outcomes.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from windlass.ir import Block, BufferType, Function, Module, Value
from windlass.loops.control import LAUNCH_DIMENSIONS, WARPS, Parallel
from windlass.loops.launches import Launch
from windlass.loops.meeting import Barrier
from windlass.loops.threads import (
    NULL,
    WARP,
    Buffer,
    Bytes,
    Fibre,
    LaunchState,
    Meeting,
    MeetingPlace,
    Results,
    StoppedError,
    Thread,
)


def evaluate_kernel(
    kernel: Function,
    grid: Sequence[int],
    block: Sequence[int],
    arguments: Sequence[Any],
    variables: Mapping[str, bytes] | None = None,
    shared_bytes: int = 0,
    order: np.random.Generator | None = None,
) -> LaunchState:
    """Run a launch. C-contiguous NumPy arrays are updated in place; what the device variables hold is in the result.

    `arguments` are arrays, `Buffer`s or None for pointers, numbers for scalars, and what `numpy.asarray` takes for
    records; `variables` is what device variables hold before, by linker name. `order` draws the order of blocks, of
    threads of a block and of independent points, so that a false claim that there is none shows.

    Raises StoppedError where the program would stop, or where threads wait for others that never come.

    >>> from windlass.ir import Block, Builder, Region, tensor_type
    >>> from windlass.loops import LaunchSize, Store, Yield
    >>> from windlass.ops import Constant, Convert, Multiply, Return
    >>> kernel = Function("ids", Block([BufferType.of("global")]))
    >>> with Builder(kernel.body):
    ...     sizes = tuple(LaunchSize(dimension) for dimension in LAUNCH_DIMENSIONS)
    ...     body = Block([tensor_type((), "i32")] * 6)
    ...     with Builder(body):
    ...         thread = body.arguments[3]
    ...         store = Store(thread, kernel.arguments[0], Multiply(Convert(thread, "i64"), Constant.of(4, "i64")))
    ...         end = Yield(())
    ...     _ = Parallel(sizes, LAUNCH_DIMENSIONS, Region(body)), Return(())
    >>> found = np.zeros(4, np.int32)
    >>> state = evaluate_kernel(kernel, (1,), (4,), [found])
    >>> found.tolist()
    [0, 1, 2, 3]
    """
    sizes: dict[str, int] = dict(zip(LAUNCH_DIMENSIONS, (*(*grid, 1, 1)[:3], *(*block, 1, 1)[:3]), strict=True))
    launch = LaunchState(sizes, shared_bytes, _held(variables), order=order)
    _run(kernel, _enter(kernel, arguments), launch, {})
    return launch


def evaluate_program(
    program: Module,
    arguments: Sequence[Any],
    variables: Mapping[str, bytes] | None = None,
    order: np.random.Generator | None = None,
) -> LaunchState:
    """Run a program of launches (see `windlass.loops.launches`), each after the one before it has ended.

    All is as for `evaluate_kernel`. Raises StoppedError as that does.
    """
    launch = LaunchState({}, 0, _held(variables), order=order)
    _run(program.main, _enter(program.main, arguments), launch, program.functions)
    return launch


def _held(variables: Mapping[str, bytes] | None) -> dict[str, Bytes]:
    return {name: np.frombuffer(data, np.uint8).copy() for name, data in (variables or {}).items()}


def _enter(function: Function, arguments: Sequence[Any]) -> list[Any]:
    return [_entering(parameter, argument) for parameter, argument in zip(function.arguments, arguments, strict=True)]


def _run(function: Function, arguments: Sequence[Any], launch: LaunchState, kernels: Mapping[str, Function]) -> None:
    values: dict[Value, Any] = dict(zip(function.arguments, arguments, strict=True))
    outside = Thread(launch, 0, 0, {})
    outside.values = values
    for op in function.body:
        if isinstance(op, Parallel):
            _run_launch(op, values, launch)
        elif isinstance(op, Launch):
            sizes = {name: int(values[size]) for name, size in zip(LAUNCH_DIMENSIONS, op.sizes, strict=True)}
            inner = replace(launch, sizes=sizes, shared_bytes=int(values[op.shared_bytes]))
            _run(kernels[op.callee], [values[each] for each in op.inputs], inner, kernels)
        elif op is not function.body.terminator:
            values[op] = outside.evaluate(op)


def _entering(parameter: Value, argument: Any) -> Any:
    if not isinstance(parameter.type, BufferType):
        return np.asarray(argument).astype(parameter.tensor.numpy_dtype)
    if argument is None:
        return NULL
    if isinstance(argument, Buffer):
        return argument
    if parameter.type.space == "parameter":
        data = np.asarray(argument).tobytes().ljust(parameter.type.size or 0, b"\0")
        return Buffer(np.frombuffer(data, np.uint8).copy())
    assert argument.flags.c_contiguous
    return Buffer(argument.reshape(-1).view(np.uint8))


def _run_launch(parallel: Parallel, values: dict[Value, Any], launch: LaunchState) -> None:
    meets_grid = any(isinstance(op, Barrier) and op.scope == "grid" for op in parallel.body.walk())
    fibres: list[_Waiting] = []
    for number, place in launch.in_some_order(_places(values, parallel.extents[:3])):
        leader = Thread(launch, number, 0, {})
        leader.values = dict(values)
        for start in launch.in_some_order(list(_find_threads(parallel, place, leader))):
            thread = Thread(launch, number, start.number, leader.shared)
            thread.values = dict(start.values)
            fibres.append(_Waiting(thread, thread.run(start.block, *start.ids)))
        if not meets_grid:
            _run_together(fibres)
            fibres = []
    _run_together(fibres)


class _Start(NamedTuple):
    """Where a thread of that number in its block begins: what it runs with these ids, and what it knows then."""

    number: int
    block: Block
    ids: Results
    values: dict[Value, Any]


def _find_threads(launch: Parallel, place: Results, leader: Thread) -> Iterator[_Start]:
    """The threads of the block at a place; the leader knows what is outside of the launch."""
    if launch.kind == "launch":
        for number, ids in _places(leader.values, launch.extents[3:]):
            yield _Start(number, launch.body.block, (*place, *ids), leader.values)
        return
    threads = _enter_level(launch, place, leader)
    for number, ids in _places(leader.values, threads.extents):
        if threads.dimensions == WARPS:
            yield from _find_lanes(threads, number, ids, leader)
        else:
            yield _Start(number, threads.body.block, ids, leader.values)


def _find_lanes(warps: Parallel, warp: int, ids: Results, leader: Thread) -> Iterator[_Start]:
    first = Thread(leader.launch, leader.block, warp * WARP, leader.shared)
    first.values = dict(leader.values)
    lanes = _enter_level(warps, ids, first)
    for number, inner in _places(first.values, lanes.extents):
        if number // WARP == warp:
            yield _Start(number, lanes.body.block, inner, first.values)


def _places(values: Mapping[Value, Any], extents: Sequence[Value]) -> list[tuple[int, Results]]:
    """The ids of each point with its number, x fastest."""
    points = itertools.product(*(range(int(values[extent])) for extent in reversed(extents)))
    return [(number, tuple(np.asarray(each, np.int32) for each in point[::-1])) for number, point in enumerate(points)]


def _enter_level(level: Parallel, ids: Results, leader: Thread) -> Parallel:
    """What is within a level, after the leader has computed what its points have in common."""
    values = leader.values
    values.update(zip(level.body.block.arguments, ids, strict=True))
    for op in level.body.block:
        if isinstance(op, Parallel):
            return op
        found = leader.evaluate(op)
        values.update(zip(op.results, found if isinstance(found, tuple) else (found,), strict=True))
    raise TypeError(f"a {level.kind} of nothing")


class _Waiting:
    """A thread with what it waits for; None once it has ended."""

    def __init__(self, thread: Thread, fibre: Fibre) -> None:
        self.thread = thread
        self.fibre = fibre
        self.meeting: Meeting | None = None

    def resume(self, received: Results | None) -> bool:
        """Go on to the next meeting; whether there is one."""
        try:
            self.meeting = next(self.fibre) if received is None else self.fibre.send(received)
        except StopIteration:
            self.meeting = None
        return self.meeting is not None

    @property
    def scope(self) -> str:
        assert self.meeting is not None
        return self.meeting.op.scope


def _run_together(threads: list[_Waiting]) -> None:
    alive = [each for each in threads if each.resume(None)]
    while alive:
        received = _meet(alive)
        for each, found in received:
            each.resume(found)
        alive = [each for each in alive if each.meeting is not None]


def _meet(alive: list[_Waiting]) -> list[tuple[_Waiting, Results]]:
    """Those that go on, with what each receives."""
    going: list[list[_Waiting]] = []
    blocks: dict[int, list[_Waiting]] = defaultdict(list)
    for each in alive:
        blocks[each.thread.block].append(each)
    for block in blocks.values():
        warps: dict[tuple[int, MeetingPlace], list[_Waiting]] = defaultdict(list)
        for each in block:
            if each.scope == "warp" and each.meeting is not None:
                warps[each.thread.number // WARP, each.meeting.op].append(each)
        going += warps.values()
        if not warps and all(each.scope == "block" for each in block):
            going.append(block)
    if not going:
        if not all(each.scope == "grid" for each in alive):
            raise StoppedError("threads wait at a barrier for others that wait elsewhere")
        going.append(alive)
    return [(each, found) for group in going for each, found in zip(group, _exchange(group), strict=True)]


def _exchange(group: list[_Waiting]) -> list[Results]:
    """What each thread of those that meet receives from those that are at the same op."""
    here: dict[MeetingPlace, dict[int, Results]] = defaultdict(dict)
    meetings = [each.meeting for each in group if each.meeting is not None]
    for each, meeting in zip(group, meetings, strict=True):
        here[meeting.op][each.thread.number] = meeting.inputs
    return [
        meeting.op.exchange(each.thread.number, here[meeting.op]) for each, meeting in zip(group, meetings, strict=True)
    ]
