"""The host side of CUDA programs: compiled for this machine, and linked with a runtime of our own into a library.

The library holds the program's `main`; the process that loads it gives it services (`runtime/state.h`): running a
kernel, and the addresses of device variables. Each translation unit has a number, which takes the place of the device
binary that nvcc would embed.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from windlass.diagnostics import CompilationError, Diagnostic
from windlass.diagnostics.cache import keep, read_kept, spell_end, temporary_folder
from windlass.diagnostics.progress import telling
from windlass.emulator.library import SOURCES as EMULATOR_SOURCES
from windlass.frontends.cuda.child import Outcome, map_children, run_child
from windlass.frontends.cuda.clang import (
    INCLUDE_FOLDER,
    OWN_SECONDS,
    ZIG_FOLDER,
    host_flags,
)
from windlass.frontends.cuda.compilation import compile_unit, explain_failure
from windlass.frontends.cuda.includes import folder_flags, include_folders, refuse_irregular_includes
from windlass.frontends.cuda.kept_units import Compilation
from windlass.frontends.cuda.precompiled import headers_digest
from windlass.frontends.cuda.source import adapt_text, read_source
from windlass.hosting.entry_points import with_entry_points
from windlass.hosting.library_calls import library_functions
from windlass.hosting.observed_floats import with_observed_floats

RUNTIME_FOLDER = Path(__file__).parent / "runtime"
_LINK_FLAGS = shlex.split("-shared -O1 -fno-sanitize=all -fPIC -w -Wl,-Bsymbolic -Wl,--no-undefined")
# Programs of the time before C99 are still around.
_C_FLAGS = shlex.split("""
-O1 -fPIC -w -fno-sanitize=all -ffp-contract=off -Wno-implicit-int -Wno-implicit-function-declaration
-Wno-int-conversion -Wno-incompatible-pointer-types -Wno-incompatible-function-pointer-types -Wno-return-mismatch
""")
LINKED_MESSAGE_LINES = 8


def build_program(
    sources: Sequence[Path],
    include: Iterable[str | os.PathLike[str]] = (),
    define: Mapping[str, object] | None = None,
    standard: str = "gnu++20",
    is_library_function: Callable[[str], bool] = lambda name: False,
    is_observed: bool = False,
) -> bytes:
    """A shared library, as bytes, with the host side of all sources (.cu, .cpp, .c), from the cache where it is known.

    Unit number i is `sources[i]`. Calls of functions of which `is_library_function` holds go to the process that loads
    the library; with `is_observed` so do operations on floats that stand for traced numbers (`observed_floats.py`).

    Raises CompilationError: WL0101 with clang's messages, WL0109 where the parts can't be linked.
    """
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise CompilationError(
            Diagnostic(
                "WL0109",
                f"host programs are built for Linux on x86-64, not for {platform.system()} on {platform.machine()}",
                help="call the kernels from Python: wl.cuda.compile(file)['kernel'][grid, block](...)",
            )
        )
    folders = include_folders(include)
    macros = dict(define or {})

    def compile_host_side(numbered: tuple[int, Path]) -> str:
        number, source = numbered
        if source.suffix == ".c":
            return _compile_plain_c(source, folders, macros)
        return _compile_host_side(source, number, folders, macros, standard)

    units = map_children(compile_host_side, enumerate(sources))
    runtime = map_children(_compile_runtime, sorted(RUNTIME_FOLDER.glob("*.cu")))
    units = with_shared_shadows(units)
    if is_observed:
        units = [with_observed_floats(unit) for unit in units]
    libraries = library_functions(units, is_library_function)
    parts = with_entry_points(units)
    return _link([*parts, libraries] if libraries else parts, runtime)


def _compile_host_side(
    source: Path, number: int, folders: Sequence[str], define: dict[str, object], standard: str
) -> str:
    """LLVM IR of a unit's host side."""
    unit = read_source(source, None)
    flags = host_flags(standard)

    def compile_anew() -> Outcome:
        with temporary_folder() as folder:
            binary = folder / "number"
            binary.write_text(f"{number}\0")
            extra = [*folder_flags(folders), "-fcuda-include-gpubinary", str(binary)]
            return compile_unit(unit, flags, extra, define)

    outcome = Compilation(f"host {number}", unit, adapt_text(unit), flags, folders, define).output(compile_anew)
    if outcome.status != 0:
        raise CompilationError(*explain_failure(outcome, unit, ()))
    return outcome.output


def with_shared_shadows(units: Sequence[str]) -> list[str]:
    """The units in which device variables that several of them name have one shadow on the host.

    Clang keeps the host's shadow of a device variable to the unit that defines the variable; other units have declared
    it `extern`.
    """
    declared = {name for text in units for name in re.findall(r"^@([-\w$.]+) = external ", text, re.MULTILINE)}
    defined = {
        name
        for text in units
        for name in re.findall(r"^@([-\w$.]+) = (?!external |internal |private )[^\n]*\bglobal\b", text, re.MULTILINE)
    }
    shared: list[str] = []
    for text in units:
        for name in declared - defined:
            if re.search(rf"call void @__cudaRegisterVar\([^\n]*@{re.escape(name)}\b", text):
                text = re.sub(rf"^@{re.escape(name)} = internal ", f"@{name} = ", text, flags=re.MULTILINE)
        shared.append(text)
    return shared


def _compile_plain_c(source: Path, folders: Sequence[str], define: Mapping[str, object]) -> str:
    refuse_irregular_includes(read_source(source), folders)
    flags = [
        *folder_flags(folders),
        *(f"-D{name}={1 if value is True else '' if value is None else value}" for name, value in define.items()),
    ]
    with temporary_folder() as folder:
        output = folder / "unit.ll"
        command = [str(ZIG_FOLDER / "zig"), "cc", "-S", "-emit-llvm", *_C_FLAGS, *flags]
        command += ["-isystem", str(INCLUDE_FOLDER), str(source), "-o", str(output)]
        outcome = run_child(command)
        if outcome.status == 0:
            return output.read_text("utf-8")
    if outcome.stopped_by is not None:
        raise CompilationError(*explain_failure(outcome, read_source(source), ()))
    lines = tuple(line for line in outcome.messages.splitlines() if "error:" in line)[:LINKED_MESSAGE_LINES]
    raise CompilationError(Diagnostic("WL0101", f"'{source}' does not compile", notes=lines))


@cache
def _compile_runtime(source: Path) -> bytes:
    """Object code of a part of the host runtime, kept on disk."""
    flags = host_flags()
    digest = hashlib.sha256("\0".join([headers_digest(), *flags]).encode())
    for each in (source, RUNTIME_FOLDER / "state.h", EMULATOR_SOURCES / "texture_descriptor.h"):
        digest.update(each.read_bytes())
    name = f"host-{source.stem}-{digest.hexdigest()[:24]}.o"
    known = read_kept(name)
    if known is not None:
        return known
    with temporary_folder() as folder:
        built = folder / "part.o"
        emit = ("-emit-obj", "-o", str(built))
        folders = ["-I", str(EMULATOR_SOURCES)]
        outcome = compile_unit(read_source(source), flags, folders, {}, emit=emit, seconds=OWN_SECONDS)
        if outcome.status != 0:
            notes = tuple(outcome.messages.splitlines()[:5])
            raise CompilationError(Diagnostic("WL0108", "the host runtime can't be compiled", notes=notes))
        content = built.read_bytes()
    keep(name, content)
    return content


def _link(units: Sequence[str], parts: Sequence[bytes]) -> bytes:
    """A shared library of the units, in LLVM IR, and of the runtime's parts, in object code."""
    files = [(f"unit{number}.ll", text.encode()) for number, text in enumerate(units)]
    files += [(f"part{number}.o", content) for number, content in enumerate(parts)]
    digest = hashlib.sha256(" ".join(_LINK_FLAGS).encode())
    for file, content in files:
        digest.update(f"{file} {len(content)}\0".encode() + content)
    name = f"program-{digest.hexdigest()}.so"
    known = read_kept(name)
    if known is not None:
        return known
    with temporary_folder() as folder:
        for file, content in files:
            (folder / file).write_bytes(content)
        linked = folder / "program.so"
        inputs = [str(folder / file) for file, _ in files]
        command = [str(ZIG_FOLDER / "zig"), "c++", *_LINK_FLAGS, "-o", str(linked), *inputs, "-lm", "-lpthread"]
        with telling("linking the program; the first time, the C++ library is built for it"):
            outcome = run_child(command, OWN_SECONDS)
        if outcome.status:
            raise CompilationError(_explain_link(outcome))
        content = linked.read_bytes()
    keep(name, content)
    return content


def _explain_link(outcome: Outcome) -> Diagnostic:
    headline = "the program's parts can't be linked"
    lines = [line.strip() for line in outcome.messages.splitlines() if line.strip()]
    told = [line for line in lines if "error" in line or "undefined" in line]
    if not told:
        end = f"after {OWN_SECONDS:g} seconds" if outcome.stopped_by == "time" else spell_end(outcome.status)
        return Diagnostic(
            "WL0109",
            f"{headline}: the linker stopped without saying what is wrong ({end})",
            notes=tuple(lines[-LINKED_MESSAGE_LINES:]),
            help="run it again: what it has built by then is kept; see that there are memory and room on the disk",
        )
    return Diagnostic(
        "WL0109",
        headline,
        notes=tuple(told[:LINKED_MESSAGE_LINES]),
        help="name all source files of the program; the routines of CUDA's libraries that there are stand in "
        "docs/guides/libraries.md",
    )
