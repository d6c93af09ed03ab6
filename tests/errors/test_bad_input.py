"""What a user reads for each kind of bad input, word for word, from Python and from the command line."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.command_line.program import run

SCALE = """\
__global__ void scale(float *x, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}
"""

BAD_SOURCES: dict[str, tuple[bytes, str]] = {
    "syntax.cu": (
        b"__global__ void twice(float *x, int n) {\n    int i = threadIdx.x\n    if (i < n) x[i] *= 2;\n}\n",
        """\
        error[WL0101]: expected ';' at end of declaration
         --> syntax.cu:2:24
           |
         2 |     int i = threadIdx.x
           |                        ^""",
    ),
    "unknown.cu": (
        b"__global__ void f(float *x) { x[0] = depth; }\n",
        """\
        error[WL0101]: use of undeclared identifier 'depth'
         --> unknown.cu:1:38
           |
         1 | __global__ void f(float *x) { x[0] = depth; }
           |                                      ^^^^^""",
    ),
    "include.cu": (
        b'#include "ocean.h"\n__global__ void f(float *x) { x[0] = 1; }\n',
        """\
        error[WL0102]: can't find the included file 'ocean.h'
         --> include.cu:1:10
           |
         1 | #include "ocean.h"
           |          ^^^^^^^^^
          help: pass the folder that holds it: include=["path/to/folder"]""",
    ),
    "binary.cu": (
        b"\x7fELF\x02\x01\x01\x00\x00\x00",
        """\
        error[WL0104]: 'binary.cu' is not a text file: byte 0x02 at column 5 of line 1
          help: pass CUDA C++ source text, not a compiled or compressed file""",
    ),
    "empty.cu": (
        b"",
        """\
        error[WL0105]: 'empty.cu' holds no kernel
          help: a kernel is a function marked __global__; is it hidden by an #if?""",
    ),
}

BAD_PROGRAMS: dict[str, tuple[bytes, str]] = {
    "unknown.mlir": (
        b"module {\n"
        b"  func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n"
        b"    %0 = stablehlo.frobnicate %arg0 : tensor<4xf32>\n"
        b"    return %0 : tensor<4xf32>\n  }\n}\n",
        """\
        error[WL0501]: this is not a StableHLO program: custom op 'stablehlo.frobnicate' is unknown
         --> unknown.mlir:3:10
           |
         3 |     %0 = stablehlo.frobnicate %arg0 : tensor<4xf32>
           |          ^""",
    ),
    "generic.mlir": (
        b"module {\n"
        b"  func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n"
        b'    %0 = "stablehlo.frobnicate"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>\n'
        b"    return %0 : tensor<4xf32>\n  }\n}\n",
        """\
        error[WL0501]: this is not a StableHLO program: unregistered operation 'stablehlo.frobnicate' found in dialect \
('stablehlo') that does not allow unknown operations
         --> generic.mlir:3:10
           |
         3 |     %0 = "stablehlo.frobnicate"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
           |          ^""",
    ),
    "shapes.mlir": (
        b"module {\n"
        b"  func.func @main(%arg0: tensor<4xf32>) -> tensor<3xf32> {\n"
        b"    %0 = stablehlo.add %arg0, %arg0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<3xf32>\n"
        b"    return %0 : tensor<3xf32>\n  }\n}\n",
        """\
        error[WL0501]: this is not a StableHLO program: 'stablehlo.add' op requires the same shape for all \
operands and results
         --> shapes.mlir:3:10
           |
         3 |     %0 = stablehlo.add %arg0, %arg0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<3xf32>
           |          ^""",
    ),
    "binary.mlir": (
        b"\xff\xfe\x00binary",
        """\
        error[WL0701]: 'binary.mlir' is neither text nor MLIR bytecode
          help: give the StableHLO of a program, as jax.jit(f).lower(...).as_text() prints it""",
    ),
}


def said(error: pytest.ExceptionInfo[wl.WindlassError]) -> str:
    return str(error.value)


@pytest.mark.parametrize("name", BAD_SOURCES)
def test_bad_source_is_told_in_python_and_on_the_command_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data, expected = BAD_SOURCES[name]
    Path(name).write_bytes(data)
    with pytest.raises(wl.CompilationError) as error:
        wl.cuda.compile(name)
    assert said(error) == textwrap.dedent(expected)
    assert run(["explain", name]) == 1
    assert capsys.readouterr().err == textwrap.dedent(expected) + "\n"


@pytest.mark.parametrize("name", BAD_PROGRAMS)
def test_bad_stablehlo_is_told_on_the_command_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data, expected = BAD_PROGRAMS[name]
    Path(name).write_bytes(data)
    assert run(["opt", name]) == 1
    captured = capsys.readouterr()
    assert captured.err == textwrap.dedent(expected) + "\n"
    assert captured.out == ""


BAD_LAUNCHES: dict[str, tuple[Callable[[Any, Any], object], str]] = {
    "wrong dtype": (
        lambda scale, x: scale[1, 32](x.astype(np.float64), 2.0, 5),
        """\
        error[WL0401]: scale: argument 'x' has the wrong dtype: the kernel takes float *, which is float32, \
but got float64
          help: convert it: x = x.astype(numpy.float32)""",
    ),
    "missing argument": (
        lambda scale, x: scale[1, 32](x, 2.0),
        """\
        error[WL0402]: scale takes 3 arguments, got 2: 'n' missing
          note: the kernel is scale(float * x, float by, int n)""",
    ),
    "extra argument": (
        lambda scale, x: scale[1, 32](x, 2.0, 5, 6),
        """\
        error[WL0402]: scale takes 3 arguments, got 4
          note: the kernel is scale(float * x, float by, int n)
          help: leave out what is too much""",
    ),
    "array too small": (
        lambda scale, x: scale[1, 32](x, 2.0, 9),
        """\
        error[WL0404]: scale: array 'x' is too small: the kernel reads element 5, and it has 5
         --> scale.cu:3:21
           |
         3 |     if (i < n) x[i] *= by;
           |                     ^
          note: launched with grid (1, 1, 1) and block (32, 1, 1)
          help: pass a larger array, or guard the access in the kernel""",
    ),
    "grid of zero": (
        lambda scale, x: scale[0, 32](x, 2.0, 5),
        """\
        error[WL0403]: scale: the grid is empty: its x extent is 0
          help: launch nothing where there is nothing to do, or use at least 1""",
    ),
    "block too large": (
        lambda scale, x: scale[1, 2048](x, 2.0, 5),
        "        error[WL0403]: scale: the block's x extent is 2048; the largest is 1024",
    ),
    "no brackets": (
        lambda scale, x: scale(x, 2.0, 5),
        """\
        error[WL0403]: scale: a launch needs a grid and a block in brackets
          help: write scale[grid, block](...) or scale[grid, block, shared_bytes](...)""",
    ),
    "strided array": (
        lambda scale, x: scale[1, 32](x[::2], 2.0, 3),
        """\
        error[WL0405]: scale: argument 'x' is not contiguous: shape (3,), strides (8,) bytes
          note: a kernel sees memory as one run of elements, last axis fastest
          help: make a contiguous copy: x = numpy.ascontiguousarray(x)""",
    ),
    "list for an array": (
        lambda scale, x: scale[1, 32]([1, 2], 2.0, 2),
        """\
        error[WL0407]: scale: argument 'x' must be a NumPy array (float *), got [1, 2] (list)
          help: make it an array: numpy.array([1, 2], dtype=numpy.float32)""",
    ),
    "float for an integer": (
        lambda scale, x: scale[1, 32](x, 2.0, 5.5),
        """\
        error[WL0401]: scale: argument 'n' must be a number of type int, got 5.5 (float)
          help: convert it: int(n)""",
    ),
    "integer too large": (
        lambda scale, x: scale[1, 32](x, 2.0, 2**40),
        """\
        error[WL0408]: scale: argument 'n' is 1099511627776, which does not fit int (-2147483648 to \
2147483647)""",
    ),
}


@pytest.mark.parametrize("what", BAD_LAUNCHES)
def test_bad_launch_is_told_and_changes_nothing(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("scale.cu").write_text(SCALE)
    scale = wl.cuda.compile("scale.cu")["scale"]
    attempt, expected = BAD_LAUNCHES[what]
    x = np.arange(5, dtype=np.float32)
    with pytest.raises(wl.LaunchError) as error:
        attempt(scale, x)
    assert said(error) == textwrap.dedent(expected)
    assert x.tolist() == [0, 1, 2, 3, 4]


def test_unknown_kernel_is_told_with_the_nearest_name() -> None:
    module = wl.cuda.compile(SCALE)
    with pytest.raises(wl.CompilationError) as error:
        module["skale"]
    assert said(error) == textwrap.dedent(
        """\
        error[WL0106]: there is no kernel named 'skale'
          note: kernels here: scale
          help: did you mean 'scale'?"""
    )


def test_missing_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(wl.CompilationError) as error:
        wl.cuda.compile("ocean.cu")
    assert said(error) == textwrap.dedent(
        """\
        error[WL0103]: can't read 'ocean.cu': there is no such file
          help: paths are relative to the current working directory"""
    )


def test_read_only_array_is_told() -> None:
    x = np.ones(5, np.float32)
    x.flags.writeable = False
    with pytest.raises(wl.LaunchError) as error:
        wl.cuda.compile(SCALE)["scale"][1, 32](x, 2.0, 5)
    assert said(error) == textwrap.dedent(
        """\
        error[WL0406]: scale: argument 'x' is read-only, and the kernel writes to it
          help: pass a writable array: x = x.copy()"""
    )
