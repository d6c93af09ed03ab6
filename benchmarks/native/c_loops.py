"""The loops of kernels.cu in C with OpenMP, compiled by gcc."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

OPTIONS = ("-O3", "-march=native", "-fopenmp")
SOURCE = Path(__file__).parent / "openmp.c"


class CLoops:
    """The functions of openmp.c, called on NumPy's arrays and numbers."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        library = f"{self._folder.name}/loops.so"
        subprocess.run(["gcc", *OPTIONS, "-shared", "-fPIC", "-o", library, str(SOURCE), "-lm"], check=True)
        self._library = ctypes.CDLL(library)

    def bind(self, name: str, arguments: list[Any]) -> Callable[[], object]:
        """A call of a function on these arguments."""
        function = getattr(self._library, name)
        given = [_in_c(each) for each in arguments]
        return lambda: function(*given)


def c_loops() -> CLoops | None:
    """None where there is no gcc."""
    return None if shutil.which("gcc") is None else CLoops()


def _in_c(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return ctypes.c_void_p(argument.ctypes.data)  # pyright: ignore[reportUnknownArgumentType]
    return ctypes.c_float(float(argument)) if isinstance(argument, np.floating) else ctypes.c_int(argument)
