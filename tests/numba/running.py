# pyright: basic
"""Runs kernels as users do and in the emulator; results have to agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from windlass.numba.cuda.dispatcher import Dispatcher


def both_ways(
    kernel: Dispatcher, grid: Any, block: Any, *arguments: Any, shared: int = 0, is_raised: bool = True
) -> list[Any]:
    """Launch in the emulator, on copies, and as users do; results have to agree. Gives the arrays afterwards."""
    copies = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
    kernel[grid, block, 0, shared].emulate(*copies)
    kernel[grid, block, 0, shared](*arguments)
    assert kernel.last_report is not None
    assert kernel.last_report.is_raised == is_raised, kernel.last_report
    for mine, other in zip(arguments, copies, strict=True):
        if isinstance(mine, np.ndarray):
            np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)
    return list(arguments)
