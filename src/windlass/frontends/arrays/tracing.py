"""What is known while a function is traced: the user's line, and what the compiled program has to check as it runs.

An index that is known only when the program runs may be out of bounds. Each place that looks at such an index is a
`Check` with a number; the program keeps the number of the first that failed, with the index, in one integer. That
integer is a memory like an array's: loops and branches carry it where something within them writes it, so what is not
reached does not count.
"""

from __future__ import annotations

import inspect
import os
import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
from jax.core import Tracer
from jax.extend.core import get_opaque_trace_state

from windlass.diagnostics import ArrayIndexError, Diagnostic, Position, WindlassError

INDEX_BITS = 46
"""How many bits of the integer hold the index; the number of the check stands above."""


class Storage:
    """The memory that an array and its views share: one value, replaced at each write.

    The value is a JAX array, or a NumPy array as long as nothing traced has been written. `may_be` are the memories of
    which it is known only as the program runs whether they are this one, and `doubt` tells of a write to one of them:
    see `sharing.py`. `has_known_order` is false where it stands for arrays
    that lie in memory in different ways, so that NumPy would give a view of one and a copy of the other. `is_callers`
    marks the memory of an argument, in which the caller sees what is written. `tracing` and
    `level` say what was traced when it was made: it is of no use elsewhere.
    """

    __slots__ = ("__weakref__", "doubt", "has_known_order", "is_callers", "level", "may_be", "tracing", "value")

    def __init__(self, value: Any) -> None:
        self.tracing = _here.tracing
        self.level = None if _here.tracing is None else get_opaque_trace_state()
        self.value = value
        self.may_be: Memories = weakref.WeakKeyDictionary()
        self.doubt: Any = None
        self.has_known_order = True
        self.is_callers = False
        _here.storages[self] = None


Memories: TypeAlias = weakref.WeakKeyDictionary[Storage, None]
"""Memories that may go, in the order in which they came. In a set their order were that of their addresses: each of
several processes would carry them through a loop in another order, and so compile another program."""


class LeftToPython(Exception):
    """A check that tells where NumPy may raise, or give something of another shape or type than the program: Python
    runs the function there. `error` is raised where it has to be one program."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True)
class Check:
    """Something that the program looks at as it runs, and what is said where it does not hold.

    `headline` may name the index that was met as `{index}`.
    """

    headline: str
    position: Position | None
    help: str | None = None
    code: str = "WL0913"
    length: int = 1
    kind: type[WindlassError] = ArrayIndexError
    source: str | None = None
    """The line that the position names, where that is in no file."""

    def as_error(self, index: int) -> WindlassError:
        """The error for the index."""
        diagnostic = Diagnostic(
            self.code,
            self.headline.replace("{index}", str(index)),
            self.position,
            self.length,
            self.source,
            help=self.help,
        )
        return self.kind(diagnostic)


class Tracing:
    """One run of a function on traced arrays, and of those that it calls."""

    def __init__(self) -> None:
        self.checks: dict[Check | Exception, int] = {}
        self.failure = Storage(np.int64(0))
        """Number of the first check that failed, and the index that it met; 0 while all hold."""
        self.seeded: list[Any] = []
        """Random generators that the function made with a seed: they give the same in each call."""
        self.made: dict[int, tuple[Any, Any]] = {}
        """Lists and the like that the user's code has made, by identity, and the level at which it did."""
        self.met: dict[int, Any] = {}
        """Those of which one of several is meant, and the several: see `containers.py`."""
        self.is_of_jax = False
        """Whether it is within what JAX traces by itself, as rules of derivatives are: what they do with objects of
        Python's is done as they are traced, as in JAX."""
        self.trusts_packages = False
        """Whether functions of packages that are installed are taken to give values and do nothing else."""
        self.is_whole = False
        """Whether the function has to be one program."""
        self.swallowed: BaseException | None = None
        """What can't be compiled in a `with` statement, while its contexts are left."""
        self.is_part = False
        """Whether it is some statements of a function that Python runs."""
        self.has_handlers = False
        """Whether the function has handlers that might see what a check of the program finds."""
        self.has_strong_numbers = False
        """Whether numbers are typed as Numba does: see `strong_numbers.py`."""
        self.stops_at_zero = False
        """Whether numbers that are divided by zero are an error, as in Python and Numba, and not infinite."""
        self.level: Any = None
        """JAX's trace that the function's own operations, loops and branches run in."""
        self.needed: Any = None
        """The traced value that would have had to be known, where that was found last."""
        self.outermost: Any = None
        """The one outside of all loops and branches."""
        self.arguments: dict[int, int] = {}
        """Arguments that are integers: their numbers, by identity of what stands for them."""
        self.unrolled = 1
        """How many rounds the loops around, which are unrolled, have together."""
        self.loops = 0
        """How many loops around are operations."""
        self.rounds = 0
        """How many rounds of unrolled loops there were so far."""
        self.integers: dict[int, tuple[Any, int | None, int | None]] = {}
        """Traced integers by identity, and the least and the greatest that each may be: see `integers.py`."""
        self.places: dict[int, tuple[Any, Any, Any]] = {}
        """Traced masks by identity, the trace that each was looked through in, and what was found: see `places.py`."""

    def is_outside(self, owner: Any) -> bool:
        """Whether others may see a list or object, so that what runs once for many calls must not change it."""
        return not self.is_of_jax and id(owner) not in self.made

    @property
    def has_checks(self) -> bool:
        """Whether the program has something to look at when it has run."""
        return isinstance(self.failure.value, Tracer)

    def is_within_branch(self) -> bool:
        """Whether what runs now belongs to a loop or branch of the program, which may not be reached."""
        return self.level != self.outermost and get_opaque_trace_state() == self.level

    def require_never(self, fails: Any, check: Check | Exception, index: Any = 0) -> None:
        """Let the program fail by this check where the traced boolean is true.

        Inside a transformation of JAX that the user's function calls nothing can be kept: what JAX does there holds.
        """
        if get_opaque_trace_state() != self.level:
            return
        number = self.checks.setdefault(check, len(self.checks) + 1)
        mask = (1 << INDEX_BITS) - 1
        told = jnp.asarray(index).astype(jnp.int64) & mask | (number << INDEX_BITS)
        before = self.failure.value
        after = jnp.where(fails, told, jnp.int64(0))
        if isinstance(before, Tracer):
            after = jnp.where(before != 0, before, after)
        self.failure.value = after

    def error_for(self, code: int) -> Exception:
        """The error that the integer tells of."""
        check = list(self.checks)[(code >> INDEX_BITS) - 1]
        if isinstance(check, Exception):
            return check.with_traceback(None)
        index = code & ((1 << INDEX_BITS) - 1)
        return check.as_error(index - (1 << INDEX_BITS) if index >> (INDEX_BITS - 1) else index)


def can_be_written(storage: Storage) -> bool:
    """Whether the memory belongs to what runs now, rather than to what is around a transformation of JAX."""
    tracing = _here.tracing
    return tracing is None or get_opaque_trace_state() in (tracing.level, storage.level)


class _Here(threading.local):
    """What this thread traces, each function being traced by one thread; and the memories that there are."""

    def __init__(self) -> None:
        self.storages: Memories = weakref.WeakKeyDictionary()
        self.tracing: Tracing | None = None


_here = _Here()


def live_storages() -> list[Storage]:
    """The storages of this thread that something still refers to, in the order in which they were made."""
    return list(_here.storages)


def known_outside() -> set[int]:
    """The identities of all memories and containers that there are now: those that a body makes are none of them."""
    tracing = _here.tracing
    return {id(storage) for storage in _here.storages} | (set(tracing.made) if tracing is not None else set())


def current_tracing() -> Tracing | None:
    """What `wl.jit` traces in this thread, if anything."""
    return _here.tracing


def note_needed(value: Any) -> None:
    """Say that something can't be done because this traced value is not known."""
    if _here.tracing is not None:
        _here.tracing.needed = value


@contextmanager
def tracing_as(tracing: Tracing) -> Generator[None]:
    """Trace within."""
    before = _here.tracing
    _here.tracing = tracing
    tracing.outermost = get_opaque_trace_state()
    try:
        with at_this_level():
            yield
    finally:
        _here.tracing = before


@contextmanager
def at_this_level() -> Generator[None]:
    """Within, JAX's innermost trace now is the one that the function's operations belong to."""
    tracing = _here.tracing
    if tracing is None:
        yield
        return
    before = tracing.level
    tracing.level = get_opaque_trace_state()
    try:
        yield
    finally:
        tracing.level = before


@contextmanager
def keeping_memories() -> Generator[None]:
    """What all memories hold is put back where an exception ends what is within: values of an inner trace are of no
    use outside of it."""
    before = [(storage, storage.value, storage.doubt) for storage in live_storages()]
    try:
        yield
    except BaseException:
        for storage, value, doubt in before:
            storage.value, storage.doubt = value, doubt
        raise


# -- the user's line --------------------------------------------------------------------------------------------------


def _folder(file: str | None) -> str:
    return f"{Path(str(file)).absolute().parent}{os.sep}"


OURS = f"{Path(__file__).absolute().parents[2]}{os.sep}"
STANDARD = _folder(os.__file__)
LIBRARIES = (_folder(np.__file__), _folder(jax.__file__), _folder(jaxlib.__file__), OURS)


def is_users(code: CodeType) -> bool:
    """Whether the code is the user's: not ours, nor of NumPy, JAX or Python's own library."""
    return _is_of_no_library(code.co_filename)


def is_users_own(code: CodeType) -> bool:
    """Whether the code is the user's, and of no package that is installed."""
    return is_of_users_file(code.co_filename)


def is_of_users_file(name: str) -> bool:
    """Whether a file is the user's, and of no package that is installed."""
    return _is_of_no_library(name) and f"{os.sep}site-packages{os.sep}" not in name


def _is_of_no_library(name: str) -> bool:
    if name.startswith("<"):
        return name.startswith(("<stdin", "<ipython", "<string", "<doctest", "<captured"))
    if name.startswith(LIBRARIES) or name.endswith((".pyx", ".pxd")):
        return False
    return not name.startswith(STANDARD) or f"{os.sep}site-packages{os.sep}" in name


def position_in(code: CodeType, instruction: int, line: int) -> tuple[Position, int]:
    """Where an instruction stands in the source, and how many characters it takes there."""
    places = list(code.co_positions())
    found = places[instruction // 2] if 0 <= instruction // 2 < len(places) else (line, None, None, None)
    first, last, column, end = found
    if first is None or column is None:
        return Position(code.co_filename, line), 1
    text = Position(code.co_filename, first).source_line() or ""
    # Python counts bytes, we count characters.
    start = len(text.encode()[:column].decode(errors="ignore"))
    length = len(text.encode()[:end].decode(errors="ignore")) - start if last == first and end is not None else 1
    return Position(code.co_filename, first, start + 1), max(length, 1)


def position_now() -> tuple[Position | None, int]:
    """The user's line that runs now, and how many characters of it."""
    frame: FrameType | None = inspect.currentframe()
    while frame is not None:
        if is_users(frame.f_code):
            return position_in(frame.f_code, frame.f_lasti, frame.f_lineno)
        frame = frame.f_back
    return None, 1
