"""What pytest has to know of the source tree."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path


def pytest_collect_file(file_path: Path) -> None:
    """Import the catalogue as a whole before one file of it for its doctests: else its rules register twice."""
    if file_path.parent.name in ("rules", "passes", "lowering"):
        import_module("windlass.catalogue")
