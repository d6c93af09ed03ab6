"""Warnings at the user's own line, however deep within Windlass they are found."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import FrameType

from windlass.diagnostics.message import Diagnostic, WindlassWarning

_PACKAGE = str(Path(__file__).parent.parent)


def calling_frame() -> tuple[FrameType | None, int]:
    """The frame that called Windlass, if there is one, and how many of its own are above it."""
    level, frame = 0, sys._getframe()  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return frame, level


def warn_caller(diagnostic: Diagnostic) -> None:
    """Warn at the line that called Windlass."""
    warnings.warn(WindlassWarning(str(diagnostic)), stacklevel=calling_frame()[1])
