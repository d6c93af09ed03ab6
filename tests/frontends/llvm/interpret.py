"""Running a loop-level kernel thread by thread in plain Python: slow, and independent of raising.

Each thread is a generator that stops at barriers and where lanes exchange values; arithmetic is what the ops'
`evaluate` says. Memory is bytes; an access outside them is an error.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import numpy as np

from windlass.ir import Block, BufferType, Function, Op, Value
from windlass.ir.types import NUMPY_DTYPES
from windlass.ops import loops
from windlass.ops.creation import Constant

Thread = Generator[Op, Any, list[Any]]
Memory = np.ndarray[Any, np.dtype[np.uint8]]


class MissedBoundsError(Exception):
    """An access outside a buffer."""


class FailedAssertionError(Exception):
    """An `Assert` whose condition was false."""


def bytes_of(array: np.ndarray) -> Memory:
    """The array's memory as bytes: writing to them changes the array."""
    assert array.flags.c_contiguous
    return array.reshape(-1).view(np.uint8)


class Interpreter:
    """One kernel with the memory of its device variables (by linker name)."""

    def __init__(self, function: Function, variables: Mapping[str, bytes] | None = None) -> None:
        self.function = function
        self.variables: dict[str, Memory] = {
            name: np.frombuffer(data, np.uint8).copy() for name, data in (variables or {}).items()
        }
        self.printed: list[str] = []

    def launch(
        self, grid: Sequence[int], block: Sequence[int], arguments: Sequence[Any], shared_bytes: int = 0
    ) -> None:
        """Run a launch: NumPy arrays (updated in place) or None for pointers, numbers, structured scalars."""
        grid, block = (*grid, 1, 1)[:3], (*block, 1, 1)[:3]
        given: dict[Value, Any] = {}
        for parameter, argument in zip(self.function.arguments, arguments, strict=True):
            if isinstance(parameter.type, BufferType):
                if argument is None:
                    given[parameter] = None
                elif parameter.type.space == "parameter":
                    data = np.asarray(argument).tobytes()
                    given[parameter] = np.frombuffer(data.ljust(parameter.type.size or 0, b"\0"), np.uint8).copy()
                else:
                    given[parameter] = bytes_of(argument)
            else:
                dtype = parameter.tensor.numpy_dtype
                given[parameter] = np.asarray(argument).astype(dtype)
        sizes: dict[str, int] = dict(zip(loops.LAUNCH_DIMENSIONS, (*grid, *block), strict=True))
        for op in self.function.body:
            if isinstance(op, loops.LaunchSize):
                given[op] = np.int32(sizes[op.dimension])
            elif isinstance(op, loops.Parallel):
                for place in itertools.product(*(range(count) for count in grid[::-1])):
                    self.run_block(op, given, place[::-1], block, shared_bytes)
            elif op is not self.function.body.terminator:
                given[op] = op.evaluate(*(given[operand] for operand in op.operands))

    def run_block(
        self,
        parallel: loops.Parallel,
        given: dict[Value, Any],
        place: Sequence[int],
        block: Sequence[int],
        dynamic: int,
    ) -> None:
        shared: dict[Op, Memory] = {}
        threads: list[Thread] = []
        body = parallel.body.block
        for thread in itertools.product(*(range(count) for count in block[::-1])):
            values = dict(given)
            ids = [np.int32(each) for each in (*place, *thread[::-1])]
            values.update(zip(body.arguments, ids, strict=True))
            threads.append(self.run(body, values, shared, dynamic))
        waiting: dict[int, Op] = {}
        replies: dict[int, Any] = {}
        alive = list(range(len(threads)))
        while alive:
            for number in list(alive):
                try:
                    waiting[number] = threads[number].send(replies.pop(number, None))
                except StopIteration:
                    alive.remove(number)
                    waiting.pop(number, None)
            replies = self.exchange({number: waiting[number] for number in alive})

    def exchange(self, waiting: dict[int, Op]) -> dict[int, Any]:
        """What threads that stopped together get: shuffles and votes, lane by lane."""
        replies: dict[int, Any] = {}
        for number, request in waiting.items():
            if not isinstance(request, tuple):
                continue
            op, inputs = request
            warp = number // 32
            lanes = {
                other % 32: each[1]
                for other, each in waiting.items()
                if other // 32 == warp and isinstance(each, tuple) and each[0] is op
            }
            replies[number] = collective(op.kind, number % 32, inputs, lanes)
        return replies

    def run(self, block: Block, values: dict[Value, Any], shared: dict[Op, Memory], dynamic: int) -> Thread:
        last = block.terminator
        for op in block:
            if op is last:
                break
            match op:
                case Constant():
                    values[op] = op.value.array
                case loops.Allocate():
                    if op.space == "shared":
                        values[op] = shared.setdefault(op, np.zeros(op.size if op.size >= 0 else dynamic, np.uint8))
                    else:
                        values[op] = np.zeros(op.size, np.uint8)
                case loops.DeviceVariableBuffer():
                    values[op] = self.variables.setdefault(op.variable, np.zeros(op.size, np.uint8))
                case loops.NullBuffer():
                    values[op] = None
                case loops.SelectBuffer():
                    values[op] = values[op.on_true if values[op.condition] else op.on_false]
                case loops.ViewBuffer():
                    values[op] = values[op.buffer]
                case loops.SameBuffer():
                    left, right = values[op.lhs], values[op.rhs]
                    same = left is right or (left is not None and right is not None and np.shares_memory(left, right))
                    values[op] = np.bool_(same)
                case loops.BufferDistance():
                    addresses = [0 if values[side] is None else values[side].ctypes.data for side in (op.lhs, op.rhs)]
                    values[op] = np.int64(addresses[0] - addresses[1])
                case loops.Undefined():
                    is_buffer = isinstance(op.type, BufferType)
                    values[op] = None if is_buffer else np.asarray(77).astype(op.tensor.numpy_dtype)
                case loops.Load():
                    dtype = NUMPY_DTYPES[op.dtype_read]
                    values[op] = self.place(values, op.buffer, op.offset, dtype).copy().view(dtype)[0]
                case loops.Store():
                    self.write(values, op.buffer, op.offset, values[op.value], op.value)
                case loops.Atomic():
                    dtype = op.value.tensor.numpy_dtype
                    old = self.place(values, op.buffer, op.offset, dtype).copy().view(dtype)[0]
                    self.write(values, op.buffer, op.offset, combine(op.kind, old, values[op.value]), op.value)
                    values[op] = old
                case loops.AtomicUpdate():
                    dtype = op.tensor.numpy_dtype
                    old = self.place(values, op.buffer, op.offset, dtype).copy().view(dtype)[0]
                    values[op.body.block.arguments[0]] = old
                    (new,) = yield from self.run(op.body.block, values, shared, dynamic)
                    self.write(values, op.buffer, op.offset, new, op)
                    values[op] = old
                case loops.CompareExchange():
                    dtype = op.expected.tensor.numpy_dtype
                    old = self.place(values, op.buffer, op.offset, dtype).copy().view(dtype)[0]
                    if old.tobytes() == np.asarray(values[op.expected]).tobytes():
                        self.write(values, op.buffer, op.offset, values[op.desired], op.desired)
                    values[op] = old
                case loops.If():
                    region = op.then if values[op.condition] else op.otherwise
                    found = yield from self.run(region.block, values, shared, dynamic)
                    values.update(zip(op.results, found, strict=True))
                case loops.For():
                    carried = [values[each] for each in op.initial]
                    for iteration in range(int(values[op.trip_count])):
                        values[op.body.block.arguments[0]] = np.int64(iteration)
                        values.update(zip(op.body.block.arguments[1:], carried, strict=True))
                        carried = yield from self.run(op.body.block, values, shared, dynamic)
                    values.update(zip(op.results, carried, strict=True))
                case loops.DoWhile():
                    carried = [values[each] for each in op.initial]
                    goes_on = True
                    while goes_on:
                        values.update(zip(op.body.block.arguments, carried, strict=True))
                        goes_on, *carried = yield from self.run(op.body.block, values, shared, dynamic)
                    values.update(zip(op.results, carried, strict=True))
                case loops.Barrier():
                    yield op
                case loops.Collective():
                    found = yield (op, [values[each] for each in op.inputs])  # type: ignore[misc]
                    values.update(zip(op.results, found, strict=True))
                case loops.Assert():
                    if not values[op.condition]:
                        raise FailedAssertionError(op.message)
                case loops.Print():
                    self.printed.append(op.format % tuple(np.asarray(values[each]).item() for each in op.inputs))
                case _:
                    values[op] = op.evaluate(*(np.asarray(values[operand]) for operand in op.operands))
        return [values[operand] for operand in last.operands]

    def place(self, values: dict[Value, Any], buffer: Value, offset: Value, dtype: np.dtype) -> Memory:
        memory, begin = values[buffer], int(values[offset])
        if memory is None or begin < 0 or begin + dtype.itemsize > memory.size:
            raise MissedBoundsError(f"{dtype} at byte {begin} of {0 if memory is None else memory.size}")
        return memory[begin : begin + dtype.itemsize]

    def write(self, values: dict[Value, Any], buffer: Value, offset: Value, number: Any, value: Value) -> None:
        dtype = value.tensor.numpy_dtype
        self.place(values, buffer, offset, dtype)[:] = np.frombuffer(np.asarray(number, dtype).tobytes(), np.uint8)


def combine(kind: str, old: Any, new: Any) -> Any:
    """What an atomic operation writes."""
    unsigned = np.dtype(f"u{old.dtype.itemsize}")
    left, right = np.asarray(old), np.asarray(new)
    with np.errstate(all="ignore"):
        match kind:
            case "add" | "fadd":
                return left + right
            case "sub" | "fsub":
                return left - right
            case "and":
                return left & right
            case "or":
                return left | right
            case "xor":
                return left ^ right
            case "nand":
                return ~(left & right)
            case "exchange":
                return right
            case "min":
                return np.minimum(left, right)
            case "max":
                return np.maximum(left, right)
            case "fmin":
                return np.fmin(left, right)
            case "fmax":
                return np.fmax(left, right)
            case "umin":
                return np.minimum(left.view(unsigned), right.view(unsigned)).view(old.dtype)
            case "umax":
                return np.maximum(left.view(unsigned), right.view(unsigned)).view(old.dtype)
            case "inc":
                return np.where(left.view(unsigned) >= right.view(unsigned), 0, left + 1).astype(old.dtype)
            case "dec":
                is_over = (left == 0) | (left.view(unsigned) > right.view(unsigned))
                return np.where(is_over, right, left - 1).astype(old.dtype)
            case _:
                raise NotImplementedError(kind)


def collective(kind: str, lane: int, inputs: list[Any], lanes: dict[int, list[Any]]) -> list[Any]:
    """What one lane gets from a shuffle or vote."""
    parts = kind.split(".")
    if parts[0] == "shfl":
        packed = int(inputs[3])
        clamp, width = packed & 31, 32 - ((packed >> 8) & 31)
        segment = lane // width * width
        last = segment | clamp & (width - 1)
        amount = int(inputs[2])
        source, is_inside = {
            "idx": (segment | amount & (width - 1), True),
            "up": (lane - amount, lane - amount >= segment),
            "down": (lane + amount, lane + amount <= last),
            "bfly": (lane ^ amount, (lane ^ amount) <= last),
        }[parts[2]]
        return [lanes[source][1] if is_inside and source in lanes else inputs[1]]
    if parts[0] == "vote":
        votes = {other: bool(each[1]) for other, each in lanes.items()}
        match parts[1]:
            case "ballot":
                return [np.uint32(sum(1 << other for other, vote in votes.items() if vote)).view(np.int32)]
            case "any":
                return [np.bool_(any(votes.values()))]
            case _:
                return [np.bool_(all(votes.values()))]
    raise NotImplementedError(kind)
