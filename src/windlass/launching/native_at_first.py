"""Launches of host programs: as native code, which is soon made, until they are found to be faster otherwise.

JAX, which takes a second to import, is not needed before a launch is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from windlass.diagnostics import RaisingError
from windlass.diagnostics.deferral import deferred
from windlass.launching.array_binding import bind_arrays
from windlass.launching.emulated_time import native_code_ends
from windlass.launching.form import Form, PreparedFunction, PreparedLaunch, Request
from windlass.launching.measurements import digest_of, recall
from windlass.launching.native_form import NativeForm, raised_instead
from windlass.launching.trials import TriedLaunch
from windlass.runtime.settings import native_code_is_allowed, trials_are_allowed

if TYPE_CHECKING:
    from windlass.launching import choosing
    from windlass.launching.traced_launch import TracedLaunch
else:
    choosing = deferred("windlass.launching.choosing")

SECONDS_BEFORE_RAISING = 2.0
"""Launches run as native code for so long before they are raised, which takes a second or so."""


class NativeAtFirst(Form):
    """Launches that have native code, until they are found to be faster as tensor programs: what starts soonest."""

    __slots__ = ()

    @classmethod
    def on_arrays(cls, launch: Request, reason: RaisingError | None) -> PreparedLaunch:
        kernel, shape = launch.kernel, launch.shape
        if not native_code_is_allowed() or not native_code_ends(shape, None):
            raise raised_instead()
        if trials_are_allowed():
            binding = bind_arrays(kernel, shape, launch.arguments, launch.traced)[1]
            known = recall(digest_of(kernel, binding))
            if known is not None and known.are_same and known.fastest() == "raised":
                raise raised_instead()
        prepared = NativeForm.on_arrays(launch, None)
        if not trials_are_allowed():
            return prepared

        traced = launch.traced  # not the launch, which has the user's arrays

        def settle(arguments: Sequence[Any]) -> PreparedLaunch:
            return choosing.try_both(kernel, shape, traced, prepared, None, arguments)

        return TriedLaunch(prepared, settle, SECONDS_BEFORE_RAISING)

    @classmethod
    def on_values(cls, launch: Request, reason: RaisingError | None) -> PreparedFunction:
        raise raised_instead()

    @classmethod
    def on_traced(cls, launch: TracedLaunch, reason: RaisingError | None) -> None:
        raise raised_instead()
