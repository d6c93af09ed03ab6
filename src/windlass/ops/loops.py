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
from windlass.ops.loop_writer import LoopWriter, quoted, type_text

LAUNCH_DIMENSIONS = ("block.x", "block.y", "block.z", "thread.x", "thread.y", "thread.z")
"""What the body arguments of a kernel's `Parallel` are: i32 ids, in this order."""


def launch_extent(dimension: str) -> str:
    """What the extent of a launch dimension is called in loop-level text.

    >>> launch_extent("block.x"), launch_extent("thread.z")
    ('%grid_x', '%block_z')
    """
    return "%" + dimension.replace("block", "grid").replace("thread", "block").replace(".", "_")


class LoopOp(Op):
    """Base of the ops that only the loop level has."""

    yield_name: ClassVar[str] = "scf.yield"
    """What ends this op's bodies in text."""

    def write_loop(self, writer: LoopWriter) -> None:
        """Write the op as loop-level text: a call, where MLIR has no such op."""
        writer.call(self, self.name, self.operands)


def _expect_scalar(value: Value, dtype: str, what: str) -> None:
    if value.type is not tensor_type((), dtype):
        raise TypeFault(f"{what} must be a scalar {dtype}, got {value.type}")


class LaunchSize(LoopOp):
    """The extent of a launch dimension: `gridDim.x` for "block.x", `blockDim.x` for "thread.x". An i32."""

    name = "windlass.launch_size"
    dimension: str

    def infer(self) -> Type:
        if self.dimension not in LAUNCH_DIMENSIONS:
            raise TypeFault(f"no launch dimension is called {self.dimension}")
        return tensor_type((), "i32")

    def write_loop(self, writer: LoopWriter) -> None:
        writer.define(self, f"arith.index_cast {launch_extent(self.dimension)} : index to i32")


class Parallel(LoopOp):
    """Runs the body once for each point of a box, in no order; `Barrier`s inside order the threads of a block.

    The body has one i32 argument for each extent and ends in `Yield()`.
    """

    name = "windlass.parallel"
    yield_name: ClassVar[str] = "gpu.terminator"
    is_pure: ClassVar[bool] = False
    extents: tuple[Value, ...]
    dimensions: tuple[str, ...]
    body: Region

    def infer(self) -> tuple[Type, ...]:
        if not len(self.extents) == len(self.dimensions) == len(self.body.block.arguments):
            raise TypeFault("parallel: extents, dimensions and body arguments differ in number")
        return ()

    def write_loop(self, writer: LoopWriter) -> None:
        axes = ("x", "y", "z")
        blocks, threads = ([f"%{kind}_{axis}" for axis in axes] for kind in ("bid", "tid"))
        grid = ", ".join(f"%g{axis} = %grid_{axis}" for axis in axes)
        block = ", ".join(f"%b{axis} = %block_{axis}" for axis in axes)
        writer.line(f"gpu.launch blocks({', '.join(blocks)}) in ({grid})")
        writer.line(f"           threads({', '.join(threads)}) in ({block}) {{")
        with writer.indented():
            for argument, name in zip(self.body.block.arguments, (*blocks, *threads), strict=True):
                writer.define(argument, f"arith.index_cast {name} : index to i32")
            writer.write_block(self.body.block)
        writer.line("}")


class Yield(LoopOp, Terminator):
    """Ends a body and gives its results to the op around it."""

    name = "windlass.yield"
    values: tuple[Value, ...]

    def write_loop(self, writer: LoopWriter) -> None:
        around = self.parent_op
        name = around.yield_name if isinstance(around, LoopOp) else LoopOp.yield_name
        values = f" {writer.listed(self.values)} : {writer.types(self.values)}" if self.values else ""
        writer.line(name + values)


class Condition(LoopOp, Terminator):
    """Ends the body of a `DoWhile`: go round again with `values` while `continues` holds, else they are the results."""

    name = "windlass.condition"
    continues: Value
    values: tuple[Value, ...]

    def infer(self) -> tuple[Type, ...]:
        _expect_scalar(self.continues, "i1", "the loop condition")
        return ()

    def write_loop(self, writer: LoopWriter) -> None:
        values = f" {writer.listed(self.values)} : {writer.types(self.values)}" if self.values else ""
        writer.line(f"scf.condition({writer.use(self.continues)}){values}")


def _check_carried(initial: tuple[Value, ...], body: Region, leading: int, what: str) -> tuple[Type, ...]:
    types = tuple(value.type for value in initial)
    carried = tuple(argument.type for argument in body.block.arguments[leading:])
    if types != carried:
        raise TypeFault(f"{what}: initial values {types} do not fit body arguments {carried}")
    return types


class For(LoopOp):
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

    def write_loop(self, writer: LoopWriter) -> None:
        low, step = writer.temporary("arith.constant 0 : i64"), writer.temporary("arith.constant 1 : i64")
        prefix = writer.open_results(self)
        block = self.body.block
        counter = writer.names[block.arguments[0]] = writer.fresh()
        carried = writer.open_carried(block.arguments[1:], self.initial)
        carried = f" iter_args({carried}) -> ({writer.types(self.results)})" if self.initial else ""
        head = f"scf.for {counter} = {low} to {writer.use(self.trip_count)} step {step}"
        writer.line(f"{prefix}{head}{carried} : i64 {{")
        writer.write_inner(block)
        writer.line("}")


class DoWhile(LoopOp):
    """Runs the body at least once; the body takes the carried values and ends in `Condition(continues, values)`."""

    name = "windlass.do_while"
    is_pure: ClassVar[bool] = False
    initial: tuple[Value, ...]
    body: Region

    def infer(self) -> tuple[Type, ...]:
        return _check_carried(self.initial, self.body, 0, "do_while")

    def write_loop(self, writer: LoopWriter) -> None:
        prefix = writer.open_results(self)
        block = self.body.block
        carried = writer.open_carried(block.arguments, self.initial)
        types = writer.types(self.initial)
        writer.line(f"{prefix}scf.while{f' ({carried})' if carried else ''} : ({types}) -> ({types}) {{")
        writer.write_inner(block)
        writer.line("} do {")
        names = [writer.fresh() for _ in self.initial]
        if names:
            pairs = zip(names, self.initial, strict=True)
            writer.line(f"^bb0({', '.join(f'{name}: {type_text(value.type)}' for name, value in pairs)}):")
        writer.line(f"  scf.yield {', '.join(names)} : {types}" if names else "  scf.yield")
        writer.line("}")


class If(LoopOp):
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

    def write_loop(self, writer: LoopWriter) -> None:
        prefix = writer.open_results(self)
        types = f" -> ({writer.types(self.results)})" if self.results else ""
        writer.line(f"{prefix}scf.if {writer.use(self.condition)}{types} {{")
        writer.write_inner(self.then.block)
        if self.results or self.otherwise.block.first is not self.otherwise.block.last:
            writer.line("} else {")
            writer.write_inner(self.otherwise.block)
        writer.line("}")


class Undefined(LoopOp):
    """A value that the program never uses in a way that matters (LLVM's undef and poison): any value will do."""

    name = "windlass.undefined"
    of: Type

    def infer(self) -> Type:
        return self.of

    def write_loop(self, writer: LoopWriter) -> None:
        if isinstance(self.type, BufferType):
            static = writer.temporary("memref.alloca() : memref<0xi8>")
            writer.names[self] = writer.cast(static, BufferType.of("global", None, 0), self.type)
        else:
            writer.define(self, f"ub.poison : {type_text(self.type)}")


# -- memory -----------------------------------------------------------------------------------------------------------


class Allocate(LoopOp):
    """Fresh memory of `size` bytes: a local array of one thread, or a shared array of one block. Uninitialized.

    `element_dtype` is given where the source declares numbers of one type.
    A size of -1 is dynamic shared memory (`extern __shared__`), whose size the launch gives; all such arrays are one.
    """

    name = "windlass.allocate"
    is_pure: ClassVar[bool] = False
    space: str
    size: int
    variable: str = ""
    element_dtype: str | None = None

    def infer(self) -> Type:
        return BufferType.of(self.space, self.element_dtype, self.size if self.size >= 0 else None)

    def write_loop(self, writer: LoopWriter) -> None:
        if self.size >= 0:
            writer.define(self, f"memref.alloca() : {type_text(self.type)}")
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

    def write_loop(self, writer: LoopWriter) -> None:
        symbol, type_ = f'@"{self.variable}"', type_text(self.type)
        writer.declarations[symbol] = f'memref.global "private" {symbol} : {type_}'
        writer.define(self, f"memref.get_global {symbol} : {type_}")


class NullBuffer(LoopOp):
    """What a null pointer points into: nothing. Any access is out of bounds."""

    name = "windlass.null"

    def infer(self) -> Type:
        return BufferType.of("global", None, 0)

    def write_loop(self, writer: LoopWriter) -> None:
        writer.define(self, f"memref.alloca() : {type_text(self.type)}")


class SelectBuffer(LoopOp):
    """One of two buffers, by a condition."""

    name = "windlass.select_buffer"
    condition: Value
    on_true: Value
    on_false: Value

    def infer(self) -> Type:
        _expect_scalar(self.condition, "i1", "the condition")
        return self.on_true.type if self.on_true.type is self.on_false.type else BufferType.of("global")

    def write_loop(self, writer: LoopWriter) -> None:
        left, right = (writer.cast(writer.use(side), side.type, self.type) for side in (self.on_true, self.on_false))
        writer.define(self, f"arith.select {writer.use(self.condition)}, {left}, {right} : {type_text(self.type)}")


class ViewBuffer(LoopOp):
    """The same buffer under a type that says less: what branches yield whose buffers differ in type."""

    name = "windlass.view_buffer"
    buffer: Value
    space: str

    def infer(self) -> Type:
        if not isinstance(self.buffer.type, BufferType):
            raise TypeFault(f"expected a buffer, got {self.buffer.type}")
        return BufferType.of(self.space)

    def write_loop(self, writer: LoopWriter) -> None:
        writer.names[self] = writer.cast(writer.use(self.buffer), self.buffer.type, self.type)


class SameBuffer(LoopOp):
    """Whether two pointers go into the same buffer (comparison of pointers, tests for null)."""

    name = "windlass.same_buffer"
    lhs: Value
    rhs: Value

    def infer(self) -> Type:
        return tensor_type((), "i1")

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

    def write_loop(self, writer: LoopWriter) -> None:
        left, right = writer.address(self.lhs), writer.address(self.rhs)
        distance = writer.temporary(f"arith.subi {left}, {right} : index")
        writer.define(self, f"arith.index_cast {distance} : index to i64")


def _expect_access(buffer: Value, offset: Value) -> None:
    if not isinstance(buffer.type, BufferType):
        raise TypeFault(f"expected a buffer, got {buffer.type}")
    _expect_scalar(offset, "i64", "the byte offset")


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
        _expect_access(self.buffer, self.offset)
        return tensor_type((), self.dtype_read)

    def write_loop(self, writer: LoopWriter) -> None:
        place, type_ = writer.view(self.buffer, self.offset, self.dtype_read)
        writer.define(self, f"memref.load {place}[] : {type_}")


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
        _expect_access(self.buffer, self.offset)
        return ()

    def write_loop(self, writer: LoopWriter) -> None:
        place, type_ = writer.view(self.buffer, self.offset, self.value.dtype)
        writer.line(f"memref.store {writer.use(self.value)}, {place}[] : {type_}")


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


class Atomic(LoopOp):
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

    def write_loop(self, writer: LoopWriter) -> None:
        kind = ATOMIC_KINDS[self.kind]
        if kind is None:
            writer.call(self, f"atomic.{self.kind}", self.operands)
            return
        place, type_ = writer.view(self.buffer, self.offset, self.value.dtype)
        value = f"{writer.use(self.value)}, {place}[] : ({type_text(self.value.type)}, {type_})"
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
        _expect_access(self.buffer, self.offset)
        return self.expected.type


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
        _expect_access(self.buffer, self.offset)
        (old,) = self.body.block.arguments
        if tuple(value.type for value in self.body.block.terminator.operands) != (old.type,):
            raise TypeFault(f"an atomic update of {old.type} yields something else")
        return old.type

    def write_loop(self, writer: LoopWriter) -> None:
        place, type_ = writer.view(self.buffer, self.offset, self.dtype)
        (old,) = self.body.block.arguments
        # MLIR's op gives the new value: nothing can stand for the old one but a load before it.
        if self.uses:
            writer.define(self, f"memref.load {place}[] : {type_}")
        writer.line(f"{writer.fresh()} = memref.generic_atomic_rmw {place}[] : {type_} {{")
        writer.names[old] = writer.fresh()
        writer.line(f"^bb0({writer.use(old)}: {type_text(old.type)}):")
        writer.write_inner(self.body.block)
        writer.line("}")


# -- what threads do together -----------------------------------------------------------------------------------------


class Barrier(LoopOp):
    """Waits for the threads of `scope` ("block", "warp", "grid"); memory before is seen after."""

    name = "windlass.barrier"
    is_pure: ClassVar[bool] = False
    scope: str

    def infer(self) -> tuple[Type, ...]:
        return ()

    def write_loop(self, writer: LoopWriter) -> None:
        if self.scope == "block":
            writer.line("gpu.barrier")
        else:
            writer.call(self, f"barrier.{self.scope}", ())


class Collective(LoopOp):
    """A warp or block operation in which lanes exchange values: shuffles, votes, matches, barrier reductions.

    `kind` is what `collective_name` makes of the callee's name ("shfl.sync.down.i32", "vote.ballot.sync"), `inputs`
    its operands in order; the results have the dtypes `result_dtypes`.
    """

    name = "windlass.collective"
    is_pure: ClassVar[bool] = False
    kind: str
    inputs: tuple[Value, ...]
    result_dtypes: tuple[str, ...]

    def infer(self) -> tuple[Type, ...]:
        return tuple(tensor_type((), dtype) for dtype in self.result_dtypes)

    def write_loop(self, writer: LoopWriter) -> None:
        writer.call(self, self.kind, self.operands)


def collective_name(callee: str) -> str:
    """The plain name of an LLVM intrinsic, or of a function of our own where LLVM has none."""
    own = callee.removeprefix("__windlass_")
    return callee.removeprefix("llvm.nvvm.") if own == callee else own.replace("_", ".")


class Assert(LoopOp):
    """Stops the program with `message` if the condition is false.

    `counted_loop` names the loop (its header in the LLVM IR) that was counted on the strength of the condition: a form
    that can't stop has to prove it, or needs the loop uncounted.
    """

    name = "windlass.assert"
    is_pure: ClassVar[bool] = False
    condition: Value
    message: str
    counted_loop: str = ""

    def infer(self) -> tuple[Type, ...]:
        return ()

    def write_loop(self, writer: LoopWriter) -> None:
        writer.line(f"cf.assert {writer.use(self.condition)}, {quoted(self.message)}")


class CheckAlignment(LoopOp):
    """Stops the program if a place is at no multiple of `alignment`; what `alignment` of loads and stores says."""

    name = "windlass.check_alignment"
    is_pure: ClassVar[bool] = False
    buffer: Value
    offset: Value
    alignment: int

    def infer(self) -> tuple[Type, ...]:
        _expect_access(self.buffer, self.offset)
        return ()

    def write_loop(self, writer: LoopWriter) -> None:
        writer.call(self, f"check_alignment.{self.alignment}", self.operands)


class CheckRange(LoopOp):
    """Stops the program if `size` bytes from a place on are more than there are, or fewer than none."""

    name = "windlass.check_range"
    is_pure: ClassVar[bool] = False
    buffer: Value
    offset: Value
    size: Value

    def infer(self) -> tuple[Type, ...]:
        _expect_access(self.buffer, self.offset)
        return ()

    def write_loop(self, writer: LoopWriter) -> None:
        writer.call(self, "check_range", self.operands)


class Print(LoopOp):
    """Device printf: seen when emulated, without effect when raised."""

    name = "windlass.print"
    is_pure: ClassVar[bool] = False
    format: str
    inputs: tuple[Value, ...]

    def infer(self) -> tuple[Type, ...]:
        return ()

    def write_loop(self, writer: LoopWriter) -> None:
        inputs = f", {writer.listed(self.inputs)} : {writer.types(self.inputs)}" if self.inputs else ""
        writer.line(f"gpu.printf {quoted(self.format)}{inputs}")


class DeviceCall(LoopOp):
    """A call that the loop level has no word for; `callee` is its linker name. Nothing raises it but an explanation."""

    name = "windlass.device_call"
    is_pure: ClassVar[bool] = False
    callee: str
    inputs: tuple[Value, ...]
    result_dtypes: tuple[str, ...]

    def infer(self) -> tuple[Type, ...]:
        return tuple(tensor_type((), dtype) for dtype in self.result_dtypes)

    def write_loop(self, writer: LoopWriter) -> None:
        writer.call(self, self.callee, self.operands)
