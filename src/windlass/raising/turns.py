"""Kernels whose blocks, or threads, run one after another: what they compute is decided by an order.

Where threads add to one place without an atomic operation, or ask what an atomic operation found that others came to
as well, the result depends on the order of threads. The hardware may take any; the emulator takes one block after
another, and in a block one thread after another. A loop over the blocks (or over all threads) around the kernel's body
has that order, and is raised as a `While`: the memories that the body changes are carried.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from windlass.ir import Block, Builder, Function, Region, Value, tensor_type
from windlass.loops import (
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
from windlass.ops.elementwise import Divide, Remainder
from windlass.raising.specification import LaunchSpecification

MOST_TURNS = 1 << 16
"""So many blocks or threads run one after another at most: each takes a round of the loop, however little it does."""
MOST_BYTES = 1 << 32
"""The turns times the bytes of the memories at most: in the worst case each turn copies them, half a second in all."""

BLOCKS, THREADS = "blocks", "threads"


@dataclass(frozen=True)
class InTurn:
    """A kernel whose body has a loop over its blocks or threads, for a launch of one block or thread."""

    kernel: Function
    specification: LaunchSpecification
    loop: For


def take_turns(kernel: Function, specification: LaunchSpecification, what: str) -> InTurn | None:
    """A kernel that is specialized for the launch, with its blocks (or threads) one after another, x first.

    None where there is but one, where there are too many, and for threads that wait for one another: for one that
    comes later they would wait forever.
    """
    grid, block = specification.grid, specification.block
    extents = grid if what == BLOCKS else (*grid, *block)
    count = math.prod(extents)
    if any(isinstance(op, DoWhile) and _only_waits(op) for op in kernel.walk()):
        return None
    work = count * sum(memory.size_bytes for memory in specification.memories)
    if not 1 < count <= MOST_TURNS or work > MOST_BYTES or (what == THREADS and _meet(kernel)):
        return None
    copy = kernel.clone()
    parallel = next(op for op in copy.body if isinstance(op, Parallel))
    body = parallel.body.block
    outer = Block([argument.type for argument in body.arguments])
    turn = Block([tensor_type((), "i64")])
    with Builder(turn):
        number = Convert(turn.arguments[0], "i32")
        if what == BLOCKS:
            ids = [*_digits(number, grid), *outer.arguments[3:]]
        else:
            digits = _digits(number, (*block, *grid))
            ids = [*digits[3:], *digits[:3]]
        mapping: dict[Value, Value] = dict(zip(body.arguments, ids, strict=True))
        for op in body:
            op.clone(mapping)
    with Builder(outer):
        loop = For(Constant.of(count, "i64"), (), Region(turn))
        loop.source = kernel.source
        Yield(())
    with Builder(copy.body, before=parallel):
        one = Constant.of(1, "i32")
        extents = (one,) * 3 + (parallel.extents[3:] if what == BLOCKS else (one,) * 3)
        Parallel(extents, parallel.dimensions, Region(outer))
    parallel.erase()
    smaller = replace(specification, grid=(1, 1, 1), block=block if what == BLOCKS else (1, 1, 1))
    return InTurn(copy, smaller, loop)


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


def _digits(number: Value, sizes: tuple[int, ...]) -> list[Value]:
    """A number in parts, of which the first changes fastest."""
    digits: list[Value] = []
    for size in sizes:
        if size == 1:
            digits.append(Constant.of(0, "i32"))
            continue
        here = Constant.of(size, "i32")
        digits.append(Remainder(number, here))
        number = Divide(number, here)
    return digits
