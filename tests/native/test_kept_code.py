"""Machine code is kept between processes, and read only as it was written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import windlass as wl
from windlass.command_line.program import commands
from windlass.diagnostics import cache
from windlass.native import machine

SOURCE = "__global__ void k(float *x, int n) { int i = threadIdx.x; if (i < n) x[i] = x[i] * FACTOR + 1; }"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("WINDLASS_CACHE", str(folder))
    monkeypatch.setattr(cache, "_instead", {})
    return folder


def launch() -> list[float]:
    kernel, x = wl.cuda.compile(SOURCE, define={"FACTOR": "3"})["k"], np.arange(4, dtype=np.float32)
    wl.native(kernel)[1, 8](x, 4)
    return x.tolist()


def test_what_was_compiled_before_is_loaded(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert launch() == [1, 4, 7, 10]
    assert len(list(own.glob("native-*.kept"))) >= 1
    monkeypatch.setattr(machine, "_object_code", lambda text: pytest.fail("it is compiled again"))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert launch() == [1, 4, 7, 10]


@pytest.mark.parametrize(
    "harm",
    [
        lambda code: code[:-100],
        lambda code: b"",
        lambda code: code[:300] + bytes([code[300] ^ 1]) + code[301:],
        lambda code: b"\x7fELF\x02\x01" + bytes(100),
    ],
    ids=["cut", "empty", "changed", "foreign"],
)
def test_files_that_are_not_as_they_were_written_are_made_anew(own: Path, harm: Callable[[bytes], bytes]) -> None:
    assert launch() == [1, 4, 7, 10]
    files = list(own.glob("native-*.kept"))
    whole = {file: file.read_bytes() for file in files}
    for file in files:
        file.write_bytes(harm(file.read_bytes()))
    assert launch() == [1, 4, 7, 10]
    assert any(file.read_bytes() == whole[file] for file in files)


def test_code_for_another_machine_is_not_taken(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launch()
    before = set(own.glob("native-*.kept"))
    monkeypatch.setattr(machine, "_versions", lambda: "another machine")
    assert launch() == [1, 4, 7, 10]
    assert set(own.glob("native-*.kept")) > before


def test_the_command_shows_what_is_kept_and_removes_it(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    launch()
    foreign = own / "letter.txt"
    foreign.write_text("not ours")
    assert commands.run(["cache"]) == 0
    shown = capsys.readouterr().out
    assert "machine code of kernels" in shown
    assert "translation units" in shown
    assert commands.run(["cache", "--clear", "native"]) == 0
    assert "removed" in capsys.readouterr().out
    assert not list(own.glob("native-*"))
    assert list(own.glob("unit-*"))
    assert commands.run(["cache", "--clear"]) == 0
    assert not list(own.glob("unit-*"))
    assert foreign.exists()
    assert launch() == [1, 4, 7, 10]
