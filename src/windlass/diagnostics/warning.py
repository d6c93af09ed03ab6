"""Warnings at the user's own line, however deep within Windlass they are found."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from windlass.diagnostics.message import Diagnostic, WindlassWarning

_PACKAGE = str(Path(__file__).parent.parent)


def warn_caller(diagnostic: Diagnostic) -> None:
    """Warn at the line that called Windlass."""
    level, frame = 1, sys._getframe()  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(WindlassWarning(str(diagnostic)), stacklevel=level)
