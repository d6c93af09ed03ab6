"""Functions that Python runs faster than their program: compared by the clock on first calls, remembered by shapes.

A program may lose: to BLAS, where a function is little more than a product, or by what a call of it costs, where arrays
are small. Python and NumPy mean the same as the program (but for the last digits of floats) where a function reads
nothing but its arguments, constants, NumPy's and Python's functions and others like itself. Such a function is run by
Python on copies of what it writes, once its program has been run a few times, for no longer than a few times what the
program takes; where it then is faster, and gives the same, Python runs it from then on. A call in which Python raises,
or gives anything else than the program would, is done again by the program; what was written is undone, where that can
be so (undoing.py).
"""

from __future__ import annotations

import builtins
import dis
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Protocol, cast

import jax
import numpy as np
from numpy.typing import NDArray

from windlass.frontends.arrays.tracing import is_users_own
from windlass.frontends.arrays.unknown_lengths import Leaving
from windlass.functions.specialization import Static
from windlass.functions.undoing import may_need_undoing
from windlass.runtime.settings import trials_are_allowed
from windlass.runtime.staging import pool
from windlass.stablehlo.platforms import device_that_runs
from windlass.stablehlo.program import number_made

RUNS_BEFORE = 3
"""Runs of a program before Python is tried.

Those that compile are not counted (large arrays that begin at another place of their cache lines have programs of
their own), and the first of the others, for which memory is new, is not timed."""
LONG = 0.01
"""Seconds: of a program that takes as long, one run is enough."""
MOST_TIMES = 4
"""Python is given up after so many times what the program takes."""
LEAST_GAIN = 0.2
"""The part of the program's time that Python has to gain."""
MOST_VALUES = 64
"""Values of integers among the arguments for which it is known who is faster; the program runs all others."""
PLAIN = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis), slice)


class _TooLong(BaseException):
    """Python has been given up."""


class _Differs(Exception):
    """Python gives something else than the program."""


class Program(Protocol):
    """A function compiled for arguments of one key."""

    race: Race | None

    @property
    def written(self) -> Sequence[int]: ...
    @property
    def outcome(self) -> tuple[Sequence[int | Static | Leaving | None], Any]: ...
    @property
    def shares_memory(self) -> bool: ...
    @property
    def has_variables(self) -> bool: ...
    def run(self, leaves: Sequence[Any]) -> Any: ...


@dataclass
class Standing:
    """What is known of arguments with the same shapes and integers: seconds that each takes, and who runs them."""

    runs: int = 0
    program: float = math.inf
    python: float = math.inf
    is_python: bool | None = None
    """None as long as it is not known."""
    slow_runs: int = 0
    """How often Python took much longer than the program does."""
    needs_undoing: bool = True
    """Whether Python might fail after it has written to its arguments."""


class Race:
    """One function and its program for arguments of one key."""

    def __init__(self, function: FunctionType, call: Program, leaves: Sequence[Any], seen: _Seen) -> None:
        self._function = function
        self._call = call
        self._seen = seen
        self._integers = [number for number, leaf in enumerate(leaves) if isinstance(leaf, int | np.integer)]
        self._standings: dict[tuple[Any, ...], Standing] = {}
        self._shapes: list[tuple[bool, np.dtype, tuple[int, ...] | None]] = []
        """Of each result that is computed, whether it is an array, its dtype and its shape."""

    def run(self, leaves: Sequence[Any], positional: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """What the function gives."""
        standing = self._standing(leaves)
        if standing is None or standing.is_python is False:
            if not self._integers:
                self._call.race = None  # it has ended
            return self._call.run(leaves)
        if standing.is_python:
            return self._run_python(standing, leaves, positional, named)
        if standing.runs > RUNS_BEFORE or (standing.runs > 1 and standing.program > LONG):
            return self._try_python(standing, leaves, positional, named)
        made, started = number_made(), time.perf_counter()
        result = self._call.run(leaves)
        if number_made() == made:
            if standing.runs:
                standing.program = min(standing.program, time.perf_counter() - started)
            standing.runs += 1
        return result

    def told(self, leaves: Sequence[Any]) -> str | None:
        """That Python runs such arguments, where it does."""
        standing = self._standings.get(tuple(leaves[number] for number in self._integers))
        if standing is None or not standing.is_python:
            return None
        return (
            f"Python runs it for such arguments: it took {1e6 * standing.python:.3g} µs, "
            f"the program {1e6 * standing.program:.3g} µs"
        )

    def _standing(self, leaves: Sequence[Any]) -> Standing | None:
        key = tuple(leaves[number] for number in self._integers)
        found = self._standings.get(key)
        if found is None and len(self._standings) < MOST_VALUES:
            found = self._standings[key] = Standing()
        return found

    # -- Python -------------------------------------------------------------------------------------------------------

    def _run_python(
        self, standing: Standing, leaves: Sequence[Any], positional: Sequence[Any], named: Mapping[str, Any]
    ) -> Any:
        if not self._seen.is_as_it_was():
            return self._call.run(leaves)
        written = [leaves[number] for number in self._call.written]
        saved = [pool.copy_of(array) for array in written] if standing.needs_undoing else []
        started = time.perf_counter()
        try:
            with np.errstate(all="ignore"):
                result = self._function(*positional, **named)
            result = self._as_of_program(result, leaves)
        except Exception as error:
            if written and not saved and not isinstance(error, np.linalg.LinAlgError):
                raise  # such as for want of memory, and some of it may be written
            for array, before in zip(written, saved, strict=False):
                np.copyto(array, before)
            standing.is_python = False
            return self._call.run(leaves)
        finally:
            for copy in saved:
                pool.give_back(copy)
        if time.perf_counter() - started > MOST_TIMES * standing.program:
            standing.slow_runs += 1
            standing.is_python = standing.slow_runs < RUNS_BEFORE
        return result

    def _try_python(
        self, standing: Standing, leaves: Sequence[Any], positional: Sequence[Any], named: Mapping[str, Any]
    ) -> Any:
        """The program gives the result; Python is run beside it."""
        standing.is_python = False
        outcome = None
        try:
            deadline = MOST_TIMES * standing.program
            if self._seen.is_as_it_was() and sys.gettrace() is None:
                self._timed(leaves, positional, named, deadline)
                first, _, _ = self._timed(leaves, positional, named, None)
                second, *outcome = self._timed(leaves, positional, named, None)
                standing.python = min(first, second)
        except (_TooLong, Exception):
            outcome = None
        started = time.perf_counter()
        result = self._call.run(leaves)
        standing.program = min(standing.program, time.perf_counter() - started)
        if outcome is not None and standing.python < (1 - LEAST_GAIN) * standing.program:
            standing.is_python = self._is_alike(result, leaves, *outcome)
            around = [(name, value) for _, name, value in self._seen.names]
            standing.needs_undoing = may_need_undoing(self._seen.codes, around, leaves)
        return result

    def _timed(
        self, leaves: Sequence[Any], positional: Sequence[Any], named: Mapping[str, Any], deadline: float | None
    ) -> tuple[float, Any, list[Any]]:
        """The seconds that Python takes, the result, and the arrays that the function was given instead of those that
        it writes. With a deadline it is asked at each line whether that has passed."""
        copies = {id(leaves[number]): leaves[number].copy() for number in self._call.written}
        positional = [copies.get(id(each), each) for each in positional]
        named = {name: copies.get(id(each), each) for name, each in named.items()}
        started = time.perf_counter()
        if deadline is not None:
            sys.settrace(_clock(started + deadline, self._seen.codes))
        try:
            with np.errstate(all="ignore"):
                result = self._function(*positional, **named)
        finally:
            if deadline is not None:
                sys.settrace(None)
        seconds = time.perf_counter() - started
        given = [copies.get(id(leaf), leaf) for leaf in leaves]
        return seconds, result, given

    # -- results ------------------------------------------------------------------------------------------------------

    def _is_alike(self, wanted: Any, leaves: Sequence[Any], found: Any, given: Sequence[Any]) -> bool:
        """Whether Python's result, and what it wrote, are those of the program."""
        aliases, _ = self._call.outcome
        pairs = zip(jax.tree.leaves(wanted), aliases, strict=True)
        computed = [(value, alias) for value, alias in pairs if alias is None or isinstance(alias, Leaving)]
        values = [value for value, _ in computed]
        self._shapes = [
            (isinstance(each, np.ndarray), np.asarray(each).dtype, np.shape(each) if alias is None else None)
            for each, alias in computed
        ]
        try:
            found = self._as_of_program(found, given)
        except _Differs:
            return False
        pairs = zip(jax.tree.leaves(found), aliases, strict=True)
        others = [value for value, alias in pairs if alias is None or isinstance(alias, Leaving)]
        pairs = [*zip(values, others, strict=True), *((leaves[each], given[each]) for each in self._call.written)]
        return all(_are_close(np.asarray(one), np.asarray(other)) for one, other in pairs)

    def _as_of_program(self, result: Any, leaves: Sequence[Any]) -> Any:
        """Python's result with numbers of the program's types, and arrays that share no memory with others.

        Raises _Differs.
        """
        aliases, structure = self._call.outcome
        values, made = jax.tree.flatten(result)
        if made != structure:
            raise _Differs
        owners = [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]
        shapes = iter(self._shapes)
        results: list[Any] = []
        for value, alias in zip(values, aliases, strict=True):
            if isinstance(alias, Static):
                results.append(alias.value)
            elif isinstance(alias, int):
                if value is not leaves[alias]:
                    raise _Differs
                results.append(value)
            else:
                is_array, dtype, shape = next(shapes)
                found = _as_result(value, is_array, dtype, shape, owners)
                owners += [found] if isinstance(found, np.ndarray) else []
                results.append(found)
        return jax.tree.unflatten(structure, results)


def _as_result(
    value: Any, is_array: bool, dtype: np.dtype, shape: tuple[int, ...] | None, owners: Sequence[Any]
) -> Any:
    """A result of Python's; the shape is None where it is another from call to call."""
    if is_array:
        if type(value) is not np.ndarray or value.dtype != dtype or shape not in (None, value.shape):
            raise _Differs
        is_shared = not value.flags.writeable or any(np.may_share_memory(value, owner) for owner in owners)
        return value.copy() if is_shared else value
    if isinstance(value, np.generic):
        if value.dtype != dtype:
            raise _Differs
        return value
    if type(value) not in (int, float, complex, bool) or np.asarray(value).dtype != dtype:
        raise _Differs
    return dtype.type(value)


def _are_close(one: NDArray[Any], other: NDArray[Any]) -> bool:
    if one.dtype.kind not in "fc":
        return bool(np.array_equal(one, other))
    with np.errstate(all="ignore"):
        is_finite = np.isfinite(one)
        if not np.array_equal(is_finite, np.isfinite(other)) or not np.array_equal(
            one[~is_finite], other[~is_finite], equal_nan=True
        ):
            return False
        error, size = (np.linalg.norm(each[is_finite]) for each in (one - other, one))
        return bool(error <= float(np.finfo(one.dtype).eps) ** (2 / 3) * size)


def _clock(deadline: float, codes: frozenset[CodeType]) -> Callable[..., Any]:
    """For `sys.settrace`: raises _TooLong at the first line after the deadline."""

    def look(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code not in codes:
            return None
        if time.perf_counter() > deadline:
            raise _TooLong
        return look

    return look


# -- which functions --------------------------------------------------------------------------------------------------


@dataclass
class _Seen:
    """What functions see from around them, by where they see it, and their code."""

    names: list[tuple[Mapping[str, Any], str, Any]]
    codes: frozenset[CodeType]

    def is_as_it_was(self) -> bool:
        """Whether it all is what it was when the program was made, in which it is compiled in."""
        return all(names.get(name) is value for names, name, value in self.names)


def race_for(function: Any, call: Program, leaves: Sequence[Any], structure: Any) -> Race | None:
    """The race between Python and the program; None where Python might mean something else."""
    if not trials_are_allowed() or not isinstance(function, FunctionType) or not _are_direct(structure):
        return None
    is_known = all(type(each) is np.ndarray or isinstance(each, (*PLAIN, np.generic)) for each in leaves)
    if not is_known or call.shares_memory or call.has_variables:
        return None
    if device_that_runs().name != "cpu":
        return None
    seen = _seen_by(function)
    return None if seen is None else Race(function, call, leaves, seen)


def _are_direct(structure: Any) -> bool:
    """Whether arguments are arrays, numbers and constants themselves, and none holds others."""
    tree, marks = structure
    positional, named = jax.tree.unflatten(tree, marks)
    values = [each.value if isinstance(each, Static) else each for each in (*positional, *named.values())]
    return all(isinstance(each, PLAIN) for each in values)


def _seen_by(function: FunctionType) -> _Seen | None:
    """What a function sees; None where that is more than constants, NumPy, Python's functions, and functions of which
    the same is true."""
    names: list[tuple[Mapping[str, Any], str, Any]] = []
    codes: set[CodeType] = set()
    waiting = [function]
    met: set[FunctionType] = set()
    while waiting:
        each = waiting.pop()
        if each in met:
            continue
        met.add(each)
        if each.__closure__ or not is_users_own(each.__code__):
            return None
        if not all(isinstance(value, PLAIN) for value in (each.__defaults__ or ())) or each.__kwdefaults__:
            return None
        for code in _codes_in(each.__code__):
            if any(each.opname == "IMPORT_NAME" for each in dis.get_instructions(code)):
                return None
            codes.add(code)
            for name in code.co_names:
                if name not in each.__globals__:
                    continue
                value = each.__globals__[name]
                if isinstance(value, FunctionType) and is_users_own(value.__code__):
                    waiting.append(value)
                elif not is_harmless(value):
                    return None
                names.append((each.__globals__, name, value))
    return _Seen(names, frozenset(codes))


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes_in(each)


def is_harmless(value: Any) -> bool:
    """Whether it stays what it is, and means in Python what it means in a program."""
    if isinstance(value, tuple):
        return all(map(is_harmless, cast("tuple[Any, ...]", value)))
    if isinstance(value, ModuleType):
        return value is np or value is math or value is np.linalg
    if isinstance(value, (*PLAIN, np.generic, np.dtype)):
        return True
    if isinstance(value, np.ufunc) or getattr(builtins, getattr(value, "__name__", ""), None) is value:
        return True
    home = getattr(value, "__module__", None) or ""
    is_function = isinstance(value, type | BuiltinFunctionType) or callable(value)
    return is_function and (home == "numpy" or home.startswith("numpy.linalg") or home == "math")
