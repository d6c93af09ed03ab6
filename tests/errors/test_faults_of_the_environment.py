"""Full disks, closed streams, limits of memory, odd settings and options are said in words, and nothing crashes."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.command_line.program import run
from windlass.diagnostics import cache, environment
from windlass.diagnostics.environment import read_choice
from windlass.diagnostics.limits import MemoryLimitError
from windlass.diagnostics.options import OptionError
from windlass.emulator import library
from windlass.frontends.cuda import clang
from windlass.runtime.settings import fallback_is_allowed, first_calls_are_checked

MODULE = "func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }\n"
KERNEL = "__global__ void k(int *x) { x[threadIdx.x] += 3; }"
compile_with_anything: Callable[..., object] = wl.cuda.compile


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "a.mlir").write_text(MODULE)
    (tmp_path / "a.cu").write_text(KERNEL)
    return tmp_path


# -- streams ----------------------------------------------------------------------------------------------------------

COMMANDS = {
    "opt": ["opt", "a.mlir"],
    "rules": ["rules", "transpose"],
    "list of errors": ["errors"],
    "one error": ["errors", "WL0101"],
    "explain": ["explain", "a.cu"],
    "version": ["--version"],
    "bisect": ["bisect", "a.mlir", "--evaluate"],
}


@pytest.mark.filterwarnings("ignore::windlass.WindlassWarning")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_an_error_of_output(
    command: str, files: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    saved = os.dup(1)
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        os.dup2(full, 1)
        with monkeypatch.context() as patch, open(1, "w", closefd=False) as output:
            patch.setattr(sys, "stdout", output)
            status = run(COMMANDS[command])
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(full)
    told = capfd.readouterr().err
    assert status == 1
    assert "error[WL0708]: input or output failed: No space left on device" in told


def test_a_full_disk_for_a_page_of_rules_is_named(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "--page", "/dev/full"]) == 1
    assert "No space left on device" in capsys.readouterr().err


def test_a_closed_input_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert run(["opt", "-"]) == 1
    assert "error[WL0701]: can't read '-': standard input is closed" in capsys.readouterr().err


def test_an_output_that_is_closed_is_no_defect(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert run(["errors"]) == 0


def test_an_output_without_the_characters_gets_their_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert run(["rules", "transpose_of_transpose"]) == 0
    sys.stdout.flush()
    assert b"\\u2218" in written.getvalue()


# -- compilers and folders --------------------------------------------------------------------------------------------


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WINDLASS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_instead", {})
    return tmp_path / "cache"


def _script(folder: Path, text: str) -> Path:
    package = folder / "ziglang"
    package.mkdir()
    (package / "__init__.py").write_text("")
    zig = package / "zig"
    zig.write_text(text)
    zig.chmod(0o755)
    return package


@pytest.mark.parametrize(
    ("zig", "told"),
    [
        ("#!/bin/sh\necho 'error: no space left on device' >&2\nexit 1\n", "no space left on device"),
        ("#!/bin/sh\nexit 3\n", "exit status 3"),
        ("#!/bin/sh\nkill -XFSZ $$\n", "ended by SIGXFSZ"),
        ("#!/nothing/there\n", "No such file or directory"),
        ("#!/bin/sh\nexit 0\n", "exit status 0"),
        ("\0\0not a program", "Exec format error"),
    ],
    ids=["full", "silent", "killed", "missing", "without output", "broken"],
)
def test_a_compiler_that_fails_says_why(
    zig: str, told: str, tmp_path: Path, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = _script(tmp_path, zig)

    class Found:
        origin = str(package / "__init__.py")

    monkeypatch.setattr(library, "find_spec", lambda name: Found)  # pyright: ignore[reportUnknownLambdaType]
    with pytest.raises(wl.EmulationError, match=rf"WL0615(.|\n)*{told}"):
        library.load_library.__wrapped__()
    assert not fresh_cache.exists() or not list(fresh_cache.iterdir())


def test_a_missing_clang_is_named(tmp_path: Path, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clang, "ZIG_FOLDER", tmp_path / "nowhere")
    with pytest.raises(wl.CompilationError, match=r"clang could not be started: .*No such file"):
        wl.cuda.compile(KERNEL)


@pytest.mark.usefixtures("fresh_cache")
def test_a_missing_folder_for_temporary_files_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(wl.CompilationError, match=r"WL0707.*No such file"):
        wl.cuda.compile(KERNEL)


def test_a_source_in_a_folder_of_odd_bytes_is_compiled(tmp_path: Path) -> None:
    for name in ("with a space", "größe", "line\nbreak"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "a.cu").write_text(KERNEL)
        assert wl.cuda.compile(folder / "a.cu").kernels == ("k",)


def test_a_working_folder_that_is_gone_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert wl.cuda.compile(KERNEL).kernels == ("k",)
    monkeypatch.chdir(tmp_path)


# -- memory -----------------------------------------------------------------------------------------------------------

_LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), resource.RLIM_INFINITY))
import numpy as np, windlass as wl
try:
    k = wl.cuda.compile("__global__ void k(int *x) { x[threadIdx.x] = 3; }")["k"]
    x = np.zeros(4, np.int32)
    wl.emulate(k)[1, 4](x)
    print(x.tolist())
except wl.WindlassError as error:
    print(type(error).__name__, error.diagnostics[0].code, error)
"""


@pytest.mark.parametrize(("limit", "told"), [(1 << 30, "MemoryLimitError WL0624"), (8 << 30, "[3, 3, 3, 3]")])
def test_a_limit_of_address_space_is_named_or_kept(limit: int, told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(limit)], capture_output=True, text=True, check=False, timeout=3600
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(told)


def test_memory_that_is_lacking_is_an_error_of_ours_and_a_memory_error() -> None:
    size = 1 << 60
    with pytest.raises(MemoryError, match=rf"WL0624.*there is no memory for {size} bytes in the emulator") as caught:
        library.load_library().place(size, 1 << 16)
    assert isinstance(caught.value, MemoryLimitError)


def test_a_variable_that_no_memory_holds_is_refused() -> None:
    with pytest.raises(wl.WindlassError):
        module = wl.cuda.compile("__device__ char v[1ull << 46]; __global__ void k(char *x) { v[threadIdx.x] = *x; }")
        wl.emulate(module["k"])[1, 1](np.zeros(1, np.int8))


# -- settings ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_told", set[tuple[str, str]]())


@pytest.mark.parametrize("value", ["2", "ture", "yes please", "\x01", "ja"])
@pytest.mark.parametrize("name", ["WINDLASS_CHECK", "WINDLASS_CALIBRATION", "WINDLASS_FALLBACK", "WINDLASS_TRACEBACK"])
def test_a_setting_that_is_not_understood_is_named_once(
    name: str, value: str, nothing_told: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from windlass.stablehlo.calibrating import is_calibrated

    readers: dict[str, Callable[[], bool]] = {
        "WINDLASS_CHECK": first_calls_are_checked,
        "WINDLASS_CALIBRATION": is_calibrated,
        "WINDLASS_FALLBACK": lambda: not fallback_is_allowed(),
        "WINDLASS_TRACEBACK": lambda: read_choice("WINDLASS_TRACEBACK"),
    }
    monkeypatch.setenv(name, value)
    with pytest.warns(wl.WindlassWarning, match=f"WL0709.*{name}"):
        assert not readers[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not readers[name]()


@pytest.mark.parametrize(("value", "meant"), [("1", True), ("ON", True), (" yes ", True), ("0", False), ("", False)])
def test_switches_understand_their_words(value: str, meant: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_CHECK", value)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert first_calls_are_checked() is meant


# -- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"define": {3: None}},
        {"define": {b"N": 1}},
        {"define": {"N": b"1"}},
        {"define": [("N", 1)]},
        {"define": "N=1"},
        {"define": 3},
        {"include": 3},
        {"include": b"folder"},
        {"include": [b"folder"]},
        {"include": [None]},
        {"include": {"folder": 1}},
        {"instances": 3},
        {"instances": [3]},
        {"instances": b"k<int>"},
        {"source": None},
        {"source": 3},
        {"source": KERNEL.encode()},
        {"source": [KERNEL]},
    ],
    ids=str,
)
def test_options_of_wrong_types_are_errors_of_ours_and_type_errors(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="WL0703") as caught:
        compile_with_anything(**{"source": KERNEL, **options})
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, wl.WindlassError)
    assert next(iter(options)) in str(caught.value)


# -- pickles ----------------------------------------------------------------------------------------------------------


def test_a_kernel_is_pickled_with_its_variables() -> None:
    module = wl.cuda.compile("__device__ int by; __global__ void k(int *x) { x[threadIdx.x] += by; }", define={"N": 1})
    module.variables["by"] = 7
    kernel = pickle.loads(pickle.dumps(module["k"]))
    module.variables["by"] = 1
    x = np.arange(4, dtype=np.int32)
    kernel[1, 4](x)
    assert x.tolist() == [7, 8, 9, 10]
    again = pickle.loads(pickle.dumps(module))
    assert again.kernels == module.kernels
    assert pickle.loads(pickle.dumps([module, module["k"]]))[1].name == "k"


def test_an_instance_of_a_template_is_pickled() -> None:
    module = wl.cuda.compile("template <class T> __global__ void k(T *x) { x[threadIdx.x] *= 2; }")
    kernel = pickle.loads(pickle.dumps(module["k<float>"]))
    x = np.ones(4, np.float32)
    kernel[1, 4](x)
    assert x.tolist() == [2] * 4


def test_a_module_with_bound_textures_says_that_it_is_not_pickled() -> None:
    module = wl.cuda.compile(
        "texture<float> image; __global__ void k(float *x) { x[threadIdx.x] = tex1Dfetch(image, threadIdx.x); }"
    )
    module.textures["image"] = wl.cuda.texture(np.ones(4, np.float32))
    with pytest.raises(wl.LaunchError, match=r"WL0431.*image"):
        pickle.dumps(module)


def test_errors_are_pickled() -> None:
    with pytest.raises(wl.CompilationError) as caught:
        wl.cuda.compile("__global__ void k() { missing(); }")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_source_that_is_called_as_an_option_is_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("-version.cu", "-load=x.cu"):
        Path(name).write_text(KERNEL)
        assert wl.cuda.compile(name).kernels == ("k",)
