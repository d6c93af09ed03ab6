"""What stands for an array of which it is known only as the program runs how many elements it has: what a mask picks
(`selections.py`), and slices whose bounds are computed, and what is computed of either (`spans.py`).

The program has room for as many elements as there may be, and a traced count of those that there are. Where an array
leaves the program it is cut to them (`Leaving`). What can't be done so is refused at the line that made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import ArrayAttributeError, Diagnostic, WindlassError
from windlass.frontends.arrays.tracing import Storage, position_now

LEAVES = "the shape of what is returned"


@dataclass(frozen=True)
class Leaving:
    """How an array is made of what the program gives for it: of elements along the axis `mask_axis` those that a mask
    picks, or the first along each of the axes `cut`, as many as their counts say."""

    count: int
    """How many arrays and numbers the program gives."""
    refusal: WindlassError = field(compare=False)
    """What is said where it would have to be an array of JAX's."""
    mask_axis: int | None = None
    cut: tuple[int, ...] = ()

    def array(self, values: Sequence[Any]) -> NDArray[Any]:
        """The array, of NumPy's values, as its own memory."""
        elements, *rest = map(np.asarray, values)
        if self.mask_axis is not None:
            return elements[(*(slice(None),) * self.mask_axis, rest[0])]
        index = [slice(None)] * elements.ndim
        for axis, count in zip(self.cut, rest, strict=True):
            index[axis] = slice(int(count))
        return elements[tuple(index)].copy()


class UnknownLength:
    """An array that has as many elements as the program finds; `headline` and `help` say why that is not known."""

    __slots__ = ("place",)
    __array_priority__ = 2000.0
    is_scalar = False
    ndim: Any
    shape: Any
    has_views = False
    """Whether parts of it were given away, which would have to change with it."""
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
    def span(self) -> Any:
        """The same elements one behind the other, as a `Span`."""
        raise NotImplementedError

    @property
    def axes(self) -> list[tuple[int, bool]]:
        """For each axis how many elements it has at most, and whether data decide how many it has."""
        raise NotImplementedError

    @property
    def memory(self) -> Storage:
        """The memory that its elements are in."""
        raise NotImplementedError

    def leave(self) -> tuple[list[Any], Leaving]:
        """What the program gives for it, and how it is an array of NumPy's then."""
        raise NotImplementedError

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

    def __setitem__(self, index: Any, value: Any) -> None:
        raise self.unknown("which of its elements are written")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if not hasattr(np.ndarray, name):
            raise ArrayAttributeError(Diagnostic("WL0916", f"NumPy's arrays have no attribute '{name}'"))
        raise self.unknown(f"'{name}'")
