"""`numba.cuda.libdevice`: functions of CUDA's device library, by their names."""

from __future__ import annotations

from typing import Any

from windlass.frontends.kernels.intrinsics import libdevice


def __getattr__(name: str) -> Any:
    """The function of that name, for use in kernels."""
    return getattr(libdevice, name)
