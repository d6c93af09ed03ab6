"""`In`, `Out` and `InOut`: how an array of the host's goes to a kernel."""

from __future__ import annotations

from typing import Any


class ArgumentHandler:
    """An array of the host's as a kernel's argument: PyCUDA calls it `array`, Numba `value`."""

    def __init__(self, array: Any = None, *, value: Any = None) -> None:
        self.array = self.value = value if array is None else array


class In(ArgumentHandler):
    """An array that the kernel reads: what it writes there is not seen."""


class Out(ArgumentHandler):
    """An array that the kernel writes."""


class InOut(Out):
    """An array that the kernel reads and writes."""
