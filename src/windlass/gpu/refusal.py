"""Why a kernel has no code for a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from windlass.diagnostics import Diagnostic, Position
from windlass.ir.signature import DeviceCode, KernelSignature
from windlass.llvm.names import NAME
from windlass.llvm.positions import DebugPositions
from windlass.llvm.reach import bodies_of, names_reached_from

_DECLARED = re.compile(rf"^declare [^\n]*?@({NAME})\(", re.MULTILINE)


def refusals(
    code: DeviceCode, kernels: tuple[KernelSignature, ...], reasons: Mapping[str, tuple[str, str | None]], kind: str
) -> Iterator[Diagnostic]:
    """A diagnostic for each kernel that reaches a function which has no meaning on the GPU.

    `reasons` says for such functions what is done by them, and what would help; `kind` is what the code is called.
    """
    bodies = bodies_of(code.llvm_ir)
    positions: DebugPositions | None = None
    for kernel in kernels:
        reached = names_reached_from(bodies, kernel.mangled)
        for name in sorted(reached & reasons.keys()):
            what, help_ = reasons[name]
            positions = positions or DebugPositions(code.llvm_ir, code.source_text)
            position = _first_call(bodies, reached | {kernel.mangled}, name, positions) or kernel.position
            yield Diagnostic(
                "WL1601",
                f"kernel '{kernel.name}' can't become {kind}: {what}",
                position,
                source=code.source_line(position),
                help=help_,
            )
            break


def _first_call(
    bodies: Mapping[str, str], functions: frozenset[str], name: str, positions: DebugPositions
) -> Position | None:
    called = re.compile(rf'@(?:{re.escape(name)}|"{re.escape(name)}")[(),][^\n]*?!dbg !(\d+)')
    for function in sorted(functions & bodies.keys()):
        match = called.search(bodies[function])
        if match is not None:
            return positions.position(int(match[1]))
    return None


def declared_functions(llvm_ir: str) -> frozenset[str]:
    """The names of functions that are declared and not defined."""
    return frozenset(name.strip('"') for name in _DECLARED.findall(llvm_ir))
