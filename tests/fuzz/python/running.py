"""Runs a program by Python and by `wl.jit`, and compares."""

from __future__ import annotations

import linecache
import random
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

import windlass as wl
from tests.fuzz.python.author import Program, smaller, write_program


@dataclass(frozen=True)
class Outcome:
    """What came of it: "same", "refused" by a code, "invalid" (Python itself has no meaning for it), "wrong", or
    "broken": an error that is none of ours."""

    kind: str
    detail: str = ""

    @property
    def is_bad(self) -> bool:
        return self.kind in ("wrong", "broken")

    def is_like(self, other: Outcome) -> bool:
        """Whether it went wrong in the same way."""
        return self.kind == other.kind and self.detail.split("\n")[0] == other.detail.split("\n")[0]


def program_of(seed: int, *, has_pythons: bool = False) -> Program:
    """The program with this number; with statements in it that only Python can run."""
    return write_program(random.Random(seed), has_pythons=has_pythons)


def function_of(program: Program) -> Callable[..., Any]:
    """The program as a function whose source can be had."""
    text = program.text()
    name = f"<captured {zlib.crc32(text.encode()):x}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["program"]


def inputs() -> list[tuple[Any, ...]]:
    """Arguments that take different ways."""
    return [
        (np.array([3.0, -1.0, 4.0, 1.5, first]), np.array([0.5, 2.0, -3.0, 1.0, 0.0]), np.array([n, m]))
        for first, n, m in ((2.0, 0, 0), (0.5, 1, 3), (-1.0, 3, 1), (6.0, 2, 2))
    ]


def run(program: Program, *, whole: bool = True) -> Outcome:
    """Run it on several inputs, as one program, or split where it can't be one."""
    try:
        function = function_of(program)
    except SyntaxError as error:
        return Outcome("invalid", str(error))
    compiled = wl.jit(whole=whole)(function)
    is_refused = False
    detail = ""
    for arguments in inputs():
        plain, given = ([each.copy() for each in arguments] for _ in range(2))
        wanted: Any = None
        fault: Exception | None = None
        with np.errstate(all="ignore"):
            try:
                wanted = function(*plain)
            except (UnboundLocalError, IndexError, ValueError) as error:
                fault = error
            except Exception as error:
                return Outcome("invalid", repr(error))
        try:
            found = compiled(*given)
        except wl.WindlassError as error:
            if not whole:
                return Outcome("wrong", f"{type(error).__name__}: {error}")
            if fault is None or not isinstance(error, type(fault)):
                is_refused, detail = True, f"{error.diagnostics[0].code} {error.diagnostics[0].headline}"
            continue
        except Exception as error:
            if fault is not None and type(error) is type(fault):
                continue
            return Outcome("broken", f"{type(error).__name__}: {str(error)[:300]}")
        if fault is not None:
            return Outcome("wrong", f"no {type(fault).__name__}\n{fault} on {arguments}, gave {found}")
        difference = _difference((wanted, plain), (found, given))
        if difference:
            return Outcome(
                "wrong", f"{difference}\non {arguments}:\nwanted {wanted} and {plain}\nfound {found} and {given}"
            )
    return Outcome("refused", detail) if is_refused else Outcome("same")


def _difference(wanted: Any, found: Any) -> str:
    if jax.tree.structure(wanted) != jax.tree.structure(found):
        return "other parts"
    for one, other in zip(jax.tree.leaves(wanted), jax.tree.leaves(found), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        if one.dtype != other.dtype:
            return "another dtype"
        if one.shape != other.shape:
            return "another shape"
        if not np.array_equal(one, other, equal_nan=True):
            return "other numbers"
    return ""


def shrink(program: Program, outcome: Outcome, seconds: float = 60.0, *, whole: bool = True) -> Program:
    """The smallest program found in that time that goes wrong alike."""
    end = time.monotonic() + seconds
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for candidate in smaller(program):
            if time.monotonic() > end:
                return program
            if run(candidate, whole=whole).is_like(outcome):
                program, is_smaller = candidate, True
                break
    return program
