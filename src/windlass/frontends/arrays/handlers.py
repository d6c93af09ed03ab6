"""What handlers of the user's code see: what Python would have raised, and never that something can't be compiled.

An exception that arises while a function is traced is trusted to be Python's where the user's own code raises it, or we
do, as NumPy does in this place. What JAX, NumPy or another library raises may be of no more than that values have no
elements yet: Python has to say whether there is an exception.
"""

from __future__ import annotations

import dis
import sys
from types import TracebackType
from typing import Any

import jax

from windlass.diagnostics import WindlassError
from windlass.frontends.arrays.states import NotCapturable, explained
from windlass.frontends.arrays.tracing import OURS, current_tracing, is_users

ENTRY_POINTS = ("fault_kind", "handling", "watching", "expect_no_refusal")
"""What captured functions call."""
PYTHONS_ERRORS = (LookupError, ValueError, TypeError, NameError, ArithmeticError)
"""Errors that Python and NumPy raise, which user's code may handle."""
REMOVED = "JAX has removed its internal frames"
"""JAX says so in a note of an exception that came out of it."""
OUR_NAMES = ("'Scalar'", "'Array'", "windlass")
"""What no text of an exception of Python's says."""


def handling() -> None:
    """What follows has handlers: where a check of the program fails, Python has to say whether they see it."""
    tracing = current_tracing()
    if tracing is not None:
        tracing.has_handlers = True


def fault_kind() -> Any:
    """The kind of the exception that is being handled if it is none that Python would have met here: what can't be
    compiled; else no kind.

    Raises WindlassError (WL0910) for what was raised within a loop or branch of the program, which may not be reached.
    """
    return _kind_of(sys.exc_info()[1])


def _kind_of(error: BaseException | None) -> Any:
    if error is None or current_tracing() is None:
        return ()
    is_refusal = isinstance(error, NotCapturable | jax.errors.JAXTypeError) or (
        isinstance(error, WindlassError) and not isinstance(error, PYTHONS_ERRORS)
    )
    if not is_refusal and vars(error).get("is_within_operation", False):
        raise explained(NotCapturable(f"{type(error).__name__} is raised within it")) from error
    return () if not is_refusal and is_pythons(error) else type(error)


def is_pythons(error: BaseException) -> bool:
    """Whether Python would have raised it here, too: the user's code raises it, or we do in the place of NumPy."""
    if isinstance(error, WindlassError) or vars(error).get("is_of_users_statement", False):
        return True
    traceback = error.__traceback__
    if traceback is None or came_out_of_jax(error):
        return False
    last = innermost(traceback)
    code = last.tb_frame.f_code
    is_raised = code.co_code[last.tb_lasti] in (dis.opmap["RAISE_VARARGS"], dis.opmap["RERAISE"])
    if is_users(code):
        return is_raised or not any(name in str(error) for name in OUR_NAMES)
    return is_raised and code.co_filename.startswith(OURS)


def came_out_of_jax(error: BaseException) -> bool:
    """Whether JAX raised it and says that it took its frames away."""
    notes: list[str] = getattr(error, "__notes__", [])
    return any(REMOVED in note for note in notes)


def innermost(traceback: TracebackType) -> TracebackType:
    """The place that raised."""
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback


# -- `with`, which may swallow what is raised within it ---------------------------------------------------------------


class _Watching:
    """The innermost context of a `with` statement: it sees what is raised before those that may swallow it do."""

    def __enter__(self) -> None:
        handling()
        self._note(None)

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        try:
            if _kind_of(error) != ():
                self._note(error)
        except WindlassError as refusal:
            self._note(refusal)
            raise

    @staticmethod
    def _note(error: BaseException | None) -> None:
        tracing = current_tracing()
        if tracing is not None:
            tracing.swallowed = error


def watching() -> _Watching:
    """What a `with` statement enters last."""
    return _Watching()


def expect_no_refusal() -> None:
    """Raises after a `with` statement what can't be compiled in it, which a context has swallowed."""
    tracing = current_tracing()
    if tracing is not None and tracing.swallowed is not None:
        error, tracing.swallowed = tracing.swallowed, None
        raise error
