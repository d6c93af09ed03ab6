"""Whether launches are compiled at once, or emulated until that takes long: what `windlass run` does.

The emulator starts at once; the first native code takes half a second, to raise a kernel a second or so. Each pays off
where kernels work for longer. By default launches from Python are compiled at once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from windlass.diagnostics import Diagnostic, EmulationError, LaunchError, RaisingError
from windlass.diagnostics.deferral import deferred
from windlass.launching.emulated_time import (
    EMULATED,
    KNOWN_LONG,
    least_seconds,
    require_time,
    telling_of_emulation,
    usual_seconds,
)
from windlass.launching.emulation import emulate_launch
from windlass.launching.form import How

if TYPE_CHECKING:
    from windlass.launching import explaining
    from windlass.launching.loaded_kernel import LoadedKernel
    from windlass.reports.report import Report
    from windlass.runtime.launch_shape import LaunchShape
else:
    explaining = deferred("windlass.launching.explaining")

Mode: TypeAlias = Literal["auto", "raised", "native", "emulated"]
"""How kernels run: emulated at first and compiled where that takes long, raised where they can be, as native code where
they can be, or emulated."""

Order: TypeAlias = Literal["cheapest", "raised", "native", "native at first", "native alone"]
"""Which form a launch takes if it has several: the one that costs least, the raised one, the native one; that one until
others are found to be faster, or no other one."""

SECONDS_BEFORE_NATIVE = 0.3
"""Seconds that the launches of a kernel with one grid and block may take in the emulator, the next one as long as
launches of its size usually do, before they run as native code if they can..."""
LAUNCHES_NATIVE = 5
"""After so many launches as native code, what making and running it takes is compared with what the emulator took."""
SECONDS_EMULATED = 1.0
"""... and before they are raised if they can't."""


@dataclass(frozen=True)
class ObservedLaunch:
    """What is known of a launch afterwards; `reason` is why it was not raised, where that was tried.

    `explain` gives the report on such a launch, which is compiled if need be. It may be called while the launch is
    observed.
    """

    kernel: LoadedKernel
    shape: LaunchShape
    how: How
    seconds: float
    reason: RaisingError | LaunchError | None
    explain: Callable[[], Report]


@dataclass
class Policy:
    """How launches run from now on; forms that were made before stay as they are."""

    mode: Mode = "raised"
    observe: Callable[[ObservedLaunch], None] | None = None
    is_usual: bool = True
    """Whether launches are raised at once, and nobody watches."""
    at_hand: Order = "cheapest"
    """In which order the forms of the launch at hand are tried."""

    def choose(self, mode: Mode, observe: Callable[[ObservedLaunch], None] | None) -> None:
        """From now on launches run like this, and `observe` is told of each."""
        self.mode, self.observe = mode, observe
        self.is_usual = mode == "raised" and observe is None


policy = Policy()


def _left_out(kernel: LoadedKernel, before: str = "", severity: str = "error") -> Diagnostic:
    """What is said of a kernel that prints, and why it stays in the emulator."""
    return Diagnostic(
        "WL0412", f"{before}it prints, which only the emulator does", kernel.left_out[0].source, severity=severity
    )


class Tier:
    """How the launches of a kernel with one grid and block run: compiled, or in the emulator while that is quick."""

    __slots__ = (
        "_emulated_launches",
        "_emulated_seconds",
        "_has_native",
        "_is_compiled",
        "_kernel",
        "_mode",
        "_native_seconds",
        "_shape",
        "reason",
    )

    def __init__(self, kernel: LoadedKernel, shape: LaunchShape, mode: Mode) -> None:
        self._kernel = kernel
        self._mode: Mode = mode
        # The emulator runs blocks one after another, which a barrier across the grid does not allow.
        has_grid_barrier = prod(shape.grid) > 1 and kernel.has_grid_barrier
        self._shape = shape
        is_long = least_seconds(shape) > KNOWN_LONG
        self._has_native = not kernel.left_out
        """Whether it is not known to have no native code."""
        self._is_compiled = mode in ("raised", "native") or (mode == "auto" and (has_grid_barrier or is_long))
        if mode == "auto" and has_grid_barrier and kernel.left_out:
            print(
                _left_out(kernel, f"{kernel.name} is raised for its barrier across the grid: ", "warning"),
                file=sys.stderr,
            )
        self._emulated_seconds = 0.0
        self._emulated_launches = 0
        self._native_seconds: list[float] = []
        self.reason: RaisingError | LaunchError | None = None
        """Why launches are not raised, where that was tried."""
        if mode == "auto" and is_long and kernel.left_out and not has_grid_barrier:
            self.reason = RaisingError(_left_out(kernel))

    def run(
        self,
        run_compiled: Callable[[], How],
        emulate: Callable[[], None],
        refusals: tuple[type[RaisingError | LaunchError], ...] = (RaisingError,),
    ) -> tuple[How, float]:
        """Run a launch one way or the other; gives in which form, and how many seconds it took.

        `run_compiled` gives the name of a form; it may raise an error of `refusals` before it has changed anything: the
        launch, and all that follow, are emulated then.
        """
        begin = time.perf_counter()
        if self._order is not None:
            before, policy.at_hand = policy.at_hand, self._order
            begin_of_work = time.process_time()
            try:
                how = run_compiled()
                if not self._is_compiled:
                    self._note_native(time.process_time() - begin_of_work)
                return how, time.perf_counter() - begin
            except refusals as error:
                if self._is_compiled:
                    self.reason = error
                else:
                    self._has_native = False
            finally:
                policy.at_hand = before
        if self.reason is not None:
            require_time(self._kernel.name, self._shape, self.reason)
        begin_of_work = time.process_time()  # of which what else the machine does is no part
        try:
            with telling_of_emulation(self._kernel.name, self._shape):
                emulate()
        except EmulationError as error:
            raise self._with_reason(error) from None
        seconds = time.perf_counter() - begin
        self._emulated_seconds += time.process_time() - begin_of_work
        self._emulated_launches += 1
        if self._mode == "auto" and self._emulated_seconds > SECONDS_EMULATED and not self._is_compiled:
            self._is_compiled = True
            if self._kernel.left_out:
                self.reason = RaisingError(_left_out(self._kernel))
        return EMULATED, seconds

    def _note_native(self, seconds: float) -> None:
        """Go back to the emulator where that is quicker: where each launch has numbers that code is made for anew."""
        self._native_seconds.append(seconds)
        if len(self._native_seconds) != LAUNCHES_NATIVE or not self._emulated_launches:
            return
        usual = sum(self._native_seconds[1:]) / (LAUNCHES_NATIVE - 1)  # the first one imports what makes code
        self._has_native = usual < self._emulated_seconds / self._emulated_launches

    @property
    def _order(self) -> Order | None:
        """In which order forms other than the emulator's are tried now; None where they are not."""
        if self.reason is not None:
            return None
        if self._is_compiled:
            orders: dict[Mode, Order] = {"auto": "native at first", "raised": "raised", "native": "native"}
            return orders[self._mode]
        is_time = self._mode == "auto" and self._emulated_seconds + usual_seconds(self._shape) > SECONDS_BEFORE_NATIVE
        return "native alone" if is_time and self._has_native else None

    def _with_reason(self, error: EmulationError) -> EmulationError:
        """An error for what the emulator can't do also says why the kernel was not raised."""
        if self.reason is None or error.diagnostics[0].code != "WL0611":
            return error
        note = f"it was not raised: {self.reason.diagnostics[0].headline}"
        return EmulationError(*(replace(each, notes=(*each.notes, note)) for each in error.diagnostics))


class WatchedForm:
    """A launch from Python under a policy other than the usual one."""

    __slots__ = ("_kernel", "_run_compiled", "_shape", "_tier")

    def __init__(self, kernel: LoadedKernel, shape: LaunchShape, run_compiled: Callable[[Sequence[Any]], How]) -> None:
        self._kernel = kernel
        self._shape = shape
        self._run_compiled = run_compiled
        self._tier = Tier(kernel, shape, policy.mode)

    def run(self, arguments: Sequence[Any]) -> None:
        """Run it, and tell who watches."""
        kernel, shape = self._kernel, self._shape
        how, seconds = self._tier.run(
            lambda: self._run_compiled(arguments),
            lambda: emulate_launch(kernel, shape, arguments, finds_races=False),
        )
        if policy.observe is not None:

            def report() -> Report:
                return explaining.explain(kernel, shape.grid, shape.block, *arguments, shared_bytes=shape.shared_bytes)

            policy.observe(ObservedLaunch(kernel, shape, how, seconds, self._tier.reason, report))
