"""Names of files beyond ASCII, as each reader of LLVM IR tells them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import windlass as wl

BEYOND = "__global__ void k(int *x) {\n  int i = threadIdx.x;\n  x[i + 4] = i;\n}\n"
BY_POINTER = "__global__ void k(int *x, int (*f)(int)) {\n  x[threadIdx.x] = f(1);\n}\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "é dir" / "kérnel ∑.cu"
    path.parent.mkdir()
    path.write_text(text)
    return path


def test_the_emulator_names_the_file_and_shows_the_line(tmp_path: Path) -> None:
    path = written(tmp_path, BEYOND)
    with pytest.raises(wl.EmulationError) as caught:
        wl.emulate(wl.cuda.compile(path)["k"])[1, 4](np.zeros(4, np.int32))
    assert f"--> {path}:3:" in str(caught.value)
    assert "x[i + 4] = i;" in str(caught.value)


def test_what_can_not_be_raised_is_named_by_its_file(tmp_path: Path) -> None:
    path = written(tmp_path, BY_POINTER)
    kernel = wl.cuda.compile(path)["k"]
    told = str(kernel.explain(1, 4, np.zeros(4, np.int32), None))
    assert f"{path}:2" in told, told
