"""NVIDIA's assembler, where there is one: on the path, or in its wheel (`pip install nvidia-cuda-nvcc-cu12`)."""

from __future__ import annotations

import functools
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest


@functools.cache
def find_ptxas() -> str | None:
    """Its path; None where there is none."""
    found = shutil.which("ptxas")
    with_wheels = find_spec("nvidia")
    for folder in with_wheels.submodule_search_locations or () if with_wheels is not None else ():
        found = found or next((str(path) for path in Path(folder).glob("*/bin/ptxas")), None)
    return found


needs_ptxas = pytest.mark.skipif(find_ptxas() is None, reason="there is no ptxas here")


def assemble(text: str, sm: int, folder: Path) -> str:
    """What ptxas says of PTX, all warnings and the use of registers included; fails where it refuses it."""
    path = folder / "kernel.ptx"
    path.write_text(text)
    command = [str(find_ptxas()), f"-arch=sm_{sm}", "-v", str(path), "-o", str(folder / "kernel.cubin")]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return outcome.stdout + outcome.stderr
