"""The cache holds code that is loaded: who may write there, what is read from there, and what is done without it."""

from __future__ import annotations

import ctypes
import os
import resource
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from windlass.diagnostics import CompilationError, WindlassWarning, cache
from windlass.diagnostics.cache import (
    cache_directory,
    compiler_environment,
    keep,
    load_shared_library,
    read_kept,
    spell_end,
    temporary_folder,
    weakness_of,
)
from windlass.emulator import library

NOBODY = 65534
USUAL = os.environ.get("WINDLASS_CACHE")
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="takes the rights of root")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the user's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("WINDLASS_CACHE", str(folder))
    monkeypatch.setattr(cache, "_instead", {})
    return folder


def _as_file(folder: Path) -> None:
    folder.write_text("")


def _below_a_file(folder: Path) -> None:
    folder.parent.joinpath("file").write_text("")
    os.environ["WINDLASS_CACHE"] = str(folder.parent / "file" / "cache")


def _too_long(folder: Path) -> None:
    os.environ["WINDLASS_CACHE"] = str(folder / ("x" * 300))


def _writable_by_all(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)


def _writable_by_the_group(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o770)


def _in_a_folder_that_all_may_change(folder: Path) -> None:
    shared = folder.parent / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    os.environ["WINDLASS_CACHE"] = str(shared / "cache")


def _of_another_user(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    os.chown(folder, NOBODY, NOBODY)


def _in_a_folder_of_another_user(folder: Path) -> None:
    foreign = folder.parent / "foreign"
    foreign.mkdir()
    os.chown(foreign, NOBODY, NOBODY)
    os.environ["WINDLASS_CACHE"] = str(foreign / "cache")


def _a_link_to_another_users(folder: Path) -> None:
    foreign = folder.parent / "foreign"
    foreign.mkdir()
    os.chown(foreign, NOBODY, NOBODY)
    folder.symlink_to(foreign)


def _a_link_to_nothing(folder: Path) -> None:
    folder.symlink_to(folder.parent / "nothing")


def _on_a_file_system_that_is_read_only(folder: Path) -> None:
    os.environ["WINDLASS_CACHE"] = "/proc/windlass"


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (_as_file, "File exists"),
        (_below_a_file, "Not a directory"),
        (_too_long, "File name too long"),
        (_writable_by_all, "others may write to"),
        (_writable_by_the_group, "others may write to"),
        (_in_a_folder_that_all_may_change, "others may write to"),
        (_a_link_to_nothing, "File exists"),
        (_on_a_file_system_that_is_read_only, ""),
        pytest.param(_of_another_user, "belongs to another user", marks=AS_ROOT),
        pytest.param(_in_a_folder_of_another_user, "belongs to another user", marks=AS_ROOT),
        pytest.param(_a_link_to_another_users, "belongs to another user", marks=AS_ROOT),
    ],
)
def test_a_folder_that_is_of_no_use_is_replaced_with_one_warning(
    make: Callable[[Path], None], told: str, own: Path
) -> None:
    make(own)
    with pytest.warns(WindlassWarning, match="WL0706") as caught:
        first = cache_directory()
    assert told in str(caught[0].message)
    assert first.stat().st_mode & 0o777 == 0o700
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache_directory() == first
    keep("a", b"content")
    assert read_kept("a") == b"content"
    assert compiler_environment()["ZIG_GLOBAL_CACHE_DIR"].startswith(str(first))


def test_without_a_home_a_temporary_folder_is_used(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WINDLASS_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    with pytest.warns(WindlassWarning, match="home directory"):
        assert cache_directory().is_dir()


def test_new_folders_are_private_whatever_the_mask(own: Path) -> None:
    before = os.umask(0)
    try:
        assert cache_directory() == own
    finally:
        os.umask(before)
    assert own.stat().st_mode & 0o777 == 0o700
    assert weakness_of(own) is None


def test_a_folder_named_by_a_relative_path_stays_where_it_is(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WINDLASS_CACHE", "here")
    assert cache_directory() == tmp_path / "here"


def test_names_of_odd_bytes_and_lines_are_names(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (b"a b\nc", b"caf\xe9", "größe".encode()):
        monkeypatch.setenv("WINDLASS_CACHE", os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
        keep("x", name)
        assert read_kept("x") == name


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"garbage"),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(path.read_bytes() + b"x"),
        lambda path: path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:]),
        lambda path: path.unlink(),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: (path.rename(path.parent / "b"), path.symlink_to("b")),
        lambda path: (path.unlink(), os.mkfifo(path)),
        lambda path: path.chmod(0) if os.geteuid() else path.write_bytes(b""),
    ],
    ids=["empty", "garbage", "cut", "longer", "flipped", "missing", "folder", "link", "fifo", "unreadable"],
)
def test_what_is_not_as_it_was_written_is_not_read(damage: Callable[[Path], object], own: Path) -> None:
    keep("a", b"content")
    damage(own / "a")
    assert read_kept("a") is None
    keep("a", b"anew")
    assert read_kept("a") == b"anew"


def test_what_can_not_be_kept_leaves_nothing_behind(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache_directory()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        keep("a", bytes(10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(own.iterdir())


def test_a_full_disk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(CompilationError, match=r"WL0707.*File too large(.|\n)*ulimit -f"), temporary_folder() as at:
            (at / "a").write_bytes(bytes(10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_missing_folder_for_temporary_files_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(CompilationError, match=r"WL0707.*No such file"), temporary_folder():
        pass


# -- libraries --------------------------------------------------------------------------------------------------------


@pytest.fixture
def emulators_library(own: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, bytes]:
    """The name of the emulator's library, and its content, from the usual cache; `own` is empty then."""
    found: list[tuple[str, bytes]] = []

    def noting(name: str) -> bytes | None:
        content = read_kept(name)
        found.append((name, content or b""))
        return content

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WINDLASS_CACHE", USUAL) if USUAL else patch.delenv("WINDLASS_CACHE")
        library.load_library.__wrapped__()
        patch.setattr(library, "read_kept", noting)
        library.load_library.__wrapped__()
    return found[0]


def test_two_loads_of_a_library_have_variables_of_their_own(emulators_library: tuple[str, bytes]) -> None:
    first, second = (load_shared_library(emulators_library[1]) for _ in range(2))
    assert first.wl_run is not second.wl_run
    assert ctypes.cast(first.wl_run, ctypes.c_void_p).value != ctypes.cast(second.wl_run, ctypes.c_void_p).value


def test_a_library_without_the_right_digest_is_not_loaded_but_built(
    emulators_library: tuple[str, bytes], own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A constructor of a planted library would run as soon as it is loaded; flipped bytes end the process in ld.so."""
    name, content = emulators_library
    cache_directory()
    built: list[bool] = []

    def build(*_: object) -> bytes:
        built.append(True)
        return content

    monkeypatch.setattr(library, "_build", build)
    flipped = bytearray(content)
    for place in range(0, len(flipped), 64):
        flipped[place] ^= 0xFF
    for broken in (b"", b"garbage", content, content[: len(content) // 2], bytes(flipped)):
        (own / name).write_bytes(broken)
        built.clear()
        assert library.load_library.__wrapped__().functions.wl_run
        assert built
        built.clear()
        assert library.load_library.__wrapped__().functions.wl_run
        assert not built


@AS_ROOT
def test_a_library_planted_in_a_folder_of_others_is_not_loaded(
    emulators_library: tuple[str, bytes], own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, content = emulators_library
    monkeypatch.setattr(library, "_build", lambda *_: content)  # pyright: ignore[reportUnknownLambdaType]
    keep(name, b"planted, with its digest")
    os.chown(own, NOBODY, NOBODY)
    with pytest.warns(WindlassWarning, match="belongs to another user"):
        assert library.load_library.__wrapped__().functions.wl_run


def test_how_a_process_ended_is_said_in_words() -> None:
    assert [spell_end(status) for status in (3, -25, -1000)] == [
        "exit status 3",
        "ended by SIGXFSZ",
        "ended by signal 1000",
    ]


def test_what_was_not_used_for_longest_goes_and_nothing_else(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_FILES", 2)
    cache_directory()
    names = [f"unit-{number:064x}.kept" for number in range(4)]
    others = ["notes.txt", "host-memory-0123.o", "unit-1.kept", f"program-{0:064x}.txt"]
    for moment, name in enumerate([*others, *names]):
        keep(name, b"content")
        os.utime(own / name, (moment + 1, moment + 1))
    assert read_kept(names[0]) == b"content"
    cache._remove_unused.cache_clear()  # pyright: ignore[reportPrivateUsage]
    keep("another", b"content")
    assert {each.name for each in own.iterdir()} == {*others, "another", names[0], names[3]}
