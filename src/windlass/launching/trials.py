"""Timing the forms of a launch against each other, on copies of its arrays."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import WindlassError
from windlass.diagnostics.limits import available_memory
from windlass.launching.emulation import copy_overlapping, lies_in_variable
from windlass.launching.form import PreparedLaunch
from windlass.launching.measurements import Measurement
from windlass.loops import Assert, Print
from windlass.parallel.effects import written_variables
from windlass.runtime.memories import bytes_of

if TYPE_CHECKING:
    from windlass.launching.loaded_kernel import LoadedKernel

Array: TypeAlias = NDArray[Any]

ROUNDS = 5
MOST_SECONDS = 0.5
"""No more rounds are begun after so many seconds."""


def refusal_of_trial(kernel: LoadedKernel, arguments: Sequence[Any]) -> str | None:
    """Why a launch can't be tried on copies; None where it can."""
    function = kernel.function
    if any(isinstance(op, Print | Assert) for op in function.walk()):
        return "it prints, or stops where something does not hold"
    if written_variables(function):
        return "it writes device variables"
    arrays = [cast("Array", each) for each in arguments if isinstance(each, np.ndarray)]
    if any(lies_in_variable(kernel, each) for each in arrays):
        return "its arguments lie in device variables"
    if kernel.alignment > 1 and not all(each.flags.owndata for each in arrays):
        return "where its arrays begin matters"
    available = available_memory()
    if available is not None and 4 * sum(each.nbytes for each in arrays) > available:
        return "there is no memory for copies"
    return None


def time_forms(
    kernel: LoadedKernel, arguments: Sequence[Any], forms: Mapping[str, PreparedLaunch], *, is_wanted: bool = False
) -> Measurement:
    """The least time of each form in several rounds, in all of which it begins with the arrays as they are.

    A form that ends in an error has no time; if all do, that of the first is raised.
    """
    copies = copy_overlapping(kernel, arguments)
    results: dict[str, list[bytes]] = {}
    seconds: dict[str, float] = {}
    failure: WindlassError | None = None
    begin = time.perf_counter()
    for name, form in forms.items():  # compiles it, and shows what it gives
        _restore(copies, arguments)
        try:
            form.run(copies)
        except WindlassError as error:
            failure = failure or error
            continue
        results[name] = [bytes_of(each).tobytes() for each in copies if isinstance(each, np.ndarray)]
    for number in range(ROUNDS):
        names = list(results) if number % 2 else list(results)[::-1]
        for name in names:
            _restore(copies, arguments)
            started = time.perf_counter()
            forms[name].run(copies)
            took = time.perf_counter() - started
            seconds[name] = min(took, seconds.get(name, took))
        if time.perf_counter() - begin > MOST_SECONDS:
            break
    if failure is not None and not seconds:
        raise failure
    first, *others = results.values()
    return Measurement(seconds, all(each == first for each in others), is_wanted)


class TriedLaunch(PreparedLaunch):
    """A launch that is tried in its other form once its calls have taken so many `seconds`.

    `settle` does that for the arguments of a call, which it leaves alone, and gives the form to be used from then on.
    """

    __slots__ = ("_has_run", "_least", "_prepared", "_seconds", "_settle", "name")

    def __init__(
        self, prepared: PreparedLaunch, settle: Callable[[Sequence[Any]], PreparedLaunch], seconds: float
    ) -> None:
        self.name = prepared.name
        self._prepared = prepared
        self._settle: Callable[[Sequence[Any]], PreparedLaunch] | None = settle
        self._seconds = 0.0
        self._least = seconds
        self._has_run = False

    def run(self, arguments: Sequence[Any]) -> None:
        settle = self._settle
        if settle is None:
            self._prepared.run(arguments)
        elif self._seconds > self._least:
            self._settle = None
            self._prepared = settle(arguments)
            self.name = self._prepared.name
            self._prepared.run(arguments)
        else:
            begin = time.perf_counter()
            self._prepared.run(arguments)
            if self._has_run:  # the first call compiles
                self._seconds += time.perf_counter() - begin
            self._has_run = True


def _restore(copies: Sequence[Any], arguments: Sequence[Any]) -> None:
    for copy, original in zip(copies, arguments, strict=True):
        if isinstance(copy, np.ndarray):
            np.copyto(copy, cast("Array", original))
