"""What Windlass says to its users: one message type, one renderer, one page per error code.

Takes positions and texts from every other room; gives errors that show the user's own source line.
Start reading at `message.py`. The pages are in `pages/`, one Markdown file per code.
"""

from windlass.diagnostics.message import (
    ArrayAssertionError,
    ArrayAttributeError,
    ArrayIndexError,
    ArrayOverflowError,
    ArrayTypeError,
    ArrayValueError,
    ArrayZeroDivisionError,
    CommunicationError,
    CompilationError,
    Diagnostic,
    EmulationError,
    LaunchError,
    ProgramError,
    RaisingError,
    Step,
    UnboundNameError,
    WindlassError,
    WindlassWarning,
)
from windlass.diagnostics.position import Position

__all__ = [
    "ArrayAssertionError",
    "ArrayAttributeError",
    "ArrayIndexError",
    "ArrayOverflowError",
    "ArrayTypeError",
    "ArrayValueError",
    "ArrayZeroDivisionError",
    "CommunicationError",
    "CompilationError",
    "Diagnostic",
    "EmulationError",
    "LaunchError",
    "Position",
    "ProgramError",
    "RaisingError",
    "Step",
    "UnboundNameError",
    "WindlassError",
    "WindlassWarning",
]
