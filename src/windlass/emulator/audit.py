"""What the instrumented code may do, looked at once more in the form in which LLVM itself prints it.

Instrumentation reads text and passes on what it takes for harmless. This is the other way around: every line of every
function has to be known, each access to memory has to stand right behind its own check, and no name may be called but
those that are listed. What doesn't fit is refused before it is compiled.

Its reader of lines is kept apart from those of windlass.llvm on purpose, although it takes names and brackets apart as
they do: a check should not share the faults of what it checks.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from windlass.emulator.instructions import PREFIX
from windlass.emulator.mathematics import FUNCTIONS, is_known_intrinsic
from windlass.llvm.names import NAME, strip_quotes
from windlass.llvm.text import balanced_end, split_at_commas, take_argument

_COMPUTING = frozenset(
    shlex.split("""
    add sub mul sdiv udiv srem urem shl lshr ashr and or xor fadd fsub fmul fdiv frem fneg icmp fcmp select phi
    getelementptr trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint inttoptr ptrtoaddr bitcast
    addrspacecast extractelement insertelement shufflevector extractvalue insertvalue freeze br switch ret unreachable
    """)
)
_LINE = re.compile(rf"  (?:(%{NAME}) = )?(?:(?:tail|musttail|notail) )?([a-z]+) ?(.*)")
_DEFINITION = re.compile(rf"define [^@]*@({NAME})\(")
_CALLEE = re.compile(rf"([@%]{NAME})\(")
_CASE = re.compile(r"    i\d+ \S+, label %|  \]")
_LABEL = re.compile(rf"{NAME}:")
_FLAG = re.compile(r"(?:atomic|volatile|weak) ")
_SEGMENT = re.compile(r"addrspace\((?!(?:[0-7]|101)\))")
"""Address spaces that a device has; the higher ones are segment registers on x86."""
_ENTRY = PREFIX + "kernel."


class Unchecked(ValueError):
    """A line that may do more than compute."""


def audit(text: str, runtime: Iterable[str], kernels: Iterable[str]) -> None:
    """Check a module that LLVM printed. `runtime` are the functions of the runtime library that it may call.

    Raises Unchecked (a ValueError), which names the first line that is not known to be harmless.
    """
    lines = text.split("\n")
    defined = {strip_quotes("@" + match[1]) for match in map(_DEFINITION.match, lines) if match}
    if clash := defined.intersection(runtime):
        raise Unchecked(f"a function named `{min(clash)}`")
    callable_names = defined - set(kernels)
    auditor = _Auditor(frozenset(runtime), callable_names, frozenset(defined))
    function = ""
    for line in lines:
        if not line or line[0] in ";%!@}" or line.startswith(("source_filename", "target ", "declare ", "attributes ")):
            if line[:1] == "@" and re.search(r" (?:alias|ifunc) |\bthread_local\b", line):
                raise Unchecked(line)
            continue
        definition = _DEFINITION.match(line)
        if definition is not None:
            function = strip_quotes("@" + definition[1])
            auditor.begin()
        elif not function:
            raise Unchecked(line)
        elif not function.startswith(_ENTRY):  # kernels' entries are written here, not read from the kernel
            auditor.look_at(line)


class _Auditor:
    def __init__(self, runtime: frozenset[str], callable_names: set[str], defined: frozenset[str]) -> None:
        self.runtime = runtime
        self.callable_names = callable_names
        self.defined = defined
        self.before: list[str] = []
        """The calls of the runtime that stand right before the line at hand."""
        self.widened: dict[str, str] = {}

    def begin(self) -> None:
        self.before = []
        self.widened = {}

    def look_at(self, line: str) -> None:
        if _LABEL.match(line):
            self.before = []
            return
        if _CASE.match(line):
            return
        if _SEGMENT.search(line):
            raise Unchecked(line)
        match = _LINE.match(line)
        if match is None:
            raise Unchecked(line)
        result, opcode, rest = match.groups()
        if opcode == "call":
            self._call(line, rest)
            return
        if opcode in ("load", "store", "atomicrmw", "cmpxchg"):
            self._access(line, opcode, rest)
        elif opcode not in _COMPUTING:
            if opcode != "fence":
                raise Unchecked(line)
        elif opcode == "zext" and rest.endswith(" to i64") and result is not None:
            self.widened[result] = rest[: -len(" to i64")]
        self.before = []

    def _access(self, line: str, opcode: str, rest: str) -> None:
        while flag := _FLAG.match(rest):
            rest = rest[flag.end() :]
        if opcode == "atomicrmw":
            rest = rest.split(" ", 1)[1]
        parts = split_at_commas(rest)
        check = {"load": "wl_load", "store": "wl_store"}.get(opcode, "wl_update")
        self._require(line, f"{check}({parts[opcode in ('load', 'store')]}, i32 ")

    def _require(self, line: str, *wanted: str) -> None:
        """The checks that have to stand right before the line."""
        last = self.before[-len(wanted) :]
        if len(last) != len(wanted) or any(
            not found.startswith(each) for found, each in zip(last, wanted, strict=True)
        ):
            raise Unchecked(line)

    def _call(self, line: str, rest: str) -> None:
        match = _CALLEE.search(rest)
        if match is None or re.search(r"\basm\b", rest[: match.start()]):
            raise Unchecked(line)
        callee, name = match[1], strip_quotes(match[1])
        passed = rest[match.end() : balanced_end(rest, match.end() - 1) - 1]
        if callee[0] == "@" and name in self.runtime and name not in self.defined:
            self.before.append(f"{name}({passed})")
            return
        if callee[0] == "%":
            self._require(line, f"wl_function(ptr {callee}, i32 ")
        elif name in self.callable_names:
            pass
        elif name.startswith("llvm."):
            self._intrinsic(line, name, passed)
        else:
            function = FUNCTIONS.get(name)
            arguments = [take_argument(each)[:2] for each in split_at_commas(passed)]
            if function is None or tuple(kind for kind, _ in arguments) != function.arguments:
                raise Unchecked(line)
            if function.writes:
                self._require(line, *(f"wl_store(ptr {value}, i32 " for kind, value in arguments if kind == "ptr"))
        self.before = []

    def _intrinsic(self, line: str, name: str, passed: str) -> None:
        if not is_known_intrinsic(name):
            raise Unchecked(line)
        arguments = [take_argument(each)[:2] for each in split_at_commas(passed)]
        if name.startswith(("llvm.memcpy.", "llvm.memmove.")):
            places = ", ".join(f"{kind} {value}" for kind, value in arguments[:2])
            self._require(line, f"wl_copy({places}, i64 {self._size(line, arguments[2])}, i32 ")
        elif name.startswith("llvm.memset."):
            kind, value = arguments[0]
            self._require(line, f"wl_fill({kind} {value}, i64 {self._size(line, arguments[2])}, i32 ")

    def _size(self, line: str, argument: tuple[str, str]) -> str:
        """How the check before the line must name the size that the line takes."""
        kind, value = argument
        if kind == "i64":
            return value
        wide = self.before[-1].rpartition("i64 ")[2].partition(",")[0] if self.before else ""
        if self.widened.get(wide) != f"{kind} {value}":
            raise Unchecked(line)
        return wide


__all__ = ["Unchecked", "audit"]
