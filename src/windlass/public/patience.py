"""Whether launches are raised at once, or emulated until that takes long: what `windlass run` does for whole programs.

Raising takes a second or so and pays off where kernels work for long; the emulator starts at once. By default launches
from Python are raised at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from windlass.diagnostics import LaunchError, RaisingError

if TYPE_CHECKING:
    from windlass.public.explain import Report
    from windlass.public.kernel import Kernel
    from windlass.public.launch import Launch
    from windlass.runtime.launch_shape import LaunchShape

PATIENCE = 1.0
"""Seconds that the launches of a kernel with one grid and block may take in the emulator before they are raised."""


@dataclass(frozen=True)
class ObservedLaunch:
    """What is known of a launch afterwards; `reason` is why it was not raised, where that was tried.

    `explain` gives the report on such a launch, which is compiled if need be. It may be called while the launch is
    observed.
    """

    kernel: Kernel
    shape: LaunchShape
    how: Literal["raised", "emulated"]
    seconds: float
    reason: RaisingError | LaunchError | None
    explain: Callable[[], Report]


@dataclass
class Policy:
    """How launches run from now on; forms that were made before stay as they are."""

    mode: Literal["auto", "raised", "emulated"] = "raised"
    observe: Callable[[ObservedLaunch], None] | None = None

    @property
    def is_usual(self) -> bool:
        """Whether launches are raised at once, and nobody watches."""
        return self.mode == "raised" and self.observe is None


policy = Policy()


class WatchedForm:
    """A launch under a policy other than the usual one: emulated while that is quick, or always, or never."""

    __slots__ = ("_is_raised", "_launch", "_reason")

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        # The emulator runs blocks one after another, which a barrier across the grid does not allow.
        has_grid_barrier = policy.mode == "auto" and "@__windlass_grid_sync" in launch.kernel.module.code.llvm_ir
        self._is_raised = policy.mode == "raised" or has_grid_barrier
        self._reason: RaisingError | LaunchError | None = None

    def run(self, arguments: Sequence[Any]) -> None:
        """Run it, and tell who watches."""
        from windlass.public.emulation import emulate_launch

        launch = self._launch
        begin = time.perf_counter()
        if self._is_raised and self._reason is None:
            try:
                launch.run_raised(arguments)
            except RaisingError as error:
                self._reason = error
        is_emulated = not self._is_raised or self._reason is not None
        if is_emulated:
            emulate_launch(launch.kernel, launch.shape, arguments, finds_races=False)
            launch.emulated_seconds += time.perf_counter() - begin
            takes_long = launch.emulated_seconds > PATIENCE and not launch.kernel.prints
            self._is_raised = self._is_raised or (policy.mode == "auto" and takes_long)
        if policy.observe is not None:
            how: Literal["raised", "emulated"] = "emulated" if is_emulated else "raised"
            seconds = time.perf_counter() - begin

            def explain() -> Report:
                grid, block, shared_bytes = launch.shape
                return launch.kernel.explain(grid, block, *arguments, shared_bytes=shared_bytes)

            policy.observe(ObservedLaunch(launch.kernel, launch.shape, how, seconds, self._reason, explain))
