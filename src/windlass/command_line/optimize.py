"""`windlass opt`: StableHLO in, optimized StableHLO out."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from windlass.diagnostics import Diagnostic, ProgramError
from windlass.ir import Module

BYTECODE_MARK = b"ML\xefR"
"""How MLIR bytecode begins."""


def optimize_file(file: Path, output: Path | None, statistics: bool = False) -> None:
    """Optimizes each function of a StableHLO module, given as text or bytecode; `-` reads standard input.

    Raises ProgramError: WL0701 where a file can't be read or written, WL05xx where it is no valid StableHLO.
    """
    from windlass.rewriting import rewrite_function
    from windlass.rules import catalogue
    from windlass.stablehlo import export_text

    module = _read_module(file)
    before = _count_ops(module)
    applied: Counter[str] = Counter()
    for function in module.functions.values():
        applied += rewrite_function(function, catalogue.choose()).count_by_rule()
    text = export_text(module)
    if output is None:
        print(text.rstrip("\n"))
    else:
        try:
            output.write_text(text, "utf-8")
        except OSError as error:
            raise _no_access("write", output, error) from error
    if statistics:
        print(f"{before} ops → {_count_ops(module)}", file=sys.stderr)
        for rule, count in applied.most_common():
            print(f"{count:6} {rule}", file=sys.stderr)


def _read_module(file: Path) -> Module:
    from windlass.stablehlo import import_bytecode, import_text

    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise _no_access("read", file, error) from error
    if data.startswith(BYTECODE_MARK):
        return import_bytecode(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ProgramError(
            Diagnostic(
                "WL0701",
                f"'{file}' is neither text nor MLIR bytecode",
                help="give the StableHLO of a program, as jax.jit(f).lower(...).as_text() prints it",
            )
        ) from error
    return import_text(text, "<stdin>" if str(file) == "-" else str(file))


def _no_access(what: str, file: Path, error: OSError) -> ProgramError:
    return ProgramError(Diagnostic("WL0701", f"can't {what} '{file}': {error.strerror or error}"))


def _count_ops(module: Module) -> int:
    return sum(1 for function in module.functions.values() for _ in function.walk())
