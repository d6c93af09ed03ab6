"""Which launches run as native code though they could be raised: those for which that is known to be faster.

The rule is what was measured (benchmarks/native.py): XLA runs arithmetic on whole arrays, and loops whose end depends
on the data, more slowly than loops over threads and vectors do; matrix products, sums and sorts it runs faster. Small
launches are left as they are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from windlass.diagnostics import Diagnostic, RaisingError
from windlass.diagnostics.deferral import deferred
from windlass.launching.array_binding import bind_arrays
from windlass.launching.emulated_time import native_code_ends
from windlass.launching.form import PreparedFunction, PreparedLaunch, Request
from windlass.launching.native_form import NativeForm, prepare
from windlass.loops import Barrier, Collective, DoWhile, For
from windlass.native.refusal import NotNative
from windlass.ops.contraction import DotGeneral
from windlass.ops.control import While
from windlass.ops.convolution import Convolution
from windlass.ops.fourier import Fft
from windlass.ops.indexing import Scatter
from windlass.ops.movement import Transpose
from windlass.ops.reduction import Reduce
from windlass.ops.sorting import Sort
from windlass.ops.windows import ReduceWindow
from windlass.runtime.settings import first_calls_are_checked, native_code_is_allowed

if TYPE_CHECKING:
    import jax

    from windlass.ir import Function, Op
    from windlass.launching.traced_launch import TracedLaunch
    from windlass.pipeline import CompiledLaunch
else:
    jax = deferred("jax")

FASTER_AS_TENSORS = (Convolution, DotGeneral, Fft, Reduce, ReduceWindow, Scatter, Sort, Transpose)
"""What XLA does faster than loops that say the same."""
LEAST_THREADS = 1 << 15
"""Launches of fewer threads are raised: what is to be gained is less than what another compiler costs."""


class FasterNativeForm(NativeForm):
    """Launches that are raised, and run as native code since that is faster."""

    __slots__ = ()

    @classmethod
    def on_arrays(cls, launch: Request, reason: RaisingError | None) -> PreparedLaunch:
        prepared, compiled = choose(launch)
        kernel = launch.kernel
        kernel.note_raised(launch.shape, compiled)
        assert kernel.last_report is not None
        kernel.last_report.is_native = True
        return prepared

    @classmethod
    def on_values(cls, launch: Request, reason: RaisingError | None) -> PreparedFunction:
        raise _raised_instead()

    @classmethod
    def on_traced(cls, launch: TracedLaunch, reason: RaisingError | None) -> None:
        raise _raised_instead()


def choose(launch: Request) -> tuple[NativeForm, CompiledLaunch]:
    """The native form of a launch for which that is known to be faster, and what it is raised to.

    Raises RaisingError for all others.
    """
    kernel, shape = launch.kernel, launch.shape
    if math.prod((*shape.grid, *shape.block)) < LEAST_THREADS or not _is_for_this_machine():
        raise _raised_instead()
    if not native_code_ends(shape, None):
        raise _raised_instead()
    compiled = kernel.compile(bind_arrays(kernel, shape, launch.arguments, launch.traced)[1])
    if not is_faster_as_loops(kernel.function, compiled):
        raise _raised_instead()
    try:
        prepared = prepare(launch)
    except NotNative:
        raise _raised_instead() from None
    code = prepared.code
    if code.is_ordered or (code.width == 1 and not _has_loops(kernel.function)):
        raise _raised_instead()
    return prepared, compiled


def is_chosen(launch: Request) -> bool:
    """Whether a launch that can be raised runs as native code."""
    try:
        choose(launch)
    except RaisingError:
        return False
    return True


def _is_for_this_machine() -> bool:
    is_wanted = native_code_is_allowed() and not first_calls_are_checked()
    return is_wanted and jax.default_backend() == "cpu"


def is_faster_as_loops(function: Function, compiled: CompiledLaunch) -> bool:
    """Whether a launch is known to be faster as loops over its threads than as the tensor program."""
    raised = compiled.raised
    if raised.race is not None or raised.assumptions or raised.report.absent:
        return False
    ops = list(compiled.optimized.walk())
    if any(_is_fast_op(op) for op in ops):
        return False
    has_steps = _has_loops(function) or any(isinstance(op, Barrier | Collective) for op in function.walk())
    return not has_steps or any(isinstance(op, While) for op in ops)


def _is_fast_op(op: Op) -> bool:
    # The maximum of how often threads go round is no work.
    counts_rounds = isinstance(op, Reduce) and not op.operands[0].tensor.is_float
    return isinstance(op, FASTER_AS_TENSORS) and not counts_rounds


def _has_loops(function: Function) -> bool:
    return any(isinstance(op, For | DoWhile) for op in function.walk())


def _raised_instead() -> RaisingError:
    """Why a launch that could run as native code does not: nobody is told."""
    return RaisingError(Diagnostic("WL0301", "it runs faster, or as fast, as a tensor program"))
