"""What CuPy has beside NumPy's interface: `import windlass.cupyx as cupyx`.

>>> import windlass.cupy as cp
>>> x = cp.zeros(3)
>>> scatter_add(x, [0, 2, 2], 1)
>>> x.tolist()
[1.0, 0.0, 2.0]
"""

from __future__ import annotations

from typing import Any

from windlass.cupy import ndarray

__all__ = ["scatter_add", "scatter_max", "scatter_min"]


def scatter_add(a: ndarray, slices: Any, value: Any) -> None:
    """Add values to elements, once for each time that an element is named."""
    a.scatter_add(slices, value)


def scatter_max(a: ndarray, slices: Any, value: Any) -> None:
    """Bring elements up to values, whichever of them names an element."""
    a.scatter_max(slices, value)


def scatter_min(a: ndarray, slices: Any, value: Any) -> None:
    """Bring elements down to values, whichever of them names an element."""
    a.scatter_min(slices, value)
