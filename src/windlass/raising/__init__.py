"""Raising: a loop-level kernel and a launch become a tensor function, by interpreting the kernel once for all threads.

Takes a loop-level function (one kernel, specialized for a launch) and the `LaunchSpecification`; gives a
`RaisedKernel`, or a RaisingError that says which line has no tensor form and why. The function computes what the launch
would, for kernels whose threads do not race and whose active lanes stay in bounds. Sums over iterations, those of
atomic operations, and folds that the threads of a block make together are made in an order of XLA's choice; all other
float operations are the source's, in its order. Raising takes time in proportion to the kernel and to one block, not to
the grid or arrays.

Start reading at `kernel.py`, then `interpreter.py`; `items.py` says what values become, `index.py` how integers stay
symbolic, `access.py` what loads and stores become, `loops.py` which forms loops can take. What is found before that:
`block_folds.py` (scans and trees over a block). What is tried after it: the kernel that `parallel/serialization.py`
makes (threads one after another, where their order decides). What is only seen as the program runs: `assumptions.py`.
"""

from typing import TYPE_CHECKING

from windlass.diagnostics.deferral import deferred_names
from windlass.raising.codes import FAULTS, RACE
from windlass.raising.report import AccessNote, LoopNote, OutsideNote, RaisingReport

if TYPE_CHECKING:
    from windlass.raising.kernel import RaisedKernel, raise_kernel
    from windlass.raising.obstacle import UncountedLoopError
else:
    __getattr__ = deferred_names(
        __name__,
        {
            "RaisedKernel": "windlass.raising.kernel",
            "UncountedLoopError": "windlass.raising.obstacle",
            "raise_kernel": "windlass.raising.kernel",
        },
    )

__all__ = [
    "FAULTS",
    "RACE",
    "AccessNote",
    "LoopNote",
    "OutsideNote",
    "RaisedKernel",
    "RaisingReport",
    "UncountedLoopError",
    "raise_kernel",
]
