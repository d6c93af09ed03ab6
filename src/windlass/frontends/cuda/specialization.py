"""Kernels made into others as LLVM IR text: alone in their module, with other parameters, and optimized once more."""

from __future__ import annotations

import re
from collections.abc import Callable

from windlass.diagnostics import CompilationError, Diagnostic
from windlass.diagnostics.cache import temporary_folder
from windlass.frontends.cuda.clang import optimization_flags, run_clang
from windlass.llvm.metadata import with_all_positions, without_unneeded_metadata
from windlass.llvm.names import NAME


def alone_in_module(llvm_ir: str, kernel: str) -> str:
    """The module in which all other kernels are local, so that they go."""

    def change(match: re.Match[str]) -> str:
        line = match[0]
        if " ptx_kernel " not in line or re.search(rf'@"?{re.escape(kernel)}"?\(', line):
            return line
        line = re.sub(
            r"^define (?:(?:linkonce_odr|weak_odr|linkonce|weak|hidden|dso_local) )*", "define internal ", line
        )
        return re.sub(r" comdat(?:\(\$[^)]*\))?(?= )", "", line)

    return re.sub(r"^define [^\n]*$", change, llvm_ir, flags=re.MULTILINE)


def with_parameters(llvm_ir: str, kernel: str, change: Callable[[list[str]], list[str]]) -> str:
    """The module in which the kernel has other parameters.

    `change` gets them one by one as text, changes the list, and gives the lines that the kernel begins with then.
    """
    head = re.search(rf'^define [^\n]*@"?{re.escape(kernel)}"?\(', llvm_ir, re.MULTILINE)
    assert head is not None
    end = llvm_ir.index("\n", head.end())
    line = llvm_ir[head.end() : end]
    pieces, closing = _split_parameters(line)
    lines = change(pieces)
    label = re.compile(rf"\n{NAME}:[^\n]*").match(llvm_ir, end)
    start = end if label is None else label.end()
    signature = ", ".join(pieces) + line[closing:]
    return f"{llvm_ir[: head.end()]}{signature}{llvm_ir[end:start]}\n{''.join(lines)}{llvm_ir[start + 1 :]}"


def take_name(pieces: list[str], position: int) -> str | None:
    """Take a parameter's name away, which is returned; it has another one then. None where it has but a number."""
    match = re.search(rf"%({NAME})$", pieces[position])
    if match is None or match[1].isdigit():
        return None
    pieces[position] = f"{pieces[position][: match.start()]}%{given_name(position)}"
    return match[1]


def given_name(position: int) -> str:
    """What a parameter is called whose name was taken."""
    return f"__windlass_given_{position}"


def _split_parameters(line: str) -> tuple[list[str], int]:
    """The parameters at the beginning of a line, and where the closing bracket stands."""
    pieces, depth, start, quoted = list[str](), 0, 0, False
    for place, letter in enumerate(line):
        quoted ^= letter == '"'
        if quoted:
            continue
        if depth == 0 and letter in ",)":
            pieces.append(line[start:place].strip())
            start = place + 1
        if letter == ")" and depth == 0:
            return pieces, place
        depth += (letter in "([{<") - (letter in ")]}>")
    raise AssertionError("the brackets of a definition close")


def optimized(text: str, fast_math: bool, what: str) -> str:
    """The module after clang's optimizations.

    Raises CompilationError (WL0108) where clang fails.
    """
    with temporary_folder() as folder:
        path = folder / "kernel.ll"
        path.write_text(text, "utf-8")
        outcome = run_clang([*optimization_flags(fast_math), "-emit-llvm", str(path), "-o", "-"])
    if outcome.status != 0:
        lines = tuple(line for line in outcome.messages.splitlines() if "error" in line)[:5]
        raise CompilationError(Diagnostic("WL0108", f"clang stopped on {what}", notes=lines))
    return without_unneeded_metadata(with_all_positions(outcome.output))
