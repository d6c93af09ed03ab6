"""What making code for GPUs of both kinds has in common: what is refused, and LLVM in a child process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from windlass.diagnostics import CompilationError, Diagnostic
from windlass.diagnostics.cache import spell_end, temporary_folder
from windlass.frontends.cuda.clang import run_clang
from windlass.gpu.functions import is_selected, library_name
from windlass.gpu.library import Library
from windlass.gpu.refusal import declared_functions, refusals
from windlass.ir.signature import DeviceCode, KernelSignature

_OPTIMIZED = ("-O3", "-x", "ir", "-ffp-contract=off")

_NO_MEANING = {
    "__windlass_texture": ("it reads a texture", "read the array itself: textures are not made for GPUs yet"),
    "__windlass_bound_texture": ("it uses a texture or surface reference", "pass arrays"),
    "__windlass_surface": ("it uses a surface", "use the array itself: surfaces are not made for GPUs yet"),
    "__windlass_texels": ("it uses a surface", "use the array itself: surfaces are not made for GPUs yet"),
    "__windlass_barrier_is_last": (
        "it uses a barrier with a completion function",
        "let one thread do it after the barrier, or between two",
    ),
    "__windlass_barrier": (
        "it uses a barrier object",
        "use __syncthreads(): lanes that wait would keep others of their wave from arriving",
    ),
    "__windlass_grid_sync": ("its blocks meet", "launch it once for each part between the meetings"),
    "vprintf": ("it prints", "write to an array"),
    "malloc": ("it allocates memory", "pass an array"),
    "free": ("it frees memory", "pass an array"),
}


def require_meaning(
    code: DeviceCode,
    kernels: Sequence[KernelSignature],
    library: Library,
    has_meaning: Callable[[str], bool],
    kind: str,
) -> None:
    """Check that all that kernels call is in the library, an instruction, or has a meaning otherwise.

    Raises CompilationError (WL1601), with a diagnostic for each kernel.
    """
    reasons: dict[str, tuple[str, str | None]] = {}
    for name in declared_functions(code.llvm_ir):
        if (library_name(name) or name) in library.functions or is_selected(name) or has_meaning(name):
            continue
        known = next((reason for beginning, reason in _NO_MEANING.items() if name.startswith(beginning)), None)
        reasons[name] = known or (f"it calls {name.removeprefix('llvm.')}, which there is not for these GPUs", None)
    refused = tuple(refusals(code, tuple(kernels), reasons, kind))
    if refused:
        raise CompilationError(*refused)


def emit(
    text: str, library: Library, flags: Sequence[str], form: Collection[str], kernels: Sequence[KernelSignature]
) -> bytes:
    """What LLVM makes of a module that is linked with the library and optimized; `form` are flags for the output.

    Raises CompilationError (WL1603) where it makes nothing.
    """
    with temporary_folder() as folder:
        module, linked, output = folder / "module.ll", folder / "library.bc", folder / "output"
        module.write_text(text, "utf-8")
        linked.write_bytes(library.bitcode)
        with_library = ("-mlink-builtin-bitcode", str(linked))
        outcome = run_clang([*flags, *_OPTIMIZED, *with_library, *form, str(module), "-o", str(output)])
        if outcome.status == 0:
            return output.read_bytes()
    raise failure(kernels, outcome.messages, outcome.status)


def failure(kernels: Sequence[KernelSignature], messages: str, status: int) -> CompilationError:
    """The error for code that LLVM does not make."""
    said = [line.strip() for line in messages.splitlines() if "error:" in line]
    names = ", ".join(each.name for each in kernels)
    return CompilationError(
        Diagnostic(
            "WL1603",
            f"LLVM makes no GPU code of {names} ({spell_end(status)})",
            notes=tuple(said[:3]),
            help="another architecture may have what is missing; else please report it, with the kernel",
        )
    )
