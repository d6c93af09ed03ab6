"""`windlass run script.py`: Python programs that import cupy, pycuda and numba.cuda run as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import windlass

RUN = "import sys; from windlass.command_line import main; main()"
WITHOUT_NUMBA = """
import importlib.machinery
find = importlib.machinery.PathFinder.find_spec
importlib.machinery.PathFinder.find_spec = staticmethod(
    lambda name, path=None, target=None: None if name.partition(".")[0] == "numba" else find(name, path, target))
"""

SCRIPT = """\
import math
import sys

import cupy as cp
import numba
import numpy as np
import pycuda.autoinit
import pycuda.cumath as cumath
import pycuda.driver as driver
import pycuda.gpuarray as gpuarray
import pycuda.tools
from numba import cuda, float32, njit, vectorize, void
from numba.core.errors import NumbaPerformanceWarning
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32
from pycuda.compiler import SourceModule

import beside


@njit
def polynomial(x):
    return x * x + 1


@cuda.jit(void(float32[:], float32[:]))
def with_shared_memory(x, y):
    i = cuda.grid(1)
    tile = cuda.shared.array(32, dtype=numba.float32)
    if i < x.shape[0]:
        tile[cuda.threadIdx.x] = x[i]
        y[i] = polynomial(tile[cuda.threadIdx.x])


@cuda.jit
def uniform(states, out):
    i = cuda.grid(1)
    out[i] = xoroshiro128p_uniform_float32(states, i)


@vectorize(["float32(float32)"], target="cuda")
def half(x):
    return x / 2


if __name__ == "__main__":
    print(sys.argv[1:], beside.VALUE, math.floor(1.5))
    x = np.arange(5, dtype=np.float32)
    y = np.zeros_like(x)
    with_shared_memory[1, 32](x, y)
    print(y, polynomial(3), half(x))
    out = np.zeros(2, np.float32)
    uniform[1, 2](create_xoroshiro128p_states(2, seed=1), out)
    print(((0 <= out) & (out < 1)).all())
    twice = cp.RawKernel('extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }', "twice")
    z = cp.arange(3, dtype=cp.float32)
    twice((1,), (3,), (z,))
    w = np.zeros(3, np.float32)
    add = SourceModule("__global__ void add(float *x) { x[threadIdx.x] += 1; }").get_function("add")
    add(driver.InOut(w), block=(3, 1, 1))
    print(z, w, cumath.sqrt(gpuarray.to_gpu(np.array([4.0, 9.0]))).get())
    sys.exit(3)
"""


def run_script(folder: Path, text: str, *words: str, before: str = "") -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(text)
    (folder / "beside.py").write_text("VALUE = 7\n")
    environment = dict(os.environ, PYTHONPATH=str(Path(windlass.__file__).parent.parent))
    return subprocess.run(
        [sys.executable, "-c", before + RUN, "run", *words],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        check=False,
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("before", ["", WITHOUT_NUMBA], ids=["with numba", "without numba"])
def test_a_script_gets_windlass_for_its_libraries(tmp_path: Path, before: str) -> None:
    done = run_script(tmp_path, SCRIPT, "--report", "script.py", "8", "--flag", before=before)
    assert done.stdout.splitlines() == [
        "['8', '--flag'] 7 1",
        "[ 1.  2.  5. 10. 17.] 10 [0.  0.5 1.  1.5 2. ]",
        "True",
        "[0. 2. 4.] [1. 1. 1.] [2. 3.]",
    ], done.stderr
    assert done.returncode == 3
    for kernel in ("with_shared_memory", "uniform", "twice", "add"):
        assert kernel in done.stderr


def test_kernels_are_raised_where_that_is_asked_for(tmp_path: Path) -> None:
    done = run_script(tmp_path, SCRIPT, "--report", "--mode", "raised", "script.py")
    row = next(line.split() for line in done.stderr.splitlines() if line.startswith("with_shared_memory"))
    assert row[1:3] == ["1", "0"] and done.returncode == 3


def test_a_scripts_own_errors_are_as_pythons(tmp_path: Path) -> None:
    done = run_script(tmp_path, "def f():\n    return 1 / 0\n\nf()\n", "script.py")
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):" and lines[-1] == "ZeroDivisionError: division by zero"
    assert lines[1] == '  File "script.py", line 4, in <module>' and done.returncode == 1
    done = run_script(tmp_path, 'import sys\nprint("out")\nsys.exit("a reason")\n', "script.py")
    assert (done.stdout, done.stderr, done.returncode) == ("out\n", "a reason\n", 1)


OUT_OF_BOUNDS = """\
import numpy as np
from numba import cuda

@cuda.jit
def beyond(x, y):
    i = cuda.grid(1)
    y[i] = x[i + 1]

beyond[1, 4](np.zeros(4), np.zeros(4))
"""


def test_an_access_out_of_bounds_is_said_with_its_line(tmp_path: Path) -> None:
    done = run_script(tmp_path, OUT_OF_BOUNDS, "script.py")
    assert done.returncode == 1
    assert "error[WL0602]: read of 8 bytes out of bounds" in done.stderr
    assert "script.py:7:12" in done.stderr and "7 |     y[i] = x[i + 1]" in done.stderr
    assert "windlass/numba" not in done.stderr


def test_a_script_that_is_not_there_is_said(tmp_path: Path) -> None:
    done = run_script(tmp_path, "", "nothing.py")
    assert "error[WL0705]: can't read 'nothing.py'" in done.stderr and done.returncode == 1


GRID_BARRIER = """\
import numpy as np
from numba import cuda

@cuda.jit
def shifted(x):
    i = cuda.grid(1)
    grid = cuda.cg.this_grid()
    value = x[(i + 1) % x.size]
    grid.sync()
    x[i] = value

x = np.arange(8.0)
shifted[2, 4](x)
print(x)
"""


def test_barriers_across_the_grid_are_raised_at_once(tmp_path: Path) -> None:
    done = run_script(tmp_path, GRID_BARRIER, "script.py")
    assert done.stdout == "[1. 2. 3. 4. 5. 6. 7. 0.]\n", done.stderr
