"""`lower(...).text(stage)`: a program as it stands after each stage of the compiler."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from windlass.diagnostics import Diagnostic, LaunchError


class Lowered:
    """The stages of a program, each made when it is asked for."""

    def __init__(self, name: str, stages: Mapping[str, Callable[[], str]]) -> None:
        self.name = name
        self._stages = dict(stages)

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages that there are, in order."""
        return tuple(self._stages)

    def text(self, stage: str = "optimized") -> str:
        """The program after a stage.

        Raises LaunchError (WL0416) for a stage that there is not.
        """
        if stage not in self._stages:
            raise LaunchError(
                Diagnostic("WL0416", f"{self.name} has no stage '{stage}'", help=f"one of: {', '.join(self._stages)}")
            )
        return self._stages[stage]()

    def __repr__(self) -> str:
        return f"<{self.name} lowered: {', '.join(self._stages)}>"
