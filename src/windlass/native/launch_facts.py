"""What a launch tells native code: everything of it that the code may depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windlass.native.arithmetic import VECTOR_FUNCTIONS


@dataclass(frozen=True)
class MemoryFacts:
    """One memory that the code is given: its bytes, of what its address is a multiple (but for `remainder`), and
    whether it overlaps with none of the others."""

    size: int
    alignment: int = 1
    remainder: int = 0
    is_alone: bool = True


@dataclass(frozen=True)
class LaunchFacts:
    """A launch of a function of the loop level whose numbers are known.

    `extents` are those of its `Parallel`; `memories` has what is known of each argument that is a buffer, None for a
    number; `variables` the memories of device variables by linker name. `is_ordered` asks for the order of the
    emulator, one thread after another, so that what depends on the order gives what it gives there. `is_exact` forbids
    functions of floats that differ from the C library's in the last bits.
    """

    extents: tuple[int, ...]
    memories: tuple[MemoryFacts | None, ...]
    variables: tuple[tuple[str, MemoryFacts], ...] = ()
    is_ordered: bool = False
    is_exact: bool = False
    shared_bytes: int = 0
    """The size of dynamic shared memory."""
    names: tuple[str, ...] = ()
    """What messages call the memories."""

    def name_of(self, position: int) -> str:
        return self.names[position] if position < len(self.names) else f"argument {position}"

    def vector_functions(self, found: Sequence[str]) -> frozenset[str]:
        """Which of the vector functions that there are may be used."""
        return frozenset() if self.is_exact else frozenset(found) & frozenset(VECTOR_FUNCTIONS)
