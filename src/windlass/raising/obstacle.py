"""Why something can't be raised, while it is being tried: caught by whoever has another way to try."""

from __future__ import annotations

from windlass.diagnostics import Diagnostic, Position, RaisingError

NOT_RAISED = "WL0301"
RESULT_OF_ATOMIC = "WL0302"
TOO_IRREGULAR = "WL0303"
NO_MEMORY = "WL0304"
LAUNCH_MISMATCH = "WL0305"
MISALIGNED = "WL0306"
LOOP = "WL0308"
RACE = "WL0309"
OUTSIDE = "WL0310"


class Obstacle(Exception):
    """What stands in the way of one form of an op or loop. At the outermost level it becomes a RaisingError."""

    def __init__(
        self, reason: str, position: Position | None = None, code: str = LOOP, help: str | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position
        self.code = code
        self.help = help
        self.notes: list[str] = []
        self.is_final = code != LOOP
        """Whether no other form of a loop around it would help."""

    def as_error(self, kernel: str) -> RaisingError:
        """The error that the user sees."""
        return RaisingError(self.as_diagnostic(kernel))

    def as_diagnostic(self, kernel: str) -> Diagnostic:
        """What is said of it."""
        return Diagnostic(
            self.code,
            f"kernel '{kernel}' can't be raised: {self.reason}",
            self.position,
            notes=tuple(self.notes),
            help=self.help,
        )


class UncountedLoopError(RaisingError):
    """A loop's count relies on a condition that can't be proved for this launch: without the count it may raise."""

    def __init__(self, diagnostic: Diagnostic, loop: str) -> None:
        super().__init__(diagnostic)
        self.loop = loop


class UncountedObstacle(Obstacle):
    """It can't be proved that the counter of a loop, named by its header in the LLVM IR, does not wrap around."""

    def __init__(self, loop: str, reason: str, position: Position | None) -> None:
        super().__init__(reason, position)
        self.loop = loop
        self.is_final = True

    def as_error(self, kernel: str) -> UncountedLoopError:
        return UncountedLoopError(self.as_diagnostic(kernel), self.loop)
