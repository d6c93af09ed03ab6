"""A loop-level kernel run one thread after the other, scalar by scalar: what raised kernels are compared with."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from windlass.ir import Block, Function, Op, Value
from windlass.ir.types import NUMPY_DTYPES
from windlass.ops import loops
from windlass.ops.creation import Constant
from windlass.raising import (
    KnownScalar,
    LaunchSpecification,
    PointerArgument,
    RecordArgument,
    TracedScalar,
)


def run_launch(
    kernel: Function, specification: LaunchSpecification, arrays: list[np.ndarray], traced: list[Any]
) -> list[np.ndarray]:
    """The arrays after the launch; the given ones are left alone."""
    memories = [np.frombuffer(array.tobytes(), np.uint8).copy() for array in arrays]
    parallel = next(op for op in kernel.body if isinstance(op, loops.Parallel))
    numbers = iter(traced)
    given: dict[Value, Any] = {}
    for argument, each in zip(kernel.arguments, specification.arguments, strict=True):
        match each:
            case PointerArgument():
                given[argument] = (memories[each.memory] if each.memory >= 0 else None, each.byte_offset)
            case KnownScalar():
                given[argument] = np.asarray(each.value).astype(argument.tensor.numpy_dtype)
            case TracedScalar():
                given[argument] = np.asarray(next(numbers)).view(argument.tensor.numpy_dtype)
            case RecordArgument():
                data = np.zeros(each.size, np.uint8)
                for offset, leaf in each.leaves:
                    value = leaf.value if isinstance(leaf, KnownScalar) else next(numbers)
                    scalar = np.asarray(value, NUMPY_DTYPES[leaf.dtype])
                    data[offset : offset + scalar.itemsize] = np.frombuffer(scalar.tobytes(), np.uint8)
                given[argument] = (data, 0)
    grid, block = specification.grid, specification.block
    for bz, by, bx, tz, ty, tx in itertools.product(*(range(n) for n in (*grid[::-1], *block[::-1]))):
        values = dict(given)
        for op in kernel.body:
            if op is parallel:
                ids = [np.asarray(each, np.int32) for each in (bx, by, bz, tx, ty, tz)]
                values.update(zip(parallel.body.block.arguments, ids, strict=True))
                _run(parallel.body.block, values, specification)
            elif op is not kernel.body.terminator:
                _step(op, values, specification)
    return [memory.view(array.dtype).reshape(array.shape) for memory, array in zip(memories, arrays, strict=True)]


def _run(block: Block, values: dict[Value, Any], specification: LaunchSpecification) -> list[Any]:
    last = block.terminator
    for op in block:
        if op is not last:
            _step(op, values, specification)
    return [values[operand] for operand in last.operands]


def _place(values: dict[Value, Any], buffer: Value, offset: Value, dtype: np.dtype) -> tuple[np.ndarray, slice]:
    memory, base = values[buffer]
    start = base + int(values[offset])
    assert memory is not None and start >= 0 and start + dtype.itemsize <= memory.size, "out of bounds"
    return memory, slice(start, start + dtype.itemsize)


def _step(op: Op, values: dict[Value, Any], specification: LaunchSpecification) -> None:
    match op:
        case Constant():
            values[op] = np.asarray(op.value.array)
        case loops.LaunchSize():
            values[op] = np.asarray(specification.launch_size(op.dimension), np.int32)
        case loops.Load():
            dtype = NUMPY_DTYPES[op.dtype_read]
            memory, place = _place(values, op.buffer, op.offset, dtype)
            values[op] = memory[place].copy().view(dtype).reshape(())
        case loops.Store():
            _store(op, values, np.asarray(values[op.value]))
        case loops.Atomic():
            dtype = op.value.tensor.numpy_dtype
            memory, place = _place(values, op.buffer, op.offset, dtype)
            old = memory[place].copy().view(dtype).reshape(())
            values[op] = old
            _store(op, values, _combine(op.kind, old, values[op.value]))
        case loops.If():
            region = op.then if bool(values[op.condition]) else op.otherwise
            values.update(zip(op.results, _run(region.block, values, specification), strict=True))
        case loops.For():
            carried = [values[initial] for initial in op.initial]
            for iteration in range(int(values[op.trip_count])):
                values[op.body.block.arguments[0]] = np.asarray(iteration, np.int64)
                values.update(zip(op.body.block.arguments[1:], carried, strict=True))
                carried = _run(op.body.block, values, specification)
            values.update(zip(op.results, carried, strict=True))
        case loops.DoWhile():
            carried = [values[initial] for initial in op.initial]
            goes_on = True
            while goes_on:
                values.update(zip(op.body.block.arguments, carried, strict=True))
                goes_on, *carried = _run(op.body.block, values, specification)
            values.update(zip(op.results, carried, strict=True))
        case loops.Allocate():
            values[op] = (np.zeros(op.size, np.uint8), 0)
        case loops.SelectBuffer():
            values[op] = values[op.on_true if bool(values[op.condition]) else op.on_false]
        case loops.Undefined():
            values[op] = np.zeros((), op.tensor.numpy_dtype)
        case loops.Barrier() | loops.Assert() | loops.Print():
            pass
        case _:
            values[op] = np.asarray(op.evaluate(*(np.asarray(values[operand]) for operand in op.operands)))


def _store(op: loops.Store | loops.Atomic, values: dict[Value, Any], value: np.ndarray) -> None:
    memory, place = _place(values, op.buffer, op.offset, value.dtype)
    memory[place] = np.frombuffer(value.tobytes(), np.uint8)


def _combine(kind: str, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        match kind:
            case "add" | "fadd":
                return np.asarray(old + new)
            case "sub" | "fsub":
                return np.asarray(old - new)
            case "min" | "fmin":
                return np.asarray(np.minimum(old, new))
            case "max" | "fmax":
                return np.asarray(np.maximum(old, new))
            case "and":
                return np.asarray(old & new)
            case "or":
                return np.asarray(old | new)
            case "xor":
                return np.asarray(old ^ new)
            case "umax" | "umin":
                unsigned = np.dtype(f"u{old.dtype.itemsize}")
                pick = np.maximum if kind == "umax" else np.minimum
                return np.asarray(pick(old.view(unsigned), new.view(unsigned))).view(old.dtype)
            case _:
                raise NotImplementedError(kind)
