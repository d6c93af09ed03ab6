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

The same launch may be nested: a `Parallel` of kind "grid" over the blocks, with what is a block's own (shared memory,
values that its threads have in common), and in it one of kind "block" over the threads of a block; or over its warps,
with what a warp's own values are, and in it one of kind "lane" over the threads of a warp.
"""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np

from windlass.ir import BufferType, Region, Terminator, Type, TypeFault, Value, tensor_type
from windlass.loops.base import LoopOp, expect_scalar
from windlass.loops.threads import NULL, WARP, Fibre, Thread
from windlass.ops.combiners import FoldKind, kind_named
from windlass.ops.loop_writer import LoopWriter, type_text

LAUNCH_DIMENSIONS = ("block.x", "block.y", "block.z", "thread.x", "thread.y", "thread.z")
"""What the body arguments of a kernel's `Parallel` are: i32 ids, in this order."""

KIND_DIMENSIONS = {
    "launch": LAUNCH_DIMENSIONS,
    "grid": LAUNCH_DIMENSIONS[:3],
    "block": LAUNCH_DIMENSIONS[3:],
    "lane": LAUNCH_DIMENSIONS[3:],
}
"""The dimensions of each kind of `Parallel` that is a launch or a part of one."""

WARPS = ("warp",)
"""Those of a block whose points are its warps."""


BLOCKS, THREADS = "blocks", "threads"
"""What of a launch may run one after another."""


def launch_extent(dimension: str) -> str:
    """What the extent of a launch dimension is called in loop-level text.

    >>> launch_extent("block.x"), launch_extent("thread.z")
    ('%grid_x', '%block_z')
    """
    return "%" + dimension.replace("block", "grid").replace("thread", "block").replace(".", "_")


class LaunchSize(LoopOp):
    """The extent of a launch dimension: `gridDim.x` for "block.x", `blockDim.x` for "thread.x". An i32."""

    name = "windlass.launch_size"
    dimension: str

    def infer(self) -> Type:
        if self.dimension not in LAUNCH_DIMENSIONS:
            raise TypeFault(f"no launch dimension is called {self.dimension}")
        return tensor_type((), "i32")

    def evaluate(self, thread: Thread, *operands: Any) -> Any:
        return np.asarray(thread.launch.sizes[self.dimension], np.int32)

    def write_loop(self, writer: LoopWriter) -> None:
        writer.define(self, f"arith.index_cast {launch_extent(self.dimension)} : index to i32")


class Parallel(LoopOp):
    """Runs the body once for each point of a box, in no order; `Barrier`s inside order the threads of a block.

    The body has one i32 argument for each extent and ends in `Yield()`. Its points are, by `kind`, the threads of a
    "launch", the blocks of a "grid", the threads or warps of a "block", the threads of a "lane" level, or
    "independent": points that one thread may run in any order, and at which threads do not meet.

    The extents of a "lane" level are the block's. Of these threads it runs those of the warp around it: numbered x
    first, 32 from 32 times the number of the warp on, or the fewer that a last warp has.
    """

    name = "windlass.parallel"
    yield_name: ClassVar[str] = "gpu.terminator"
    is_pure: ClassVar[bool] = False
    extents: tuple[Value, ...]
    dimensions: tuple[str, ...]
    body: Region
    kind: str = "launch"

    def infer(self) -> tuple[Type, ...]:
        if self.kind not in (*KIND_DIMENSIONS, "independent"):
            raise TypeFault(f"no kind of parallel loop is called {self.kind}")
        for extent in self.extents:
            expect_scalar(extent, "i32", "an extent of a parallel loop")
        if not len(self.extents) == len(self.dimensions) == len(self.body.block.arguments):
            raise TypeFault("parallel: extents, dimensions and body arguments differ in number")
        return ()

    def evaluate(self, thread: Thread, *operands: Any) -> Fibre:
        """Run independent points one after another; `evaluate_kernel` makes fibres of those of a launch."""
        points = list(itertools.product(*(range(int(extent)) for extent in operands)))
        for point in thread.launch.in_some_order(points):
            yield from thread.run(self.body.block, *(np.asarray(place, np.int32) for place in point))
        return ()

    def write_loop(self, writer: LoopWriter) -> None:
        if self.kind == "launch":
            self._write_launch(writer)
        elif self.kind == "lane":
            self._write_lanes(writer)
        else:
            self._write_nested(writer)

    def _write_nested(self, writer: LoopWriter) -> None:
        block = self.body.block
        low, step = writer.temporary("arith.constant 0 : index"), writer.temporary("arith.constant 1 : index")
        high = [writer.temporary(f"arith.index_cast {writer.use(extent)} : i32 to index") for extent in self.extents]
        names = [writer.fresh() for _ in self.extents]
        lows, steps = (", ".join([each] * len(names)) for each in (low, step))
        writer.line(f"scf.parallel ({', '.join(names)}) = ({lows}) to ({', '.join(high)}) step ({steps}) {{")
        with writer.indented():
            for argument, name in zip(block.arguments, names, strict=True):
                writer.define(argument, f"arith.index_cast {name} : index to i32")
            self._write_points(writer)
        writer.line(f'}} {{windlass.kind = "{self.kind}"}}')

    def _write_points(self, writer: LoopWriter) -> None:
        for op in self.body.block:
            if op is not self.body.block.terminator:
                writer.write(op)

    def _write_lanes(self, writer: LoopWriter) -> None:
        """The lanes of the warp around by their number, of which that in the block follows, and of that the ids."""
        assert isinstance(self.parent_op, Parallel)
        low, high, step = (writer.temporary(f"arith.constant {number} : index") for number in (0, WARP, 1))
        lane = writer.fresh()
        writer.line(f"scf.parallel ({lane}) = ({low}) to ({high}) step ({step}) {{")
        with writer.indented():
            width = writer.temporary(f"arith.constant {WARP} : i32")
            first = writer.temporary(f"arith.muli {writer.use(self.parent_op.body.block.arguments[0])}, {width} : i32")
            number = writer.temporary(f"arith.index_cast {lane} : index to i32")
            number = writer.temporary(f"arith.addi {first}, {number} : i32")
            *inner, last = zip(self.body.block.arguments, (writer.use(extent) for extent in self.extents), strict=True)
            for argument, extent in inner:
                writer.define(argument, f"arith.remui {number}, {extent} : i32")
                number = writer.temporary(f"arith.divui {number}, {extent} : i32")
            writer.names[last[0]] = number
            is_there = writer.temporary(f"arith.cmpi ult, {number}, {last[1]} : i32")
            writer.line(f"scf.if {is_there} {{")
            with writer.indented():
                self._write_points(writer)
            writer.line("}")
        writer.line('} {windlass.kind = "lane"}')

    def _write_launch(self, writer: LoopWriter) -> None:
        axes = ("x", "y", "z")
        blocks, threads = ([f"%{kind}_{axis}" for axis in axes] for kind in ("bid", "tid"))
        sizes = [self._size(writer, position) for position in range(6)]
        grid = ", ".join(f"%g{axis} = {size}" for axis, size in zip(axes, sizes[:3], strict=True))
        block = ", ".join(f"%b{axis} = {size}" for axis, size in zip(axes, sizes[3:], strict=True))
        writer.line(f"gpu.launch blocks({', '.join(blocks)}) in ({grid})")
        shared = f" dynamic_shared_memory_size {writer.shared_bytes}" if writer.shared_bytes else ""
        writer.line(f"           threads({', '.join(threads)}) in ({block}){shared} {{")
        with writer.indented():
            for argument, name in zip(self.body.block.arguments, (*blocks, *threads), strict=True):
                writer.define(argument, f"arith.index_cast {name} : index to i32")
            writer.write_block(self.body.block)
        writer.line("}")

    def _size(self, writer: LoopWriter, position: int) -> str:
        extent = self.extents[position]
        if isinstance(extent, LaunchSize):
            return launch_extent(extent.dimension)
        return writer.temporary(f"arith.index_cast {writer.use(extent)} : i32 to index")


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
        expect_scalar(self.continues, "i1", "the loop condition")
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
    results are the carried values after the last iteration. A source loop's own counter is `start + iteration * step`:
    all loops go from 0 by ones (docs/decisions/0027).
    `counts_elements` where the iterations are the elements of arrays with `axes` (see `Allocate`).
    `reductions`, if they are declared, name for each carried value the operation by which it is one, "" if it is none
    (see `windlass.loops.reductions`): such a value may be folded in parts, each from the operation's identity on.
    `serializes` says that the iterations are the `BLOCKS` or `THREADS` of a launch.
    `is_independent` claims that they may run in any order: none touches memory that the launch was given where another
    one stores, but by atomic operations. What it carries are reductions, and it stores to no memory of the kernel's own
    (see `windlass.loops.independence`).
    """

    name = "windlass.for"
    is_pure: ClassVar[bool] = False
    trip_count: Value
    initial: tuple[Value, ...]
    body: Region
    counts_elements: bool = False
    reductions: tuple[str, ...] = ()
    serializes: str = ""
    is_independent: bool = False

    def infer(self) -> tuple[Type, ...]:
        expect_scalar(self.trip_count, "i64", "the trip count")
        expect_scalar(self.body.block.arguments[0], "i64", "the iteration number")
        if self.reductions and len(self.reductions) != len(self.initial):
            raise TypeFault(f"for: {len(self.reductions)} reductions of {len(self.initial)} carried values")
        return _check_carried(self.initial, self.body, 1, "for")

    @property
    def kinds(self) -> tuple[FoldKind | None, ...]:
        """By what each carried value is declared to be a reduction."""
        names = self.reductions or ("",) * len(self.initial)
        pairs = zip(names, self.initial, strict=True)
        return tuple(kind_named(name, initial.dtype) if name else None for name, initial in pairs)

    def evaluate(self, thread: Thread, *operands: Any) -> Fibre:
        """Run the iterations; where what has no order is run in a drawn one, each makes its own part of a reduction."""
        count, *carried = operands
        kinds = self.kinds if thread.launch.order is not None else (None,) * len(carried)
        iterations = range(int(count))
        for iteration in thread.launch.in_some_order(iterations) if self.is_independent else iterations:
            parts = [
                before if kind is None else np.asarray(kind.identity(False)).astype(initial.tensor.numpy_dtype)
                for kind, before, initial in zip(kinds, carried, self.initial, strict=True)
            ]
            after = yield from thread.run(self.body.block, np.asarray(iteration, np.int64), *parts)
            carried = [
                found if kind is None else kind.combine_numbers(before, found)
                for kind, before, found in zip(kinds, carried, after, strict=True)
            ]
        return tuple(carried)

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
        told = ["windlass.counts_elements"] if self.counts_elements else []
        if any(self.reductions):
            told.append("windlass.reductions = [" + ", ".join(f'"{name}"' for name in self.reductions) + "]")
        if self.serializes:
            told.append(f'windlass.serializes = "{self.serializes}"')
        if self.is_independent:
            told.append("windlass.is_independent")
        writer.line("}" + (f" {{{', '.join(told)}}}" if told else ""))


class DoWhile(LoopOp):
    """Runs the body at least once; the body takes the carried values and ends in `Condition(continues, values)`."""

    name = "windlass.do_while"
    is_pure: ClassVar[bool] = False
    initial: tuple[Value, ...]
    body: Region

    def infer(self) -> tuple[Type, ...]:
        return _check_carried(self.initial, self.body, 0, "do_while")

    def evaluate(self, thread: Thread, *operands: Any) -> Fibre:
        continues, carried = True, list(operands)
        while continues:
            continues, *carried = yield from thread.run(self.body.block, *carried)
        return tuple(carried)

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
        expect_scalar(self.condition, "i1", "the condition")
        types = tuple(value.type for value in self.then.block.terminator.operands)
        others = tuple(value.type for value in self.otherwise.block.terminator.operands)
        if types != others:
            raise TypeFault(f"if: the branches yield {types} and {others}")
        return types

    def evaluate(self, thread: Thread, *operands: Any) -> Fibre:
        (condition,) = operands
        return (yield from thread.run((self.then if condition else self.otherwise).block))

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

    def evaluate(self, thread: Thread, *operands: Any) -> Any:
        return NULL if isinstance(self.type, BufferType) else np.asarray(77).astype(self.tensor.numpy_dtype)

    def write_loop(self, writer: LoopWriter) -> None:
        if isinstance(self.type, BufferType):
            static = writer.temporary("memref.alloca() : memref<0xi8>")
            writer.names[self] = writer.cast(static, BufferType.of("global", None, 0), self.type)
        else:
            writer.define(self, f"ub.poison : {type_text(self.type)}")
