"""What runs a launch on NumPy arrays: a form. The plainest is the emulator, for what has no tensor form."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from windlass.diagnostics import RaisingError, WindlassWarning
from windlass.launching.emulation import emulate_launch
from windlass.launching.tiering import require_time, telling_of_emulation
from windlass.launching.value_launch import fallback_diagnostic
from windlass.raising import FAULTS
from windlass.reports.report import Report
from windlass.runtime.settings import fallback_is_allowed

if TYPE_CHECKING:
    from windlass.launching.loaded_kernel import LoadedKernel
    from windlass.runtime.launch_shape import LaunchShape


class Form(ABC):
    """A launch made ready for arguments of one key."""

    __slots__ = ()

    @abstractmethod
    def run(self, arguments: Sequence[Any]) -> None:
        """Run it on arguments of that key."""


class EmulatedForm(Form):
    """The kernel thread by thread: for what has no tensor form."""

    __slots__ = ("_kernel", "_shape", "reason")

    def __init__(self, kernel: LoadedKernel, shape: LaunchShape, reason: RaisingError) -> None:
        self._kernel = kernel
        self._shape = shape
        self.reason = reason

    def run(self, arguments: Sequence[Any]) -> None:
        with telling_of_emulation(self._kernel.name, self._shape):
            emulate_launch(self._kernel, self._shape, arguments, finds_races=False)


def fall_back(kernel: LoadedKernel, shape: LaunchShape, error: RaisingError) -> EmulatedForm:
    """The launch in the emulator, with a warning the first time; without where it will tell what is wrong.

    Raises the error itself where the user forbids the emulator.
    """
    if error.diagnostics[0].code in FAULTS:
        kernel.last_report = Report(kernel.name, shape, error)
        return EmulatedForm(kernel, shape, error)
    if not fallback_is_allowed():
        raise error
    require_time(kernel.name, shape, error)
    if kernel.note_emulated(shape, error):
        warnings.warn(WindlassWarning(str(fallback_diagnostic(kernel, error))), stacklevel=5)
    return EmulatedForm(kernel, shape, error)
