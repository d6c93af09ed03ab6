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

from windlass.diagnostics import CompilationError, Diagnostic
from windlass.diagnostics.cache import keep, read_kept, spell_end
from windlass.diagnostics.progress import telling
from windlass.frontends.cuda.clang import MESSAGE_FLAGS, OWN_SECONDS, ZIG_FOLDER, run_clang

llvm: Any = llvm_binding  # llvmlite has no type stubs

SOURCES = Path(__file__).parent / "library"

# As plain C++ without any header; nothing that is written out may become a call of what it implements.
_FLAGS = shlex.split("""
-x c++ -std=gnu++20 -O2 -ffreestanding -fno-builtin -ffp-contract=off -nostdsysteminc -nobuiltininc -emit-llvm
""")
_CPUS = {"nvptx64-nvidia-cuda": "sm_70 -target-feature +ptx63", "amdgcn-amd-amdhsa": "gfx906"}
_DEFINED = re.compile(r"^define [^@\n]*@([\w.$]+)\(", re.MULTILINE)


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
    digest = hashlib.sha256(f"{triple} {status.st_size} {status.st_mtime_ns} {_FLAGS}".encode())
    for path in sorted(SOURCES.iterdir()):
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
    target = ["-triple", triple, "-target-cpu", *_CPUS[triple].split()]
    outcome = run_clang([*target, *_FLAGS, *MESSAGE_FLAGS, str(SOURCES / "all.hpp"), "-o", "-"], OWN_SECONDS)
    if outcome.status != 0:
        raise CompilationError(
            Diagnostic(
                "WL1603",
                f"the library of GPU functions can't be compiled ({spell_end(outcome.status)})",
                notes=tuple(outcome.messages.splitlines()[:3]),
            )
        )
    return re.sub(r' "target-(?:cpu|features)"="[^"]*"', "", outcome.output)
