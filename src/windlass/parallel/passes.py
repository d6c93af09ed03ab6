"""Which passes a kernel goes through, and in what order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from windlass.ir import Block, Function, Op, Value
from windlass.parallel.compare_and_swap_loops import replace_compare_and_swap_loops
from windlass.parallel.dead_code import remove_unused
from windlass.parallel.guards import remove_guards
from windlass.parallel.independence import take_marks
from windlass.parallel.loop_reductions import declare_reductions
from windlass.parallel.register_tiles import mark_register_tiles
from windlass.parallel.rerolling import reroll
from windlass.parallel.typed_subscripts import type_subscripts

Guards: TypeAlias = Mapping[Op, "tuple[Value, bool]"]
"""For each loop that stands behind a guard which its trip count makes superfluous: the condition, and what it gives."""


class LoopPass(NamedTuple):
    """What changes the blocks of a kernel, in place, and keeps what the kernel does."""

    name: str
    change: Callable[[Block], None]
    example: str
    """The body of a CUDA kernel of `int *p, int n` that it changes; tests/parallel/golden has the texts."""


AS_STRUCTURED = LoopPass("as structured", lambda block: None, "")
"""What stands for no pass at all, where one is told of."""


_TRIPLE = """
int old = *p, a;
do { a = old; old = atomicCAS(p, a, a * 3); } while (a != old);
"""
_SUM = """
int sum = 0;
for (int i = threadIdx.x; i < n; i++) sum += p[i];
p[n + threadIdx.x] = sum;
"""
_FOURS = """
int4 four = ((int4 *)p)[threadIdx.x];
((int4 *)p)[threadIdx.x] = make_int4(four.x * n, four.y * n, four.z * n, four.w * n);
"""
_PRODUCTS = """
int sums[8] = {0};
for (int k = 0; k < n; k++)
    for (int i = 0; i < 8; i++) sums[i] += p[8 * k + i] * p[k];
for (int i = 0; i < 8; i++) p[8 * threadIdx.x + i] = sums[i];
"""

_MARKED = """
__device__ void mark(int) __asm__("__windlass_iteration");
for (int i = 0; i < n; i++) {
    mark(0);
    p[p[i]] = i;
}
"""
_SQUARE = """
__shared__ int tile[16][17];
tile[threadIdx.y][threadIdx.x] = p[threadIdx.x];
__syncthreads();
p[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y + 1];
"""


def passes_of_import(guards: Guards) -> tuple[LoopPass, ...]:
    """Those for a kernel as its control flow was structured; the structurer knows the guards."""
    return (
        LoopPass("compare-and-swap loops", replace_compare_and_swap_loops, _TRIPLE),
        LoopPass("dead code", remove_unused, _TRIPLE),
        LoopPass("guards", lambda block: remove_guards(block, guards), _SUM),
        LoopPass("typed subscripts", type_subscripts, _SQUARE),
        LoopPass("dead code", remove_unused, _TRIPLE),
        LoopPass("reductions", declare_reductions, _SUM),
        LoopPass("marks", take_marks, _MARKED),
    )


PASSES_OF_TILES = (
    LoopPass("rerolling", reroll, _FOURS),
    LoopPass("register tiles", mark_register_tiles, _PRODUCTS),
)
"""Those after which raising tries the elements of local arrays as lanes."""


def run_passes(
    function: Function,
    passes: Iterable[LoopPass],
    watch: Callable[[LoopPass, Function], None] | None = None,
) -> None:
    """Run them one after the other; `watch` is told after each."""
    for each in passes:
        each.change(function.body)
        if watch is not None:
            watch(each, function)
