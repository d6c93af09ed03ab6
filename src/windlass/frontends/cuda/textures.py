"""Kernels for textures that are known: fetches become plain loads and arithmetic.

Which texture a parameter or reference stands for, and all that is said of it but its texels, are constants of the
kernel then. Texels are device variables of the kernel's module.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from windlass.diagnostics import CompilationError, Diagnostic
from windlass.diagnostics.cache import keep, read_kept
from windlass.emulator.library import SOURCES as EMULATOR_SOURCES
from windlass.frontends.cuda.clang import UMBRELLA_HEADER, device_flags, run_clang
from windlass.frontends.cuda.precompiled import headers_digest
from windlass.frontends.cuda.signatures import SURFACE_TYPES, TEXTURE_TYPES
from windlass.frontends.cuda.specialization import alone_in_module, optimized, take_name, with_parameters
from windlass.ir.signature import DeviceCode, DeviceVariable, KernelSignature
from windlass.ir.textures import WORDS, TextureForm
from windlass.llvm.reach import reached_names

_FETCHES = Path(__file__).parent / "device" / "textures.cu"
_DECLARATION = re.compile(
    r"^declare [^\n]*@(__windlass_(?:texture_\w+|texels|bound_texture|surface_place))\(.*\n", re.M
)


@dataclass(frozen=True)
class TextureUse:
    """A texture or surface that a kernel uses: by a parameter (its position) or by a reference (its linker name)."""

    key: int | str
    name: str
    is_surface: bool
    type_name: str


def texels_variable(number: int) -> str:
    """The linker name of the device variable that holds the texels of a memory."""
    return f"__windlass_texels_{number}"


def texture_uses(code: DeviceCode, signature: KernelSignature) -> tuple[TextureUse, ...]:
    """The textures and surfaces that a kernel takes as parameters, and the references that it uses."""
    found: list[TextureUse] = []
    for position, parameter in enumerate(signature.parameters):
        type_name = parameter.type_name
        if type_name in TEXTURE_TYPES or type_name in SURFACE_TYPES:
            found.append(TextureUse(position, parameter.name, type_name in SURFACE_TYPES, type_name))
    references = {each.mangled: each for each in code.variables if each.space in ("texture", "surface")}
    if references:
        reached = reached_names(code.llvm_ir, signature.mangled)
        for mangled, variable in references.items():
            if mangled in reached:
                found.append(TextureUse(mangled, variable.name, variable.space == "surface", variable.type_name))
    return tuple(found)


def specialize_textures(
    code: DeviceCode,
    signature: KernelSignature,
    textures: Mapping[int | str, tuple[TextureForm, int]],
    first_memory: int,
    fast_math: bool,
) -> DeviceCode:
    """The kernel for textures of these forms, alone in its module.

    Each texture comes with the number of the memory that holds its texels: memory k is the device variable
    `texels_variable(first_memory + k)`. Objects among the arguments mean nothing any more.

    Raises CompilationError (WL0108) where clang fails.
    """
    text = alone_in_module(code.llvm_ir, signature.mangled)
    numbers = {key: number for number, key in enumerate(textures, 1)}
    constants = {key: number for key, number in numbers.items() if isinstance(key, int)}
    text = _with_constant_parameters(text, signature.mangled, constants)
    variables = _texel_variables(list(textures.values()), first_memory)
    text = _DECLARATION.sub("", text)
    text += _definitions(text, list(textures.values()), first_memory, variables, numbers)
    llvm_ir = optimized(text, fast_math, "a kernel with textures")
    kept = tuple(each for each in code.variables if each.space not in ("texture", "surface"))
    return replace(code, llvm_ir=llvm_ir, kernels=(signature,), variables=(*kept, *variables), templates=())


def _texel_variables(textures: Sequence[tuple[TextureForm, int]], first: int) -> list[DeviceVariable]:
    sizes: dict[int, int] = {}
    forms: dict[int, TextureForm] = {}
    for form, memory in textures:
        sizes[memory] = max(sizes.get(memory, 0), form.size_bytes)
        forms.setdefault(memory, form)
    found: list[DeviceVariable] = []
    for memory, form in forms.items():
        count = max(1, sizes[memory] // form.dtype.itemsize)
        name = texels_variable(first + memory)
        found.append(DeviceVariable(name, name, form.dtype, (count,), count * form.dtype.itemsize, "global"))
    return found


def _with_constant_parameters(llvm_ir: str, kernel: str, constants: Mapping[int, int]) -> str:
    """The module in which the kernel's parameters at these positions are numbers."""

    def change(pieces: list[str]) -> list[str]:
        lines: list[str] = []
        for position, number in constants.items():
            name = take_name(pieces, position)
            if name is not None:
                lines.append(f"  %{name} = add i64 0, {number}\n")
        return lines

    return with_parameters(llvm_ir, kernel, change) if constants else llvm_ir


def _definitions(
    text: str,
    textures: Sequence[tuple[TextureForm, int]],
    first: int,
    variables: Sequence[DeviceVariable],
    numbers: Mapping[int | str, int],
) -> str:
    """What answers the questions about textures, and the fetches themselves."""
    rows = [(0,) * WORDS, *(form.words() for form, _ in textures)]
    table = ", ".join(f"[{WORDS} x i64] [{', '.join(f'i64 {word}' for word in row)}]" for row in rows)
    # Named by what it holds: the kernels of a module have their variables in common, and this is one of them.
    words = f"__windlass_texture_words_{hashlib.sha256(table.encode()).hexdigest()[:16]}"
    lines = [f"@{words} = internal constant [{len(rows)} x [{WORDS} x i64]] [{table}]"]
    for variable in variables:
        kind = f"[{variable.size // variable.dtype.itemsize} x {_element(variable)}]" if variable.dtype else "i8"
        lines.append(
            f"@{variable.mangled} = addrspace(1) externally_initialized global {kind} zeroinitializer, align 256"
        )
    lines += [
        "define internal i64 @__windlass_texture_word(i64 %object, i32 %word) alwaysinline {",
        f"  %place = getelementptr [{WORDS} x i64], ptr @{words}, i64 %object, i32 %word",
        "  %value = load i64, ptr %place",
        "  ret i64 %value",
        "}",
        "define internal ptr @__windlass_texels(i64 %object) alwaysinline {",
    ]
    value = "null"
    for number, (_, memory) in enumerate(textures, 1):
        texels = f"addrspacecast (ptr addrspace(1) @{texels_variable(first + memory)} to ptr)"
        lines.append(f"  %is.{number} = icmp eq i64 %object, {number}")
        lines.append(f"  %of.{number} = select i1 %is.{number}, ptr {texels}, ptr {value}")
        value = f"%of.{number}"
    lines += [f"  ret ptr {value}", "}", "define internal i64 @__windlass_bound_texture(ptr %reference) alwaysinline {"]
    value = "0"
    for key, number in numbers.items():
        if isinstance(key, str):
            place = f'addrspacecast (ptr addrspace(1) @"{key}" to ptr)'
            lines.append(f"  %is.{number} = icmp eq ptr %reference, {place}")
            lines.append(f"  %of.{number} = select i1 %is.{number}, i64 {number}, i64 {value}")
            value = f"%of.{number}"
    lines += [f"  ret i64 {value}", "}"]
    fetches, declarations = _fetch_functions()
    lines += [line for name, line in declarations if f"@{name}(" not in _declared(text)]
    return "\n" + "\n".join(lines) + "\n" + fetches


def _declared(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if line.startswith(("declare ", "define ")))


def _element(variable: DeviceVariable) -> str:
    assert variable.dtype is not None
    names = {("f", 2): "half", ("f", 4): "float"}
    return names.get((variable.dtype.kind, variable.dtype.itemsize), f"i{8 * variable.dtype.itemsize}")


@cache
def _fetch_functions() -> tuple[str, tuple[tuple[str, str], ...]]:
    """The fetches in LLVM IR without attributes and metadata, and what they need declared; kept on disk."""
    flags = device_flags()
    digest = hashlib.sha256(" ".join(flags).encode() + headers_digest().encode())
    for each in (_FETCHES, *sorted(EMULATOR_SOURCES.glob("texture_*.h"))):
        digest.update(each.read_bytes())
    name = f"textures-{digest.hexdigest()[:16]}.ll"
    known = read_kept(name)
    if known is not None:
        text = known.decode()
    else:
        plain = [flag for flag in flags if not flag.startswith(("-debug", "-dwarf", "-disable-llvm-passes"))]
        folders = ["-I", str(EMULATOR_SOURCES)]
        outcome = run_clang([*plain, *folders, "-include", UMBRELLA_HEADER, "-emit-llvm", str(_FETCHES), "-o", "-"])
        if outcome.status != 0:
            lines = tuple(outcome.messages.splitlines()[:5])
            raise CompilationError(Diagnostic("WL0108", "the fetches of textures can't be compiled", notes=lines))
        text = outcome.output
        keep(name, text.encode())
    functions: list[str] = []
    for match in re.finditer(r"^define [^\n]*\n.*?^}$", text, re.MULTILINE | re.DOTALL):
        body = re.sub(r",? ![\w.]+ !\d+", "", match[0])
        body = re.sub(r" #\d+\b", "", body)
        body = re.sub(r"^define (?:(?:dso_local|hidden|internal|linkonce_odr|weak_odr) )*", "define internal ", body)
        functions.append(re.sub(r"(?: local_unnamed_addr)? \{$", " alwaysinline {", body, count=1, flags=re.MULTILINE))
    declarations = tuple(
        (match[1], re.sub(r" #\d+\b", "", match[0]))
        for match in re.finditer(r"^declare [^\n]*@(llvm\.[\w.]+)\([^\n]*$", text, re.MULTILINE)
    )
    return "\n".join(functions) + "\n", declarations
