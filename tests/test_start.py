"""What a start takes: modules that are imported, compilers that are run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
#include <cstdio>
__global__ void twice(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }
int main() {
    float *x;
    cudaMallocManaged(&x, 8 * sizeof(float));
    for (int i = 0; i < 8; i++) x[i] = i;
    twice<<<1, 32>>>(x, 8);
    cudaDeviceSynchronize();
    printf("%g %g\\n", x[1], x[7]);
    return 3;
}
"""
LARGE = (
    "jax",
    "jaxlib",
    "scipy",
    "numba",
    "rich",
    "typer",
    "windlass.raising.kernel",
    "windlass.ops",
    "windlass.rules",
)
TELL = "import sys; print(*(name for name in %r if name in sys.modules), file=sys.stderr)"


def _loaded_after(statements: str, *unwanted: str) -> str:
    """Which of these modules a new process holds after these statements."""
    script = f"{statements}\n{TELL % (unwanted,)}"
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return outcome.stderr.strip()


def test_import_of_windlass_loads_not_even_numpy() -> None:
    assert _loaded_after("import windlass", *LARGE, "numpy", "llvmlite") == ""


@pytest.mark.parametrize(
    "module",
    ["windlass.cuda", "windlass.command_line.run", "windlass.numba.cuda", "windlass.cupy", "windlass.pycuda.driver"],
)
def test_compiling_cuda_loads_neither_jax_nor_what_raises(module: str) -> None:
    assert _loaded_after(f"import {module}", *LARGE) == ""


def test_small_program_runs_without_jax(tmp_path: Path) -> None:
    file = tmp_path / "program.cu"
    file.write_text(PROGRAM)
    assert _loaded_after(f"import windlass.cuda as c\nassert c.program({str(file)!r}).run() == 3", *LARGE) == ""


def test_script_with_small_kernels_runs_without_jax(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text("""
import numpy as np
from numba import cuda

@cuda.jit
def twice(x):
    x[cuda.grid(1)] *= 2

x = np.ones(4, np.float32)
twice[1, 4](x)
assert (x == 2).all()
""")
    unwanted = [name for name in LARGE if name not in ("numba", "scipy")]  # Numba itself, where it is installed
    statements = f"from windlass.command_line.program import run\nassert run(['run', {str(file)!r}]) == 0"
    assert _loaded_after(statements, *unwanted) == ""


def test_launch_from_python_loads_what_raises() -> None:
    statements = """
import numpy as np
import windlass.cuda
x = np.ones(4, np.float32)
windlass.cuda.compile("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")["twice"][1, 4](x)
assert (x == 2).all()
"""
    assert _loaded_after(statements, "jax", "windlass.raising.kernel") == "jax windlass.raising.kernel"
