"""Ops of the loop level on memory: buffers, loads and stores, atomics."""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

import numpy as np

from windlass.ir import BufferType, Region, Type, TypeFault, Value, tensor_type
from windlass.ir.types import NUMPY_DTYPES
from windlass.loops.base import LoopOp, expect_access, expect_scalar
from windlass.loops.subscripts import write_place
from windlass.loops.threads import NULL, Buffer, Fibre, Thread
from windlass.ops.loop_writer import LoopWriter, type_text


class Allocate(LoopOp):
    """Fresh memory of `size` bytes: a local array of one thread, or a shared array of one block. Uninitialized.

    `element_dtype` is given where the source declares numbers of one type.
    A size of -1 is `byte_count`, or without that dynamic shared memory (`extern __shared__`), whose size the launch
    gives; all such arrays are one. Global memory is a program's own: see `windlass.loops.launches`.
    `axes` (stride in bytes and size of each, outer ones first) are given where loops count its elements.
    """

    name = "windlass.allocate"
    is_pure: ClassVar[bool] = False
    space: str
    size: int
    variable: str = ""
    element_dtype: str | None = None
    axes: tuple[tuple[int, int], ...] = ()
    byte_count: Value | None = None

    def infer(self) -> Type:
        if self.byte_count is not None:
            expect_scalar(self.byte_count, "i32", "a number of bytes")
            if self.size >= 0:
                raise TypeFault(f"memory of {self.size} bytes and of a number found at run time")
        return BufferType.of(self.space, self.element_dtype, self.size if self.size >= 0 else None)

    def evaluate(self, thread: Thread, *operands: Any) -> Buffer:
        size = int(operands[0]) if operands else self.size if self.size >= 0 else thread.launch.shared_bytes
        fresh = np.zeros(size, np.uint8)
        return Buffer(thread.shared.setdefault(self, fresh) if self.space == "shared" else fresh)

    def write_loop(self, writer: LoopWriter) -> None:
        if self.size >= 0 or self.byte_count is not None:
            axes = ", ".join(f"[{stride}, {size}]" for stride, size in self.axes)
            told = f" {{windlass.axes = [{axes}]}}" if axes else ""
            size = ""
            if self.byte_count is not None:
                size = writer.temporary(f"arith.index_cast {writer.use(self.byte_count)} : i32 to index")
            kind = "alloc" if self.space == "global" else "alloca"
            writer.define(self, f"memref.{kind}({size}){told} : {writer.type_of(self)}")
            return
        dynamic = "memref<?xi8, #gpu.address_space<workgroup>>"
        memory = writer.temporary(f"gpu.dynamic_shared_memory : {dynamic}")
        writer.define(self, f"memref.memory_space_cast {memory} : {dynamic} to {type_text(self.type)}")


class DeviceVariableBuffer(LoopOp):
    """The memory of a `__device__` or `__constant__` variable or a constant table, by its linker name."""

    name = "windlass.device_variable"
    variable: str
    space: str
    size: int

    def infer(self) -> Type:
        return BufferType.of(self.space, None, self.size)

    def evaluate(self, thread: Thread, *operands: Any) -> Buffer:
        return Buffer(thread.launch.variables.setdefault(self.variable, np.zeros(self.size, np.uint8)))

    def write_loop(self, writer: LoopWriter) -> None:
        symbol, type_ = f'@"{self.variable}"', writer.type_of(self)
        writer.declarations[symbol] = f'memref.global "private" {symbol} : {type_}'
        writer.define(self, f"memref.get_global {symbol} : {type_}")


class NullBuffer(LoopOp):
    """What a null pointer points into: nothing. Any access is out of bounds."""

    name = "windlass.null"

    def infer(self) -> Type:
        return BufferType.of("global", None, 0)

    def evaluate(self, thread: Thread, *operands: Any) -> Buffer:
        return NULL

    def write_loop(self, writer: LoopWriter) -> None:
        writer.define(self, f"memref.alloca() : {type_text(self.type)}")


class SelectBuffer(LoopOp):
    """One of two buffers, by a condition."""

    name = "windlass.select_buffer"
    condition: Value
    on_true: Value
    on_false: Value

    def infer(self) -> Type:
        expect_scalar(self.condition, "i1", "the condition")
        return self.on_true.type if self.on_true.type is self.on_false.type else BufferType.of("global")

    def evaluate(self, thread: Thread, *operands: Any) -> Buffer:
        condition, on_true, on_false = operands
        return on_true if condition else on_false

    def write_loop(self, writer: LoopWriter) -> None:
        left, right = (writer.cast(writer.use(side), side.type, self.type) for side in (self.on_true, self.on_false))
        writer.define(self, f"arith.select {writer.use(self.condition)}, {left}, {right} : {type_text(self.type)}")


class ViewBuffer(LoopOp):
    """The same buffer under another type: what branches yield whose buffers differ in type, or what a kernel takes."""

    name = "windlass.view_buffer"
    buffer: Value
    space: str
    element_dtype: str | None = None
    size: int | None = None

    def infer(self) -> Type:
        if not isinstance(self.buffer.type, BufferType):
            raise TypeFault(f"expected a buffer, got {self.buffer.type}")
        return BufferType.of(self.space, self.element_dtype, self.size)

    def evaluate(self, thread: Thread, *operands: Any) -> Buffer:
        (buffer,) = operands
        return buffer

    def write_loop(self, writer: LoopWriter) -> None:
        writer.names[self] = writer.cast(writer.use(self.buffer), self.buffer.type, self.type)


class SameBuffer(LoopOp):
    """Whether two pointers go into the same buffer (comparison of pointers, tests for null)."""

    name = "windlass.same_buffer"
    lhs: Value
    rhs: Value

    def infer(self) -> Type:
        return tensor_type((), "i1")

    def evaluate(self, thread: Thread, *operands: Any) -> Any:
        left, right = (each.memory for each in operands)
        is_one = left is not None and right is not None and np.shares_memory(left, right)
        return np.asarray(left is right or is_one)

    def write_loop(self, writer: LoopWriter) -> None:
        left, right = writer.address(self.lhs), writer.address(self.rhs)
        writer.define(self, f"arith.cmpi eq, {left}, {right} : index")


class BufferDistance(LoopOp):
    """How many bytes `lhs` begins behind `rhs` where both lie in one memory, as overlapping arguments do. An i64.

    Of buffers in different memories it says nothing: any number.
    """

    name = "windlass.buffer_distance"
    lhs: Value
    rhs: Value

    def infer(self) -> Type:
        return tensor_type((), "i64")

    def evaluate(self, thread: Thread, *operands: Any) -> Any:
        left, right = (0 if each.memory is None else each.memory.ctypes.data + each.begin for each in operands)
        return np.asarray(left - right, np.int64)

    def write_loop(self, writer: LoopWriter) -> None:
        left, right = writer.address(self.lhs), writer.address(self.rhs)
        distance = writer.temporary(f"arith.subi {left}, {right} : index")
        writer.define(self, f"arith.index_cast {distance} : index to i64")


class Load(LoopOp):
    """Reads a scalar of `dtype` at a byte offset.

    It is the first member of a vector or struct that has to lie at a multiple of `alignment`, where that is not 0.
    """

    name = "windlass.load"
    is_pure: ClassVar[bool] = False
    buffer: Value
    offset: Value
    dtype_read: str
    is_volatile: bool = False
    alignment: int = 0

    def infer(self) -> Type:
        expect_access(self.buffer, self.offset)
        return tensor_type((), self.dtype_read)

    def evaluate(self, thread: Thread, *operands: Any) -> Any:
        buffer, offset = operands
        return buffer.view(offset, NUMPY_DTYPES[self.dtype_read])[0].copy()

    def write_loop(self, writer: LoopWriter) -> None:
        place, type_ = write_place(writer, self.buffer, self.offset, self.dtype_read)
        writer.define(self, f"memref.load {place} : {type_}")


class Store(LoopOp):
    """Writes a scalar at a byte offset; `alignment` as for `Load`."""

    name = "windlass.store"
    is_pure: ClassVar[bool] = False
    value: Value
    buffer: Value
    offset: Value
    is_volatile: bool = False
    alignment: int = 0

    def infer(self) -> tuple[Type, ...]:
        expect_access(self.buffer, self.offset)
        return ()

    def evaluate(self, thread: Thread, *operands: Any) -> tuple[()]:
        value, buffer, offset = operands
        buffer.view(offset, self.value.tensor.numpy_dtype)[0] = value
        return ()

    def write_loop(self, writer: LoopWriter) -> None:
        place, type_ = write_place(writer, self.buffer, self.offset, self.value.dtype)
        writer.line(f"memref.store {writer.use(self.value)}, {place} : {type_}")


ATOMIC_KINDS = {
    "add": "addi",
    "sub": None,
    "and": "andi",
    "or": "ori",
    "xor": None,
    "nand": None,
    "exchange": "assign",
    "min": "mins",
    "max": "maxs",
    "umin": "minu",
    "umax": "maxu",
    "fadd": "addf",
    "fsub": None,
    "fmin": "minnumf",
    "fmax": "maxnumf",
    "inc": None,
    "dec": None,
}
"""What atomics do, and what `memref.atomic_rmw` calls it, if it can do that."""


def combine(kind: str, old: Any, new: Any) -> Any:
    """What an atomic operation of that kind writes.

    >>> print(combine("inc", np.int32(7), np.int32(7)), combine("umax", np.int32(-1), np.int32(3)))
    0 -1
    """
    unsigned = np.dtype(f"u{old.dtype.itemsize}")
    left, right = np.asarray(old), np.asarray(new)
    with np.errstate(all="ignore"):
        match kind:
            case "add" | "fadd":
                found = left + right
            case "sub" | "fsub":
                found = left - right
            case "and":
                found = left & right
            case "or":
                found = left | right
            case "xor":
                found = left ^ right
            case "nand":
                found = ~(left & right)
            case "exchange":
                found = right
            case "min":
                found = np.minimum(left, right)
            case "max":
                found = np.maximum(left, right)
            case "fmin":
                found = np.fmin(left, right)
            case "fmax":
                found = np.fmax(left, right)
            case "umin":
                found = np.minimum(left.view(unsigned), right.view(unsigned)).view(old.dtype)
            case "umax":
                found = np.maximum(left.view(unsigned), right.view(unsigned)).view(old.dtype)
            case "inc":
                found = np.where(left.view(unsigned) >= right.view(unsigned), 0, left + 1)
            case _:
                assert kind == "dec", kind
                is_over = (left == 0) | (left.view(unsigned) > right.view(unsigned))
                found = np.where(is_over, right, left - 1)
    return np.asarray(found).astype(old.dtype)[()]


class Atomic(LoopOp):
    """Reads, combines and writes in one step; the result is the old value. `inc` and `dec` wrap as CUDA's do."""

    name = "windlass.atomic"
    is_pure: ClassVar[bool] = False
    kind: str
    buffer: Value
    offset: Value
    value: Value

    def infer(self) -> Type:
        expect_access(self.buffer, self.offset)
        if self.kind not in ATOMIC_KINDS:
            raise TypeFault(f"no atomic operation is called {self.kind}")
        return self.value.type

    def evaluate(self, thread: Thread, *operands: Any) -> Any:
        buffer, offset, value = operands
        place = buffer.view(offset, self.tensor.numpy_dtype)
        old = place[0].copy()
        place[0] = combine(self.kind, old, value)
        return old

    def write_loop(self, writer: LoopWriter) -> None:
        kind = ATOMIC_KINDS[self.kind]
        if kind is None:
            writer.call(self, f"atomic.{self.kind}", self.operands)
            return
        place, type_ = write_place(writer, self.buffer, self.offset, self.dtype)
        value = f"{writer.use(self.value)}, {place} : ({type_text(self.value.type)}, {type_})"
        writer.define(self, f"memref.atomic_rmw {kind} {value} -> {type_text(self.type)}")


class CompareExchange(LoopOp):
    """Writes `desired` if the memory holds `expected`; the result is the old value."""

    name = "windlass.compare_exchange"
    is_pure: ClassVar[bool] = False
    buffer: Value
    offset: Value
    expected: Value
    desired: Value

    def infer(self) -> Type:
        expect_access(self.buffer, self.offset)
        return self.expected.type

    def evaluate(self, thread: Thread, *operands: Any) -> Any:
        buffer, offset, expected, desired = operands
        place = buffer.view(offset, self.tensor.numpy_dtype)
        old = place[0].copy()
        if old.tobytes() == np.asarray(expected).tobytes():
            place[0] = desired
        return old


class AtomicUpdate(LoopOp):
    """Reads, computes and writes in one step; the result is the old value.

    The body takes the old value and ends in `Yield(new value)`; it holds pure ops only. It is what a loop of
    compare-and-swaps does that tries again until no other thread comes between.
    """

    name = "windlass.atomic_update"
    yield_name: ClassVar[str] = "memref.atomic_yield"
    is_pure: ClassVar[bool] = False
    buffer: Value
    offset: Value
    body: Region

    def infer(self) -> Type:
        expect_access(self.buffer, self.offset)
        (old,) = self.body.block.arguments
        if tuple(value.type for value in self.body.block.terminator.operands) != (old.type,):
            raise TypeFault(f"an atomic update of {old.type} yields something else")
        return old.type

    def evaluate(self, thread: Thread, *operands: Any) -> Fibre:
        place = operands[0].view(operands[1], self.tensor.numpy_dtype)
        old = place[0].copy()
        (new,) = yield from thread.run(self.body.block, old)
        place[0] = new
        return (old,)

    def write_loop(self, writer: LoopWriter) -> None:
        place, type_ = write_place(writer, self.buffer, self.offset, self.dtype)
        (old,) = self.body.block.arguments
        # MLIR's op gives the new value: nothing can stand for the old one but a load before it.
        if self.uses:
            writer.define(self, f"memref.load {place} : {type_}")
        writer.line(f"{writer.fresh()} = memref.generic_atomic_rmw {place} : {type_} {{")
        writer.names[old] = writer.fresh()
        writer.line(f"^bb0({writer.use(old)}: {type_text(old.type)}):")
        writer.write_inner(self.body.block)
        writer.line("}")


Access: TypeAlias = Load | Store | Atomic | AtomicUpdate | CompareExchange
"""What reads or writes a scalar in memory."""


def accessed_dtype(access: Access) -> str:
    """The element type as which memory is read or written."""
    return access.value.dtype if isinstance(access, Store) else access.dtype
