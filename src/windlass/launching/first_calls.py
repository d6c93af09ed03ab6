"""Launches whose first call is compared with another way to run them: the emulator's, or other undefined values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from windlass.diagnostics import Diagnostic
from windlass.diagnostics.warning import warn_caller
from windlass.launching.emulation import compare_with_emulator, run_both
from windlass.launching.form import PreparedLaunch, Request
from windlass.runtime.settings import first_calls_are_checked

if TYPE_CHECKING:
    from windlass.pipeline import RaisedLaunch


class FirstCall(PreparedLaunch):
    """A prepared launch, and what is done at its first call; `prepare` makes others of what is compiled otherwise."""

    __slots__ = ("_compiled", "_is_over", "_launch", "_prepare", "_prepared", "name")

    def __init__(
        self,
        launch: Request,
        prepared: PreparedLaunch,
        compiled: RaisedLaunch,
        prepare: Callable[[RaisedLaunch], PreparedLaunch],
    ) -> None:
        self._launch = launch
        self.name = prepared.name
        self._prepared = prepared
        self._compiled = compiled
        self._prepare = prepare
        self._is_over = False

    @staticmethod
    @abstractmethod
    def is_wanted(compiled: RaisedLaunch) -> bool:
        """Whether the first call of such a launch is to be this one."""

    @abstractmethod
    def compare(self, arguments: Sequence[Any]) -> None:
        """Run the launch, and compare what it does."""

    def run(self, arguments: Sequence[Any]) -> None:
        if self._is_over:
            self._prepared.run(arguments)
        else:
            self.compare(arguments)
            self._is_over = True


class VariedCall(FirstCall):
    """For a launch with shuffles that read from lanes that take no part: tells whether what they read matters."""

    __slots__ = ()

    @staticmethod
    def is_wanted(compiled: RaisedLaunch) -> bool:
        return bool(compiled.raised.report.absent)

    def compare(self, arguments: Sequence[Any]) -> None:
        kernel, binding = self._launch.kernel, self._compiled.binding
        varied = replace(binding, specification=replace(binding.specification, varies_undefined=True))
        other = self._prepare(kernel.compile(varied))
        if run_both(kernel, arguments, self._prepared.run, other.run) is not None:
            diagnostic = Diagnostic(
                "WL0618",
                f"{kernel.name}: the result depends on what a shuffle reads from a lane that takes no part",
                self._compiled.raised.report.absent[0],
                help="what such a lane gives is undefined: let all lanes that are read take part",
                severity="warning",
            )
            warn_caller(kernel.with_source_lines(diagnostic))


class CheckedCall(FirstCall):
    """Compares with the emulator, where the user wants that."""

    __slots__ = ()

    @staticmethod
    def is_wanted(compiled: RaisedLaunch) -> bool:
        return first_calls_are_checked()

    def compare(self, arguments: Sequence[Any]) -> None:
        compare_with_emulator(self._launch.kernel, self._launch.shape, arguments, self._prepared.run)


FIRST_CALLS: tuple[type[FirstCall], ...] = (VariedCall, CheckedCall)
