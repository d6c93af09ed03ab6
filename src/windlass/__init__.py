"""Windlass raises CUDA C++ kernels, loops and array programs to tensor programs and runs them through XLA.

>>> import numpy as np
>>> import windlass as wl
>>> module = wl.cuda.compile("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
>>> x = np.arange(4, dtype=np.float32)
>>> module["twice"][1, 4](x)
>>> x.tolist()
[0.0, 2.0, 4.0, 6.0]
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from windlass.diagnostics import (
    CommunicationError,
    CompilationError,
    Diagnostic,
    EmulationError,
    LaunchError,
    ProgramError,
    RaisingError,
    WindlassError,
    WindlassWarning,
)
from windlass.diagnostics.deferral import import_at_once
from windlass.diagnostics.limits import require_address_space

if TYPE_CHECKING:
    from windlass import c, cuda, stablehlo
    from windlass.autodiff.planning import Binomial, Periodic
    from windlass.frontends.arrays import Array
    from windlass.functions.activities import (
        Active,
        BatchDuplicated,
        Const,
        Duplicated,
        DuplicatedNoNeed,
        Forward,
        ForwardWithPrimal,
        Reverse,
        ReverseWithPrimal,
        autodiff,
    )
    from windlass.functions.audit import audit
    from windlass.functions.communication import check_communication, communication
    from windlass.functions.custom_rules import custom_jvp, custom_vjp
    from windlass.functions.derivatives import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp
    from windlass.functions.forecast import forecast
    from windlass.functions.jit import jit
    from windlass.functions.notation import notation
    from windlass.functions.optimize import optimize
    from windlass.functions.rules import check_rule, hole, rewrite
    from windlass.functions.sharding import mesh, shard
    from windlass.launching.emulation import emulate
    from windlass.launching.explaining import explain
    from windlass.launching.native_kernel import native
    from windlass.launching.tuning import tune
    from windlass.processes.checkpoint import checkpoint

__version__ = "0.1.0"

_PLACES = {
    "Active": "windlass.functions.activities",
    "Array": "windlass.frontends.arrays",
    "BatchDuplicated": "windlass.functions.activities",
    "Binomial": "windlass.autodiff.planning",
    "Const": "windlass.functions.activities",
    "Duplicated": "windlass.functions.activities",
    "DuplicatedNoNeed": "windlass.functions.activities",
    "Forward": "windlass.functions.activities",
    "ForwardWithPrimal": "windlass.functions.activities",
    "Periodic": "windlass.autodiff.planning",
    "Reverse": "windlass.functions.activities",
    "ReverseWithPrimal": "windlass.functions.activities",
    "audit": "windlass.functions.audit",
    "autodiff": "windlass.functions.activities",
    "check_communication": "windlass.functions.communication",
    "check_rule": "windlass.functions.rules",
    "checkpoint": "windlass.processes.checkpoint",
    "communication": "windlass.functions.communication",
    "custom_jvp": "windlass.functions.custom_rules",
    "custom_vjp": "windlass.functions.custom_rules",
    "emulate": "windlass.launching.emulation",
    "explain": "windlass.launching.explaining",
    "forecast": "windlass.functions.forecast",
    "grad": "windlass.functions.derivatives",
    "hessian": "windlass.functions.derivatives",
    "hole": "windlass.functions.rules",
    "hvp": "windlass.functions.derivatives",
    "jacobian": "windlass.functions.derivatives",
    "jit": "windlass.functions.jit",
    "jvp": "windlass.functions.derivatives",
    "mesh": "windlass.functions.sharding",
    "native": "windlass.launching.native_kernel",
    "notation": "windlass.functions.notation",
    "optimize": "windlass.functions.optimize",
    "rewrite": "windlass.functions.rules",
    "shard": "windlass.functions.sharding",
    "tune": "windlass.launching.tuning",
    "value_and_grad": "windlass.functions.derivatives",
    "vjp": "windlass.functions.derivatives",
}
_MODULES = frozenset({"c", "cuda", "stablehlo"})

__all__ = [
    "Active",
    "Array",
    "BatchDuplicated",
    "Binomial",
    "CommunicationError",
    "CompilationError",
    "Const",
    "Diagnostic",
    "Duplicated",
    "DuplicatedNoNeed",
    "EmulationError",
    "Forward",
    "ForwardWithPrimal",
    "LaunchError",
    "Periodic",
    "ProgramError",
    "RaisingError",
    "Reverse",
    "ReverseWithPrimal",
    "WindlassError",
    "WindlassWarning",
    "audit",
    "autodiff",
    "c",
    "check_communication",
    "check_rule",
    "checkpoint",
    "communication",
    "cuda",
    "custom_jvp",
    "custom_vjp",
    "emulate",
    "explain",
    "forecast",
    "grad",
    "hessian",
    "hole",
    "hvp",
    "jacobian",
    "jit",
    "jvp",
    "mesh",
    "native",
    "notation",
    "optimize",
    "rewrite",
    "shard",
    "stablehlo",
    "tune",
    "value_and_grad",
    "vjp",
]


def __getattr__(name: str) -> Any:
    """Names are imported when first used: `import windlass` itself is quick."""
    if name in _PLACES or name in _MODULES:
        require_address_space()
    if name in _PLACES:
        return getattr(import_at_once(_PLACES[name]), name)
    if name in _MODULES:
        return import_at_once(f"windlass.{name}")
    raise AttributeError(f"module 'windlass' has no attribute {name!r}")


class _Function:
    """A function that is called as a room is: importing the room would put it in the function's place."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, package: object, owner: object = None) -> Any:
        return __getattr__(self._name)

    def __set__(self, package: object, room: object) -> None:
        pass


class _Package(ModuleType):
    """This package, whose `autodiff`, `communication` and `native` are the functions, not the rooms of those names."""

    autodiff = _Function("autodiff")
    communication = _Function("communication")
    native = _Function("native")


sys.modules[__name__].__class__ = _Package
