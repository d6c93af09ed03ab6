"""Serialization: blocks or threads of a launch one after another, so that an order decides what they compute.

    Parallel(six extents) { body }  =  Parallel(1, 1, 1, 1, 1, 1) { For(all threads) { ids; body; Barrier } }

Where threads add to one place without an atomic operation, or ask what an atomic operation found that others came to
as well, the result depends on the order of threads. The hardware may take any; the emulator takes one block after
another, and in a block one thread after another, x first. So does the loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from windlass.ir import Block, Builder, Function, Region, Value, tensor_type
from windlass.loops import (
    BLOCKS,
    Allocate,
    Atomic,
    AtomicUpdate,
    Barrier,
    Collective,
    DoWhile,
    For,
    Parallel,
    Store,
    Yield,
)
from windlass.ops.conversion import Convert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Divide, Multiply, Remainder


def can_be_serialized(kernel: Function, what: str) -> bool:
    """Whether no block (or thread) waits for one that comes later, for which it would wait forever."""
    if any(isinstance(op, DoWhile) and _only_waits(op) for op in kernel.walk()):
        return False
    return what == BLOCKS or not _meet(kernel)


def serialize(block: Block, what: str) -> None:
    """Run the blocks (or threads) of a kernel's launch one after another, if they do not wait for one another.

    `what` is as `For.serializes`. The blocks are then one block, whose threads run together as before.
    """
    launch = next((op for op in block if isinstance(op, Parallel)), None)
    if launch is None or launch.kind != "launch":
        return
    body, grid, threads = launch.body.block, launch.extents[:3], launch.extents[3:]
    alone = Block([argument.type for argument in body.arguments], [argument.name or "" for argument in body.arguments])
    turn = Block([tensor_type((), "i64")])
    with Builder(turn, source=launch.source):
        number = turn.arguments[0]
        if what == BLOCKS:
            ids = [*digits_of(number, grid), *alone.arguments[3:]]
        else:
            digits = digits_of(number, (*threads, *grid))
            ids = [*digits[3:], *digits[:3]]
        mapping: dict[Value, Value] = dict(zip(body.arguments, ids, strict=True))
    with Builder(turn) as builder:
        for op in body:
            if op is body.terminator:
                # No thread goes on to the next block's part before all are there, which may use the same memory.
                builder.source = launch.source
                Barrier("block")
            op.clone(mapping)
    with Builder(block, before=launch, source=launch.source):
        one = Constant.of(1, "i32")
        count: Value = Constant.of(1, "i64")
        for extent in grid if what == BLOCKS else launch.extents:
            count = Multiply(count, Convert(extent, "i64"))
        with Builder(alone, source=launch.source):
            For(count, (), Region(turn), serializes=what)
            Yield(())
        left = (one,) * 3 + (threads if what == BLOCKS else (one,) * 3)
        Parallel(left, launch.dimensions, Region(alone))
    launch.erase()


def _meet(kernel: Function) -> bool:
    """Whether threads wait for one another, or have memory of their block in common."""
    return any(
        isinstance(op, Barrier | Collective) or (isinstance(op, Allocate) and op.space == "shared")
        for op in kernel.walk()
    )


def _only_waits(loop: DoWhile) -> bool:
    """Whether a loop goes on until memory changes and does nothing to that end: it waits for a lock, or for a flag."""
    body = loop.body.block
    if any(argument.uses for argument in body.arguments):
        return False
    return not any(
        isinstance(op, Store | AtomicUpdate) or (isinstance(op, Atomic) and _advances(op)) for op in body.walk()
    )


def _advances(op: Atomic) -> bool:
    """Whether an atomic operation that is repeated may change memory each time."""
    value = op.value
    is_idle = isinstance(value, Constant) and value.number == 0
    return op.kind in ("inc", "dec") or (op.kind in ("add", "sub", "xor", "fadd", "fsub") and not is_idle)


def digits_of(number: Value, sizes: Sequence[Value]) -> list[Value]:
    """A number in parts, of which the first changes fastest."""
    digits: list[Value] = []
    for size in sizes:
        if isinstance(size, Constant) and size.number == 1:
            digits.append(Constant.of(0, "i32"))
            continue
        here = Convert(size, "i64")
        digits.append(Convert(Remainder(number, here), "i32"))
        number = Divide(number, here)
    return digits
