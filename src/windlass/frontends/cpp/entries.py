"""Which functions of a unit can be called from outside, as kernels of one thread.

    double dot(int n, const float *x)   =   void dot.entry(int n, const float *x, double *result)

An entry is a function of its own that calls the user's: it takes structs by value as kernels take them, in memory, and
gives what is returned to an array of one element.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from windlass.diagnostics import Position
from windlass.frontends.cpp.openmp import split_arguments
from windlass.frontends.cuda.signatures import SignatureReader
from windlass.frontends.cuda.source import Source
from windlass.frontends.cuda.types import TypeReader
from windlass.ir.signature import KernelSignature, Parameter
from windlass.ir.types import MLIR_DTYPES
from windlass.llvm.metadata import Metadata
from windlass.llvm.names import strip_quotes
from windlass.llvm.reach import bodies_of, names_reached_from

SUFFIX = ".entry"
RESULT = "returned value"
"""What the parameter is called that takes what a function returns: no name that C has."""

_DEFINITION = re.compile(
    r'^define (?P<linkage>[^@\n]*)@(?P<name>"[^"]*"|[-\w$.]+)\((?P<parameters>.*)\)(?P<tail>[^)\n]*?)'
    r"!dbg !(?P<program>\d+) \{$",
    re.MULTILINE,
)
_EXTERNAL = re.compile(r"^@([-\w$.]+) = (?:[a-z_]+ )*external [^\n]*\bglobal\b", re.MULTILINE)
_RUNTIME = re.compile(r"^declare [^@\n]*@(__kmpc_\w+|omp_\w+)\(", re.MULTILINE)
_INNER = re.compile(r"\b(?:internal|private|linkonce_odr|linkonce|available_externally)\b")
_LINKAGE = re.compile(r"\b(?:dso_local|weak_odr|weak|hidden|protected)\b ?")
_ATTRIBUTE = re.compile(
    r"\b(?:noundef|signext|zeroext|inreg|noalias|nonnull|range\([^)]*\)|nofpclass\([^)]*\)"
    r"|(?:align|dereferenceable|dereferenceable_or_null)(?: |\()\d+\)?)\s?"
)

_OF_THE_FUNCTION = re.compile(r', (?:retainedNodes|declaration|linkageName|templateParams): (?:!\d+|"[^"]*")')


class Refusal(NamedTuple):
    """A function that can't be called from outside: where it stands, and why."""

    name: str
    position: Position | None
    reason: str


@dataclass(frozen=True)
class Entries:
    """The module with its entries, their signatures, and why others of the user's functions are none."""

    llvm_ir: str
    kernels: tuple[KernelSignature, ...]
    refused: tuple[Refusal, ...]


def with_entries(llvm_ir: str, source: Source, is_apart: bool) -> Entries:
    """A module that is not optimized with entries for the functions that have external names, but `main`.

    With `is_apart` the entries promise that the memories they are given are apart: callers have to see to it.
    """
    # In this form their signatures are read as those of kernels are.
    marked = _DEFINITION.sub(_as_kernel, llvm_ir)
    signatures, _ = SignatureReader(marked, source).read()
    by_name = {each.mangled: each for each in signatures}
    metadata = Metadata(llvm_ir)
    types = TypeReader(metadata)
    made: list[str] = []
    kernels: list[KernelSignature] = []
    refused: list[Refusal] = []
    number = 1 + max((int(each) for each in re.findall(r"^!(\d+) = ", llvm_ir, re.MULTILINE)), default=0)
    for match in _DEFINITION.finditer(llvm_ir):
        signature = by_name.get(strip_quotes(match["name"]))
        if signature is None or _as_kernel(match) == match[0]:
            continue
        entry = _Entry(match, signature, types, is_apart)
        reason = entry.refusal()
        if reason is not None:
            refused.append(Refusal(signature.name, signature.position, reason))
            continue
        made.append(entry.text(number, llvm_ir))
        kernels.append(entry.kernel)
        number += 2
    order = {each.mangled: place for place, each in enumerate(signatures)}
    kernels.sort(key=lambda each: order[each.mangled.removesuffix(SUFFIX)])
    return Entries("\n".join([llvm_ir, *made, ""]), tuple(kernels), tuple(refused))


def refuse_what_lacks(llvm_ir: str, kernels: Sequence[KernelSignature]) -> tuple[Refusal, ...]:
    """The entries of an optimized module that use variables of other sources, or what a team of one can't do."""
    missing = {name: f"it uses '{name}', which this source only declares" for name in _EXTERNAL.findall(llvm_ir)}
    for name in _RUNTIME.findall(llvm_ir):
        missing[name] = f"it uses what Windlass has not of OpenMP: {_spell(name)}"
    if not missing:
        return ()
    bodies = bodies_of(llvm_ir)
    found: list[Refusal] = []
    for kernel in kernels:
        lacking = sorted(names_reached_from(bodies, kernel.mangled).intersection(missing))
        if lacking:
            found.append(Refusal(kernel.name, kernel.position, missing[lacking[0]]))
    return tuple(found)


def _spell(name: str) -> str:
    """A function of OpenMP's runtime in the words of the source, where it has another name there."""
    return name.removeprefix("__kmpc_").replace("_", " ") if name.startswith("__kmpc_") else f"{name}()"


def _as_kernel(match: re.Match[str]) -> str:
    if _INNER.search(match["linkage"]) or match["name"] == "main":
        return match[0]
    return match[0].replace("define ", "define ptx_kernel ", 1)


class _Entry:
    """The entry of one function."""

    def __init__(self, match: re.Match[str], signature: KernelSignature, types: TypeReader, is_apart: bool) -> None:
        self.match = match
        # A struct in registers has no alignment of its own: one that its size allows.
        parameters = [replace(each, alignment=each.alignment & -each.alignment) for each in signature.parameters]
        self.signature = replace(signature, parameters=tuple(parameters))
        self.is_apart = is_apart
        self.given = split_arguments(match["parameters"])
        self.type = _ATTRIBUTE.sub("", _LINKAGE.sub("", match["linkage"])).strip()
        metadata = types.metadata
        program = metadata.node(int(match["program"]))
        subroutine = metadata.follow(program, "type") if program is not None else None
        declared = metadata.members(metadata.follow(subroutine, "types")) if subroutine is not None else [None]
        node = declared[0] if declared else None
        self.returned: Parameter | None = None
        self.is_record = types.is_record(node)
        if node is not None:
            self.returned = Parameter(RESULT, f"{types.name(node)} *", "pointer", types.dtype(node), 8, 8)

    @property
    def kernel(self) -> KernelSignature:
        parameters = self.signature.parameters
        if self.returned is not None:
            parameters = (*parameters, self.returned)
        return replace(self.signature, mangled=self.signature.mangled + SUFFIX, parameters=parameters)

    def refusal(self) -> str | None:
        """Why it can't be called from outside."""
        if self.given and self.given[-1] == "...":
            return "it takes any number of arguments"
        if self.returned is not None:
            if self.is_record or "sret(" in self.match["parameters"]:
                return "it returns a struct"
            if self.type == "ptr":
                return "it returns a pointer"
            if not _is_number(self.returned):
                return f"it returns {self.returned.type_name.removesuffix(' *')}"
        for parameter in self.signature.parameters:
            if parameter.kind == "pointer" and "function" in parameter.type_name:
                return f"it takes a function, {parameter.name}"
            if parameter.kind == "scalar" and not _is_number(parameter):
                return f"it takes {parameter.type_name} {parameter.name}"
        if len(list(self._pieces())) != len(self.signature.parameters):
            return "it takes arguments in a way that is not understood"
        return None

    def _pieces(self) -> Iterator[list[str]]:
        """The IR parameters that each declared one is passed as."""
        waiting = list(self.given)
        for parameter in self.signature.parameters:
            count = 1
            if parameter.kind == "record" and waiting and "byval(" not in waiting[0]:
                name = re.escape(parameter.name)
                count = sum(1 for each in waiting if re.search(rf'%"?{name}\.coerce\d*"?$', each))
            if parameter.size == 0:
                count = 0
            if len(waiting) < count:
                return
            yield waiting[:count]
            waiting = waiting[count:]

    def text(self, number: int, llvm_ir: str) -> str:
        """The entry's definition, with the two metadata nodes that it needs from this number on."""
        location = f", !dbg !{number + 1}"
        parameters: list[str] = []
        lines: list[str] = []
        passed: list[str] = []
        for place, (parameter, pieces) in enumerate(zip(self.signature.parameters, self._pieces(), strict=True)):
            name = f"%a{place}"
            if parameter.kind == "record" and not (pieces and "byval(" in pieces[0]):
                parameters.append(f"ptr byval([{parameter.size} x i8]) align {parameter.alignment} {name}")
                for number_of_piece, piece in enumerate(pieces):
                    part, type_ = f"{name}.{number_of_piece}", _type_of(piece)
                    lines.append(f"  {part}.place = getelementptr i8, ptr {name}, i64 {8 * number_of_piece}{location}")
                    lines.append(f"  {part} = load {type_}, ptr {part}.place, align 1{location}")
                    passed.append(f"{type_} {part}")
                continue
            (piece,) = pieces
            head = piece.rpartition(" ")[0]
            is_apart = self.is_apart and parameter.kind == "pointer" and "noalias" not in head
            parameters.append(f"{head}{' noalias' if is_apart else ''} {name}")
            passed.append(f"{head} {name}")
        call = f"call {self.type} @{self.match['name']}({', '.join(passed)}){location}"
        if self.returned is None:
            lines.append(f"  {call}")
        else:
            parameters.append("ptr noalias %result")
            lines.append(f"  %returned = {call}")
            value = f"{self.type} %returned"
            if self.type == "i1":
                lines.append(f"  %byte = zext i1 %returned to i8{location}")
                value = "i8 %byte"
            lines.append(f"  store {value}, ptr %result, align 1{location}")
        program = re.search(rf"^!{self.match['program']} = (.*)$", llvm_ir, re.MULTILINE)
        assert program is not None
        own = _OF_THE_FUNCTION.sub("", program[1])
        name = f'"{strip_quotes(self.match["name"])}{SUFFIX}"'
        line = self.signature.position.line if self.signature.position is not None else 1
        return "\n".join(
            [
                f"define dso_local ptx_kernel void @{name}({', '.join(parameters)}) !dbg !{number} {{",
                "entry:",
                *lines,
                f"  ret void{location}",
                "}",
                f"!{number} = {own}",
                f"!{number + 1} = !DILocation(line: {line}, column: 1, scope: !{number})",
            ]
        )


def _is_number(parameter: Parameter) -> bool:
    return parameter.dtype is not None and (parameter.dtype in MLIR_DTYPES or parameter.dtype == np.bool_)


def _type_of(parameter: str) -> str:
    return _ATTRIBUTE.sub("", parameter.rpartition(" ")[0]).strip()
