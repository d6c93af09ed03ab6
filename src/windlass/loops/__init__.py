"""The loop level: kernels as structured control flow over memory, before raising.

Takes and gives functions of the loop level: `frontends` makes them, `raising` makes tensor programs of them. Here are
their ops (control.py, memory.py, subscripts.py, tape.py, meeting.py, telling.py, launches.py), what they mean
(`evaluate` of each, evaluation.py), how they are written (text.py) and what holds of them (verifier.py). Start reading
at control.py.
"""

from typing import TYPE_CHECKING

from windlass.diagnostics.deferral import deferred_names

if TYPE_CHECKING:
    from windlass.loops.base import LoopOp
    from windlass.loops.control import (
        BLOCKS,
        KIND_DIMENSIONS,
        LAUNCH_DIMENSIONS,
        THREADS,
        WARPS,
        Condition,
        DoWhile,
        For,
        If,
        LaunchSize,
        Parallel,
        Undefined,
        Yield,
        launch_extent,
    )
    from windlass.loops.evaluation import evaluate_kernel, evaluate_program
    from windlass.loops.launches import Launch
    from windlass.loops.meeting import Barrier, Collective
    from windlass.loops.memory import (
        ATOMIC_KINDS,
        Access,
        Allocate,
        Atomic,
        AtomicUpdate,
        BufferDistance,
        CompareExchange,
        DeviceVariableBuffer,
        Load,
        NullBuffer,
        SameBuffer,
        SelectBuffer,
        Store,
        ViewBuffer,
        accessed_dtype,
        combine,
    )
    from windlass.loops.subscripts import Subscript
    from windlass.loops.tape import Pop, Push
    from windlass.loops.telling import Assert, CheckAlignment, CheckRange, DeviceCall, Mark, Print
    from windlass.loops.threads import Buffer, StoppedError
else:
    # What a launch is told (launch_specification.py) is asked for by all; ops take long to import.
    _NAMES = {
        "base": "LoopOp",
        "control": (
            "BLOCKS KIND_DIMENSIONS LAUNCH_DIMENSIONS THREADS WARPS Condition DoWhile For If LaunchSize "
            "Parallel Undefined Yield launch_extent"
        ),
        "evaluation": "evaluate_kernel evaluate_program",
        "launches": "Launch",
        "meeting": "Barrier Collective",
        "memory": (
            "ATOMIC_KINDS Access Allocate Atomic AtomicUpdate BufferDistance CompareExchange "
            "DeviceVariableBuffer Load NullBuffer SameBuffer SelectBuffer Store ViewBuffer "
            "accessed_dtype combine"
        ),
        "subscripts": "Subscript",
        "tape": "Pop Push",
        "telling": "Assert CheckAlignment CheckRange DeviceCall Mark Print",
        "threads": "Buffer StoppedError",
    }
    __getattr__ = deferred_names(
        __name__, {name: f"{__name__}.{home}" for home, names in _NAMES.items() for name in names.split()}
    )

__all__ = [
    "ATOMIC_KINDS",
    "BLOCKS",
    "KIND_DIMENSIONS",
    "LAUNCH_DIMENSIONS",
    "THREADS",
    "WARPS",
    "Access",
    "Allocate",
    "Assert",
    "Atomic",
    "AtomicUpdate",
    "Barrier",
    "Buffer",
    "BufferDistance",
    "CheckAlignment",
    "CheckRange",
    "Collective",
    "CompareExchange",
    "Condition",
    "DeviceCall",
    "DeviceVariableBuffer",
    "DoWhile",
    "For",
    "If",
    "Launch",
    "LaunchSize",
    "Load",
    "LoopOp",
    "Mark",
    "NullBuffer",
    "Parallel",
    "Pop",
    "Print",
    "Push",
    "SameBuffer",
    "SelectBuffer",
    "StoppedError",
    "Store",
    "Subscript",
    "Undefined",
    "ViewBuffer",
    "Yield",
    "accessed_dtype",
    "combine",
    "evaluate_kernel",
    "evaluate_program",
    "launch_extent",
]
