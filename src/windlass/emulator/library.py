"""The runtime library: C sources beside this file, compiled once per user and version by the clang in `ziglang`."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from windlass.diagnostics import Diagnostic, EmulationError
from windlass.diagnostics.cache import cache_directory
from windlass.diagnostics.progress import telling

SOURCES = Path(__file__).parent / "runtime"
_FLAGS = ("-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-fno-sanitize=all", "-fno-strict-aliasing", "-Wall")


class Site(ctypes.Structure):
    """machine.h: site."""

    _fields_ = [(name, ctypes.c_uint32) for name in ("size", "alignment_mask", "flags", "position")]


class Region(ctypes.Structure):
    """machine.h: region."""

    _fields_ = [
        ("base", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("kind", ctypes.c_uint32),
        ("identity", ctypes.c_uint32),
        ("granule_shift", ctypes.c_uint32),
        ("written", ctypes.c_uint32),
        ("shadow", ctypes.c_void_p),
    ]


class LaunchDescription(ctypes.Structure):
    """machine.h: launch_description."""

    _fields_ = [
        ("sites", ctypes.c_void_p),
        ("site_region", ctypes.c_void_p),
        ("regions", ctypes.c_void_p),
        ("region_count", ctypes.c_uint32),
        ("region_capacity", ctypes.c_uint32),
        ("functions", ctypes.c_void_p),
        ("function_count", ctypes.c_uint32),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("kernel", ctypes.c_void_p),
        ("arguments", ctypes.c_void_p),
        ("uses_fibres", ctypes.c_uint32),
        ("checks_races", ctypes.c_uint32),
        ("checks_uninitialized", ctypes.c_uint32),
        ("varies_undefined", ctypes.c_uint32),
        ("slice_seconds", ctypes.c_double),
    ]


class Fault(ctypes.Structure):
    """machine.h: fault_record."""

    _fields_ = [
        ("outcome", ctypes.c_uint32),
        ("site", ctypes.c_uint32),
        ("thread", ctypes.c_uint32),
        ("block", ctypes.c_uint32 * 3),
        ("address", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("region", ctypes.c_int64),
        ("other_site", ctypes.c_uint32),
        ("other_thread", ctypes.c_uint32),
        ("other_block", ctypes.c_uint32 * 3),
        ("is_write", ctypes.c_uint32),
        ("other_is_write", ctypes.c_uint32),
        ("local_site", ctypes.c_uint32),
        ("local_offset", ctypes.c_uint32),
        ("local_size", ctypes.c_uint32),
        ("message", ctypes.c_char * 2048),
    ]


class Library:
    """The loaded runtime library and the C library's mathematical functions."""

    def __init__(self, path: Path) -> None:
        self.functions = ctypes.CDLL(str(path))
        self.launch = LaunchDescription.in_dll(self.functions, "launch")
        self.fault = Fault.in_dll(self.functions, "wl_fault")
        self.run = self.functions.wl_run
        self.resume = self.functions.wl_resume
        self.allocate = self.functions.wl_allocate
        self.allocate.restype = ctypes.c_void_p
        self.allocate.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
        self.free = self.functions.wl_free
        self.free.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64]
        self.free_shadow = self.functions.wl_free_shadow
        self._mathematics = ctypes.CDLL("libm.so.6" if sys.platform.startswith("linux") else "libm.dylib")
        name, address = self.functions.wl_library_name, self.functions.wl_library_address
        name.restype, address.restype = ctypes.c_char_p, ctypes.c_void_p
        self.compiler_functions: dict[str, int] = {}
        index = 0
        while found := name(index):
            self.compiler_functions[found.decode()] = address(index)
            index += 1

    def address(self, name: str) -> int | None:
        """Where a function of the runtime, of the compiler's library or of the C library's mathematics is."""
        known = self.compiler_functions.get(name)
        if known is not None:
            return known
        for library in (self.functions, self._mathematics):
            try:
                return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
            except AttributeError:
                continue
        return None

    def take_output(self) -> str:
        """What kernels have printed since the last call."""
        size = ctypes.c_uint64()
        output = self.functions.wl_output
        output.restype = ctypes.c_void_p
        address = output(ctypes.byref(size))
        text = ctypes.string_at(address, size.value).decode(errors="replace") if size.value else ""
        self.functions.wl_clear_output()
        return text


@functools.cache
def load_library() -> Library:
    """Builds the runtime library if this user's cache lacks it, and loads it.

    Raises EmulationError (WL0615) where it can't be built.
    """
    sources = sorted(SOURCES.glob("*.[ch]"))
    compiler = find_spec("ziglang")
    if compiler is None or compiler.origin is None:
        raise EmulationError(
            Diagnostic("WL0615", "the package `ziglang` is missing", help="pip install ziglang==0.17.0")
        )
    zig = Path(compiler.origin).parent / "zig"
    digest = hashlib.sha256(" ".join((*_FLAGS, str(zig.stat().st_size))).encode())
    for source in sources:
        digest.update(source.read_bytes())
    directory = cache_directory()
    path = directory / f"emulator-{digest.hexdigest()[:16]}.so"
    if not path.exists():
        with telling("building the emulator, once for all programs"):
            _build(zig, [source for source in sources if source.suffix == ".c"], path)
    return Library(path)


def _build(zig: Path, sources: list[Path], path: Path) -> None:
    """Compiles to a temporary file and renames it: others never see half a library."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix="emulator-", suffix=".tmp")
    os.close(handle)
    command = [str(zig), "cc", *_FLAGS, "-o", temporary, *map(str, sources)]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise EmulationError(
                Diagnostic(
                    "WL0615",
                    "the emulator's runtime library can't be compiled",
                    notes=tuple(line for line in result.stderr.splitlines() if "error" in line)[:5],
                )
            )
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)
