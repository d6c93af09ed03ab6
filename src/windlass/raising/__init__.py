"""Raising: a loop-level kernel and a launch become a tensor function, by interpreting the kernel once for all threads.

Takes a loop-level function (one kernel) and a `LaunchSpecification`; gives a `RaisedKernel`, or a RaisingError that
says which line has no tensor form and why. The function computes what the launch would, for kernels whose threads do
not race and whose active lanes stay in bounds. Sums over iterations, and those of atomic operations, are made in an
order of XLA's choice; all other float operations are the source's, in its order. Raising takes time in proportion to
the kernel, not to its launch or arrays.

Start reading at `kernel.py`, then `interpreter.py`; `items.py` says what values become, `index.py` how integers stay
symbolic, `access.py` what loads and stores become, `loops.py` which forms loops can take.
"""

from windlass.raising.kernel import RaisedKernel, raise_kernel
from windlass.raising.obstacle import UncountedLoopError
from windlass.raising.report import AccessNote, LoopNote, OutsideNote, RaisingReport
from windlass.raising.specification import (
    KnownScalar,
    LaunchSpecification,
    MemorySpecification,
    PointerArgument,
    RecordArgument,
    TracedScalar,
)

__all__ = [
    "AccessNote",
    "KnownScalar",
    "LaunchSpecification",
    "LoopNote",
    "MemorySpecification",
    "OutsideNote",
    "PointerArgument",
    "RaisedKernel",
    "RaisingReport",
    "RecordArgument",
    "TracedScalar",
    "UncountedLoopError",
    "raise_kernel",
]
