"""`pycuda.reduction`."""

from __future__ import annotations

from windlass.pycuda.elementwise import ReductionKernel

__all__ = ["ReductionKernel"]
