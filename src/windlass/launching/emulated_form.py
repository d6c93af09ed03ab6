"""Launches in the emulator, thread by thread: the form of what has no other, where that may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from windlass.diagnostics import Diagnostic, RaisingError
from windlass.diagnostics.warning import warn_caller
from windlass.launching.emulated_time import EMULATED, require_time, telling_of_emulation
from windlass.launching.emulation import emulate_launch
from windlass.launching.form import Form, PreparedFunction, PreparedLaunch, Request
from windlass.launching.value_launch import as_raised, emulate_on_values, result_of
from windlass.raising import FAULTS
from windlass.reports.report import Report
from windlass.runtime.settings import fallback_is_allowed

if TYPE_CHECKING:
    from windlass.launching.loaded_kernel import LoadedKernel
    from windlass.launching.traced_launch import TracedLaunch
    from windlass.runtime.launch_shape import LaunchShape


class EmulatedForm(Form, PreparedLaunch):
    """The kernel thread by thread. `reason` is why it has no other form."""

    __slots__ = ("_kernel", "_shape", "reason")

    name = EMULATED

    def __init__(self, kernel: LoadedKernel, shape: LaunchShape, reason: RaisingError) -> None:
        permit_emulation(kernel, shape, reason)
        self._kernel = kernel
        self._shape = shape
        self.reason = reason

    @classmethod
    def on_arrays(cls, launch: Request, reason: RaisingError | None) -> EmulatedForm:
        assert reason is not None
        return cls(launch.kernel, launch.shape, reason)

    @classmethod
    def on_values(cls, launch: Request, reason: RaisingError | None) -> EmulatedFunction:
        assert reason is not None
        permit_emulation(launch.kernel, launch.shape, reason)
        return EmulatedFunction(launch)

    @classmethod
    def on_traced(cls, launch: TracedLaunch, reason: RaisingError | None) -> None:
        assert reason is not None
        if len(launch.storages) < len(launch.places):
            raise reason
        permit_emulation(launch.kernel, launch.shape, reason)
        written = [position for position in sorted(launch.kernel.written) if position in launch.places]
        news = emulate_on_values(launch.kernel, launch.shape, launch.values, written)
        for position, new in zip(written, news, strict=True):
            launch.arguments[position][...] = new

    def run(self, arguments: Sequence[Any]) -> None:
        with telling_of_emulation(self._kernel.name, self._shape):
            emulate_launch(self._kernel, self._shape, arguments, finds_races=False)


class EmulatedFunction(PreparedFunction):
    """A launch on JAX values that calls the emulator back."""

    __slots__ = ("_launch",)

    is_kept = False

    def __init__(self, launch: Request) -> None:
        self._launch = launch

    def inputs(self, arguments: Sequence[Any]) -> Sequence[Any]:
        return arguments

    def apply(self, *inputs: Any) -> Any:
        kernel = self._launch.kernel
        written = [position for position in sorted(kernel.written) if inputs[position] is not None]
        try:
            return result_of(emulate_on_values(kernel, self._launch.shape, inputs, written))
        except Exception as failure:
            raise as_raised(failure) from None


def permit_emulation(kernel: LoadedKernel, shape: LaunchShape, reason: RaisingError) -> None:
    """Note that a launch is emulated, and why, and warn of it the first time; not where the emulator will tell what is
    wrong.

    Raises the reason itself where the user forbids the emulator, LaunchError where the emulator would take too long.
    """
    if reason.diagnostics[0].code in FAULTS:
        kernel.last_report = Report(kernel.name, shape, reason)
        return
    if not fallback_is_allowed():
        raise reason
    require_time(kernel.name, shape, reason)
    if kernel.note_emulated(shape, reason):
        warn_caller(_fallback_diagnostic(kernel, reason))


def _fallback_diagnostic(kernel: LoadedKernel, error: RaisingError) -> Diagnostic:
    """What is said, once per kernel, when it runs in the emulator."""
    reason = error.diagnostics[0]
    return Diagnostic(
        "WL0413",
        f"{kernel.name} runs in the emulator, which is slow: {reason.headline}",
        reason.position,
        source=reason.source,
        notes=reason.notes,
        help=reason.help or "set WINDLASS_FALLBACK=error to have this raised as an error",
        severity="warning",
    )
