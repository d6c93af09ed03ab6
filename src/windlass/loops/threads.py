"""What a thread is while a kernel is evaluated: a fibre, a generator that stops wherever it meets other threads."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from windlass.ir import Block, Op, Value
from windlass.ops.base import TensorOp

Bytes: TypeAlias = NDArray[np.uint8]
Results: TypeAlias = tuple[Any, ...]
T = TypeVar("T")
WARP = 32


class StoppedError(Exception):
    """A kernel stops: an assertion fails, an access goes out of bounds, or threads wait for others that never come."""


@dataclass(frozen=True)
class Buffer:
    """What a pointer points into, from its byte `begin` on; a null pointer points into nothing."""

    memory: Bytes | None
    begin: int = 0

    def view(self, offset: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
        """One element at a byte offset, of shape (1,): to write to it changes the memory.

        Raises StoppedError where it does not lie in the memory.
        """
        start, size = self.begin + int(offset), 0 if self.memory is None else self.memory.size
        if self.memory is None or start < 0 or start + dtype.itemsize > size:
            raise StoppedError(f"an access of {dtype} at byte {start} of {size} is out of bounds")
        return self.memory[start : start + dtype.itemsize].view(dtype)


NULL = Buffer(None)


class MeetingPlace(Protocol):
    """An op at which threads meet."""

    @property
    def scope(self) -> str:
        """Who meets: "warp", "block" or "grid"."""
        ...

    def exchange(self, number: int, here: Mapping[int, Results]) -> Results:
        """What the thread of that number in its block receives, by what each that is here has given."""
        ...


@dataclass(frozen=True)
class Meeting:
    """What a thread waits for: a barrier, or an exchange to which it gives the inputs."""

    op: MeetingPlace
    inputs: Results = ()


Fibre: TypeAlias = Generator[Meeting, Results, Results]
"""Yields meetings, is sent what it gets there, and returns results."""


@dataclass
class LaunchState:
    """What all threads of a launch share: sizes by dimension, device variables by linker name, what was printed."""

    sizes: Mapping[str, int]
    shared_bytes: int = 0
    variables: dict[str, Bytes] = field(default_factory=dict[str, Bytes])
    printed: list[str] = field(default_factory=list[str])
    order: np.random.Generator | None = None
    """Draws the order of what has none; None for the order of the numbers."""

    def in_some_order(self, items: Sequence[T]) -> Sequence[T]:
        """What is independent, in the order in which this launch runs it."""
        return items if self.order is None else [items[int(place)] for place in self.order.permutation(len(items))]


class Thread:
    """One thread of a block, of that number in it; `shared` is the block's memory, by the op that allocates it."""

    def __init__(self, launch: LaunchState, block: int, number: int, shared: dict[Op, Bytes]) -> None:
        self.launch = launch
        self.block = block
        self.number = number
        self.shared = shared
        self.values: dict[Value, Any] = {}
        self.tape: list[Results] = []
        """What `Push` keeps."""

    @property
    def lane(self) -> int:
        return self.number % WARP

    def run(self, block: Block, *arguments: Any) -> Fibre:
        """What the block ends in, for these arguments; ops may use what was evaluated before."""
        values = self.values
        values.update(zip(block.arguments, arguments, strict=True))
        last = block.terminator
        for op in block:
            if op is last:
                break
            found = self.evaluate(op)
            if isinstance(found, Generator):
                found = yield from found
            results: Results = found if isinstance(found, tuple) else (found,)
            values.update(zip(op.results, results, strict=True))
        return tuple(values[operand] for operand in last.operands)

    def evaluate(self, op: Op) -> Any:
        """What the op gives for the values at hand: a generator where threads may meet within."""
        operands = [self.values[operand] for operand in op.operands]
        if isinstance(op, TensorOp):
            return op.evaluate(*(np.asarray(operand) for operand in operands))
        return cast(Any, op).evaluate(self, *operands)
