"""How much of each memory a device has for what a source declares, as ptxas checks it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from windlass.diagnostics import CompilationError, Diagnostic
from windlass.frontends.cuda.source import Source
from windlass.ir.signature import DeviceVariable, KernelSignature

MOST_STATIC_SHARED = 48 << 10
MOST_CONSTANT = 64 << 10
MOST_PARAMETERS = 32_764
"""Of devices since 7.0, with CUDA 12.1 or later; 4096 before."""


def check_shared(kernel: KernelSignature, variables: Sequence[DeviceVariable]) -> None:
    """Raise CompilationError (WL0210) for a kernel with more shared variables than fit."""
    total = sum(variable.size for variable in variables)
    if total > MOST_STATIC_SHARED:
        headline = f"kernel '{kernel.name}' uses too much shared data: {total} bytes, the most is {MOST_STATIC_SHARED}"
        help_ = "declare it extern __shared__ and give its size at the launch: kernel[grid, block, bytes](...)"
        raise CompilationError(_too_large("WL0210", headline, variables, help_))


def check_constants(variables: Sequence[DeviceVariable]) -> None:
    """Raise CompilationError (WL0211) for more constant variables than fit."""
    constants = [each for each in variables if each.space == "constant" and not each.mangled.startswith("__windlass_")]
    total = sum(variable.size for variable in constants)
    if total > MOST_CONSTANT:
        headline = f"too much constant data: {total} bytes, the most is {MOST_CONSTANT}"
        raise CompilationError(_too_large("WL0211", headline, constants, "make it a __device__ variable"))


def check_parameters(kernel: KernelSignature) -> None:
    """Raise CompilationError (WL0212) for a kernel whose parameters are too large."""
    total = sum(parameter.size for parameter in kernel.parameters)
    if total > MOST_PARAMETERS:
        largest = max(kernel.parameters, key=lambda parameter: parameter.size)
        raise CompilationError(
            Diagnostic(
                "WL0212",
                f"kernel '{kernel.name}' takes parameters of {total} bytes, the most is {MOST_PARAMETERS}",
                kernel.position,
                notes=(f"{largest.type_name} {largest.name} has {largest.size}",),
                help="pass a pointer to it",
            )
        )


def with_lines_of(error: CompilationError, source: Source) -> CompilationError:
    """The error with the source line that it points to, where the source was given as text."""
    found: list[Diagnostic] = []
    for each in error.diagnostics:
        if each.position is not None and each.position.file == source.name and not source.is_file:
            lines = source.text.decode("utf-8", "replace").splitlines()
            if 0 < each.position.line <= len(lines):
                each = replace(each, source=lines[each.position.line - 1])
        found.append(each)
    return CompilationError(*found)


def _too_large(code: str, headline: str, variables: Sequence[DeviceVariable], help_: str) -> Diagnostic:
    """The diagnostic at the largest variable, which names the others."""
    first, *others = sorted(variables, key=lambda variable: -variable.size)
    notes = [f"'{first.name}' has {first.size} bytes"]
    notes += [f"'{each.name}' has {each.size} bytes, at {each.position or '?'}" for each in others[:3]]
    return Diagnostic(code, headline, first.position, notes=tuple(notes), help=help_)
