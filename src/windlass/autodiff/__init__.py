"""Derivatives of functions of tensors: walkers that ask each op for its own.

Takes a `Function` and which of its arguments are active; gives functions of the same arguments and of tangents or
cotangents: `tangent_function` (forward mode) and `pullback_function` (reverse mode). What an op's derivative is stands
in its class: `partial`, `linear_in` with `pullback`, or `tangents`. An op without one is never zero: its tangents are
a `MissingDerivative`, which is an error (`NoDerivative`) where a cotangent reaches it, or where the tangents run. Loops
go backwards whatever their length (regions.py), with as much memory as a plan says (planning.py); bits of floats that
only travel are floats (float_bits.py). Start with forward.py. Whether derivatives are right is asked op by op in
auditing.py, for `wl.audit`. What is subtracted and cancels, as the maximum in a softmax, is found in shifts.py.
"""

from windlass.autodiff.forward import tangent_function, value_function
from windlass.autodiff.planning import Binomial, LoopMemory, NotEnoughMemory, Periodic, Plan
from windlass.autodiff.reverse import planned, pullback_function, transposed_function
from windlass.autodiff.shifts import stop_shifts
from windlass.ops.base import NoDerivative

__all__ = [
    "Binomial",
    "LoopMemory",
    "NoDerivative",
    "NotEnoughMemory",
    "Periodic",
    "Plan",
    "planned",
    "pullback_function",
    "stop_shifts",
    "tangent_function",
    "transposed_function",
    "value_function",
]
