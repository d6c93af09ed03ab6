"""Sources that would keep clang for ever: pipes, devices, and what expands without end."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import windlass as wl
from windlass.diagnostics import CompilationError, ProgramError
from windlass.frontends.cuda import child
from windlass.hosting import host_code

KERNEL = "__global__ void k(int *x) { x[0] = VALUE; }"
TEMPLATES = """
template <int n, int m> struct F { static const int value = F<n - 1, 2 * m>::value + F<n - 1, 2 * m + 1>::value; };
template <int m> struct F<0, m> { static const int value = 1; };
"""
MACROS = "#define A0 1 +\n" + "\n".join(f"#define A{n} " + f"A{n - 1} " * 10 for n in range(1, 10)) + "\n"
BOMBS = {
    "templates": TEMPLATES + KERNEL.replace("VALUE", "F<24, 0>::value"),
    "macros": MACROS + KERNEL.replace("VALUE", "A9 0"),
    "includes": '#include "bomb.h"\n' + KERNEL.replace("VALUE", "1"),
}


def refusal(work: Callable[[], object]) -> str:
    """What the work is refused with."""
    with pytest.raises((CompilationError, ProgramError)) as caught:
        work()
    return str(caught.value)


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe.h"
    os.mkfifo(path)
    return path


def test_only_regular_files_are_read(pipe: Path, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.cu"))
        for path, kind in (
            (pipe, "it is a pipe, not a regular file"),
            (Path("/dev/zero"), "it is a device, not a regular file"),
            (tmp_path, "it is a folder"),
            (tmp_path / "socket.cu", ""),
        ):
            assert refusal(lambda path=path: wl.cuda.compile(path)).startswith(
                f"error[WL0103]: can't read '{path}': {kind}"
            )
            with pytest.raises(CompilationError):
                wl.cuda.program(path)


@pytest.mark.parametrize("way", ["named", "in a header", "by its folder", "by a macro"])
def test_only_regular_files_are_included(pipe: Path, way: str) -> None:
    (pipe.parent / "header.h").write_text('\n#include "pipe.h"\n')
    line = {
        "named": f'#include "{pipe}"',
        "in a header": f'#include "{pipe.parent}/header.h"',
        "by its folder": "#include <pipe.h>",
        "by a macro": f'#define NAME "{pipe}"\n#include NAME',
    }[way]
    source = f"{line}\n{KERNEL.replace('VALUE', '1')}"
    text = refusal(lambda: wl.cuda.compile(source, include=[pipe.parent]))
    if way == "by a macro":
        assert text.startswith("error[WL0114]: '<source>' can't be compiled: clang waits for ")
    else:
        assert text.startswith(f"error[WL0114]: can't include '{pipe}': it is a pipe, not a regular file\n")
        assert ("header.h:2:11" in text) == (way == "in a header")


WAITING = """
import fcntl, sys, time
with open(sys.argv[1], "w") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
"""


def test_compiler_may_wait_for_another_that_fills_its_cache(tmp_path: Path) -> None:
    """Zig builds the C++ library once, behind a lock; before, all who waited for it were killed after a second."""
    with (tmp_path / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        release = threading.Timer(2.5, fcntl.flock, (held, fcntl.LOCK_UN))
        release.start()
        outcome = child.run_child([sys.executable, "-c", WAITING, str(tmp_path / "lock")])
        release.join()
    assert (outcome.status, outcome.stopped_by) == (0, None), outcome


def test_sleeping_compiler_waits_for_no_file_where_its_sources_are_ours() -> None:
    sleep = [sys.executable, "-c", "import time; time.sleep(2.5)"]
    assert child.run_child(sleep, 60).status == 0
    assert child.run_child(sleep).stopped_by == "file"


def test_linker_that_dies_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(host_code, "run_child", lambda *_: child.Outcome("", "warm\nwarmer\n", -9))
    source = tmp_path / "program.cu"
    source.write_text("__global__ void k(int *x) { *x = 1; }\nint main() { return 0; }")
    with pytest.raises(CompilationError) as caught:
        wl.cuda.program(source)
    assert str(caught.value) == (
        "error[WL0109]: the program's parts can't be linked: the linker stopped without saying what is wrong "
        "(ended by SIGKILL)\n"
        "  note: warm\n"
        "  note: warmer\n"
        "  help: run it again: what it has built by then is kept; see that there are memory and room on the disk"
    )


def test_include_folders_are_folders(pipe: Path) -> None:
    for include in (pipe, Path("/dev/null"), Path(__file__)):
        assert refusal(lambda include=include: wl.cuda.compile(KERNEL, include=[include])).startswith(
            f"error[WL0114]: the include folder '{include}' is a"
        )


def test_no_pipe_is_read_to_show_a_line(pipe: Path) -> None:
    """A source can call itself what it likes."""
    source = f'#line 1 "{pipe}"\n{KERNEL}'
    assert refusal(lambda: wl.cuda.compile(source)).startswith("error[WL0101]: use of undeclared identifier 'VALUE'\n")


@pytest.mark.parametrize("name", BOMBS)
def test_what_expands_without_end_meets_the_limit_of_time(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bomb.h").write_text('#if __INCLUDE_LEVEL__ < 40\n#include "bomb.h"\n#include "bomb.h"\n#endif\n')
    monkeypatch.setenv("WINDLASS_CLANG_SECONDS", "0.7")
    assert refusal(lambda: wl.cuda.compile(BOMBS[name], include=[tmp_path])) == (
        "error[WL0115]: clang did not finish '<source>' within 0.7 seconds\n"
        "  note: WINDLASS_CLANG_SECONDS=600 in the environment raises the limit\n"
        "  help: look for templates, macros, constant expressions or includes that expand without end"
    )


def test_what_expands_without_end_meets_the_limit_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    wl.cuda.compile(KERNEL.replace("VALUE", "1"))  # with our headers, which are built without this limit
    monkeypatch.setenv("WINDLASS_CLANG_MEMORY", "150 MiB")
    assert refusal(lambda: wl.cuda.compile(BOMBS["macros"])).startswith(
        "error[WL0115]: clang needs more than 0.146 GiB of memory for '<source>'\n"
        "  note: WINDLASS_CLANG_MEMORY=16G in the environment raises the limit\n"
    )


def test_settings_that_make_no_sense_are_not_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_PATIENCE", "1")
    for word in ("", "much", "-3", "0", "nan", "1e"):
        monkeypatch.setenv("WINDLASS_CLANG_MEMORY", word)
        monkeypatch.setenv("WINDLASS_CLANG_SECONDS", word)
        assert child.limit_of_bytes() == child.BYTES
        assert child.limit_of_seconds() == child.SECONDS


def _children_of(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.skipif(not child._watched(), reason="util-linux has no setpriv here")  # pyright: ignore[reportPrivateUsage]
def test_clang_dies_with_us() -> None:
    text = f"import windlass as wl\nprint('go', flush=True)\nwl.cuda.compile({BOMBS['templates']!r})"
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            while not _children_of(process.pid):
                time.sleep(0.05)
            time.sleep(0.3)
            children = _children_of(process.pid)
        finally:
            process.kill()
    assert children
    looks = 0
    while any(map(_lives, children)):
        looks += 1
        assert looks < 600, "it compiles on, until its own limit ends it after two minutes"
        time.sleep(0.1)
