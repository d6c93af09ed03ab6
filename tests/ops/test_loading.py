"""What is loaded with the ops, and what only where it is used."""

from __future__ import annotations

import subprocess
import sys


def test_parts_of_scipy_are_loaded_when_they_are_used() -> None:
    parts = "{'scipy.fft', 'scipy.linalg', 'scipy.special'}"
    code = f"import sys, windlass.catalogue; print(sorted({parts} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
