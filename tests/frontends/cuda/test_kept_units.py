"""What the cache has of a unit is used while nothing has changed that clang would read, and not a moment longer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

import windlass as wl
from windlass.diagnostics.cache import cache_directory
from windlass.frontends.cuda import child, clang, compile_device, kept_units
from windlass.hosting import host_code

MAIN = """
#include <cstdio>
int main() { float *x; cudaMalloc(&x, 4); put<<<1, 1>>>(x); cudaFree(x); return 0; }
"""


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The compilers that were run, but for those that made the precompiled headers."""
    found: list[str] = []
    run_child = child.run_child

    def noting(command: Sequence[str], seconds: float | None = None) -> child.Outcome:
        if "-emit-pch" not in command:
            found.append(command[1])
        return run_child(command, seconds)

    for module in (clang, host_code):
        monkeypatch.setattr(module, "run_child", noting)
    monkeypatch.setattr(kept_units, "CLOCK_SECONDS", 0)
    yield found


def stored(text: str) -> str:
    """The number that a kernel stores."""
    return text.partition("store float ")[2].partition(",")[0]


def source_of(folder: Path, before: str = "", value: str = "VALUE") -> Path:
    """A source that no run before has seen."""
    file = folder / "main.cu"
    file.write_text(f"// {uuid4()}\n{before}\n__global__ void put(float *x) {{ *x = {value}; }}\n")
    return file


def compiled(file: Path, **options: object) -> str:
    return stored(compile_device(file, **options).llvm_ir)  # pyright: ignore[reportArgumentType]


def test_unchanged_unit_runs_no_compiler(tmp_path: Path, runs: list[str]) -> None:
    file = source_of(tmp_path, "#define VALUE 2.0f")
    first = compile_device(file)
    assert len(runs) == 2
    again = compile_device(file)
    assert len(runs) == 2
    assert (again.llvm_ir, again.kernels) == (first.llvm_ir, first.kernels)


def test_unchanged_program_runs_no_compiler(tmp_path: Path, runs: list[str]) -> None:
    header = tmp_path / "include" / "value.h"
    header.parent.mkdir()
    header.write_text("#define VALUE 2.0f\n")
    file = source_of(tmp_path, '#include "value.h"')
    file.write_text(file.read_text() + MAIN)
    for expected in (True, False):
        runs.clear()
        assert wl.cuda.program(file, include=tmp_path / "include", mode="emulated").run() == 0
        assert bool(runs) is expected
    file.write_text(file.read_text().replace("return 0", "return 7"))
    assert wl.cuda.program(file, include=tmp_path / "include", mode="emulated").run() == 7


def _edited(folder: Path) -> None:
    (folder / "second" / "value.h").write_text("#define VALUE 3.0f\n")


def _edited_below(folder: Path) -> None:
    (folder / "second" / "below.h").write_text("#undef VALUE\n#define VALUE 3.0f\n")


def _shadowed_beside_the_source(folder: Path) -> None:
    (folder / "value.h").write_text("#define VALUE 3.0f\n")


def _shadowed_in_a_folder_before(folder: Path) -> None:
    (folder / "first" / "value.h").write_text("#define VALUE 3.0f\n")


def _shadowed_header_of_the_compiler(folder: Path) -> None:
    (folder / "first" / "cfloat").write_text("#undef VALUE\n#define VALUE 3.0f\n")


def _there_where_it_is_asked_for(folder: Path) -> None:
    (folder / "first" / "asked.h").write_text("")


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "edit",
    [
        _edited,
        _edited_below,
        _shadowed_beside_the_source,
        _shadowed_in_a_folder_before,
        _shadowed_header_of_the_compiler,
        _there_where_it_is_asked_for,
    ],
)
def test_edit_of_what_is_read_is_noticed(edit: Callable[[Path], None], tmp_path: Path, runs: list[str]) -> None:
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    (folders[1] / "value.h").write_text('#define VALUE 2.0f\n#include "below.h"\n')
    (folders[1] / "below.h").write_text("")
    asks = "#if __has_include(<asked.h>)\n#undef VALUE\n#define VALUE 3.0f\n#endif"
    file = source_of(tmp_path, f'#include "value.h"\n#include <cfloat>\n{asks}')
    assert [compiled(file, include=folders) for _ in range(2)] == ["2.000000e+00"] * 2
    assert len(runs) == 2
    edit(tmp_path)
    assert [compiled(file, include=folders) for _ in range(2)] == ["3.000000e+00"] * 2
    assert len(runs) == 4


def test_options_are_part_of_what_is_known(tmp_path: Path, runs: list[str]) -> None:
    file = source_of(tmp_path, value="__cplusplus > 201703L ? VALUE : -VALUE")
    options = ({"define": {"VALUE": 1}}, {"define": {"VALUE": 2}}, {"define": {"VALUE": 1}, "standard": "c++17"})
    for _ in range(2):
        assert [compiled(file, **each) for each in options] == ["1.000000e+00", "2.000000e+00", "-1.000000e+00"]
    assert len(runs) == 6


@pytest.mark.parametrize(
    "before",
    [
        '#define NAME "value.h"\n#include NAME',
        '#include \\\n"value.h"',
        '/* ... */ # /* ... */ include "value.h"',
        "#include <value.h>\nconst char *date = __DATE__;",
    ],
)
def test_unit_that_is_not_understood_is_compiled_each_time(before: str, tmp_path: Path, runs: list[str]) -> None:
    (tmp_path / "value.h").write_text("#define VALUE 2.0f\n")
    file = source_of(tmp_path, before)
    assert [compiled(file, include=tmp_path) for _ in range(2)] == ["2.000000e+00"] * 2
    assert len(runs) == 4


def test_header_that_was_written_a_moment_ago_is_looked_at_again(
    tmp_path: Path, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_units, "CLOCK_SECONDS", 3600)
    (tmp_path / "value.h").write_text("#define VALUE 2.0f\n")
    file = source_of(tmp_path, '#include "value.h"')
    assert [compiled(file) for _ in range(2)] == ["2.000000e+00"] * 2
    assert len(runs) == 4


def test_header_that_is_no_file_any_more_is_not_waited_for(tmp_path: Path, runs: list[str]) -> None:
    header = tmp_path / "value.h"
    header.write_text("#define VALUE 2.0f\n")
    file = source_of(tmp_path, '#include "value.h"')
    compiled(file)
    header.unlink()
    os.mkfifo(header)
    with pytest.raises(wl.CompilationError, match="WL0114"):
        compiled(file)


@pytest.mark.parametrize("damage", ["cut", "changed", "other"])
def test_damaged_entry_is_made_anew(
    damage: str, tmp_path: Path, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    keep = kept_units.keep

    def noting(name: str, content: bytes) -> None:
        names.append(name)
        keep(name, content)

    monkeypatch.setattr(kept_units, "keep", noting)
    file = source_of(tmp_path, "#define VALUE 2.0f")
    compiled(file)
    entry = cache_directory() / names[0]
    content = entry.read_bytes()
    if damage == "cut":
        entry.write_bytes(content[:-100])
    elif damage == "changed":
        entry.write_bytes(content[:50] + bytes([content[50] ^ 1]) + content[51:])
    else:  # what another version might have kept under this name
        keep(names[0], b'{"files": {}}\nnothing')
    assert [compiled(file) for _ in range(2)] == ["2.000000e+00"] * 2
    assert len(runs) == 4


def test_versions_share_nothing(tmp_path: Path, runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    file = source_of(tmp_path, "#define VALUE 2.0f")
    compiled(file)
    monkeypatch.setattr(kept_units, "own_digest", lambda: "of another version")
    compiled(file)
    assert len(runs) == 4


def test_failure_is_not_kept(tmp_path: Path, runs: list[str]) -> None:
    file = source_of(tmp_path)
    for _ in range(2):
        with pytest.raises(wl.CompilationError, match="WL0101"):
            compiled(file)
    assert len(runs) == 2


def test_compilations_side_by_side_leave_one_whole_entry(tmp_path: Path, runs: list[str]) -> None:
    file = source_of(tmp_path, "#define VALUE 2.0f")
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: compiled(file), range(4))) == {"2.000000e+00"}
    runs.clear()
    compiled(file)
    assert not runs
