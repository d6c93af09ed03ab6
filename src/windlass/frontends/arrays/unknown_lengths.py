"""What stands for an array of which it is known only as the program runs how many elements it has: what a mask picks
(`selections.py`), and slices whose bounds are computed (`spans.py`).

What would need their number is refused at the line that made them.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from windlass.diagnostics import ArrayAttributeError, Diagnostic, WindlassError
from windlass.frontends.arrays.tracing import position_now


class UnknownLength:
    """An array that has as many elements as the program finds; `headline` and `help` say why that is not known."""

    __slots__ = ("place",)
    __array_priority__ = 2000.0
    is_scalar = False
    headline: ClassVar[str]
    help: ClassVar[str]

    def __init__(self) -> None:
        self.place = position_now()

    def unknown(self, what: str) -> WindlassError:
        """What is said where the number of elements would have to be known."""
        position, length = self.place
        notes = (f"{what} would depend on it",)
        return WindlassError(Diagnostic("WL0904", self.headline, position, length, notes=notes, help=self.help))

    @property
    def value(self) -> Any:
        raise self.unknown("an array of JAX's")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise self.unknown("an array of NumPy's")

    def __jax_array__(self) -> Any:
        raise self.unknown("an array of JAX's")

    def __len__(self) -> int:
        raise self.unknown("its length")

    def __iter__(self) -> Any:
        raise self.unknown("how often a loop over it runs")

    def __bool__(self) -> bool:
        raise self.unknown("its truth")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if not hasattr(np.ndarray, name):
            raise ArrayAttributeError(Diagnostic("WL0916", f"NumPy's arrays have no attribute '{name}'"))
        raise self.unknown(f"'{name}'")
