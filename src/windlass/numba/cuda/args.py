"""`numba.cuda.args`: how hosts' arrays go to kernels."""

from windlass.numba.cuda.device_array import ArgumentHandler as ArgHint
from windlass.numba.cuda.device_array import In, InOut, Out

__all__ = ["ArgHint", "In", "InOut", "Out"]
