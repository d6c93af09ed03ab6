"""The loop level: structured control flow over memory, before raising.

Arithmetic at this level is the tensor vocabulary at rank 0, so what an operation means is written once. Integers are
signless as in LLVM: `i32` everywhere, and an unsigned operation is wrapped in `BitcastConvert` to `ui32` and back.

A kernel is a function whose parameters are scalars (rank-0 tensors) and buffers (`BufferType`: a pointer parameter, or
a record passed by value, space "parameter"). Its body holds one `Parallel` over the launch, then `Return`:

    Function saxpy(n: i32, a: f32, x: buffer, y: buffer)
      Parallel(extents=LaunchSize...)           # body arguments: block and thread ids, x first
        ...scalar ops, Load, Store, If, For, DoWhile, Barrier, Atomic...
        Yield()
      Return()
"""

from __future__ import annotations

from typing import ClassVar

from windlass.ir import BufferType, Op, Region, Terminator, Type, TypeFault, Value, tensor_type

LAUNCH_DIMENSIONS = ("block.x", "block.y", "block.z", "thread.x", "thread.y", "thread.z")
"""What the body arguments of a kernel's `Parallel` are: i32 ids, in this order."""


def _expect_scalar(value: Value, dtype: str, what: str) -> None:
    if value.type is not tensor_type((), dtype):
        raise TypeFault(f"{what} must be a scalar {dtype}, got {value.type}")


class LaunchSize(Op):
    """The extent of a launch dimension: `gridDim.x` for "block.x", `blockDim.x` for "thread.x". An i32."""

    name = "windlass.launch_size"
    dimension: str

    def infer(self) -> Type:
        if self.dimension not in LAUNCH_DIMENSIONS:
            raise TypeFault(f"no launch dimension is called {self.dimension}")
        return tensor_type((), "i32")


class Parallel(Op):
    """Runs the body once for each point of a box, in no order; `Barrier`s inside order the threads of a block.

    The body has one i32 argument for each extent and ends in `Yield()`.
    """

    name = "windlass.parallel"
    is_pure: ClassVar[bool] = False
    extents: tuple[Value, ...]
    dimensions: tuple[str, ...]
    body: Region

    def infer(self) -> tuple[Type, ...]:
        if not len(self.extents) == len(self.dimensions) == len(self.body.block.arguments):
            raise TypeFault("parallel: extents, dimensions and body arguments differ in number")
        return ()


class Yield(Terminator):
    """Ends a body and gives its results to the op around it."""

    name = "windlass.yield"
    values: tuple[Value, ...]


class Condition(Terminator):
    """Ends the body of a `DoWhile`: go round again with `values` while `continues` holds, else they are the results."""

    name = "windlass.condition"
    continues: Value
    values: tuple[Value, ...]

    def infer(self) -> tuple[Type, ...]:
        _expect_scalar(self.continues, "i1", "the loop condition")
        return ()


def _check_carried(initial: tuple[Value, ...], body: Region, leading: int, what: str) -> tuple[Type, ...]:
    types = tuple(value.type for value in initial)
    carried = tuple(argument.type for argument in body.block.arguments[leading:])
    if types != carried:
        raise TypeFault(f"{what}: initial values {types} do not fit body arguments {carried}")
    return types


class For(Op):
    """Runs the body `trip_count` times (an i64; none if it is not positive).

    The body takes the iteration number (i64, from 0) and the carried values, and ends in `Yield(next values)`. The
    results are the carried values after the last iteration. A source loop's own counter is `start + iteration * step`.
    """

    name = "windlass.for"
    is_pure: ClassVar[bool] = False
    trip_count: Value
    initial: tuple[Value, ...]
    body: Region

    def infer(self) -> tuple[Type, ...]:
        _expect_scalar(self.trip_count, "i64", "the trip count")
        _expect_scalar(self.body.block.arguments[0], "i64", "the iteration number")
        return _check_carried(self.initial, self.body, 1, "for")


class DoWhile(Op):
    """Runs the body at least once; the body takes the carried values and ends in `Condition(continues, values)`."""

    name = "windlass.do_while"
    is_pure: ClassVar[bool] = False
    initial: tuple[Value, ...]
    body: Region

    def infer(self) -> tuple[Type, ...]:
        return _check_carried(self.initial, self.body, 0, "do_while")


class If(Op):
    """Runs one of two bodies; each ends in `Yield(results)`. Results may be buffers."""

    name = "windlass.if"
    is_pure: ClassVar[bool] = False
    condition: Value
    then: Region
    otherwise: Region

    def infer(self) -> tuple[Type, ...]:
        _expect_scalar(self.condition, "i1", "the condition")
        types = tuple(value.type for value in self.then.block.terminator.operands)
        others = tuple(value.type for value in self.otherwise.block.terminator.operands)
        if types != others:
            raise TypeFault(f"if: the branches yield {types} and {others}")
        return types


class Undefined(Op):
    """A value that the program never uses in a way that matters (LLVM's undef and poison): any value will do."""

    name = "windlass.undefined"
    of: Type

    def infer(self) -> Type:
        return self.of


# -- memory -----------------------------------------------------------------------------------------------------------


class Allocate(Op):
    """Fresh memory of `size` bytes: a local array of one thread, or a shared array of one block. Uninitialized.

    A size of -1 is dynamic shared memory (`extern __shared__`), whose size the launch gives; all such arrays are one.
    """

    name = "windlass.allocate"
    is_pure: ClassVar[bool] = False
    space: str
    size: int
    variable: str = ""

    def infer(self) -> Type:
        return BufferType.of(self.space, None, self.size if self.size >= 0 else None)


class DeviceVariableBuffer(Op):
    """The memory of a `__device__` or `__constant__` variable or a constant table, by its linker name."""

    name = "windlass.device_variable"
    variable: str
    space: str
    size: int

    def infer(self) -> Type:
        return BufferType.of(self.space, None, self.size)


class NullBuffer(Op):
    """What a null pointer points into: nothing. Any access is out of bounds."""

    name = "windlass.null"

    def infer(self) -> Type:
        return BufferType.of("global", None, 0)


class SelectBuffer(Op):
    """One of two buffers, by a condition."""

    name = "windlass.select_buffer"
    condition: Value
    on_true: Value
    on_false: Value

    def infer(self) -> Type:
        _expect_scalar(self.condition, "i1", "the condition")
        return self.on_true.type if self.on_true.type is self.on_false.type else BufferType.of("global")


class ViewBuffer(Op):
    """The same buffer under a type that says less: what branches yield whose buffers differ in type."""

    name = "windlass.view_buffer"
    buffer: Value
    space: str

    def infer(self) -> Type:
        if not isinstance(self.buffer.type, BufferType):
            raise TypeFault(f"expected a buffer, got {self.buffer.type}")
        return BufferType.of(self.space)


class SameBuffer(Op):
    """Whether two pointers go into the same buffer (comparison of pointers, tests for null)."""

    name = "windlass.same_buffer"
    lhs: Value
    rhs: Value

    def infer(self) -> Type:
        return tensor_type((), "i1")


class BufferDistance(Op):
    """How many bytes `lhs` begins behind `rhs` where both lie in one memory, as overlapping arguments do. An i64.

    Of buffers in different memories it says nothing: any number.
    """

    name = "windlass.buffer_distance"
    lhs: Value
    rhs: Value

    def infer(self) -> Type:
        return tensor_type((), "i64")


def _expect_access(buffer: Value, offset: Value) -> None:
    if not isinstance(buffer.type, BufferType):
        raise TypeFault(f"expected a buffer, got {buffer.type}")
    _expect_scalar(offset, "i64", "the byte offset")


class Load(Op):
    """Reads a scalar of `dtype` at a byte offset."""

    name = "windlass.load"
    is_pure: ClassVar[bool] = False
    buffer: Value
    offset: Value
    dtype_read: str
    is_volatile: bool = False

    def infer(self) -> Type:
        _expect_access(self.buffer, self.offset)
        return tensor_type((), self.dtype_read)


class Store(Op):
    """Writes a scalar at a byte offset."""

    name = "windlass.store"
    is_pure: ClassVar[bool] = False
    value: Value
    buffer: Value
    offset: Value
    is_volatile: bool = False

    def infer(self) -> tuple[Type, ...]:
        _expect_access(self.buffer, self.offset)
        return ()


ATOMIC_KINDS = (
    "add",
    "sub",
    "and",
    "or",
    "xor",
    "nand",
    "exchange",
    "min",
    "max",
    "umin",
    "umax",
    "fadd",
    "fsub",
    "fmin",
    "fmax",
    "inc",
    "dec",
)


class Atomic(Op):
    """Reads, combines and writes in one step; the result is the old value. `inc` and `dec` wrap as CUDA's do."""

    name = "windlass.atomic"
    is_pure: ClassVar[bool] = False
    kind: str
    buffer: Value
    offset: Value
    value: Value

    def infer(self) -> Type:
        _expect_access(self.buffer, self.offset)
        if self.kind not in ATOMIC_KINDS:
            raise TypeFault(f"no atomic operation is called {self.kind}")
        return self.value.type


class CompareExchange(Op):
    """Writes `desired` if the memory holds `expected`; the result is the old value."""

    name = "windlass.compare_exchange"
    is_pure: ClassVar[bool] = False
    buffer: Value
    offset: Value
    expected: Value
    desired: Value

    def infer(self) -> Type:
        _expect_access(self.buffer, self.offset)
        return self.expected.type


class AtomicUpdate(Op):
    """Reads, computes and writes in one step; the result is the old value.

    The body takes the old value and ends in `Yield(new value)`; it holds pure ops only. It is what a loop of
    compare-and-swaps does that tries again until no other thread comes between.
    """

    name = "windlass.atomic_update"
    is_pure: ClassVar[bool] = False
    buffer: Value
    offset: Value
    body: Region

    def infer(self) -> Type:
        _expect_access(self.buffer, self.offset)
        (old,) = self.body.block.arguments
        if tuple(value.type for value in self.body.block.terminator.operands) != (old.type,):
            raise TypeFault(f"an atomic update of {old.type} yields something else")
        return old.type


# -- what threads do together -----------------------------------------------------------------------------------------


class Barrier(Op):
    """Waits for the threads of `scope` ("block", "warp", "grid"); memory before is seen after."""

    name = "windlass.barrier"
    is_pure: ClassVar[bool] = False
    scope: str

    def infer(self) -> tuple[Type, ...]:
        return ()


class Collective(Op):
    """A warp or block operation in which lanes exchange values: shuffles, votes, matches, barrier reductions.

    `kind` is the LLVM intrinsic's name without `llvm.nvvm.` ("shfl.sync.down.i32", "vote.ballot.sync"), `inputs` its
    operands in order; the results have the dtypes `result_dtypes`.
    """

    name = "windlass.collective"
    is_pure: ClassVar[bool] = False
    kind: str
    inputs: tuple[Value, ...]
    result_dtypes: tuple[str, ...]

    def infer(self) -> tuple[Type, ...]:
        return tuple(tensor_type((), dtype) for dtype in self.result_dtypes)


class Assert(Op):
    """Stops the program with `message` if the condition is false.

    `is_relied_on` says that the ops after it mean what the source means only if the condition holds: a form that can't
    stop has to prove it.
    """

    name = "windlass.assert"
    is_pure: ClassVar[bool] = False
    condition: Value
    message: str
    is_relied_on: bool = False

    def infer(self) -> tuple[Type, ...]:
        return ()


class Print(Op):
    """Device printf: seen when emulated, without effect when raised."""

    name = "windlass.print"
    is_pure: ClassVar[bool] = False
    format: str
    inputs: tuple[Value, ...]

    def infer(self) -> tuple[Type, ...]:
        return ()


class DeviceCall(Op):
    """A call that the loop level has no word for; `callee` is its linker name. Nothing raises it but an explanation."""

    name = "windlass.device_call"
    is_pure: ClassVar[bool] = False
    callee: str
    inputs: tuple[Value, ...]
    result_dtypes: tuple[str, ...]

    def infer(self) -> tuple[Type, ...]:
        return tuple(tensor_type((), dtype) for dtype in self.result_dtypes)
