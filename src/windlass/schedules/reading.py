"""Schedules from their text, which may come from strangers: it is read, never run."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from windlass.schedules.loops import interchange, parallelize, tile, unroll
from windlass.schedules.schedule import Schedule, attempt, choice, closest, fault, on, optional, seq
from windlass.schedules.tensors import everything, passes, rules

_ALL = (attempt, choice, everything, interchange, on, optional, parallelize, passes, rules, seq, tile, unroll)
STEPS: dict[str, Callable[..., Schedule]] = {each.__name__: each for each in _ALL}
LONGEST, DEEPEST = 20_000, 50
"""Characters of a text, and steps within steps, at most."""


def read_schedule(text: str) -> Schedule:
    """The schedule that is written so: calls of the steps, with texts and numbers as arguments.

    Raises WindlassError (WL0806), with line and column, for anything else.

    >>> read_schedule("seq(rules('slices'), attempt(passes('needed_parts')))")
    seq(rules('slices'), attempt(passes('needed_parts')))
    """
    if len(text) > LONGEST:
        raise fault(f"a schedule has at most {LONGEST} characters, this has {len(text)}")
    try:
        tree = ast.parse(text.strip(), "<schedule>", mode="eval")
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        raise fault(f"the schedule is not spelled as one: {error}", "write seq(rules('slices'), ...)") from None
    found = _read(tree.body, 0)
    if not isinstance(found, Schedule):
        raise fault(f"{found!r} is no schedule", "write seq(rules('slices'), ...)")
    return found


def _read(node: ast.expr, depth: int) -> Any:
    if depth > DEEPEST:
        raise fault(f"a schedule has at most {DEEPEST} steps within one another")
    match node:
        case ast.Constant(value=str() | int() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return -value
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return tuple(_read(part, depth + 1) for part in parts)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=named):
            if name not in STEPS:
                raise fault(f"{_place(node)}: there is no step called {name!r}", closest(name, STEPS))
            given = [_read(each, depth + 1) for each in arguments]
            options = {each.arg: _read(each.value, depth + 1) for each in named if each.arg is not None}
            if len(options) < len(named):
                raise fault(f"{_place(node)}: {name} is given arguments by **, which is not read")
            try:
                return STEPS[name](*given, **options)
            except TypeError as error:
                raise fault(f"{_place(node)}: {error}") from None
        case _:
            raise fault(f"{_place(node)}: {ast.unparse(node)!r} is no step", f"the steps are {', '.join(STEPS)}")


def _place(node: ast.expr) -> str:
    return f"line {node.lineno}, column {node.col_offset + 1}"
