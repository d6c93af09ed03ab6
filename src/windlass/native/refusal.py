"""Why a kernel has no native form, or needs another one."""

from __future__ import annotations

from windlass.diagnostics import Diagnostic, Position, RaisingError

NOT_NATIVE = "WL0440"


class NotNative(Exception):
    """What of a kernel native code has no word for, and where."""

    def __init__(self, reason: str, position: Position | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position

    def as_diagnostic(self, kernel: str) -> Diagnostic:
        return Diagnostic(
            NOT_NATIVE,
            f"kernel '{kernel}' has no native form: {self.reason}",
            self.position,
            help="wl.emulate(kernel) runs it thread by thread",
        )

    def as_error(self, kernel: str) -> RaisingError:
        return RaisingError(self.as_diagnostic(kernel))


class UncountedLoop(NotNative):
    """A loop whose counter may wrap around in this launch: it needs the kernel with that loop uncounted."""

    def __init__(self, loop: str, position: Position | None) -> None:
        super().__init__("a loop's counter may wrap around", position)
        self.loop = loop


class NeedsOneLane(Exception):
    """What is written for one thread at a time only; `args` may name the piece."""
