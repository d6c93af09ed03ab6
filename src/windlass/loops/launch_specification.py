"""What a launch tells the raiser: everything of it that the tensor program may depend on.

A specification is hashable: it is the key under which a raised kernel is cached.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeAlias

NULL_MEMORY = -1
"""The memory that a null pointer goes into."""


@dataclass(frozen=True)
class MemorySpecification:
    """One memory: the words of an array (or of several arrays that overlap), laid out flat.

    `word_dtype` is the element type of the flat tensor that stands for it; `row_strides` are the distances, in words,
    between neighbours along the outer axes of the array, largest first, where it has several axes; `misalignment` is
    how many bytes it begins behind a multiple of 16, where the kernel takes vectors from it.
    """

    size_bytes: int
    word_dtype: str
    row_strides: tuple[int, ...] = ()
    misalignment: int = 0


@dataclass(frozen=True)
class PointerArgument:
    """A pointer: `byte_offset` bytes into memory number `memory`. Several may go into one memory: that is aliasing."""

    memory: int
    byte_offset: int = 0


@dataclass(frozen=True)
class KnownScalar:
    """A scalar whose value is known at launch: integers and booleans."""

    dtype: str
    value: Hashable


@dataclass(frozen=True)
class TracedScalar:
    """A scalar that the tensor program takes as a rank-0 argument."""

    dtype: str


@dataclass(frozen=True)
class RecordArgument:
    """A struct by value: its size, and the scalars in it by byte offset."""

    size: int
    leaves: tuple[tuple[int, KnownScalar | TracedScalar], ...]


KernelArgument: TypeAlias = PointerArgument | KnownScalar | TracedScalar | RecordArgument


@dataclass(frozen=True)
class LaunchSpecification:
    """A launch: its extents (x first), the arguments in order, and the memories that pointers and variables go into.

    `variables` names the `__device__` and `__constant__` variables by linker name, each with where it begins: in a
    memory of its own, or in that of an array which is the variable itself.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    arguments: tuple[KernelArgument, ...]
    memories: tuple[MemorySpecification, ...]
    variables: tuple[tuple[str, PointerArgument], ...] = ()
    allow_contraction: bool = False
    checks_bounds: bool = False
    """Whether the program looks for indices out of bounds that the data give (see bounds.py)."""
    varies_undefined: bool = False
    """Whether what CUDA leaves undefined is something else than usual, so that one sees whether it matters."""

    def traced_dtypes(self) -> tuple[str, ...]:
        """The element types of the traced scalars, in the order in which the raised function takes them."""
        dtypes: list[str] = []
        for argument in self.arguments:
            if isinstance(argument, TracedScalar):
                dtypes.append(argument.dtype)
            elif isinstance(argument, RecordArgument):
                dtypes += [leaf.dtype for _, leaf in argument.leaves if isinstance(leaf, TracedScalar)]
        return tuple(dtypes)
