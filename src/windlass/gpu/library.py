"""The library that GPU code is linked with: C and C++ beside this file, compiled once per user and version."""

from __future__ import annotations

import functools
import hashlib
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm_binding

from windlass import emulator
from windlass.diagnostics import CompilationError, Diagnostic
from windlass.diagnostics.cache import keep, read_kept, spell_end
from windlass.diagnostics.progress import telling
from windlass.frontends.cuda.clang import MESSAGE_FLAGS, OWN_SECONDS, ZIG_FOLDER, run_clang
from windlass.gpu.functions import PREFIX

llvm: Any = llvm_binding  # llvmlite has no type stubs

SOURCES = Path(__file__).parent / "library"
SPECIAL_FUNCTIONS = Path(emulator.__file__).parent / "runtime" / "special.c"
"""Functions that no C library has, as the emulator computes them."""

_LIBC = ZIG_FOLDER / "lib" / "libc"
LIBC = tuple(
    _LIBC / "musl" / "src" / "math" / f"{name}.c"
    for name in shlex.split("""
    erf erff lgamma_r tgamma j0 j1 jn pow pow_data exp_data __rem_pio2 __rem_pio2_large __sin __cos __tan
    __math_divzero __math_invalid __math_oflow __math_uflow __math_xflow
    """)
)
"""Of the C library whose sources are in clang's wheel (musl) what is written for doubles, and is right on GPUs too."""

# Without headers; nothing that is written out may become a call of what it implements.
_FLAGS = shlex.split("""
-O2 -ffreestanding -fno-builtin -ffp-contract=off -fconvergent-functions -nostdsysteminc -nobuiltininc -emit-llvm -o -
""")
_OWN = shlex.split("-x c++ -std=gnu++20")
_C = shlex.split("-x c -std=gnu99 -Derff=slower_erff")  # of which there is one here
_C_FOLDERS = (
    SOURCES / "include",
    _LIBC / "musl" / "arch" / "x86_64",
    _LIBC / "musl" / "arch" / "generic",
    _LIBC / "musl" / "src" / "include",
    _LIBC / "musl" / "src" / "internal",
    _LIBC / "include" / "x86_64-linux-musl",
    _LIBC / "include" / "generic-musl",
    ZIG_FOLDER / "lib" / "include",
)
_CPUS = {
    "nvptx64-nvidia-cuda": "sm_70 -target-feature +ptx63",
    "amdgcn-amd-amdhsa": "gfx906 -mcode-object-version=5",
    "x86_64-unknown-linux-gnu": "x86-64-v3",
}
_DEFINED = re.compile(r"^define [^@\n]*@([\w.$]+)\(", re.MULTILINE)
_ALIAS = re.compile(r"^@[^\n]* = [^\n]*\balias [^\n]*\n", re.MULTILINE)


@dataclass(frozen=True)
class Library:
    """LLVM IR for one kind of GPU, and the functions that it has."""

    text: str

    @functools.cached_property
    def functions(self) -> frozenset[str]:
        return frozenset(_DEFINED.findall(self.text))

    @functools.cached_property
    def bitcode(self) -> bytes:
        """The same as what clang links."""
        return bytes(llvm.parse_assembly(self.text).as_bitcode())


@functools.cache
def library_for(triple: str) -> Library:
    """The library for GPUs of this kind, compiled where it isn't kept.

    Raises CompilationError (WL1603) where clang can't be run.
    """
    status = (ZIG_FOLDER / "zig").stat()
    digest = hashlib.sha256(f"{triple} {status.st_size} {status.st_mtime_ns} {_FLAGS} {LIBC}".encode())
    for path in (*sorted(SOURCES.rglob("*.h*")), SPECIAL_FUNCTIONS):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    name = f"gpu-{digest.hexdigest()[:24]}.ll"
    kept = read_kept(name)
    if kept is not None:
        return Library(kept.decode())
    with telling("compiling the library of GPU functions, once for all programs"):
        text = _compile(triple)
    keep(name, text.encode())
    return Library(text)


def _compile(triple: str) -> str:
    """All sources as one module, in which functions that have not our names get a prefix."""
    whole: Any = None
    folders = [word for folder in _C_FOLDERS for word in ("-internal-isystem", str(folder))]
    for path in (SOURCES / "all.hpp", SPECIAL_FUNCTIONS, *LIBC):
        language = _OWN if path.suffix == ".hpp" else [*_C, *folders]
        target = ["-triple", triple, "-target-cpu", *_CPUS[triple].split()]
        outcome = run_clang([*target, *language, *_FLAGS, *MESSAGE_FLAGS, str(path)], OWN_SECONDS)
        if outcome.status != 0:
            raise CompilationError(
                Diagnostic(
                    "WL1603",
                    f"the library of GPU functions can't be compiled: {path.name} ({spell_end(outcome.status)})",
                    notes=tuple(outcome.messages.splitlines()[:3]),
                )
            )
        module = llvm.parse_assembly(_ALIAS.sub("", outcome.output))
        if whole is None:
            whole = module
        else:
            whole.link_in(module)
    for function in whole.functions:
        if not function.name.startswith(("llvm.", "__windlass_", "__assertfail")):
            function.name = PREFIX + function.name
    return re.sub(r' "target-(?:cpu|features)"="[^"]*"', "", str(whole))
