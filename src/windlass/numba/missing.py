"""What Numba has for functions that it compiles itself, and what to write for functions that are captured here."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from windlass.diagnostics import Diagnostic, LaunchError

MISSING = {
    "experimental": "functions take objects of ordinary classes and dataclasses as they are: leave @jitclass out",
    "generated_jit": "write one function: it is captured anew for each type of its arguments, and `if` asks for these",
    "cfunc": "give the function itself: ctypes.CFUNCTYPE(c_double, c_double)(function)",
    "extending": "call the function itself: functions captured here call any function of Python's",
    "overload": "call the function itself: functions captured here call any function of Python's",
    "carray": "numpy.ctypeslib.as_array(pointer, shape), before the function is called",
    "set_num_threads": "set WINDLASS_NUM_THREADS before Python starts: how many threads there are is known then",
    "farray": "numpy.ctypeslib.as_array(pointer, shape).T, before the function is called",
}
"""Names, and what to write instead."""


def refuse(name: str) -> LaunchError:
    """What is said of one of these names."""
    return LaunchError(
        Diagnostic("WL0909", f"numba.{name} is not supported by functions of windlass.numba", help=MISSING[name])
    )


@contextmanager
def objmode(*_: Any, **types: Any) -> Generator[None]:
    """`numba.objmode`: what stands within is Python's; what can't be compiled is so anyway, and needs no types.

    >>> with objmode(count="int64"):
    ...     count = len({1, 2})
    >>> count
    2
    """
    yield
