"""Device code of several sources that name one another's functions and variables, linked into one module."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windlass.diagnostics import CompilationError, Diagnostic
from windlass.frontends.cuda.child import map_children
from windlass.frontends.cuda.clang import device_flags
from windlass.frontends.cuda.compilation import compile_unit, explain_failure, optimize_device
from windlass.frontends.cuda.includes import folder_flags, include_folders
from windlass.frontends.cuda.kept_units import Compilation
from windlass.frontends.cuda.limits import check_constants
from windlass.frontends.cuda.signatures import SignatureReader
from windlass.frontends.cuda.source import adapt_text, read_source
from windlass.ir.signature import DeviceCode
from windlass.llvm.metadata import with_all_positions, without_unneeded_metadata
from windlass.llvm.names import NAME

_DECLARED_FUNCTION = re.compile(rf"^declare [^\n]*?@({NAME})\(", re.MULTILINE)
_DECLARED_VARIABLE = re.compile(rf"^@({NAME}) = external [^\n]*\baddrspace\([14]\)", re.MULTILINE)
_DEFINED = re.compile(
    rf"^(?:define (?P<linkage>[^\n@]*)@(?P<function>{NAME})\("
    rf"|@(?P<variable>{NAME}) = (?P<kind>(?!external |extern_weak )[^\n]*))",
    re.MULTILINE,
)
_KEPT_APART = re.compile(r"\b(?:internal|private|linkonce|linkonce_odr|weak|weak_odr|available_externally)\b")
# Names of what is static or in a namespace without a name: each unit has its own.
_OWN = re.compile(r"_ZL|_ZN[^\n]*(?:12_GLOBAL__N_1|\dL\d)")


@dataclass(frozen=True)
class LinkedUnits:
    """One module for all units; `names` has, by unit, new names of kernels and variables that several units have."""

    code: DeviceCode
    names: tuple[Mapping[str, str], ...]


def unresolved_symbols(llvm_ir: str) -> tuple[str, ...]:
    """Linker names of C++ functions (but `new` and `delete`) and of variables that a module uses and does not define.

    >>> unresolved_symbols("@v = external addrspace(1) global i32\\ndeclare float @_Z1ff(float)\\ndeclare void @g()")
    ('_Z1ff', 'v')
    """
    functions = [name for name in _DECLARED_FUNCTION.findall(llvm_ir) if re.match(r"_Z(?!nwm|nam|dlPv|daPv)", name)]
    return (*functions, *_DECLARED_VARIABLE.findall(llvm_ir))


def link_units(
    sources: Sequence[Path],
    include: Iterable[str | Path] = (),
    define: Mapping[str, object] | None = None,
    standard: str = "gnu++20",
) -> LinkedUnits:
    """The device side of all sources (but those in C) as one module.

    Raises CompilationError: WL0101 and the like where a source does not compile, WL0120 where a function or variable is
    defined nowhere or in several sources.
    """
    flags = device_flags(standard)
    folders = include_folders(include)
    macros = dict(define or {})
    units = [read_source(source) for source in sources if source.suffix != ".c"]

    def emit_unit(place: int) -> str:
        compilation = Compilation("not optimized", units[place], adapt_text(units[place]), flags, folders, macros)
        outcome = compilation.output(lambda: compile_unit(units[place], flags, folder_flags(folders), macros))
        if outcome.status != 0:
            raise CompilationError(*explain_failure(outcome, units[place], ()))
        return outcome.output

    texts = map_children(emit_unit, range(len(units)), 2)
    texts, renamed = _with_own_names(texts)
    outcome = optimize_device(_link(texts, [unit.name for unit in units]), fast_math=False)
    if outcome.status != 0:
        raise CompilationError(*explain_failure(outcome, units[0], ()))
    llvm_ir = without_unneeded_metadata(with_all_positions(outcome.output))
    missing = unresolved_symbols(llvm_ir)
    if missing:
        raise CompilationError(*(_nowhere(name, texts, [unit.name for unit in units]) for name in missing))
    kernels, variables = SignatureReader(llvm_ir, units[0]).read()
    if len(units) == 1:  # each of several sources may be a module of its own
        check_constants(variables)
    names = iter(renamed)
    by_source = tuple({} if source.suffix == ".c" else next(names) for source in sources)
    return LinkedUnits(DeviceCode(llvm_ir, kernels, variables), by_source)


def _with_own_names(texts: Sequence[str]) -> tuple[list[str], list[dict[str, str]]]:
    """The units with what is static in several of them under names that say the unit."""
    defined = [_defined_names(text) for text in texts]
    counts = Counter(name for names in defined for name in names)
    changed: list[str] = []
    renamed: list[dict[str, str]] = []
    for number, (text, names) in enumerate(zip(texts, defined, strict=True)):
        new = {name: f"{name}.unit{number}" for name in sorted(names) if counts[name] > 1 and _OWN.match(name)}
        if new:
            pattern = re.compile("([@$])(" + "|".join(re.escape(name) for name in new) + r")(?![-\w$.])")
            text = pattern.sub(lambda match, new=new: match[1] + new[match[2]], text)
        changed.append(text)
        renamed.append(new)
    return changed, renamed


def _defined_names(text: str) -> set[str]:
    """What a unit defines that others could name."""
    found: set[str] = set()
    for match in _DEFINED.finditer(text):
        name = match["function"] or match["variable"]
        if not _KEPT_APART.search(match["linkage"] or (match["kind"] or "").split(" global ")[0]):
            found.add(name.strip('"'))
    return found


def _link(texts: Sequence[str], files: Sequence[str]) -> str:
    import llvmlite.binding as llvm_binding

    llvm: Any = llvm_binding  # llvmlite has no type stubs
    defined = [_defined_names(text) - {"llvm.compiler.used", "llvm.used"} for text in texts]
    for number, names in enumerate(defined):
        for other in range(number):
            for name in sorted(names & defined[other]):
                raise CompilationError(
                    Diagnostic(
                        "WL0120",
                        f"device code: '{_plain(name)}' is defined in '{files[other]}' and in '{files[number]}'",
                        notes=("the sources are linked, since one names device functions or variables of another",),
                        help="define it in one source, or make it static or inline",
                    )
                )
    try:
        modules = [llvm.parse_assembly(text) for text in texts]
        whole = modules[0]
        for module in modules[1:]:
            whole.link_in(module)
        return str(whole)
    except RuntimeError as error:
        headline = "the sources' device code can't be linked"
        raise CompilationError(Diagnostic("WL0120", headline, notes=(str(error).strip(),))) from error


def _nowhere(name: str, texts: Sequence[str], files: Sequence[str]) -> Diagnostic:
    users = [
        file for text, file in zip(texts, files, strict=True) if re.search(rf"@{re.escape(name)}(?![-\w$.])", text)
    ]
    return Diagnostic(
        "WL0120",
        f"device code: '{_plain(name)}' is used in {' and '.join(repr(user) for user in users)}, and defined nowhere",
        help="name the source that defines it among the program's sources",
    )


def _plain(name: str) -> str:
    """A function's or variable's name without its parameters, as the source has it.

    >>> _plain("_ZNK4deep1S6memberEf"), _plain("_Z7combine4Pairi"), _plain("calls")
    ('deep::S::member', 'combine', 'calls')
    """
    match = re.match(r"_Z(N?)[KVrR]*L?", name)
    if match is None:
        return name
    parts: list[str] = []
    rest = name[match.end() :]
    while (found := re.match(r"\d+", rest)) is not None:
        end = found.end() + int(found[0])
        parts.append(rest[found.end() : end])
        rest = rest[end:]
        if not match[1]:
            break
    return "::".join(parts) or name
