"""Short ways to write loop-level kernels by hand, and to compare their raised form with a run thread by thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.raising.thread_by_thread import run_launch
from windlass import loops
from windlass.ir import Block, BufferType, Builder, Function, Region, Type, Value, tensor_type
from windlass.ir.types import MLIR_DTYPES
from windlass.loops.launch_specification import (
    KnownScalar,
    LaunchSpecification,
    MemorySpecification,
    PointerArgument,
    TracedScalar,
)
from windlass.ops.comparison import Compare
from windlass.ops.conversion import Convert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Multiply
from windlass.ops.evaluation import evaluate_function
from windlass.ops.regions import Return
from windlass.parallel.specialization import specialize_for
from windlass.raising import RaisedKernel, raise_kernel

BUFFER = BufferType.of("global", "f32")
INT = tensor_type((), "i32")
FLOAT = tensor_type((), "f32")

Ids = Sequence[Value]


def number(value: float, dtype: str = "i32") -> Value:
    return Constant.of(value, dtype)


def kernel(parameters: dict[str, Type], write: Callable[..., None]) -> Function:
    """A kernel; `write` takes the ids (blocks x y z, threads x y z) and the parameters, and places the body's ops."""
    block = Block(list(parameters.values()), list(parameters))
    with Builder(block):
        extents = tuple(loops.LaunchSize(each) for each in loops.LAUNCH_DIMENSIONS)
        body = Block([INT] * 6)
        with Builder(body):
            write(body.arguments, *block.arguments)
            loops.Yield(())
        loops.Parallel(extents, loops.LAUNCH_DIMENSIONS, Region(body))
        Return(())
    return Function(write.__name__, block)


def global_id(ids: Ids, axis: int = 0) -> Value:
    """blockIdx * blockDim + threadIdx"""
    return Add(Multiply(ids[axis], loops.LaunchSize(f"thread.{'xyz'[axis]}")), ids[3 + axis])


def offset(index: Value, width: int = 4) -> Value:
    wide = index if index.dtype == "i64" else Convert(index, "i64")
    return Multiply(wide, number(width, "i64"))


def load(buffer: Value, index: Value, dtype: str = "f32") -> Value:
    return loops.Load(buffer, offset(index, np.dtype(tensor_type((), dtype).numpy_dtype).itemsize), dtype)


def store(value: Value, buffer: Value, index: Value) -> None:
    loops.Store(value, buffer, offset(index, value.tensor.numpy_dtype.itemsize))


def atomic(kind: str, value: Value, buffer: Value, index: Value) -> None:
    loops.Atomic(kind, buffer, offset(index, value.tensor.numpy_dtype.itemsize), value)


def compare(left: Value, direction: str, right: Value) -> Value:
    return Compare(left, right, direction)


Branch = Callable[[], "Sequence[Value] | None"]


def when(condition: Value, then: Branch, otherwise: Branch | None = None) -> tuple[Value, ...]:
    """An If; each side may give values."""
    sides: list[Block] = []
    for side in (then, otherwise):
        block = Block()
        with Builder(block):
            found = side() if side is not None else ()
            loops.Yield(tuple(found or ()))
        sides.append(block)
    return loops.If(condition, Region(sides[0]), Region(sides[1])).results


def repeat(trips: Value, initial: Sequence[Value], body: Callable[..., Sequence[Value]]) -> tuple[Value, ...]:
    """A For; `body` takes the iteration number as i32 and the carried values, and gives the next ones."""
    wide = trips if trips.dtype == "i64" else Convert(trips, "i64")
    block = Block([tensor_type((), "i64"), *(value.type for value in initial)])
    with Builder(block):
        iteration, *carried = block.arguments
        loops.Yield(tuple(body(Convert(iteration, "i32"), *carried)))
    return loops.For(wide, tuple(initial), Region(block)).results


def repeat_while(initial: Sequence[Value], body: Callable[..., tuple[Value, Sequence[Value]]]) -> tuple[Value, ...]:
    """A DoWhile; `body` gives whether to go on, and the next values."""
    block = Block([value.type for value in initial])
    with Builder(block):
        goes_on, following = body(*block.arguments)
        loops.Condition(goes_on, tuple(following))
    return loops.DoWhile(tuple(initial), Region(block)).results


def specify(
    grid: tuple[int, ...], block: tuple[int, ...], arguments: Sequence[Any]
) -> tuple[LaunchSpecification, list[np.ndarray], list[Any]]:
    """A launch with these arguments: arrays are memories, int is known, NumPy floats are traced, np.int32 is traced."""
    arrays: list[np.ndarray] = []
    traced: list[Any] = []
    given: list[Any] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            place = next((place for place, array in enumerate(arrays) if array is argument), None)
            if place is None:
                place = len(arrays)
                arrays.append(argument)
            given.append(PointerArgument(place))
        elif isinstance(argument, np.generic):
            given.append(TracedScalar(MLIR_DTYPES[argument.dtype]))
            traced.append(argument)
        else:
            given.append(KnownScalar("i32", argument))
    memories = tuple(
        MemorySpecification(
            array.nbytes,
            MLIR_DTYPES[array.dtype],
            tuple(stride // array.itemsize for stride in array.strides[:-1]),
        )
        for array in arrays
    )
    extents = [(*each, 1, 1) for each in (grid, block)]
    (gx, gy, gz), (bx, by, bz) = (each[:3] for each in extents)
    specification = LaunchSpecification((gx, gy, gz), (bx, by, bz), 0, tuple(given), memories)
    return specification, arrays, traced


def run_raised(
    function: Function, grid: tuple[int, ...], block: tuple[int, ...], arguments: Sequence[Any]
) -> tuple[RaisedKernel, list[np.ndarray]]:
    """The raised kernel, and the arrays after it ran."""
    specification, arrays, traced = specify(grid, block, arguments)
    raised = raise_kernel(specialize_for(function, specification), specification)
    results = evaluate_function(raised.function, *(array.reshape(-1) for array in arrays), *traced)
    after = list(arrays)
    for place, result in zip(raised.written, results, strict=True):
        after[place] = result.reshape(arrays[place].shape)
    return raised, after


def check(
    function: Function,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    arguments: Sequence[Any],
    tolerance: float = 1e-5,
) -> RaisedKernel:
    """Compare the raised kernel with a run thread by thread."""
    raised, after = run_raised(function, grid, block, arguments)
    specification, arrays, traced = specify(grid, block, arguments)
    expected = run_launch(function, specification, arrays, traced)
    assert any((one != two).any() for one, two in zip(expected, arrays, strict=True)), "the launch changes nothing"
    for one, two in zip(after, expected, strict=True):
        if one.dtype.kind == "f":
            np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(one, two)
    return raised


def op_names(raised: RaisedKernel) -> list[str]:
    """The names of the ops of the raised function, those within loops too."""
    return [type(op).__name__ for op in raised.function.walk()]


_random = np.random.default_rng(7)


def floats(*shape: Any):
    """Random numbers below 1."""
    return _random.random(shape).astype(np.float32)


def integers(limit: Any, *shape: Any):
    """Random numbers below the limit."""
    return _random.integers(0, limit, shape).astype(np.int32)
