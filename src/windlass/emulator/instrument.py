"""Device LLVM IR → LLVM IR for this machine, in which every access to memory is checked first.

Text to text: here a module's globals, declarations and kernels' entry points, in instructions.py what is within
functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from windlass.emulator.instructions import ATTRIBUTE_GROUP, DEFINE, LINKAGE, PREFIX, FunctionRewriter, Shared
from windlass.emulator.sites import FunctionFacts, GlobalSite, Instrumented
from windlass.llvm.names import NAME, strip_quotes
from windlass.llvm.text import split_at_commas, take_type

INITIAL = PREFIX + "initial."
_GLOBAL = re.compile(
    rf"^(@{NAME}) = (.*?)\b(?:addrspace\((\d+)\) )?(?:externally_initialized )?(global|constant) (.*)$"
)
_DECLARE = re.compile(rf"^declare (.*?)(@{NAME})\(")


class Instrumenter:
    """Rewrites one module; `run` gives the result."""

    def __init__(self, module_text: str, is_in_library: Callable[[str], bool]) -> None:
        self.source = module_text
        self.shared = Shared(is_in_library, "!tbaa" in module_text)
        self.globals: list[GlobalSite] = []
        self.lines: list[str] = []
        self.kernels: dict[str, str] = {}
        self.kernel_names: list[str] = []
        self.facts: dict[str, FunctionFacts] = {}

    def run(self) -> Instrumented:
        lines = self.source.split("\n")
        for line in lines:
            if line.startswith("%"):
                name, _, definition = line.partition(" = type ")
                if definition and definition != "opaque":
                    self.shared.layouts.named[name] = definition
                self.lines.append(line)
            elif line.startswith("define "):
                match = DEFINE.match(line)
                if match is not None:
                    self.shared.defined.add(match.group(2))
            elif line.startswith("declare "):
                match = _DECLARE.match(line)
                if match is not None:
                    self.shared.declared[match.group(2)] = re.sub(r"!\w+ !\d+ ?", "", line)
        iterator = iter(lines)
        for line in iterator:
            if line.startswith("@"):
                self._global(line)
            elif line.startswith("define "):
                body: list[str] = []
                for inner in iterator:
                    if inner == "}":
                        break
                    body.append(inner)
                self._function(line, body)
        self._declare()
        return Instrumented(
            "\n".join(self.lines) + "\n",
            tuple(self.shared.sites),
            tuple(self.globals),
            self.kernels,
            {strip_quotes(name): self._uses_fibres(name) for name in self.kernel_names},
            frozenset(self.shared.runtime),
            frozenset(self.shared.library),
            self.shared.frame_bytes,
        )

    def _declare(self) -> None:
        """Declares what the text refers to; of functions that there are not only the addresses are taken."""
        used = set(re.findall(rf"@{NAME}", "\n".join(self.lines)))
        for name, line in self.shared.declared.items():
            plain = strip_quotes(name)
            if name in self.shared.defined or name not in used:
                continue
            if plain.startswith("llvm.") or plain in self.shared.library:
                self.lines.append(ATTRIBUTE_GROUP.sub("", line))
            else:
                self.lines.append(f"declare void {name}()")
        for function in sorted(self.shared.runtime):
            self.lines.append(f"declare void @{function}()")

    def _uses_fibres(self, kernel: str) -> bool:
        reached: set[str] = set()
        todo = [kernel]
        while todo:
            name = todo.pop()
            if name in reached or name not in self.facts:
                continue
            reached.add(name)
            facts = self.facts[name]
            todo += self.facts if facts.calls_indirectly else facts.calls
        facts = [self.facts[name] for name in reached]
        # A loop around an atomic or a volatile access may wait for another thread.
        spins = any(fact.loops for fact in facts) and any(fact.is_relaxed for fact in facts)
        return spins or any(fact.waits for fact in facts)

    def _global(self, line: str) -> None:
        match = _GLOBAL.match(line)
        if match is None:
            if " alias " in line:
                self.lines.append(LINKAGE.sub("", line))
            return
        name, prefix, space, kind, rest = match.groups()
        plain = strip_quotes(name)
        if plain.startswith("llvm."):
            return
        value_type, rest = take_type(rest)
        parts = split_at_commas(rest)
        is_declared = re.search(r"\bextern(al|_weak)\b", prefix) is not None
        initial = None if is_declared or not parts else parts[0]
        alignment = next((int(part[6:]) for part in parts if part.startswith("align ")), 1)
        try:
            size, natural = self.shared.layouts.of(value_type)
        except ValueError:
            size, natural = 0, 1  # a class that is declared only: an empty object such as threadIdx
        space_text = f"addrspace({space}) " if space else ""
        self.lines.append(f"{name} = external {space_text}global {value_type}")
        copy = None
        if initial is not None and initial not in ("zeroinitializer", "undef", "poison") and space != "3":
            copy = INITIAL + str(len(self.globals))
            self.lines.append(f"@{copy} = constant {value_type} {initial}")
        is_constant = kind == "constant" or space == "4"
        holds_addresses = copy is not None and "@" in re.sub(r'c"[^"]*"', "", initial or "")
        self.globals.append(
            GlobalSite(plain, size, max(alignment, natural), int(space or 0), is_constant, copy, holds_addresses)
        )

    def _function(self, head: str, body: list[str]) -> None:
        rewriter = FunctionRewriter(self.shared)
        self.lines += rewriter.rewrite(head, body)
        self.facts[rewriter.name] = rewriter.own
        if rewriter.is_kernel:
            self._trampoline(rewriter.name, rewriter.parameters)

    def _trampoline(self, name: str, parameters: list[tuple[str, bool]]) -> None:
        """An entry point that takes its arguments from an array of pointers to them."""
        entry = f"{PREFIX}kernel.{len(self.kernels)}"
        self.kernels[strip_quotes(name)] = entry
        self.kernel_names.append(name)
        lines, arguments = [f"define void @{entry}(ptr %arguments) {{"], list[str]()
        for index, (kind, is_record) in enumerate(parameters):
            lines.append(f"  %place.{index} = getelementptr ptr, ptr %arguments, i64 {index}")
            lines.append(f"  %argument.{index} = load ptr, ptr %place.{index}")
            if is_record:
                arguments.append(f"ptr %argument.{index}")
            elif kind == "i1":
                lines.append(f"  %byte.{index} = load i8, ptr %argument.{index}")
                lines.append(f"  %value.{index} = icmp ne i8 %byte.{index}, 0")
                arguments.append(f"i1 %value.{index}")
            else:
                lines.append(f"  %value.{index} = load {kind}, ptr %argument.{index}, align 1")
                arguments.append(f"{kind} %value.{index}")
        self.lines += [*lines, f"  call void {name}({', '.join(arguments)})", "  ret void", "}"]


def instrument(module_text: str, is_in_library: Callable[[str], bool]) -> Instrumented:
    """Rewrites device IR text for nvptx64 to checked IR for this machine.

    `is_in_library` tells of a function that the module only declares whether the C library has it. Raises ValueError on
    text that it can't read.
    """
    return Instrumenter(module_text, is_in_library).run()
