"""`numba.cuda.args`: how hosts' arrays go to kernels."""

from windlass.dropins.arguments import ArgumentHandler as ArgHint
from windlass.dropins.arguments import In, InOut, Out

__all__ = ["ArgHint", "In", "InOut", "Out"]
