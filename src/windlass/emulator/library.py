"""The runtime library: C sources beside this file, compiled once per user and version by the clang in `ziglang`."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from windlass.diagnostics import Diagnostic, EmulationError
from windlass.diagnostics.cache import (
    compiler_environment,
    keep,
    load_shared_library,
    read_kept,
    spell_end,
    temporary_folder,
)
from windlass.diagnostics.limits import out_of_memory
from windlass.diagnostics.progress import telling
from windlass.emulator.mathematics import FUNCTIONS

SOURCES = Path(__file__).parent / "runtime"
_FLAGS = ("-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-fno-sanitize=all", "-fno-strict-aliasing", "-Wall")


class NativeSite(ctypes.Structure):
    """machine.h: site."""

    _fields_ = [(name, ctypes.c_uint32) for name in ("size", "alignment_mask", "flags", "position")]


class MemoryRegion(ctypes.Structure):
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
        ("frame_bytes", ctypes.c_uint64),
    ]


class FaultRecord(ctypes.Structure):
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


class EmulatorLibrary:
    """The loaded runtime library and the C library's mathematical functions."""

    def __init__(self, content: bytes) -> None:
        self.functions = load_shared_library(content)
        self.launch = LaunchDescription.in_dll(self.functions, "launch")
        self.fault = FaultRecord.in_dll(self.functions, "wl_fault")
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

    def place(self, size: int, guard: int) -> tuple[int, int]:
        """The address of fresh memory, and how wide the forbidden zones around it are: `guard` if that can be had.

        Raises MemoryLimitError (WL0624).
        """
        for width in (guard, 1 << 16):
            address = self.allocate(size, width)
            if address:
                return int(address), width
        raise out_of_memory(f"{size} bytes in the emulator")

    def runtime_address(self, name: str) -> int:
        """Where a function of the runtime library is that instrumented code calls."""
        return int(ctypes.cast(getattr(self.functions, name), ctypes.c_void_p).value or 0)

    def address(self, name: str) -> int | None:
        """Where a mathematical function is that kernels may call by name; None for all others."""
        if name not in FUNCTIONS:
            return None
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
def load_library() -> EmulatorLibrary:
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
    name = f"emulator-{digest.hexdigest()[:16]}.so"
    content = read_kept(name)
    if content is None:
        with telling("building the emulator, once for all programs"):
            content = _build(zig, [source for source in sources if source.suffix == ".c"])
        keep(name, content)
    return EmulatorLibrary(content)


def _build(zig: Path, sources: list[Path]) -> bytes:
    with temporary_folder() as folder:
        output = folder / "emulator.so"
        command = [str(zig), "cc", *_FLAGS, "-o", str(output), *map(str, sources)]
        environment = compiler_environment()
        try:
            result = subprocess.run(
                command, capture_output=True, text=True, errors="replace", check=False, cwd=folder, env=environment
            )
        except OSError as error:
            raise _not_built(f"{zig}: {error.strerror or error}") from error
        if result.returncode or not output.exists():
            lines = [line.strip() for line in result.stderr.splitlines() if line.strip()]
            told = [line for line in lines if "error" in line] or lines
            raise _not_built(*(told[:5] or [f"the compiler says nothing: {spell_end(result.returncode)}"]))
        return output.read_bytes()


def _not_built(*notes: str) -> EmulationError:
    return EmulationError(
        Diagnostic(
            "WL0615",
            "the emulator's runtime library can't be compiled",
            notes=notes,
            help="is the package `ziglang` whole (pip install --force-reinstall ziglang==0.17.0), and is there room in "
            "the folder for temporary files?",
        )
    )
