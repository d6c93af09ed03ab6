"""Device code as a GPU's code is made of it: of these kernels only, without what the emulator and raising are told."""

from __future__ import annotations

import re
from collections.abc import Collection

from windlass.gpu.functions import PREFIX, library_name
from windlass.gpu.refusal import declared_functions
from windlass.llvm.names import ENTER, IN_ORDER, ITERATION, NAME, OWN_THREAD
from windlass.llvm.reach import bodies_of, names_reached_from

_MARKS = (ENTER, ITERATION, IN_ORDER, OWN_THREAD)
_MARK_CALL = re.compile(rf"^\s+(?:tail )?call void @(?:{'|'.join(_MARKS)})\(.*\n", re.MULTILINE)
_TARGET_ATTRIBUTE = re.compile(r' "target-(?:cpu|features)"="[^"]*"')
_FUNCTION = re.compile(rf"^define ([^@\n]*)@({NAME})(\([^\n]*)$", re.MULTILINE)
_VARIABLE = re.compile(rf"^@({NAME}) = ([^\n]*)$", re.MULTILINE)
_LINKAGE = re.compile(r"\b(?:linkonce_odr|weak_odr|linkonce|weak|dso_local|hidden|internal) ")
_VARIABLE_LINKAGE = re.compile(r"^(?:(?:weak_odr|linkonce_odr|weak|linkonce|common|dso_local|hidden|internal) )+")
_COMDAT = re.compile(r",? comdat(?:\(\$[^)\n]*\))?")
_COMDAT_LINE = re.compile(r"^\$[^\n]* = comdat [^\n]*\n", re.MULTILINE)
_POSITION = re.compile(r",? !dbg !\d+")
_REMAINDER = re.compile(
    rf"^(\s+%{NAME} = )frem (?:(?:nnan|ninf|nsz|arcp|contract|afn|reassoc|fast) )*(float|double) ([^,\n]+), ([^,\n]+)",
    re.MULTILINE,
)


def reached_by(llvm_ir: str, kernels: Collection[str]) -> frozenset[str]:
    """The kernels, and all global names that they and what they call mention."""
    bodies = bodies_of(llvm_ir)
    return frozenset(kernels).union(*(names_reached_from(bodies, kernel) for kernel in kernels))


def module_text(llvm_ir: str, kernels: Collection[str], *, keeps_lines: bool) -> str:
    """The module with no entries but these kernels, and the variables that they use; mathematics by library's names.

    With `keeps_lines` operations know their source lines.
    """
    reached = reached_by(llvm_ir, kernels)

    def function(match: re.Match[str]) -> str:
        before, name, after = match.groups()
        if "ptx_kernel" in before:
            before = _LINKAGE.sub("", before)
            if name.strip('"') not in kernels:
                before = "internal " + before
        return f"define {before}@{name}{_COMDAT.sub('', after)}"

    def variable(match: re.Match[str]) -> str:
        name, rest = match.groups()
        if name.startswith("llvm."):  # lists of what is to stay, which decide nothing here
            return ""
        rest = _COMDAT.sub("", rest)
        if name.strip('"') not in reached and not rest.startswith(("external ", "private ", "alias ")):
            rest = "internal " + _VARIABLE_LINKAGE.sub("", rest)
        return f"@{name} = {rest}"

    text = _COMDAT_LINE.sub("", _MARK_CALL.sub("", _TARGET_ATTRIBUTE.sub("", llvm_ir)))
    text = _VARIABLE.sub(variable, _FUNCTION.sub(function, text))
    text = _with_lines_only(text) if keeps_lines else _without_lines(text)
    return _with_library_calls(text)


def _without_lines(text: str) -> str:
    text = re.sub(r"^!llvm\.dbg\.cu = [^\n]*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^\s+#dbg_[^\n]*\n", "", _POSITION.sub("", text), flags=re.MULTILINE)


def _with_lines_only(text: str) -> str:
    """Of what debuggers want only the lines, as nvcc does with -lineinfo."""
    return text.replace("emissionKind: FullDebug", "emissionKind: DebugDirectivesOnly")


def _with_library_calls(text: str) -> str:
    for name in declared_functions(text):
        instead = library_name(name)
        if instead is not None:
            text = re.sub(rf"@{re.escape(name)}(?=\()", f"@{instead}", text)
    types: set[str] = set()

    def remainder(match: re.Match[str]) -> str:
        result, kind, x, y = match.groups()
        types.add(kind)
        return f"{result}call {kind} @{PREFIX}fmod{'f' if kind == 'float' else ''}({kind} {x}, {kind} {y})"

    text = _REMAINDER.sub(remainder, text)
    for kind in sorted(types):
        name = f"{PREFIX}fmod{'f' if kind == 'float' else ''}"
        if not re.search(rf"^declare [^\n]*@{name}\(", text, re.MULTILINE):
            text += f"\ndeclare {kind} @{name}({kind}, {kind})\n"
    return text
