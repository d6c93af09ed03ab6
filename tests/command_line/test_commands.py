"""The `windlass` program: what it prints, and how it ends."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass.command_line import doctor
from windlass.command_line.program import run
from windlass.diagnostics import WindlassError
from windlass.stablehlo import calibrating, calibrating_messages

KERNELS = """\
struct Grid { int rows, columns; float spacing; };

__global__ void slope(const float *height, float *out, Grid grid) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && x < grid.columns && y < grid.rows)
        out[y * grid.columns + x] = (height[y * grid.columns + x] - height[y * grid.columns + x - 1]) / grid.spacing;
}

__global__ void block_sum(const float *x, float *sums, int n) {
    __shared__ float part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

#ifdef BATCH
__global__ void fill(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = BATCH;
}
#endif
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("kernels.cu").write_text(KERNELS)
    return "kernels.cu"


def test_explain_tells_of_each_kernel(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", source]) == 0
    printed = capsys.readouterr().out
    slope, _, block_sum = printed.partition("block_sum")
    assert re.search(r"^slope  raised  kernels.cu:3:17$", slope, re.MULTILINE)
    assert "grid 16×16, block 16×16" in slope
    assert "grid.rows=256, grid.columns=256" in slope
    assert re.search(r"tensor ops .*slice.*divide|tensor ops .*divide.*slice", slope)
    assert re.search(r"memory     524 kB read, 262 kB written", slope)
    assert re.search(r"arithmetic \d[\d,]* operations", slope)
    assert "kernels.cu:10:17" in block_sum


def test_explain_takes_the_launch_that_the_user_wishes(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ["--grid", "2,3", "--block", "8,4", "--set", "grid.rows=12", "--set", "grid.columns=16"]
    assert run(["explain", source, "-k", "slope", *chosen]) == 0
    printed = capsys.readouterr().out
    assert "grid 2×3, block 8×4" in printed
    assert "1 of 1 kernel raised" in printed


def test_explain_passes_macros_on(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", source, "-D", "BATCH=4", "--kernel", "fill"]) == 0
    assert "fill  raised" in capsys.readouterr().out


def test_explain_of_details_names_source_lines(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", source, "-k", "slope", "--details"]) == 0
    assert re.search(r"access +kernels.cu:7:\d+: load height: slice", capsys.readouterr().out)


NOT_RAISED = "__global__ void spin(int *lock) { while (atomicCAS(lock, 0, 1) != 0) {} atomicExch(lock, 0); }"


def test_explain_tells_of_each_function_of_c(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sums.c"
    file.write_text(
        "double sum(int n, const double *x) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }\n"
        "void rows(int n, double **x) { for (int i = 0; i < n; i++) x[i][0] = 1; }\n"
    )
    assert run(["explain", str(file)]) == 0
    told = capsys.readouterr().out
    assert "sum  raised" in told
    assert "grid 1, block 1, n=4096, x[4096], returned value[1]" in told
    assert "rows  not raised" in told
    assert "error[WL0206]: a pointer is kept in memory" in told
    assert told.endswith("1 of 2 functions raised\n")
    assert run(["explain", str(file), "-k", "sum"]) == 0
    assert capsys.readouterr().out.endswith("1 of 1 function raised\n")


def test_explain_shows_line_and_reason_of_what_is_not_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("spin.cu").write_text(NOT_RAISED)
    assert run(["explain", "spin.cu"]) == 0
    printed = capsys.readouterr().out
    assert "spin  not raised  spin.cu:1:17" in printed
    assert NOT_RAISED in printed
    assert "0 of 1 kernel raised" in printed
    assert run(["explain", "spin.cu", "--require-raised"]) == 1


def test_opt_simplifies_and_keeps_meaning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def twice_transposed(x: Any) -> Any:
        return jnp.transpose(jnp.transpose(x)) + 1

    text = jax.jit(twice_transposed).lower(jnp.zeros((3, 4), jnp.float32)).as_text()
    Path("module.mlir").write_text(text)
    assert run(["opt", "module.mlir", "--statistics"]) == 0
    captured = capsys.readouterr()
    assert "stablehlo.transpose" in text
    assert "stablehlo.transpose" not in captured.out
    assert "stablehlo.add" in captured.out
    assert re.search(r"^\d+ ops → \d+$", captured.err, re.MULTILINE)
    assert run(["opt", "module.mlir", "-o", "out.mlir"]) == 0
    assert Path("out.mlir").read_text().strip() == captured.out.strip()


REVERSED = """func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<4xf32>
  %2 = stablehlo.maximum %1, %y : tensor<4xf32>
  %3 = stablehlo.maximum %2, %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}"""


@pytest.fixture
def reversed_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("module.mlir").write_text(REVERSED)
    return tmp_path


def test_opt_explains_which_rules_saved_what_and_where(
    reversed_program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["opt", "module.mlir", "--explain", "--device", "gpu"]) == 0
    printed = capsys.readouterr()
    assert "stablehlo.reverse" not in printed.out
    assert re.search(r"4 ops → \d", printed.err)
    assert re.search(r"time +\S+ µs → \S+ µs +\(estimated on gpu\)", printed.err)
    assert re.search(r"1 +reverse_of_reverse +\S+ µs +module.mlir:3:8", printed.err)
    assert "reverse 2 → 0" in printed.err


def test_differentiate_adds_the_derivative_to_a_module(
    reversed_program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["differentiate", "module.mlir", "--mode", "forward", "--wrt", "1"]) == 0
    assert re.search(
        r"@main\((%\w+: tensor<4xf32>(, )?){3}\) -> \(tensor<4xf32>, tensor<4xf32>\)", capsys.readouterr().out
    )
    assert run(["differentiate", "module.mlir", "-o", "out.mlir"]) == 0
    assert Path("out.mlir").read_text().count("tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)") >= 1
    for words in (["--wrt", "0,1"], ["--wrt", "0", "--wrt", "1"]):
        assert run(["differentiate", "module.mlir", *words]) == 0
        assert re.search(r"-> \((tensor<4xf32>(, )?){3}\)", capsys.readouterr().out)
    assert run(["differentiate", "module.mlir", "--wrt", "2"]) == 1
    assert "WL0931" in capsys.readouterr().err


def test_audit_holds_kernels_and_modules_to_differences(
    reversed_program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("ties.cu").write_text("""
__global__ void smooth(const float *x, float *y, int n) { if (threadIdx.x < n) y[threadIdx.x] = sinf(x[threadIdx.x]); }
__global__ void guard(float *y, float at) { y[threadIdx.x] = at > 1.0f ? 3.0f * at : at; }
__global__ void bits(float *y) { y[threadIdx.x] = __int_as_float(__float_as_int(y[threadIdx.x]) * 3); }
""")
    words = ["audit", "ties.cu", "--size", "5", "--grid", "1", "--block", "4", "--directions", "1"]
    assert run([*words, "-k", "smooth"]) == 0
    assert re.search(r"smooth: .* agree\n(.*\n)+.*launch: grid 1, block 4, x\[5\]", capsys.readouterr().out)
    assert run([*words, "--set", "at=1"]) == 1
    printed = capsys.readouterr().out
    assert re.search(r"guard: .* part\n", printed) and "guard at ties.cu:3" in printed
    assert "bits: not audited\nerror[WL0901]" in printed
    assert run([*words, "-k", "bits"]) == 1
    assert "WL0901" in capsys.readouterr().err
    assert run(["audit", "module.mlir", "--directions", "1"]) == 0
    assert "module: its derivatives" in capsys.readouterr().out


def test_opt_takes_choices(reversed_program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    choices = ["--exact", "--assume", "no NaN", "--assume", "no -0.0", "--device", "cpu", "--seconds", "5"]
    assert run(["opt", "module.mlir", *choices]) == 0
    assert "reverse" not in capsys.readouterr().out
    assert run(["opt", "module.mlir", "--saturate", "--without", "saturated_regions"]) == 0
    assert run(["opt", "module.mlir", "--without", "reverse_of_reverse"]) == 0
    assert "reverse" in capsys.readouterr().out
    assert run(["opt", "module.mlir", "--schedule", "seq(passes('needed_parts'))"]) == 0
    assert "reverse" in capsys.readouterr().out
    assert run(["opt", "module.mlir", "--schedule", "open('x')"]) == 1
    assert "WL0806" in capsys.readouterr().err
    assert run(["opt", "module.mlir", "--assume", "luck"]) == 1
    assert "WL0803" in capsys.readouterr().err


def test_bisect_finds_nothing_in_a_right_program(reversed_program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bisect", "module.mlir"]) == 0
    assert "no fault" in capsys.readouterr().out


def test_bisect_by_a_command(reversed_program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("check.py").write_text("import sys; sys.exit('reverse' not in open(sys.argv[1]).read())")
    command = f"{sys.executable} check.py {{}}"
    assert run(["bisect", "module.mlir", "--command", command, "-o", "found"]) == 1
    printed = capsys.readouterr().out
    assert re.search(r"^reverse_of_reverse  rewrite \d of \d  module.mlir:3:8$", printed, re.MULTILINE)
    assert "--without reverse_of_reverse" in printed
    assert "reverse" in Path("found/before.mlir").read_text()
    assert "reverse" not in Path("found/after.mlir").read_text()
    assert run(["bisect", "module.mlir", "--command", "false"]) == 1
    assert "WL0508" in capsys.readouterr().err
    assert run(["bisect", "module.mlir", "--command", "no-such-command-here"]) == 1
    assert "WL0703" in capsys.readouterr().err


def test_opt_reads_bytecode_and_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def double(x: Any) -> Any:
        return x + x

    exported = jax.export.export(jax.jit(double))(jnp.zeros(3, jnp.float32))
    file = tmp_path / "module.mlirbc"
    file.write_bytes(exported.mlir_module_serialized)
    assert run(["opt", str(file)]) == 0
    assert "stablehlo.add" in capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(str(exported.mlir_module()).encode())))
    assert run(["opt", "-"]) == 0
    assert "stablehlo.add" in capsys.readouterr().out


def test_doctor_finds_everything_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert re.search(rf"^windlass +{re.escape(wl.__version__)}", printed, re.MULTILINE)
    assert re.search(r"^device +cpu", printed, re.MULTILINE)
    assert re.search(r"^cache +\S+, [\d.]+ \w+", printed, re.MULTILINE)
    assert "costs" in printed and "as they come" in printed
    assert printed.count("✓") == 4
    assert "✗" not in printed


def test_doctor_measures_costs_where_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("WINDLASS_CACHE", str(tmp_path))
    monkeypatch.setattr(calibrating, "measure", lambda: {"bandwidth": 2e10})
    monkeypatch.setattr(calibrating_messages, "calibrate", lambda _: None)
    assert run(["doctor", "--calibrate"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"2e\+10 B/s.*\(measured here\)", printed, re.DOTALL)
    assert "messages between devices of cpu can't be measured here" in printed


def test_doctor_ends_with_status_1_where_a_check_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "PROBE", "not CUDA at all {")
    assert run(["doctor"]) == 1
    assert "✗ clang (ziglang) compiles a kernel: " in capsys.readouterr().out


def test_errors_shows_pages(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["errors", "WL0703"]) == 0
    page = capsys.readouterr().out
    assert run(["errors", "703"]) == 0
    assert capsys.readouterr().out == page
    assert "an option's value is not understood" in page
    assert run(["errors"]) == 0
    assert "WL0703: an option's value is not understood\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (
            ["errors", "WL9999"],
            1,
            "error[WL0702]: there is no error code 'WL9999'\n  help: `windlass errors` lists them all\n",
        ),
        (["opt", "missing.mlir"], 1, "error[WL0701]: can't read 'missing.mlir': No such file or directory\n"),
        (
            ["explain", "missing.cu"],
            1,
            "error[WL0103]: can't read 'missing.cu': there is no such file\n"
            "  help: paths are relative to the current working directory\n",
        ),
        (
            ["explain", "kernels.cu", "--grid", "sixteen"],
            1,
            "error[WL0703]: --grid sixteen: not understood\n  help: write one to three integers, as in --grid 16,16\n",
        ),
        (
            ["explain", "kernels.cu", "--set", "n"],
            1,
            "error[WL0703]: --set n: not understood\n  help: write --set NAME=NUMBER, as in --set n=1000\n",
        ),
        (
            ["explain", "kernels.cu", "--size", "0"],
            1,
            "error[WL0703]: --size 0: not understood\n  help: a size is at least 1\n",
        ),
    ],
)
def test_wrong_input_ends_with_a_diagnostic(
    source: str, arguments: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == status
    assert capsys.readouterr().err == message


def test_unknown_commands_and_options_end_with_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["frobnicate"]) == 2
    assert run(["doctor", "--frobnicate"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_defect_is_told_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def break_down(calibrate: bool) -> bool:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(doctor, "examine", break_down)
    assert run(["doctor"]) == 1
    assert capsys.readouterr().err == (
        "error[WL0704]: Windlass itself failed: ZeroDivisionError: division by zero\n"
        "  help: please report it; WINDLASS_TRACEBACK=1 in the environment shows where\n"
    )


def test_the_program_runs_as_a_process(source: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(wl.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-m", "windlass", "--version"], capture_output=True, text=True, check=False, env=environment
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"windlass {wl.__version__}\n", "")


def test_wishes_are_told_apart_from_guesses() -> None:
    from windlass.command_line.guessing import Wishes, guess_launch

    text = "__global__ void f(float *x, int n, int by) { if (threadIdx.x < n) x[threadIdx.x] = by; }"
    kernel = wl.cuda.compile(text)["f"]
    guess = guess_launch(kernel.signature, kernel.function, Wishes.read(None, "64", None, ["by=3", "x=10"]))
    x, n, by = guess.arguments
    assert (len(x), n, by, guess.block) == (10, 4096, 3, (64,))
    assert x.dtype == np.float32
    with pytest.raises(WindlassError):
        Wishes.read("1,2,3,4", None, None, [])
