"""Which program takes large arrays that begin elsewhere in their cache lines than those that one was made for.

A program is compiled for arrays that begin at certain places of their lines (see `lines.py`), and NumPy puts each new
array where it likes. To copy an array to where a program wants it takes microseconds, to compile a program for where it
is a tenth of a second: so arrays are copied until that has taken as long as the first program took to be compiled.
Then no more than twice the least time is spent, whatever comes (Karlin, Manasse, Rudolph and Sleator, "Competitive
Snoopy Caching", Algorithmica 1988).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeAlias

from numpy.typing import NDArray

from windlass.ir import Module
from windlass.runtime.lines import (
    has_large_products,
    offset_in_line,
    placed,
    take_from_line_start,
    takes_line_well,
)
from windlass.runtime.settings import trials_are_allowed
from windlass.runtime.staging import LARGE
from windlass.stablehlo.program import TensorProgram

Array: TypeAlias = NDArray[Any]
Offsets: TypeAlias = tuple[int, ...]
"""Of each argument of a program, the elements that stand before it in its cache line."""

MOST_PROGRAMS = 3
"""Programs for arrays that begin at different places of their lines."""
MOST_COUNTED = 1000
"""Places for which it is counted how long arrays were copied."""


class LinePrograms:
    """Programs of which each takes arrays at other places, made by `make` and kept there.

    Of the arguments at `places`, which are large, those at `from_lines` may begin anywhere in their lines.
    """

    def __init__(
        self, make: Callable[[Offsets], TensorProgram], places: Sequence[int], from_lines: Collection[int], count: int
    ) -> None:
        self._make = make
        self._places = places
        self._from_lines = frozenset(from_lines)
        self._count = count
        self._made: list[Offsets] = []
        self._copying: dict[Offsets, float] = {}
        """Seconds that went into copies of arrays at places for which no program was made."""

    def enter(self, values: Sequence[Any]) -> tuple[TensorProgram, list[Any], list[Array]]:
        """The program to run, what it takes, and the memory that is to be given back to the pool once all results are
        there."""
        taken = list(values)
        wanted = [0] * self._count
        for place in self._from_lines:
            if taken[place].flags.c_contiguous:
                wanted[place] = max(0, offset_in_line(taken[place]))
        offsets = self._choose(tuple(wanted))
        copies: list[Array] = []
        started = time.perf_counter()
        for place in self._places:
            taken[place], copy = placed(taken[place], offsets[place])
            if copy is not None:
                copies.append(copy)
        if offsets != tuple(wanted) and len(self._copying) < MOST_COUNTED:
            took = time.perf_counter() - started
            self._copying[tuple(wanted)] = self._copying.get(tuple(wanted), 0.0) + took
        return self._make(offsets), taken, copies

    def _choose(self, wanted: Offsets) -> Offsets:
        """Where arrays are to begin that begin at `wanted`."""
        if wanted in self._made:
            return wanted
        if self._made:
            first = self._made[0]
            is_paid = self._copying.get(wanted, 0.0) >= self._make(first).compile_seconds
            # Threads may have entered more than that.
            if len(self._made) >= MOST_PROGRAMS or (trials_are_allowed() and not is_paid):
                return first
        self._made.append(wanted)
        return wanted


def line_programs(program: TensorProgram, places: Sequence[int]) -> LinePrograms | None:
    """The programs for the NumPy arrays that the arguments at `places` are; None where none of them is large."""
    code, main = program.code, program.code.module.main
    is_alone = len(code.module.functions) == 1 and not code.callbacks
    large = [place for place in places if code.argument_types[place].bytes >= LARGE]
    from_lines = [place for place in large if is_alone and takes_line_well(main, place)]
    goes_by_blocks = is_alone and has_large_products(main, large)

    def program_for(offsets: Offsets) -> TensorProgram:
        if not any(offsets) and not goes_by_blocks:
            return program
        return program.derived(("lines", offsets), lambda: made_for(offsets))

    def made_for(offsets: Offsets) -> TensorProgram:
        function = take_from_line_start(main, dict(enumerate(offsets)), large)
        return TensorProgram(
            Module([function], code.module.name),
            code.name,
            is_exact=code.is_exact,
            limbs=code.limbs,
            is_deterministic=code.is_deterministic,
        )

    return LinePrograms(program_for, large, from_lines, len(code.argument_types)) if large else None


__all__ = ["LinePrograms", "Offsets", "line_programs"]
