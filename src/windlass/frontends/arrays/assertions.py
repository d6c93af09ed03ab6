"""`assert`, and `if ...: raise ...`, of what is known only as the program runs: it looks, and the call raises after it.

What a failed assertion would have kept from running has run by then; arrays keep what was written.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from windlass.diagnostics import ArrayAssertionError
from windlass.frontends.arrays.statements import call_of, later
from windlass.frontends.arrays.states import NotCapturable, is_traced, truth_of
from windlass.frontends.arrays.tracing import Check, current_tracing, position_now

ENTRY_POINTS = ("holds", "refuse")
"""What captured functions call."""


# -- what becomes of the statements -----------------------------------------------------------------------------------


class Refusal(ast.Assert):
    """`if test: raise message`, as the assertion that there is no reason for it."""


def find_refusals(definition: ast.FunctionDef) -> None:
    """Make each `if` that does nothing but raise a `Refusal`, unless a handler around it may want to see it."""
    _FindRefusals().generic_visit(definition)


class _FindRefusals(ast.NodeTransformer):
    def visit_If(self, node: ast.If) -> Any:
        match node:
            case ast.If(body=[ast.Raise(exc=ast.expr() as error, cause=None | ast.Constant(None))], orelse=[]):
                return ast.copy_location(Refusal(node.test, error), node)
            case _:
                return self.generic_visit(node)

    def visit_Try(self, node: ast.Try) -> Any:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node


def lowered_assertion(node: ast.Assert, text: str) -> ast.stmt:
    """The statement as captured functions have it; `text` is how its test was written."""
    if isinstance(node, Refusal):
        assert node.msg is not None
        kind = node.msg.func if isinstance(node.msg, ast.Call) else node.msg
        call = call_of("refuse", node.test, later(node.msg), later(kind), ast.Constant(text))
        return ast.copy_location(ast.Expr(ast.copy_location(call, node.test)), node)
    message = ast.Constant(None) if node.msg is None else later(node.msg)
    node.test = ast.copy_location(call_of("holds", node.test, message, ast.Constant(text)), node.test)
    return node


# -- what captured functions call -------------------------------------------------------------------------------------


def holds(test: Any, message: Callable[[], Any] | None, text: str) -> Any:
    """What an assertion asks for: the test itself, or true where the program is going to look."""
    if not is_traced(test):
        return test
    told = text
    if message is not None:
        try:
            told = str(message())
        except Exception:  # it is made of what is not known yet
            told = text
    position, length = position_now()
    check = Check(f"assertion failed: {told}", position, None, "WL0923", length, ArrayAssertionError)
    _require(test, check, is_wrong=False)
    return True


def refuse(test: Any, error: Callable[[], Any], kind: Callable[[], Any], text: str) -> None:
    """`if test: raise error`."""
    if not is_traced(test):
        if not test:
            return
        found = error()
        found = found() if isinstance(found, type) else found
        found.is_of_users_statement = True
        raise found
    try:
        found = error()
        found = found() if isinstance(found, type) else found
    except Exception:  # it is made of what is not known yet
        made = kind()
        found = made(text) if isinstance(made, type) and issubclass(made, Exception) else None
    if not isinstance(found, Exception):
        raise NotCapturable("something is raised within it that is no exception")
    position, _ = position_now()
    if position is not None:
        found.add_note(f" --> {position}")
    _require(test, found, is_wrong=True)


def _require(test: Any, check: Check | Exception, *, is_wrong: bool) -> None:
    tracing = current_tracing()
    if tracing is not None:
        truth = truth_of(test)
        tracing.require_never(truth if is_wrong else jnp.logical_not(truth), check)
