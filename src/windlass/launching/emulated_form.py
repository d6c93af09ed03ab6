"""Launches in the emulator, thread by thread: the form of what has no other, where that may be."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from math import prod
from typing import TYPE_CHECKING, Any

from windlass.diagnostics import Diagnostic, LaunchError, RaisingError
from windlass.diagnostics.progress import telling
from windlass.diagnostics.warning import warn_caller
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

EMULATED_THREAD = 15e-9
"""Seconds that the emulator takes for a thread that does next to nothing."""
KNOWN_LONG = 2.0
"""A launch that the emulator surely takes longer for is told of where it can't be raised."""
MOST_SECONDS_WITHOUT_MEMORY = 10.0
"""A launch without memory for its tensor form is emulated where that may be done within so many seconds."""
MOST_SECONDS_WITHOUT_FORM = 3600.0
"""A launch without a tensor form is emulated, unless that surely takes longer."""


class EmulatedForm(Form, PreparedLaunch):
    """The kernel thread by thread. `reason` is why it has no other form."""

    __slots__ = ("_kernel", "_shape", "reason")

    name = "emulated"

    def __init__(self, kernel: LoadedKernel, shape: LaunchShape, reason: RaisingError) -> None:
        permit_emulation(kernel, shape, reason)
        self._kernel = kernel
        self._shape = shape
        self.reason = reason

    @staticmethod
    def least_seconds(shape: LaunchShape) -> float:
        """How long the emulator takes at least for a launch: as if no thread had anything to do."""
        return prod(shape.grid) * prod(shape.block) * EMULATED_THREAD

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


def require_time(name: str, shape: LaunchShape, reason: RaisingError | LaunchError) -> None:
    """Check that the emulator would come to an end with a launch that for this reason is not raised.

    Raises LaunchError: the reason itself if that is memory (WL0418), else that it would take too long (WL0419).
    """
    seconds = EmulatedForm.least_seconds(shape)
    first = reason.diagnostics[0]
    if (first.code == "WL0418" and seconds > MOST_SECONDS_WITHOUT_MEMORY) or first.code == "WL0419":
        raise LaunchError(*reason.diagnostics) from None
    if seconds > MOST_SECONDS_WITHOUT_FORM:
        threads = prod(shape.grid) * prod(shape.block)
        raise LaunchError(
            Diagnostic(
                "WL0419",
                f"{name}: the emulator would take {seconds / 3600:.0f} hours or more",
                first.position,
                source=first.source,
                notes=(
                    f"launched with grid {shape.grid} and block {shape.block}: {threads} threads",
                    f"{first.headline} ({first.code})",
                ),
                help="launch fewer threads, or let the kernel be raised: see the note",
            )
        ) from reason


def telling_of_emulation(name: str, shape: LaunchShape) -> AbstractContextManager[None]:
    """Tells that a launch is emulated if it takes long, and of one that is known to, how long it takes at least."""
    seconds = EmulatedForm.least_seconds(shape)
    threads = prod(shape.grid) * prod(shape.block)
    expected = f", {threads} threads: this takes {seconds:.0f} seconds or more" if seconds > KNOWN_LONG else ""
    return telling(f"emulating {name}{expected}")
