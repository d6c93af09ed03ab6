"""Kernels as code for AMD's GPUs: assembly, and code objects as `hipModuleLoadData` takes them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from windlass.diagnostics import CompilationError, Diagnostic
from windlass.diagnostics.cache import temporary_folder
from windlass.frontends.cuda.child import run_child
from windlass.frontends.cuda.clang import ZIG_FOLDER
from windlass.gpu.amdgcn_text import TRIPLE, amdgcn_text, library_function
from windlass.gpu.emission import emit, failure, require_meaning
from windlass.gpu.library import Library, library_for
from windlass.gpu.module_text import module_text
from windlass.gpu.targets import amd_target
from windlass.ir.signature import DeviceCode, KernelSignature

_NUMBERED_BARRIER = re.compile(r"@llvm\.nvvm\.barrier\.cta\.\w+\.[\w.]*\(i32 (?:noundef )?(?!0\b)")
_RECORD_OF_FUNCTION = re.compile(r"^define (?![^@\n]*ptx_kernel)[^\n]*\bbyval\(", re.MULTILINE)


def compile_amdgcn(code: DeviceCode, kernels: Sequence[KernelSignature], gfx: str = "gfx942") -> str:
    """Assembly of these kernels of a translation unit for a processor of AMD's, with their descriptors and metadata.

    Blocks are work groups. A warp is 32 lanes, as the source was written for: where waves have 64 (up to gfx9), two
    warps are one wave, and lanes of a warp have to come to shuffles, votes and reductions together.

    Raises CompilationError (WL1601) for what is not made for these GPUs, with the line; (WL1602) for an unknown `gfx`.
    """
    return _made(code, kernels, gfx, "-S").decode()


def compile_code_object(code: DeviceCode, kernels: Sequence[KernelSignature], gfx: str = "gfx942") -> bytes:
    """The same as a code object: a shared ELF object, linked by the linker in clang's wheel."""
    relocatable = _made(code, kernels, gfx, "-emit-obj")
    with temporary_folder() as folder:
        source, target = folder / "kernels.o", folder / "kernels.hsaco"
        source.write_bytes(relocatable)
        command = [str(ZIG_FOLDER / "zig"), "ld.lld", "-shared", "--no-undefined", str(source), "-o", str(target)]
        outcome = run_child(command)
        if outcome.status == 0:
            return target.read_bytes()
    raise failure(kernels, outcome.messages, outcome.status)


def _made(code: DeviceCode, kernels: Sequence[KernelSignature], gfx: str, form: str) -> bytes:
    target = amd_target(gfx)
    library = library_for(TRIPLE)
    require_meaning(code, kernels, library, lambda name: _is_in_library(name, library), "AMDGCN")
    text = module_text(code.llvm_ir, [each.mangled for each in kernels], keeps_lines=False)
    for pattern, what in (
        (_NUMBERED_BARRIER, "it has barriers with numbers, of which these GPUs have one"),
        (_RECORD_OF_FUNCTION, "a function that is not inlined takes a struct by value"),
    ):
        if pattern.search(text):
            names = ", ".join(each.name for each in kernels)
            raise CompilationError(Diagnostic("WL1601", f"kernel '{names}' can't become AMDGCN: {what}"))
    return emit(amdgcn_text(text), library, target.flags, (form,), kernels)


def _is_in_library(name: str, library: Library) -> bool:
    return name.startswith("llvm.nvvm.") and library_function(name.removeprefix("llvm.nvvm.")) in library.functions
