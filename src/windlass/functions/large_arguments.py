"""Large NumPy arrays on their way into a `wl.jit` function: taken where they are, or copied to memory that is kept.

XLA would copy nearly all of them into fresh memory, at each call (see `windlass.runtime.lines` and `.staging`): for a
function that goes over its arrays once, the copy takes several times as long as the function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from numpy.typing import NDArray

from windlass.ir import Module
from windlass.runtime.lines import (
    from_line_start,
    has_large_products,
    offset_in_line,
    take_from_line_start,
    takes_line_well,
)
from windlass.runtime.staging import LARGE, needs_staging, pool
from windlass.stablehlo.program import TensorProgram

Array: TypeAlias = NDArray[Any]

MOST_PROGRAMS = 2
"""Programs for arrays that begin at other places of their cache lines; arrays at yet others are staged."""


class LargeArguments:
    """What becomes of a program's large NumPy arguments, which are at `places`.

    `enter` gives the program to run, what it takes, and the memory that is to be given back to the pool once all
    results are there.
    """

    def __init__(self, program: TensorProgram, places: Sequence[int]) -> None:
        self._program = program
        self._main = program.code.module.main
        is_alone = len(program.code.module.functions) == 1 and not program.code.callbacks
        self._places = [place for place in places if program.code.argument_types[place].bytes >= LARGE]
        self._from_lines = [place for place in self._places if is_alone and takes_line_well(self._main, place)]
        self._goes_by_blocks = is_alone and has_large_products(self._main, self._places)
        self._offsets: set[tuple[int, ...]] = set()

    def __bool__(self) -> bool:
        return bool(self._places)

    def enter(self, values: Sequence[Any]) -> tuple[TensorProgram, list[Any], list[Array]]:
        taken = list(values)
        offsets = [0] * len(taken)
        for place in self._from_lines:
            if taken[place].flags.c_contiguous:
                offsets[place] = max(0, offset_in_line(taken[place]))
        program = self._program_for(tuple(offsets))
        if program is None:
            offsets = [0] * len(taken)
            program = self._program_for(tuple(offsets)) or self._program
        staged: list[Array] = []
        for place in self._places:
            if offsets[place]:
                taken[place] = from_line_start(taken[place], offsets[place])
            elif not taken[place].flags.c_contiguous or needs_staging(taken[place]):
                taken[place] = pool.copy_of(taken[place])
                staged.append(taken[place])
        return program, taken, staged

    def _program_for(self, offsets: tuple[int, ...]) -> TensorProgram | None:
        """The program for arrays that begin at these elements of their cache lines; None where there are too many."""
        if any(offsets) and offsets not in self._offsets:
            if len(self._offsets) == MOST_PROGRAMS:
                return None
            self._offsets.add(offsets)
        elif not any(offsets) and not self._goes_by_blocks:
            return self._program
        return self._program.derived(("lines", offsets), lambda: self._made_for(offsets))

    def _made_for(self, offsets: tuple[int, ...]) -> TensorProgram:
        code = self._program.code
        function = take_from_line_start(self._main, dict(enumerate(offsets)), self._places)
        return TensorProgram(Module([function], code.module.name), code.name, is_exact=code.is_exact, limbs=code.limbs)
