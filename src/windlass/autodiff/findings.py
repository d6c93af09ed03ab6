"""What an audit of derivatives finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from windlass.diagnostics import Position
from windlass.ir import Op


class Hazard(Enum):
    """Why a derivative is not what differences show, or may not be what is wanted."""

    RULE = "wrong rule"
    """The derivative that an operation has is wrong."""
    CUSTOM_RULE = "custom rule"
    """A rule of `custom_vjp`, `custom_jvp` or `stop_gradient` says something else than the function does."""
    OVERWRITE = "overwrite"
    """What replaces elements of an array has a wrong derivative, or values meet at one element and one stays."""
    TIE = "tie"
    """Two values that vary are equal, and which is taken decides on the slope."""
    NON_SMOOTH = "non-smooth point"
    """The slopes on both sides differ."""
    JUMP = "jump"
    """The values on both sides differ."""
    GUARD = "guard"
    """A comparison changes its outcome right here: the derivative is that of the side taken."""
    INTEGER_PATH = "integer path"
    """What varies becomes an integer, which has no derivative."""
    INFINITY = "infinity"
    """A slope, or a value, is infinite or NaN."""
    UNSELECTED_BRANCH = "unselected branch"
    """A slope is infinite or NaN where the value is not taken."""
    ROUNDING = "rounding"
    """In the program's own precision the derivative is lost to rounding."""
    LOOP = "loop or branch"
    """All operations in it are right, and the derivative of the whole is not."""
    UNEXPLAINED = "unexplained"
    """No operation alone is at fault."""


@dataclass(frozen=True)
class Finding:
    """A hazard, and where it is. A fault is why derivatives part; others are worth knowing."""

    hazard: Hazard
    op: str
    """The operation's name."""
    position: Position | None
    """The user's line."""
    what: str
    is_fault: bool
    place: tuple[int, ...] | None = None
    """The first element that it concerns, of the operation's result."""

    def __str__(self) -> str:
        where = "" if self.position is None else f" at {self.position}"
        element = "" if not self.place else f", element {self.place}"
        lines = [f"{self.hazard.value}{where}: {self.op}{element}: {self.what}"]
        line = None if self.position is None else self.position.source_line()
        if line is not None:
            lines.append(f"    {line.strip()}")
        return "\n".join(lines)


def name_of_op(op: Op) -> str:
    return op.name or type(op).__name__
