"""What can't be raised, what is explained, what is compared with the emulator."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import numpy as np
import pytest

import windlass as wl
from windlass.launching.raised_form import RaisedForm

Module = wl.cuda.Module


def test_kernel_without_tensor_form_runs_in_the_emulator_and_says_so_once(module: Module) -> None:
    kernel = module["tickets"]
    kernel.has_warned = False
    following, taken = np.zeros(1, np.int32), np.zeros(9, np.int32)
    with pytest.warns(wl.WindlassWarning, match=r"WL0413.*tickets runs in the emulator, which is slow") as caught:
        kernel[1, 8](following, taken, 5)
    assert "atomicExch(next, -1)" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel[1, 8](following, taken, 2)
        kernel[1, 16](following, taken, 2)
    assert following.tolist() == [9]
    assert taken.tolist() == [1] * 9
    assert str(kernel.explain()).startswith("emulated: ")
    assert not kernel.explain().is_raised


def test_kernel_that_prints_says_once_that_its_raised_form_does_not() -> None:
    source = '__global__ void f(int *a) { a[threadIdx.x]++; if (threadIdx.x == 3) printf("%d", *a); }'
    kernel = wl.cuda.compile("#include <cstdio>\n" + source)["f"]
    a = np.zeros(4, np.int32)
    with pytest.warns(wl.WindlassWarning, match=r"WL0412.*f prints nothing: its raised form has no printf"):
        kernel[1, 4](a)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel[1, 4](a)
    assert a.tolist() == [2] * 4
    assert kernel.explain().is_raised


def test_fallback_can_be_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = wl.cuda.compile("__global__ void f(int *a) { while (atomicExch(a, 1)) {} atomicExch(a, 0); }")["f"]
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    with pytest.raises(wl.RaisingError):
        kernel[1, 4](np.zeros(1, np.int32))


def test_defects_of_ours_leave_the_user_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("something is wrong\nhere")

    kernel = wl.cuda.compile("__global__ void f(float *a) { a[threadIdx.x] += 1; }")["f"]
    monkeypatch.setattr("windlass.pipeline.optimize_and_note", fail)
    a = np.zeros(4, np.float32)
    with pytest.warns(wl.WindlassWarning, match=r"a defect of Windlass \(AssertionError: something is wrong\)"):
        kernel[1, 4](a)
    assert a.tolist() == [1, 1, 1, 1]
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    with pytest.raises(wl.RaisingError, match=r"WL0417") as caught:
        kernel[1, 3](a)
    assert isinstance(caught.value.__cause__, AssertionError)


def test_report_of_a_raised_kernel(module: Module) -> None:
    x = np.ones(100, np.float32)
    report = wl.explain(module["saxpy"], 1, 128, 100, 2.0, x, x.copy())
    assert report.is_raised
    assert (report.bytes_read, report.bytes_written) == (804, 400)
    assert report.flops >= 200
    assert str(report).splitlines()[0] == "raised: saxpy with grid (1, 1, 1) and block (128, 1, 1)"
    assert x[0] == 1, "explaining runs nothing"
    module["saxpy"][1, 128](100, 2.0, x, x.copy())
    assert str(module["saxpy"].explain()).startswith("raised: saxpy")


def test_report_before_any_launch() -> None:
    kernel = wl.cuda.compile("__global__ void f(int *a) { *a = 1; }")["f"]
    with pytest.raises(wl.LaunchError, match=r"WL0415.*f was not launched yet"):
        kernel.explain()


def test_stages_can_be_shown(module: Module) -> None:
    x = np.ones(100, np.float32)
    lowered = module["saxpy"].lower(1, 128, 100, 2.0, x, x.copy())
    assert "define" in lowered.text("llvm")
    assert "memref.store" in lowered.text("loops")
    assert "stablehlo.multiply" in lowered.text("tensor")
    assert "stablehlo.add" in lowered.text("optimized")
    assert "HloModule" in lowered.text("hlo")
    with pytest.raises(wl.LaunchError, match=r"WL0416.*has no stage 'nothing'"):
        lowered.text("nothing")


def test_check_mode_accepts_what_is_right(module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_CHECK", "1")
    x = np.arange(64, dtype=np.float32)
    module["saxpy"][1, (64, 1)](64, 2.0, x, x)
    np.testing.assert_array_equal(x, 3 * np.arange(64))
    module.variables["visits"] = 0
    module["visit"][1, (33, 1)](33)
    assert int(module.variables["visits"]) == 33


def test_check_mode_finds_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = wl.cuda.compile("__global__ void f(float *a) { a[threadIdx.x] += 1; }")["f"]
    monkeypatch.setenv("WINDLASS_CHECK", "1")
    right = RaisedForm.run

    def wrong(self: Any, arguments: Any) -> None:
        right(self, arguments)
        arguments[0][3] += 1

    monkeypatch.setattr(RaisedForm, "run", wrong)
    with pytest.raises(wl.WindlassError) as caught:
        kernel[1, 8](np.zeros(8, np.float32))
    assert "error[WL0414]: f: the compiled form and the emulator differ in 'a' at 3: 2.0, the emulator has 1.0" in str(
        caught.value
    )


def test_users_x64_flag_is_left_alone(module: Module) -> None:
    x = np.arange(5.0)
    module["scale_double"][1, 8](x, 2.0, 5)
    assert not jax.config.read("jax_enable_x64")
    assert jax.numpy.arange(3.0).dtype == np.float32


def test_programs_land_in_jaxs_compilation_cache(tmp_path: Any) -> None:
    import os
    import subprocess
    import sys

    script = (
        "import sys, numpy, jax, windlass as wl\n"
        "jax.config.update('jax_compilation_cache_dir', sys.argv[1])\n"
        "jax.config.update('jax_persistent_cache_min_compile_time_secs', 0)\n"
        "k = wl.cuda.compile('__global__ void f(float *a) { a[threadIdx.x] *= 3; }')['f']\n"
        "a = numpy.ones(8, numpy.float32); k[1, 8](a); assert a[0] == 3\n"
    )
    entries: list[str] = []
    for _ in range(2):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, env=environment)
        entries = sorted(path.name for path in tmp_path.rglob("jit_f-*-cache"))
    assert len(entries) == 1, entries


TABLE_OF_FUNCTIONS = """
typedef int (*Function)(int);
__device__ int twice(int x) { return 2 * x; }
__device__ int next(int x) { return x + 1; }
__device__ Function functions[2] = {twice, next};
__device__ int numbers[3] = {10, 20, 30};
__device__ int *second = numbers + 1;
__global__ void apply(int *x) { x[threadIdx.x] = functions[threadIdx.x % 2](x[threadIdx.x]) + second[threadIdx.x % 2]; }
"""


def test_variables_that_begin_with_addresses_have_them_in_the_emulator() -> None:
    module = wl.cuda.compile(TABLE_OF_FUNCTIONS)
    for _ in range(2):
        x = np.arange(4, dtype=np.int32)
        wl.emulate(module["apply"])[1, 4](x)
        np.testing.assert_array_equal(x, [20, 32, 24, 34])
        module.reset_variables()
