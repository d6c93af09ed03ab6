"""Numbers by value on their way into a program: read off the arguments, checked, kept on the device if they repeat."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np
from jax.core import Tracer

from windlass.ir.types import MLIR_DTYPES, NUMPY_DTYPES
from windlass.runtime.arguments import check_argument
from windlass.runtime.memories import signless

if TYPE_CHECKING:
    from windlass.ir.signature import KernelSignature, Parameter
    from windlass.runtime.binding import ScalarInput


class ScalarReader:
    """How the value of a traced scalar is read off its argument: quickly where possible, else with all checks.

    JAX takes longer to bring a number to the device than to call a function. So the number of an argument that is
    given twice in a row, the very same object, is brought there once and kept. Python's and NumPy's numbers can't
    change; what can (0-d arrays, structs) is read each time.
    """

    __slots__ = ("_last", "_parameter", "_quick", "_scalar", "_signature")

    def __init__(self, signature: KernelSignature, scalar: ScalarInput) -> None:
        self._signature = signature
        self._scalar = scalar
        self._parameter = signature.parameters[scalar.position]
        self._quick = _quick_reader(self._parameter, scalar.enters_as)
        self._last: tuple[Any, Any, bool] = (None, None, False)

    def read(self, argument: Any) -> Any:
        """The number as the program takes it.

        Raises LaunchError for arguments that don't fit the parameter.
        """
        last, value, is_on_device = self._last
        if argument is last and argument is not None:
            if is_on_device:
                return value
            with jax.enable_x64(True):  # else 64 bits would become 32
                kept = jax.device_put(value)
            if not isinstance(kept, Tracer):
                self._last = (argument, kept, True)
            return kept
        value = self._converted(argument)
        if isinstance(argument, float | int | np.number):
            self._last = (argument, value, False)
        return value

    def _converted(self, argument: Any) -> Any:
        if self._quick is not None:
            try:
                return self._quick(argument)
            except (OverflowError, TypeError, ValueError):
                pass
        checked = cast("np.generic", check_argument(self._signature, self._parameter, argument))
        scalar = self._scalar
        return scalar.read_halves(checked) if scalar.enters_as == "halves" else scalar.read(checked)


def _quick_reader(parameter: Parameter, enters_as: str) -> Callable[[Any], Any] | None:
    """A quick conversion of Python's and NumPy's most common numbers for a traced parameter; None where there is none.

    It raises OverflowError, TypeError or ValueError for what `check_argument` accepts too, or refuses with more words.
    """
    dtype = parameter.dtype
    if parameter.kind != "scalar" or dtype is None or dtype.kind not in "fiu":
        return None
    if dtype.kind in "iu":
        return None if enters_as == "halves" else _integer_reader(dtype)
    kind = dtype.type
    limit = float(np.finfo(dtype).max)
    is_double = dtype == np.float64
    in_halves = enters_as == "halves"

    def read(value: Any) -> Any:
        if type(value) is kind:
            number = value
        elif type(value) not in (float, np.float64):
            raise TypeError
        elif is_double or -limit <= value <= limit or not math.isfinite(value):
            number = kind(value)
        else:
            raise OverflowError
        return np.array((number,)).view(np.uint32) if in_halves else number

    return read


def _integer_reader(dtype: np.dtype) -> Callable[[Any], np.generic]:
    exact = dtype.type
    signed = NUMPY_DTYPES[signless(MLIR_DTYPES[dtype])]

    def read(value: Any) -> Any:
        if type(value) is not int:
            raise TypeError
        return exact(value) if signed == dtype else exact(value).view(signed)

    return read
