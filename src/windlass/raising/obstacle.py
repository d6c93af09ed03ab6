"""Why something can't be raised, while it is being tried: caught by whoever has another way to try."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.diagnostics import Diagnostic, Position, RaisingError
from windlass.raising.codes import HELP, LOOP
from windlass.raising.trail import Attempt, find_trail

if TYPE_CHECKING:
    from windlass.ir import Op, Value


POINTER_CHANGES = "a pointer goes into different arrays from one iteration to the next"


class Obstacle(Exception):
    """What stands in the way of one form of an op or loop. At the outermost level it becomes a RaisingError.

    `value` is the kernel's value that stands in the way, where it is one; `op` the innermost op of the kernel that was
    being raised. `attempts` are the forms that were tried of the loops around it.
    """

    def __init__(
        self,
        reason: str,
        position: Position | None = None,
        code: str = LOOP,
        help: str | None = None,
        value: Value | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position
        self.code = code
        self.help = help or HELP.get(code)
        self.value = value
        self.op: Op | None = None
        self.attempts: tuple[Attempt, ...] = ()
        self.is_final = code != LOOP
        """Whether no other form of a loop around it would help."""

    def after(self, attempts: tuple[Attempt, ...]) -> Obstacle:
        """The same, as what is left when other forms of a loop did not work either."""
        same = Obstacle(self.reason, self.position, self.code, self.help, self.value)
        same.op, same.is_final = self.op, self.is_final
        same.attempts = (*attempts, *self.attempts)
        return same

    def as_error(self, kernel: str) -> RaisingError:
        """The error that the user sees."""
        return RaisingError(self.as_diagnostic(kernel))

    def as_diagnostic(self, kernel: str) -> Diagnostic:
        """What is said of it."""
        return Diagnostic(
            self.code,
            f"kernel '{kernel}' can't be raised: {self.reason}",
            self.position,
            help=self.help,
            trail=find_trail(self),
        )


class OutOfTime(Exception):
    """Raising has taken as long as it may: no other form of anything is tried."""

    def __init__(self, position: Position | None) -> None:
        super().__init__("out of time")
        self.position = position


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
