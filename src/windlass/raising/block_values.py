"""What is known of values and of shared memory while a kernel is run for one block: see block_execution.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from windlass.ir import Op, Value
from windlass.ir.types import NUMPY_DTYPES
from windlass.ops.conversion import byte_width
from windlass.raising.partial_folds import Array, Partials

MOST_CELLS = 1 << 14
"""Larger memories are not followed."""
FRESH, STALE = -1, -2
"""Contexts of cells: nothing was stored there; something may have been in an earlier round of a loop."""
NEVER = np.iinfo(np.int64).max


class Elsewhere:
    """What pointers into other than shared memory go into."""


ELSEWHERE = Elsewhere()


class GaveUp(Exception):
    """The kernel is more than this is for."""


@dataclass(frozen=True, eq=False)
class OpaqueValue:
    """What an op gave in each thread, and nothing else is known of it.

    `is_fixed` says that the op runs once, so that the raiser can tell what it gave; `is_uniform` that the threads of a
    block agree on it.
    """

    value: Value
    is_fixed: bool
    is_uniform: bool = False


@dataclass(eq=False)
class Cells:
    """A shared memory of words of one type."""

    allocation: Value
    size_bytes: int
    dtype: str = ""
    content: Partials = field(default_factory=lambda: Partials.unknown(0, np.int32))
    generations: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    """How often each cell became a leaf."""
    contexts: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    """Which uncertain part of the kernel was the first to store there; 0: what all threads run."""
    stamps: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    """When each cell was last stored to."""
    is_lost: bool = False
    """Whether it is followed no more: words of several types are kept there, or something unknown stores there."""
    is_stale: bool = False
    """Whether an earlier round of a loop may have stored there before anything is known to."""

    def prepare(self, dtype: str) -> bool:
        """Whether words of a type can be followed here."""
        if self.is_lost:
            return False
        if not self.dtype:
            count = self.size_bytes // byte_width(dtype)
            if count > MOST_CELLS:
                raise GaveUp
            self.dtype = dtype
            self.content = Partials.unknown(count, NUMPY_DTYPES[dtype])
            self.generations = np.zeros(count, np.int64)
            self.contexts = np.full(count, STALE if self.is_stale else FRESH, np.int64)
            self.stamps = np.zeros(count, np.int64)
        return dtype == self.dtype


@dataclass(eq=False)
class ThreadLeaves:
    """Leaves that are what a value of the kernel is in each thread: leaf `first + thread`."""

    first: int
    value: Value


@dataclass(eq=False)
class CellLeaves:
    """Leaves that are what cells held at some point: leaf `first + cell`. `births` and `deaths` are points."""

    first: int
    cells: Cells
    births: Array
    deaths: Array


Leaves: TypeAlias = "ThreadLeaves | CellLeaves"
Abstract: TypeAlias = "Array | Partials | OpaqueValue | Cells | Elsewhere | None"
"""What is known of a value: numbers, folds, nothing; or which memory it points into (None: it is not known)."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A value that is a fold of leaves in the active threads, and the op that takes it for something else.

    Where that happens in a loop, there are all threads of the first round, then all of the second, and so on; `counter`
    is the number of the round. The leaves are those of before the loop. `point` is the last at which they may be found.
    """

    value: Value
    user: Op
    partials: Partials
    active: Array
    point: int
    counter: Value | None = None
