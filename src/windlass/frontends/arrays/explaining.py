"""Errors that arise while a function is traced, told at the user's own line.

What the user's function raises itself goes out as it is. What NumPy, JAX or we raise becomes a diagnostic with the line
that asked for it, and says which statement wanted to know more than is known while the function is compiled.
"""

from __future__ import annotations

import ast
import dis
import inspect
from dataclasses import replace
from types import CodeType, TracebackType
from typing import Any

import jax

from windlass.diagnostics import ArrayIndexError, ArrayTypeError, ArrayValueError, Diagnostic, Position, WindlassError
from windlass.frontends.arrays.definitions import tree_of
from windlass.frontends.arrays.handlers import came_out_of_jax, innermost
from windlass.frontends.arrays.tracing import LIBRARIES, is_users, position_in
from windlass.frontends.arrays.values import LOOKED_AT, NO_ELEMENTS, leaked, untraceable

STATIC = "compile the value in: @windlass.jit(static=...)"


UNREADABLE = (
    "the source text of this function can't be read (it was made at the interactive prompt, or by `exec`), so that its "
    "loops, branches and calls run as Python's own",
    "put it into a file, or a notebook",
)


def as_told(error: Exception) -> Exception:
    """The error as it leaves the compiled function; it itself where it is the user's."""
    place = _users_place(error.__traceback__)
    position, length = (None, 1) if place is None else position_in(place[0], place[1], place[2])
    is_unreadable = place is not None and tree_of(place[0].co_filename) is None
    if isinstance(error, WindlassError):
        first, *rest = error.diagnostics
        if first.position is not None:
            return error
        first = replace(first, position=position, length=length)
        if first.code == "WL0904" and "truth" in first.headline and place is not None:
            first = _with_reason(first, place[0], place[1])
        return type(error)(first, *rest)
    if _is_users_own(error, is_unreadable=is_unreadable):
        return error
    text = (str(error).strip().splitlines() or [type(error).__name__])[0]
    kind: type[WindlassError] = WindlassError
    if isinstance(error, jax.errors.UnexpectedTracerError):
        (diagnostic,) = leaked().diagnostics
    elif isinstance(error, RecursionError):
        diagnostic = Diagnostic(
            "WL0918",
            "the function calls itself without end while it is compiled",
            notes=("every call is compiled in, so it has to be known then when it stops",),
            help=f"write it as a loop, or {STATIC}",
        )
    elif isinstance(error, jax.errors.TracerArrayConversionError):
        kind = ArrayTypeError
        diagnostic = untraceable(NO_ELEMENTS, LOOKED_AT).diagnostics[0]
    elif isinstance(error, jax.errors.ConcretizationTypeError | jax.errors.NonConcreteBooleanIndexError):
        kind = ArrayTypeError
        diagnostic = Diagnostic(
            "WL0904",
            "a value is needed here that is not known while the function is compiled",
            notes=(text,),
            help=f"compute with arrays instead, or {STATIC}",
        )
        if isinstance(error, jax.errors.TracerBoolConversionError) and place is not None:
            diagnostic = _with_reason(diagnostic, place[0], place[1])
    else:
        kinds = {IndexError: ArrayIndexError, TypeError: ArrayTypeError, ValueError: ArrayValueError}
        kind = next((ours for theirs, ours in kinds.items() if isinstance(error, theirs)), WindlassError)
        help_ = None
        if "incompatible shapes" in text or "Incompatible shapes" in text:
            kind = ArrayValueError  # as NumPy has it
        elif "Triggering __jax_array__()" in text:
            text = "a function of JAX's takes values, and this is an array of wl.jit, which can be written"
            help_ = "pass jax.numpy.asarray(x); where the text of the function can be read, that is done for you"
        elif "dtype object" in text or "not a valid JAX array type" in text or "array type: object" in text:
            help_ = "arrays of objects, texts and dates are no part of a program: make them outside of it"
        elif "Python int too large to convert" in text:
            help_ = "integers of a program have 64 bits: compute with float(n), or outside of it"
        elif "'str'" in text:
            help_ = "a string takes part in no arithmetic: choose by it with Python's `if`, or pass a number"
        headline = text if isinstance(error, tuple(kinds)) else f"{type(error).__name__}: {text}"
        diagnostic = Diagnostic("WL0916", headline, help=help_)
        if is_unreadable:
            diagnostic = replace(diagnostic, notes=(UNREADABLE[0],), help=UNREADABLE[1])
    told = kind(replace(diagnostic, position=position, length=length))
    told.__cause__ = error if not isinstance(error, RecursionError) else None
    told.__suppress_context__ = True
    return told


def _users_place(traceback: TracebackType | None) -> tuple[CodeType, int, int] | None:
    """Code, instruction and line of the user's innermost frame."""
    found = None
    while traceback is not None:
        if is_users(traceback.tb_frame.f_code):
            found = (traceback.tb_frame.f_code, traceback.tb_lasti, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def _is_users_own(error: Exception, *, is_unreadable: bool) -> bool:
    """Whether the user's code, or a library that is none of ours, raised it: unreadable code by `raise` alone."""
    traceback = error.__traceback__
    if traceback is None:
        return False
    if getattr(error, "is_of_users_statement", False):
        return True  # a `raise` that was captured
    traceback = innermost(traceback)
    code = traceback.tb_frame.f_code
    if isinstance(error, RecursionError) or code.co_filename.startswith(LIBRARIES) or not is_users(code):
        return False
    if code.co_code[traceback.tb_lasti] in (dis.opmap["RAISE_VARARGS"], dis.opmap["RERAISE"]):
        return True
    if is_unreadable:
        return False
    home = type(error).__module__.split(".")[0]
    return home not in ("jax", "jaxlib", "numpy") and not came_out_of_jax(error)


# -- who asked for a truth --------------------------------------------------------------------------------------------


def _with_reason(diagnostic: Diagnostic, code: CodeType, instruction: int) -> Diagnostic:
    """The diagnostic with the statement that asked, the reason why it could not be captured, and what to write."""
    found = _reason(code, instruction)
    if found is None:
        return diagnostic
    note, help_ = found
    return replace(diagnostic, notes=(note,), help=f"{help_}; or {STATIC}")


def _reason(code: CodeType, instruction: int) -> tuple[str, str] | None:
    places = list(code.co_positions())
    line, last, column, end = places[instruction // 2] if instruction // 2 < len(places) else (None,) * 4
    if line is None or last is None or column is None or end is None:
        return None
    tree = tree_of(code.co_filename)
    if tree is None:
        return UNREADABLE
    chain = _enclosing(tree, (line, column), (last, end))
    for node, inner in reversed(list(zip(chain, [*chain[1:], None], strict=True))):
        found = _reason_of(node, inner)
        if found is not None:
            return found
        if isinstance(node, ast.stmt):
            return None
    return None


def _reason_of(node: ast.AST, inner: ast.AST | None) -> tuple[str, str] | None:
    """Why this node asks for the truth of what stands in it."""
    match node:
        case ast.BoolOp():
            word, other = ("and", "&") if isinstance(node.op, ast.And) else ("or", "|")
            return (
                f"Python's `{word}` has to know which of its sides it gives",
                f"write numpy.logical_{word}(a, b), or (a) {other} (b)",
            )
        case ast.UnaryOp(op=ast.Not()):
            return "Python's `not` has to know it", "write numpy.logical_not(a)"
        case ast.Compare(ops=[_, _, *_]):
            return "a chain of comparisons is Python's `and`", "write (a < b) & (b < c)"
        case ast.IfExp(test=test) if inner is test or inner is None:
            return "`a if condition else b` has to know which it gives", "write numpy.where(condition, a, b)"
        case ast.Assert():
            return "`assert` has to know it", "check arguments before the call"
        case ast.comprehension() | ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            return "the `if` of a comprehension has to know it", "write numpy.where(condition, a, b)"
        case ast.Call(func=ast.Name(id="max" | "min" as name)):
            return f"Python's {name} compares its arguments", f"write numpy.{name}imum(a, b), or a.{name}()"
        case ast.Call(func=ast.Name(id="any" | "all" | "sorted" | "bool" as name)):
            other = {"sorted": "numpy.sort(a)", "bool": "a != 0"}.get(name, f"a.{name}()")
            return f"Python's {name} has to know it", f"write {other}"
        case ast.If() | ast.While():
            return _reason_of_statement(node)
        case _:
            return None


def _reason_of_statement(node: ast.If | ast.While) -> tuple[str, str]:
    word, article = ("if", "an") if isinstance(node, ast.If) else ("while", "a")
    ways = {
        ast.Raise: ("`raise`", "check before the call, or after it"),
        ast.Try: ("`try`", "put it around the loop or branch"),
        ast.Delete: ("`del`", "bind the name to something else, or delete it after the branch"),
        # These can, but for where something has to be done on the way out.
        ast.Return: ("`return`", "take it out of the `try` or `with` that it leaves"),
        ast.Break: ("`break`", "take it out of the `try` or `with` that it leaves"),
        ast.Continue: ("`continue`", "take it out of the `try` or `with` that it leaves"),
    }
    inside = [each for statement in (*node.body, *node.orelse) for each in ast.walk(statement)]
    for kind, (name, help_) in ways.items():
        if any(isinstance(each, kind) for each in inside):
            return f"{article} `{word}` that holds a {name} can't become an operation of the program here", help_
    return (
        f"this `{word}` is not captured: it changes objects, or stands in a generator or a function of a library",
        "write numpy.where(condition, a, b)",
    )


def _enclosing(tree: ast.AST, start: tuple[int, int], end: tuple[int, int]) -> list[ast.AST]:
    """The nodes around a range of the source, from the outermost to the innermost."""
    chain: list[ast.AST] = [tree]
    while True:
        for child in ast.iter_child_nodes(chain[-1]):
            if isinstance(child, ast.comprehension):
                around = ast.iter_child_nodes(child)
                if any(_holds(each, start, end) for each in around):
                    chain.append(child)
                    break
            elif _holds(child, start, end):
                chain.append(child)
                break
        else:
            return chain


def _holds(node: ast.AST, start: tuple[int, int], end: tuple[int, int]) -> bool:
    if not isinstance(node, ast.stmt | ast.expr) or node.end_lineno is None or node.end_col_offset is None:
        return False
    return (node.lineno, node.col_offset) <= start and end <= (node.end_lineno, node.end_col_offset)


def position_of(function: Any) -> Position | None:
    """Where a function is written; None for what is none of Python's."""
    code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
    return None if code is None else Position(code.co_filename, code.co_firstlineno)
