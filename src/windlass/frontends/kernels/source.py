"""The source of a Python function: its syntax tree, with the positions it has in its file."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
import types as python_types
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from windlass.diagnostics import CompilationError, Diagnostic, Position


@dataclass(frozen=True, eq=False)
class FunctionSource:
    """A Python function as its compiler needs it: parameters, body, and what the names outside of it stand for."""

    function: Any
    tree: ast.FunctionDef | ast.Lambda
    file: str
    indent: int

    @property
    def name(self) -> str:
        """The function's name; lambdas are called that."""
        return self.tree.name if isinstance(self.tree, ast.FunctionDef) else "lambda"

    @property
    def body(self) -> list[ast.stmt]:
        """Its statements; a lambda's one is to return its value."""
        if isinstance(self.tree, ast.FunctionDef):
            return self.tree.body
        value = self.tree.body
        return [ast.copy_location(ast.Return(value), value)]

    @property
    def parameters(self) -> list[ast.arg]:
        """Its parameters, all positional.

        Raises CompilationError for `*args` and the like.
        """
        arguments = self.tree.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
            extra = arguments.vararg or arguments.kwarg or arguments.kwonlyargs[0]
            raise self.fail(
                extra, "WL0110", f"'{self.name}' takes a number of arguments that is not fixed: '{extra.arg}'"
            )
        return [*arguments.posonlyargs, *arguments.args]

    @property
    def outside(self) -> dict[str, Any]:
        """The names of the function's module."""
        return self.function.__globals__

    @cached_property
    def closure(self) -> dict[str, Any]:
        """The values of the names that the function takes from the functions around it."""
        cells = self.function.__closure__ or ()
        found: dict[str, Any] = {}
        for name, cell in zip(self.function.__code__.co_freevars, cells, strict=True):
            try:
                found[name] = cell.cell_contents
            except ValueError:
                continue
        return found

    def position(self, node: ast.AST) -> Position:
        """Where a node stands in the user's file."""
        return Position(self.file, getattr(node, "lineno", 0), self.column(node))

    def column(self, node: ast.AST) -> int:
        """The column of a node, from 1."""
        return getattr(node, "col_offset", 0) + self.indent + 1

    def fail(self, node: ast.AST, code: str, headline: str, help: str | None = None, *notes: str) -> CompilationError:
        """The error that refuses what stands at a node."""
        position = self.position(node)
        line = linecache.getline(self.file, position.line).rstrip("\n") or None
        end = getattr(node, "end_col_offset", None)
        is_one_line = getattr(node, "end_lineno", None) == getattr(node, "lineno", 0)
        length = end - getattr(node, "col_offset", 0) if end is not None and is_one_line else 1
        return CompilationError(Diagnostic(code, headline, position, length, line, notes, help))


def read_function(function: Any) -> FunctionSource:
    """The source of a function.

    Raises CompilationError (WL0111) where there is no source to be had.
    """
    found: Any = getattr(function, "py_func", function)
    if not isinstance(found, python_types.FunctionType):
        raise CompilationError(
            Diagnostic("WL0111", f"a kernel is made of a Python function, got {type(found).__name__}")
        )
    try:
        lines, start = inspect.getsourcelines(found)
        file = inspect.getsourcefile(found) or found.__code__.co_filename
    except (OSError, TypeError):
        raise CompilationError(
            Diagnostic(
                "WL0111",
                f"there is no source text of '{found.__name__}'",
                Position(found.__code__.co_filename, found.__code__.co_firstlineno),
                help="kernels are compiled from their source: write the function in a file or a notebook cell",
            )
        ) from None
    text = "".join(lines)
    dedented = textwrap.dedent(text)
    first = next((line for line in lines if line.strip()), "")
    indent = len(first) - len(first.lstrip()) if dedented != text else 0
    tree = _find(dedented, found, start)
    if tree is None:
        raise CompilationError(
            Diagnostic(
                "WL0111",
                f"the source of '{found.__name__}' can't be read by itself",
                Position(file, start),
                help="write it as a function with def, on lines of its own",
            )
        )
    ast.increment_lineno(tree, max(start, 1) - 1)
    return FunctionSource(found, tree, file, indent)


def _find(text: str, function: python_types.FunctionType, start: int) -> ast.FunctionDef | ast.Lambda | None:
    """The definition of the function in the text; of several lambdas the one whose names agree."""
    module = None
    # A lambda's line may be a part of a statement only: try what is inside of its brackets.
    for candidate in (text, text.strip().rstrip(","), f"({text.strip().rstrip(',')})"):
        try:
            module = ast.parse(candidate)
            break
        except SyntaxError:
            continue
    if module is None:
        return None
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    for node in ast.walk(module):
        if function.__name__ == "<lambda>":
            if isinstance(node, ast.Lambda) and tuple(each.arg for each in node.args.args) == names:
                return node
        elif isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            return node
    return None
