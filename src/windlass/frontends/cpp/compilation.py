"""C and C++ translation units: one function, `compile_functions`."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from windlass.diagnostics import CompilationError, Diagnostic, Position
from windlass.diagnostics.cache import temporary_folder
from windlass.diagnostics.progress import telling
from windlass.frontends.cpp.clang import OWN_FOLDER, Language, optimization_flags, source_flags
from windlass.frontends.cpp.entries import Refusal, refuse_what_lacks, with_entries
from windlass.frontends.cpp.openmp import as_team_of_one
from windlass.frontends.cuda.child import Outcome
from windlass.frontends.cuda.clang import run_clang
from windlass.frontends.cuda.compilation import clang_reading, explain_failure, with_local_functions
from windlass.frontends.cuda.copies import with_copies_by_field
from windlass.frontends.cuda.includes import folder_flags, include_folders
from windlass.frontends.cuda.kept_units import Compilation
from windlass.frontends.cuda.signatures import SignatureReader
from windlass.frontends.cuda.source import Source, read_source
from windlass.ir.signature import DeviceCode
from windlass.llvm.metadata import with_all_positions, without_unneeded_metadata

_VARIABLE = re.compile(
    r"^@(?!\.)([-\w$.]+) = (?:(?:internal|dso_local|common|unnamed_addr|local_unnamed_addr|linkonce_odr|weak_odr) )*"
    r"global ",
    re.MULTILINE,
)
"""Variables that hold something; what clang makes for itself begins with a dot."""


@dataclass(frozen=True)
class HostCode:
    """A unit's functions as kernels of one thread.

    `refused` are those that can't be called from outside.
    """

    code: DeviceCode
    refused: tuple[Refusal, ...] = ()


def compile_functions(
    source: str | Path,
    language: Language | None = None,
    include: Iterable[str | os.PathLike[str]] = (),
    define: Mapping[str, object] | None = None,
    is_apart: bool = False,
) -> HostCode:
    """Compile a C or C++ translation unit, whose functions are run by one thread each.

    `source` is a path or source text; without a `language`, a file that ends in ".c" is C, all other files are C++, and
    text is C. `include` are folders for `#include`, `define` macros. With `is_apart` the code is right only for calls
    whose arrays are apart, unless a function does nothing but read them.

    Raises CompilationError (WL0101 to WL0105, WL0108, WL0114, WL0115, WL0427) as `compile_device` does.

    >>> found = compile_functions("double half(double x) { return x / 2; }")
    >>> [each.name for each in found.code.kernels[0].parameters]
    ['x', 'returned value']
    """
    unit = read_source(source)
    language = language or ("c++" if unit.is_file and Path(unit.name).suffix != ".c" else "c")
    flags = source_flags(language)
    folders = [*include_folders(include), str(OWN_FOLDER)]
    macros = dict(define or {})

    def compile_anew() -> Outcome:
        with (
            telling(f"compiling {unit.name}"),
            clang_reading(unit, unit.text, folder_flags(folders), macros) as run,
        ):
            found = run(flags)
        return replace(found, output=as_team_of_one(found.output)) if found.status == 0 else found

    outcome = Compilation(f"host {_own_digest()}", unit, unit.text, flags, folders, macros).output(compile_anew)
    if outcome.status != 0:
        raise CompilationError(*explain_failure(outcome, unit, ()))
    entries = with_entries(outcome.output, unit, is_apart)
    if not entries.kernels:
        raise _nothing_to_call(unit, entries.refused)
    optimized = _optimized(entries.llvm_ir)
    if optimized.status != 0:
        raise CompilationError(*explain_failure(optimized, unit, ()))
    llvm_ir = without_unneeded_metadata(with_all_positions(optimized.output))
    _, variables = SignatureReader(llvm_ir, unit).read()
    refused = (*entries.refused, *refuse_what_lacks(llvm_ir, entries.kernels))
    code = DeviceCode(
        llvm_ir=llvm_ir,
        kernels=tuple(each for each in entries.kernels if (each.name, each.position) not in _places(refused)),
        variables=variables,
        source_text={} if unit.is_file else {unit.name: unit.text.decode("utf-8", "replace")},
    )
    return HostCode(code, refused)


def _places(refused: Iterable[Refusal]) -> set[tuple[str, Position | None]]:
    return {(each.name, each.position) for each in refused}


def _optimized(llvm_ir: str) -> Outcome:
    text = with_local_functions(with_copies_by_field(without_unneeded_metadata(_with_variables_apart(llvm_ir))))
    with temporary_folder() as folder:
        path = folder / "host.ll"
        path.write_text(text, "utf-8")
        return run_clang([*optimization_flags(), "-emit-llvm", str(path), "-o", "-"])


def _with_variables_apart(llvm_ir: str) -> str:
    """The module with its variables as a device's are: in an address space of their own, and seen from outside.

    They have other readers than the functions that are left: else what only writes them would go.
    """
    names = _VARIABLE.findall(llvm_ir)
    if not names:
        return llvm_ir
    named = "|".join(map(re.escape, names))
    text = re.sub(
        rf"\bptr ((?:[a-z]+(?:\(\d+\)| \d+)? )*)@({named})(?![-\w$.])",
        r"ptr \1addrspacecast (ptr addrspace(1) @\2 to ptr)",
        llvm_ir,
    )
    return _VARIABLE.sub(r"@\1 = dso_local addrspace(1) global ", text)


def _nothing_to_call(unit: Source, refused: tuple[Refusal, ...]) -> CompilationError:
    return CompilationError(
        Diagnostic(
            "WL0105",
            f"'{unit.name}' holds no function to call",
            notes=tuple(f"'{each.name}' is none: {each.reason}" for each in refused),
            help="static and inline functions, and templates without an explicit instance, are not seen from outside",
        )
    )


@cache
def _own_digest() -> str:
    """The text of the modules here, which edit what clang gives."""
    digest = hashlib.sha256()
    for module in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(module.name.encode() + b"\0" + module.read_bytes())
    return digest.hexdigest()
