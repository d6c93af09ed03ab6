"""Inline assembly made ordinary device code: `with_assembly_translated`.

Each `asm` in the LLVM IR becomes a call of a function that does the same, compiled from C++ (`ptx_instructions`) and
linked in. What has no translation stays, to be explained to the user where it is met.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from windlass.frontends.cuda.ptx import PLACE, UnknownPTX
from windlass.frontends.cuda.ptx_instructions import ptx_as_cuda

_CALL = re.compile(
    r"call (?P<result>\S.*?) asm (?:sideeffect |alignstack |inteldialect |unwind )*"
    r'"(?P<text>[^"]*\S[^"]*)", "(?P<constraints>[^"]*)"(?=\()'
)
_CPP_TYPES = {
    "i8": "unsigned char",
    "i16": "unsigned short",
    "i32": "unsigned",
    "i64": "unsigned long long",
    "half": "_Float16",
    "float": "float",
    "double": "double",
    "ptr": "void *",
}


@dataclass(frozen=True)
class Assembly:
    """One form of an `asm` statement: its text, what it gives and takes; `literals` are operands that are numbers."""

    text: str
    constraints: tuple[str, ...]
    result: str
    arguments: tuple[str, ...]
    literals: tuple[str | None, ...]

    @property
    def outputs(self) -> tuple[str, ...]:
        """The LLVM types of the results."""
        if self.result == "void":
            return ()
        return tuple(each.strip() for each in self.result.strip("{} ").split(","))

    def write_function(self, name: str) -> str:
        """A C++ function that takes pointers to the results, then the operands.

        Raises UnknownPTX.
        """
        outputs = self.outputs
        declared = [each for each in self.constraints if each and not each.startswith("~")]
        inputs = declared[len(outputs) :]
        if len(inputs) != len(self.arguments) or any("*" in each or "|" in each for each in declared):
            raise UnknownPTX(", ".join(self.constraints))
        types = [*outputs, *self.arguments]
        if any(each not in _CPP_TYPES for each in types):
            raise UnknownPTX(", ".join(types))
        parameters = [f"{_CPP_TYPES[each]} *out_{place}" for place, each in enumerate(outputs)]
        parameters += [f"{_CPP_TYPES[each]} in_{place}" for place, each in enumerate(self.arguments)]
        places: dict[str, str] = {}
        initial = ["0"] * len(outputs)
        registers: list[str] = []
        for place, (constraint, literal) in enumerate(zip(inputs, self.literals, strict=True)):
            number = len(outputs) + place
            if constraint.isdigit():
                initial[int(constraint)] = f"in_{place}"
                places[f"${number}"] = f"{PLACE}{constraint}"
            elif literal is not None:
                places[f"${number}"] = literal
            else:
                places[f"${number}"] = f"{PLACE}{number}"
                registers.append(f"{_CPP_TYPES[self.arguments[place]]} {PLACE}{number} = in_{place};")
        for place, type_ in enumerate(outputs):
            places[f"${place}"] = f"{PLACE}{place}"
            registers.append(f"{_CPP_TYPES[type_]} {PLACE}{place} = {initial[place]};")
        body = ptx_as_cuda(self.text.replace("${:uid}", ""), places)
        given = " ".join(f"*out_{place} = {PLACE}{place};" for place in range(len(outputs)))
        head = f'extern "C" __device__ void {name}({", ".join(parameters)})'
        start = f"using namespace __windlass_ptx; bool carry = false; (void)carry; {' '.join(registers)}"
        return f"{head} {{\n{start}\n{{\n{body}\n}}\n{given}\n}}\n"

    def write_call(self, name: str) -> str:
        """An LLVM function with the statement's own type, which calls the C++ function."""
        outputs = self.outputs
        passed = [f"ptr %out.{place}" for place in range(len(outputs))]
        passed += [f"{type_} %in.{place}" for place, type_ in enumerate(self.arguments)]
        lines = [f"  %out.{place} = alloca {type_}" for place, type_ in enumerate(outputs)]
        lines.append(f"  call void @{name}({', '.join(passed)})")
        lines += [f"  %made.{place} = load {type_}, ptr %out.{place}" for place, type_ in enumerate(outputs)]
        if self.result.startswith("{"):
            whole = "poison"
            for place, type_ in enumerate(outputs):
                lines.append(f"  %whole.{place} = insertvalue {self.result} {whole}, {type_} %made.{place}, {place}")
                whole = f"%whole.{place}"
            lines.append(f"  ret {self.result} {whole}")
        else:
            lines.append(f"  ret {self.result} %made.0" if outputs else "  ret void")
        parameters = ", ".join(f"{type_} %in.{place}" for place, type_ in enumerate(self.arguments))
        return f"define {self.result} @{name}.call({parameters}) alwaysinline convergent {{\n" + "\n".join(
            [*lines, "}\n"]
        )


def with_assembly_translated(llvm_ir: str, compiled: Callable[[str], str]) -> str:
    """The module with each `asm` statement that has a translation as a call of a function that is in the module.

    `compiled` gives the LLVM IR of C++, or "" where clang refuses it.
    """
    if " asm " not in llvm_ir:
        return llvm_ir
    lines = llvm_ir.split("\n")
    found: dict[Assembly, str] = {}
    calls: list[tuple[int, Assembly, str]] = []
    for number, line in enumerate(lines):
        match = _CALL.search(line) if " asm " in line else None
        if match is None:
            continue
        arguments, rest = _split_arguments(line[match.end() :])
        assembly = _read(match, arguments)
        if assembly not in found:
            try:
                assembly.write_function("")
            except UnknownPTX:
                continue
            found[assembly] = f"__windlass_assembly_{len(found)}"
        passed = ", ".join(arguments)
        calls.append((number, assembly, f"{line[: match.start()]}call {assembly.result} @{{}}.call({passed}){rest}"))
    library = _compile(found, compiled)
    if not library:
        return llvm_ir
    names = {assembly: name for assembly, name in found.items() if f"define {assembly.result} @{name}.call(" in library}
    for number, assembly, text in calls:
        if assembly in names:
            lines[number] = text.replace("@{}.call", f"@{names[assembly]}.call", 1)
    declared = [
        f"declare {assembly.result} @{name}.call({', '.join(assembly.arguments)})" for assembly, name in names.items()
    ]
    return _link("\n".join([*lines, *declared, ""]), library)


def _read(match: re.Match[str], arguments: Sequence[str]) -> Assembly:
    text = re.sub(r"\\([0-9A-Fa-f]{2})", lambda each: chr(int(each[1], 16)), match["text"])
    types: list[str] = []
    literals: list[str | None] = []
    for argument in arguments:
        type_, _, value = argument.partition(" ")
        types.append(type_)
        literals.append(value if re.fullmatch(r"-?\d+", value) else None)
    constraints = tuple(match["constraints"].split(","))
    return Assembly(text, constraints, match["result"], tuple(types), tuple(literals))


def _split_arguments(text: str) -> tuple[list[str], str]:
    """The arguments in the parentheses that the text begins with, and what follows."""
    depth, parts = 0, [""]
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return [part.strip() for part in parts if part.strip()], text[place + 1 :]
        if character == "," and depth == 1:
            parts.append("")
        elif place:
            parts[-1] += character
    return [], text


def _compile(found: dict[Assembly, str], compiled: Callable[[str], str]) -> str:
    """LLVM IR of the functions; of those that clang does not take there is none."""
    text = '#include "windlass/ptx.h"\n' + "".join(each.write_function(name) for each, name in found.items())
    library = compiled(text)
    if library:
        calls = "".join(assembly.write_call(name) for assembly, name in found.items())
        return _without_positions(library) + calls
    if len(found) == 1:
        return ""
    good = {assembly: name for assembly, name in found.items() if _compile({assembly: name}, compiled)}
    return _compile(good, compiled) if good and len(good) < len(found) else ""


def _without_positions(llvm_ir: str) -> str:
    """The module without debug information: what is inlined from it then has the position of the `asm`."""
    llvm_ir = re.sub(r"^    #dbg_[^\n]*\n", "", llvm_ir, flags=re.MULTILINE)
    llvm_ir = re.sub(r"^!llvm\.dbg\.cu = [^\n]*\n", "", llvm_ir, flags=re.MULTILINE)
    return re.sub(r",? !dbg !\d+", "", llvm_ir)


def _link(llvm_ir: str, library: str) -> str:
    import llvmlite.binding as llvm_binding

    llvm: Any = llvm_binding  # llvmlite has no type stubs
    whole = llvm.parse_assembly(llvm_ir)
    whole.link_in(llvm.parse_assembly(library))
    return str(whole)
