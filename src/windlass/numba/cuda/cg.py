"""`numba.cuda.cg`: the group of all threads of a launch, which can wait for one another."""

from windlass.frontends.kernels.intrinsics import this_grid

__all__ = ["this_grid"]
