"""Device code of a CUDA C++ translation unit: one function, `compile_device`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from windlass.diagnostics import CompilationError, Diagnostic
from windlass.diagnostics.cache import spell_end, temporary_folder
from windlass.diagnostics.progress import telling
from windlass.frontends.cuda.assembly import with_assembly_translated
from windlass.frontends.cuda.child import (
    BYTES_SETTING,
    SECONDS_SETTING,
    Outcome,
    limit_of_bytes,
    limit_of_seconds,
)
from windlass.frontends.cuda.clang import UMBRELLA_HEADER, device_flags, optimization_flags, run_clang
from windlass.frontends.cuda.copies import with_copies_by_field
from windlass.frontends.cuda.hip import platform_macros
from windlass.frontends.cuda.includes import folder_flags, include_folders, refuse_irregular_includes
from windlass.frontends.cuda.kept_units import Compilation, read_dependencies
from windlass.frontends.cuda.limits import check_constants, with_lines_of
from windlass.frontends.cuda.messages import diagnostics_of
from windlass.frontends.cuda.precompiled import discard_precompiled_header, precompiled_header
from windlass.frontends.cuda.signatures import SignatureReader
from windlass.frontends.cuda.source import Source, adapt_text, read_source
from windlass.frontends.cuda.templates import kernel_templates, take_instance_markers, with_requested_names
from windlass.ir.signature import DeviceCode
from windlass.llvm.metadata import with_all_positions, without_unneeded_metadata

_LAST_LINES = 5
_MACRO_NAME = re.compile(r"[A-Za-z_]\w*(?:\([\w\s,.]*\))?")


def compile_device(
    source: str | Path,
    include: Iterable[str | os.PathLike[str]] = (),
    define: Mapping[str, object] | None = None,
    instances: Iterable[str] = (),
    fast_math: bool = False,
    name: str | None = None,
    standard: str = "gnu++20",
) -> DeviceCode:
    """Compile the device side of a CUDA C++ translation unit to LLVM IR, with the signatures of its kernels.

    `source` is a path or source text; `name` is what a text is called in messages. `include` are folders for
    `#include`, `define` macros for the preprocessor (a value of None or "" gives an empty one). `instances` are kernel
    templates to instantiate, such as "axpy<float>". With `fast_math` a multiplication and an addition may become one
    operation that rounds once (nvcc's default, `-fmad=true`); without it every operation rounds as written.

    Raises CompilationError (WL0101 to WL0105, WL0107, WL0108, WL0114, WL0115, WL0210 to WL0212, WL0427), with one
    diagnostic for each thing that is wrong.

    >>> code = compile_device("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
    >>> code.kernels[0].name, code.kernels[0].parameters[0].dtype
    ('twice', dtype('float32'))
    """
    if isinstance(include, (str, os.PathLike)):
        include = [include]
    requested = tuple(dict.fromkeys(instances))
    unit = read_source(source, name)
    flags = device_flags(standard, fast_math)
    folders = include_folders(include)
    macros = dict(define or {})

    def compile_anew() -> Outcome:
        with telling(f"compiling {unit.name}"):
            found = compile_unit(unit, flags, folder_flags(folders), macros, requested)
            return replace(optimize_device(found.output, fast_math), read=found.read) if found.status == 0 else found

    compilation = Compilation("device", unit, adapt_text(unit, requested), flags, folders, macros)
    outcome = compilation.output(compile_anew)
    if outcome.status != 0:
        raise CompilationError(*explain_failure(outcome, unit, requested))
    llvm_ir, instance_names = take_instance_markers(outcome.output)
    llvm_ir = without_unneeded_metadata(with_all_positions(llvm_ir))
    try:
        kernels, variables = SignatureReader(llvm_ir, unit).read()
        check_constants(variables)
    except CompilationError as error:
        raise with_lines_of(error, unit) from None
    templates = kernel_templates(unit, kernels)
    if not kernels and not templates:
        raise _no_kernel(unit)
    return DeviceCode(
        llvm_ir=llvm_ir,
        kernels=with_requested_names(kernels, requested, instance_names),
        variables=variables,
        source_text={} if unit.is_file else {unit.name: unit.text.decode("utf-8", "replace")},
        templates=templates,
    )


def _no_kernel(unit: Source) -> CompilationError:
    help = "a kernel is a function marked __global__; is it hidden by an #if?"
    return CompilationError(Diagnostic("WL0105", f"'{unit.name}' holds no kernel", help=help))


def compile_unit(
    unit: Source,
    flags: list[str],
    extra: list[str],
    define: dict[str, object],
    instances: tuple[str, ...] = (),
    *,
    emit: Sequence[str] = ("-emit-llvm", "-o", "-"),
    seconds: float | None = None,
) -> Outcome:
    """One side of a translation unit as clang emits it with these flags, by default as LLVM IR.

    `extra` are further arguments, such as include folders, which the precompiled header is not made for; `seconds` is
    as for `run_clang`. The outcome says what was read.
    """
    extra_define = {**platform_macros(unit), **define}
    with clang_reading(unit, adapt_text(unit, instances), extra, extra_define, emit, seconds) as run:
        header = precompiled_header(flags)
        if header is not None:
            outcome = run([*flags, "-include-pch", str(header)])
            is_told = re.search(r"\berror: ", outcome.messages) or outcome.stopped_by is not None
            blames_header = re.search(r"precompiled|\bPCH\b|\.pch\b|AST file", outcome.messages)
            if outcome.status == 0 or (is_told and not blames_header):
                return outcome
            discard_precompiled_header(flags)
        return run([*flags, "-include", UMBRELLA_HEADER])


@contextmanager
def clang_reading(
    unit: Source,
    text: bytes,
    extra: Sequence[str],
    define: Mapping[str, object],
    emit: Sequence[str] = ("-emit-llvm", "-o", "-"),
    seconds: float | None = None,
) -> Generator[Callable[[Sequence[str]], Outcome]]:
    """What runs clang on this text of a unit, with the flags that it is given; the rest is as for `compile_unit`.

    Raises CompilationError (WL0114, WL0427).
    """
    refuse_irregular_includes(unit, [folder for flag, folder in pairwise(extra) if flag == "-I"])
    with temporary_folder() as folder, main_file(unit, text, folder) as main:
        macros: list[str] = []
        if define:
            # After our headers, which no macro of the user's may change.
            prologue = folder / "defines.h"
            lines = [_macro(key, value) for key, value in define.items()]
            if "NDEBUG" in define:
                lines.append("#include <assert.h>\n")
            prologue.write_text("".join(lines), "utf-8")
            macros = ["-include", str(prologue)]
        listed = folder / "read"
        listing = ["-dependency-file", str(listed), "-MT", "unit", "-sys-header-deps"]
        tail = [*macros, *extra, *listing, *main, *emit]

        def run(flags: Sequence[str]) -> Outcome:
            outcome = run_clang([*flags, *tail], seconds)
            if outcome.status != 0:
                return outcome
            read = read_dependencies(listed.read_text("utf-8", "surrogateescape"))
            return replace(outcome, read=tuple(each for each in read if not each.startswith(f"{folder}/")))

        yield run


def optimize_device(llvm_ir: str, fast_math: bool) -> Outcome:
    """Optimized LLVM IR.

    Before that copies of structs become copies of their fields, needless metadata goes, and functions other than
    kernels become local, so that they vanish once they are inlined.
    """
    with temporary_folder() as folder:
        path = folder / "device.ll"
        translated = with_assembly_translated(llvm_ir, _compiled_assembly)
        text = with_local_functions(with_copies_by_field(without_unneeded_metadata(translated)))
        path.write_text(text, "utf-8")
        return run_clang([*optimization_flags(fast_math), "-emit-llvm", str(path), "-o", "-"])


def _compiled_assembly(text: str) -> str:
    outcome = compile_unit(read_source(text, "assembly"), device_flags(), [], {})
    return outcome.output if outcome.status == 0 else ""


def with_local_functions(llvm_ir: str) -> str:
    """The module with internal linkage for all functions but kernels, and without the C library's inline ones.

    Of those, such as vprintf, the devices' own are meant, and older C++ standards bring their bodies along.
    """
    llvm_ir = re.sub(
        r"^define available_externally ([^\n]*\)).*?^\}$", r"declare \1", llvm_ir, flags=re.MULTILINE | re.DOTALL
    )

    def internal(match: re.Match[str]) -> str:
        line = match[0]
        if " ptx_kernel " in line or line.startswith("define internal "):
            return line
        line = re.sub(
            r"^define (?:(?:linkonce_odr|weak_odr|linkonce|weak|hidden|dso_local) )*", "define internal ", line
        )
        return re.sub(r" comdat(?:\(\$[^)]*\))?(?= )", "", line)

    return re.sub(r"^define [^\n]*$", internal, llvm_ir, flags=re.MULTILINE)


def _macro(name: object, value: object) -> str:
    """The lines that define a macro.

    Raises CompilationError (WL0427) for what is no name (with parameters, if need be), and for values of several lines.
    """
    text = "1" if value is True else "" if value is None else str(value)
    if not isinstance(name, str) or _MACRO_NAME.fullmatch(name) is None:
        raise CompilationError(
            Diagnostic(
                "WL0427",
                f"a macro can't be called {name!r}",
                help="give a name, as in define={'N': 64}, or a name with parameters: define={'AT(i, j)': 'x[i][j]'}",
            )
        )
    if len(text.splitlines()) > 1 or text.endswith(("\n", "\r")):
        raise CompilationError(
            Diagnostic("WL0427", f"the macro '{name}' has a value of several lines", help="write it in the source")
        )
    return f"#undef {name.partition('(')[0]}\n#define {name} {text}\n"


@contextmanager
def main_file(unit: Source, text: bytes, folder: Path) -> Generator[list[str]]:
    """Arguments that make clang read `text` under the unit's own name."""
    if unit.is_file and text == unit.text:
        yield [unit.name]
        return
    replacement = folder / "source.cu"
    replacement.write_bytes(text)
    yield ["-remap-file", f"{unit.name};{replacement}", unit.name]


def explain_failure(outcome: Outcome, unit: Source, instances: tuple[str, ...]) -> list[Diagnostic]:
    """What is wrong with a unit that clang did not compile."""
    if outcome.stopped_by is not None:
        return [_limit_met(outcome, unit)]
    with suppress(RecursionError):
        if found := diagnostics_of(outcome.messages, unit, instances):
            return found
    lines = [line for line in outcome.messages.splitlines() if line.strip()]
    return [
        Diagnostic(
            "WL0108",
            f"clang stopped on '{unit.name}' without saying what is wrong ({spell_end(outcome.status)})",
            notes=tuple(line.strip() for line in lines[-_LAST_LINES:]),
            help="make the file smaller until it compiles: what was left out last is what clang can't take",
        )
    ]


def _limit_met(outcome: Outcome, unit: Source) -> Diagnostic:
    if outcome.stopped_by == "file":
        what = f"'{outcome.waited_for}'" if outcome.waited_for else "a file that nobody writes"
        return Diagnostic(
            "WL0114",
            f"'{unit.name}' can't be compiled: clang waits for {what}",
            help="include regular files only, no pipes or devices",
        )
    if outcome.stopped_by == "memory":
        headline = f"clang needs more than {limit_of_bytes() / (1 << 30):.3g} GiB of memory for '{unit.name}'"
        note = f"{BYTES_SETTING}=16G in the environment raises the limit"
    else:
        headline = f"clang did not finish '{unit.name}' within {limit_of_seconds():g} seconds"
        note = f"{SECONDS_SETTING}=600 in the environment raises the limit"
    return Diagnostic(
        "WL0115",
        headline,
        notes=(note,),
        help="look for templates, macros, constant expressions or includes that expand without end",
    )
