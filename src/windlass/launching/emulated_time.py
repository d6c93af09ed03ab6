"""How long launches take in the emulator, and which therefore are not emulated."""

from __future__ import annotations

from contextlib import AbstractContextManager
from math import prod
from typing import TYPE_CHECKING

from windlass.diagnostics import Diagnostic, LaunchError, RaisingError
from windlass.diagnostics.progress import telling

if TYPE_CHECKING:
    from windlass.runtime.launch_shape import LaunchShape

EMULATED = "emulated"
"""The name of the form."""
EMULATED_THREAD = 15e-9
"""Seconds that the emulator takes for a thread that does next to nothing."""
USUAL_THREAD = 4e-7
"""Seconds that it takes for a usual thread."""
KNOWN_LONG = 2.0
"""A launch that the emulator surely takes longer for is told of where it can't be raised."""
NATIVE_THREAD = 5e-9
"""The same for native code whose accesses are checked, on one thread of the machine's."""
MOST_SECONDS_WITHOUT_MEMORY = 10.0
"""A launch without memory for its tensor form is emulated where that may be done within so many seconds."""
MOST_SECONDS_WITHOUT_FORM = 3600.0
"""A launch without a tensor form is emulated, unless that surely takes longer."""


def least_seconds(shape: LaunchShape) -> float:
    """How long the emulator takes at least for a launch: as if no thread had anything to do."""
    return prod(shape.grid) * prod(shape.block) * EMULATED_THREAD


def usual_seconds(shape: LaunchShape) -> float:
    """How long the emulator usually takes for a launch of that size."""
    return prod(shape.grid) * prod(shape.block) * USUAL_THREAD


def native_code_ends(shape: LaunchShape, reason: RaisingError | None) -> bool:
    """Whether native code may come to an end in a time that one waits for; `reason` is why a launch is not raised."""
    seconds = prod(shape.grid) * prod(shape.block) * NATIVE_THREAD
    may_take_long = reason is not None and reason.diagnostics[0].code != "WL0418"
    return seconds < (MOST_SECONDS_WITHOUT_FORM if may_take_long else MOST_SECONDS_WITHOUT_MEMORY)


def require_time(name: str, shape: LaunchShape, reason: RaisingError | LaunchError) -> None:
    """Check that the emulator would come to an end with a launch that for this reason is not raised.

    Raises LaunchError: the reason itself if that is memory (WL0418), else that it would take too long (WL0419).
    """
    seconds = least_seconds(shape)
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
    seconds = least_seconds(shape)
    threads = prod(shape.grid) * prod(shape.block)
    expected = f", {threads} threads: this takes {seconds:.0f} seconds or more" if seconds > KNOWN_LONG else ""
    return telling(f"emulating {name}{expected}")
