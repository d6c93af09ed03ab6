"""Functions that can't be one program: Python runs them, and the statements around what it has to do are programs.

A statement that can't be compiled (its shape depends on data, it prints, it calls what nobody can read) is run by
Python on the arrays as they are; those before it are one program and those after it another, in loops and branches too.
Which can't is found as the function runs: statements are traced together, where that fails the run of them is cut
before the one at fault, and what can't be compiled alone is Python's. What the function means is what it means in
Python: a statement may always be run there, and is where a program finds at its end that a check of it does not hold.
"""

from __future__ import annotations

import ast
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CellType, FunctionType, TracebackType
from typing import Any

import jax
import numpy as np

from windlass.diagnostics import Diagnostic, Position, WindlassError
from windlass.frontends.arrays.capture import closed_over
from windlass.frontends.arrays.explaining import as_told
from windlass.frontends.arrays.pieces import OURS, Divided, divided
from windlass.frontends.arrays.statements import PREFIX
from windlass.frontends.arrays.states import UNDEFINED
from windlass.frontends.arrays.tracing import position_in
from windlass.functions.compiled_call import Options
from windlass.functions.outrunning import is_harmless
from windlass.functions.resting import Rests
from windlass.functions.segments import CannotLeave, CheckFailed, Segment
from windlass.functions.snapshots import NoSnapshot, Snapshot
from windlass.functions.specialization import IntegersNeeded
from windlass.runtime.compiled_store import CompiledStore
from windlass.runtime.settings import trials_are_allowed

FIRST_PROGRAMS = 4
"""Programs of statements that are made as soon as they are met; others when Python has taken as long for such values as
a program takes to be made: then no more than twice the time is lost, whatever comes."""
LOOPS = ast.For | ast.While | ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp
SHORT = 1e-3
"""Seconds: a program of statements without loops that takes no longer is compared with what Python takes for them."""
LONGER = 20e-3
"""Seconds, where these statements call nothing but what may be as long as a program takes: NumPy and Python's own."""
RUNS_BEFORE = 4
"""Runs of a program before that."""
MOST_TIMES = 4
"""A program with loops is compared where Python took no more than so many times as long when it ran first; where it
takes as much later, several times, the program is run again."""
MOST_KEYS = 10_000
"""Kinds of values of which it is counted what Python takes."""
MOST_PROGRAMS = 48
"""Programs for the same statements, after which new ones are left to Python."""


@dataclass
class Split:
    """A statement that Python runs, and what that took."""

    position: Position
    reason: str
    count: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        place = f"{Path(self.position.file).name}:{self.position.line}"
        text = (self.position.source_line() or "").strip()
        cost = f"run {self.count} times, {1e6 * self.seconds / max(self.count, 1):.3g} µs each"
        return f"{place}: {text}\n    {self.reason}\n    {cost}"


class _Step:
    """What is known of statements from one of a list on: how many are run as a program, and the programs."""

    def __init__(self, plan: SplitFunction, made: Divided, number: int, start: int) -> None:
        self.plan = plan
        self.divided = made
        self.number, self.start = number, start
        self.list = made.lists[number]
        self.pieces = self.list.pieces
        self.piece = self.pieces[start]
        self.reason = self.piece.reason
        """Why Python always runs this statement; None where it may be part of a program."""
        self.own_reads = tuple(self.piece.own_reads)
        self.stop = start
        while self.stop < len(self.pieces) and self.pieces[self.stop].can_be_within:
            self.stop += 1
            if self.pieces[self.stop - 1].returns:
                break
        self.end_before(self.stop)
        self._groups: dict[int, _Group] = {}

    def end_before(self, stop: int) -> None:
        """Let programs end before this statement, or earlier: a `return` within a statement has to leave the function
        at once."""
        if not self.reaches_end(stop):
            stop = next((each for each in range(self.start, stop) if self.pieces[each].may_return), stop)
        self.stop = stop
        if stop == self.start and self.reason is None:
            self.reason = "it returns from within, and what follows can't be compiled with it"

    def reaches_end(self, stop: int) -> bool:
        """Whether the function ends after these statements."""
        return self.pieces[stop - 1].returns or (self.list.is_function and stop == len(self.pieces))

    def group(self, stop: int) -> _Group:
        found = self._groups.get(stop)
        if found is None:
            found = self._groups[stop] = _Group(self, stop)
        return found


class _Group:
    """Statements from one of a list on, up to another, and the programs of them."""

    def __init__(self, step: _Step, stop: int) -> None:
        self.step, self.stop = step, stop
        self.pieces = step.pieces[step.start : stop]
        self.names = step.divided.live_in(step.number, step.start, stop)
        self.returns = step.reaches_end(stop)
        self.results = None if self.returns else step.divided.bound_in(step.number, step.start, stop)
        """The names that they bind; None where the function returns with them."""
        self.has_work = any(each.has_work for each in self.pieces)
        self.is_straight = not any(isinstance(node, LOOPS) for each in self.pieces for node in ast.walk(each.node))
        """Whether Python takes about as long as the functions that are called do."""
        self.short = LONGER if self.is_straight and self._calls_no_function_of_users() else SHORT
        self._functions: dict[tuple[str, ...], Callable[..., Any]] = {}
        self._programs: CompiledStore[Any, Segment | _Needs] = CompiledStore()
        self.compile_seconds = 0.0
        """What the programs took to be made."""
        self._python_seconds: dict[Any, float] = {}
        """What Python took for values of which there is no program yet, by key."""

    def _calls_no_function_of_users(self) -> bool:
        """Whether it calls functions of NumPy, of Python, and methods of what its own names hold."""
        plan, own = self.step.plan, self.step.divided.names - set(self.step.plan.cells)
        called = [node.func for each in self.pieces for node in ast.walk(each.node) if isinstance(node, ast.Call)]
        return all(
            is_harmless(plan.value_of(node.id, {})) or (node.id in own and node is not each)
            for each in called
            for node in ast.walk(each)
            if isinstance(node, ast.Name)
        )

    def note_python(self, key: Any, seconds: float) -> None:
        """Note what Python took for such values."""
        if key in self._python_seconds or len(self._python_seconds) < MOST_KEYS:
            self._python_seconds[key] = self._python_seconds.get(key, 0.0) + seconds

    @property
    def meets_ever_new_values(self) -> bool:
        """Whether it has met so many kinds of values without a program that others are to be expected."""
        return len(self._python_seconds) > MOST_PROGRAMS

    def _is_worth_a_program(self, key: Any, count: int) -> bool:
        """Whether Python took so long for such values that a program may pay, there being programs for some others."""
        if not trials_are_allowed():
            return key in self._python_seconds
        return self._python_seconds.get(key, 0.0) * count >= self.compile_seconds

    def find(self, snapshot: Snapshot) -> tuple[Segment | None, Any]:
        """The program for such values, and their key; no program where there is none yet, or none at all.

        Raises what kept it from being made.
        """
        key: Any = snapshot.form
        static: tuple[int, ...] = ()
        while True:
            found = self._programs.get(key)
            if isinstance(found, Segment):
                return found, key
            if isinstance(found, _Needs):
                static = tuple(sorted({*static, *found.numbers}))
                values = [snapshot.leaves[each] for each in static]
                key = (snapshot.form, static, tuple((type(each), each) for each in values))
                continue
            count = len(self._programs)
            if count >= FIRST_PROGRAMS and not self._is_worth_a_program(key, count):
                return None, key
            if count >= MOST_PROGRAMS:
                return None, key
            try:
                found = Segment(self.step.plan.options, self._function(snapshot), snapshot, self.results, static)
            except IntegersNeeded as need:
                if set(need.numbers) <= set(static):
                    raise need.error from None
                self._programs.keep(key, _Needs(need.numbers))
                continue
            self._programs.keep(key, found)
            self.step.plan.programs += 1
            self._python_seconds.pop(key, None)
            return found, key

    def _function(self, snapshot: Snapshot) -> Callable[..., Any]:
        """The statements as a function of the names that the snapshot has the values of."""
        step, plan = self.step, self.step.plan
        names = tuple(name for name, form in snapshot.form[0] if name in step.divided.names or form[0] != "fixed")
        if names not in self._functions:
            code = step.divided.segment_code(step.number, step.start, self.stop, names, self.results)
            closure = closed_over(code, plan.cells)
            function = FunctionType(code, plan.function.__globals__, plan.function.__name__, None, closure)
            self._functions[names] = lambda values: function(**{name: values[name] for name in names})
        return self._functions[names]


@dataclass
class _Needs:
    """Numbers among the leaves of which a program needs to know the values."""

    numbers: tuple[int, ...]


@dataclass
class Ran:
    """Statements were run as a program: what they gave."""

    next: int
    returns: bool = False
    value: Any = None
    found: dict[str, Any] = field(default_factory=dict)

    def values_of(self, names: Sequence[str], before: Mapping[str, Any]) -> tuple[Any, ...]:
        """What the names hold now."""
        return tuple(self.found[name] if name in self.found else before.get(name, UNDEFINED) for name in names)


class SplitFunction:
    """A function that Python runs, with programs for what can be compiled of it."""

    def __init__(self, options: Options, error: Exception) -> None:
        self.options = options
        self.error = error
        """Why it is not one program."""
        function = options.function
        self.function: Any = function
        self.divided: Divided | None = None
        if isinstance(function, FunctionType):
            self.divided = divided(function.__code__, function.__code__.co_filename)
        self.cells: dict[str, CellType] = {}
        self.splits: dict[tuple[int, int], Split] = {}
        self.programs = 0
        self.program_runs = 0
        self.program_seconds = 0.0
        self.compile_seconds = 0.0
        self.lock = threading.RLock()
        self._steps: dict[tuple[int, int], _Step] = {}
        self.rests = Rests()
        if self.divided is not None:
            self.cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

    def call(self, positional: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """What the function gives."""
        with jax.enable_x64(True):
            if self.divided is None or (trials_are_allowed() and self.rests.function.take()):
                return self.function(*positional, **named)
            run = _Run(self)
            given = {"run": run, "locals": locals, "UNDEFINED": UNDEFINED}
            cells = {**self.cells, **{f"{PREFIX}{name}": CellType(given[name]) for name in OURS}}
            code = self.divided.code
            closure = tuple(cells[name] for name in code.co_freevars)
            function = FunctionType(
                code, self.function.__globals__, self.function.__name__, self.function.__defaults__, closure
            )
            function.__kwdefaults__ = self.function.__kwdefaults__
            result = function(*positional, **named)
            run.leave(result)
            return result

    def step(self, number: int, start: int) -> _Step:
        found = self._steps.get((number, start))
        if found is None:
            assert self.divided is not None
            found = self._steps[number, start] = _Step(self, self.divided, number, start)
        return found

    def value_of(self, name: str, names: Mapping[str, Any]) -> Any:
        """What a name holds where the function runs: its own, one around it, a global, or one of Python's."""
        if name in names:
            return names[name]
        assert self.divided is not None
        if name in self.divided.names:
            return UNDEFINED
        found = self.function.__globals__.get(name, UNDEFINED)
        if found is not UNDEFINED:
            return found
        builtins = self.function.__builtins__
        return builtins.get(name, UNDEFINED)

    def note(self, number: int, start: int, reason: str) -> Split:
        """Note that Python runs this statement, and why."""
        assert self.divided is not None
        found = self.splits.get((number, start))
        if found is None:
            piece = self.divided.lists[number].pieces[start]
            position = Position(self.divided.original.co_filename, piece.line, piece.node.col_offset + 1)
            found = self.splits[number, start] = Split(position, reason)
        return found


class _Run:
    """One call of a split function."""

    def __init__(self, plan: SplitFunction) -> None:
        self.plan = plan
        self._may_rest = trials_are_allowed()
        self._work = 0
        """How often a program was made, run, or compared with Python."""
        self._entered: dict[tuple[int, int], int] = {}
        """The loops that are being run, and what had been done before."""
        self._split: Split | None = None
        """The statement that Python runs now."""
        self._since = 0.0
        self._passage: _Passage | None = None

    # -- what the divided code calls ----------------------------------------------------------------------------------

    def plain(self, number: int, start: int) -> None:
        """Python runs this statement, as always."""
        self._account(None)
        self._is_passing(number, start, {})
        step = self.plan.step(number, start)
        self._leave_to_python(step, step.reason)

    def end(self, number: int, stop: int, names: Mapping[str, Any]) -> None:
        """The statements of a list have been run."""
        self._account(None)
        self._is_passing(number, stop, names)

    def attempt(self, number: int, start: int, names: Mapping[str, Any]) -> Ran | None:
        """Run statements from this one on as a program; None where Python is to run this one."""
        self._account(None)
        if self._is_passing(number, start, names):
            return None
        step = self.plan.step(number, start)
        if step.reason is not None:
            return self._leave_to_python(step, step.reason)
        if not step.piece.has_work or not _reads_arrays(self.plan, step.own_reads, names):
            return None
        stop = step.stop
        while stop > start:
            group = step.group(stop)
            if not group.has_work:
                return None
            try:
                return self._run_group(group, names)
            except _Cut as cut:
                if not cut.is_passing:
                    step.end_before(cut.stop)
                    stop = step.stop
                    if stop == start:
                        step.reason = cut.reason if cut.stop == start else step.reason
                else:
                    stop = cut.stop
                if stop == start:
                    return self._leave_to_python(step, step.reason or cut.reason)
        return None

    def rests(self, number: int, start: int) -> bool:
        """Whether this loop is to be run as it was written."""
        if self._may_rest and self.plan.rests.of_loop(number, start).take():
            return True
        self._entered[number, start] = self._work
        return False

    def leave_loop(self, number: int, start: int) -> None:
        """The loop, which did not rest, has been run."""
        before = self._entered.pop((number, start), None)
        if before is not None:
            self.plan.rests.of_loop(number, start).note(self._work == before)

    def leave(self, result: Any) -> None:
        """The function has returned."""
        self._account(None)
        for loop in tuple(self._entered):
            self.leave_loop(*loop)
        self.plan.rests.function.note(not self._work)
        passage = self._passage
        if passage is not None:
            if passage.group.returns:
                passage.see([result])
            passage.end()

    # -- how ----------------------------------------------------------------------------------------------------------

    def _leave_to_python(self, step: _Step, reason: str | None) -> None:
        if reason:
            self._account(self.plan.note(step.number, step.start, reason))

    def _account(self, split: Split | None) -> None:
        """The time since the last question was that of the statement that Python ran."""
        now = time.perf_counter()
        if self._split is not None:
            self._split.seconds += now - self._since
        self._split, self._since = split, now
        if split is not None:
            split.count += 1

    def _is_passing(self, number: int, start: int, names: Mapping[str, Any]) -> bool:
        """Whether this statement is one of those that Python runs in the place of a program."""
        passage = self._passage
        if passage is None:
            return False
        group = passage.group
        if number == group.step.number:
            if group.step.start < start < group.stop:
                return True
            if start == group.stop and group.results is not None:
                passage.see([names.get(name, UNDEFINED) for name in group.results])
        elif group.step.number < number <= group.step.list.last:
            return True
        passage.end()
        self._passage = None
        return False

    def _run_group(self, group: _Group, names: Mapping[str, Any]) -> Ran | None:
        plan, step = self.plan, group.step
        values: dict[str, Any] = {}
        for name in group.names:
            value = plan.value_of(name, names)
            if value is not UNDEFINED:
                values[name] = value
            elif name in step.divided.names and not any(name in each.binds for each in group.pieces):
                raise _cut_at(group, name, f"'{name}' is unbound")
        try:
            taken = Snapshot(values)
        except NoSnapshot as found:
            raise _cut_at(group, found.name, f"'{found.name}' is {found}") from None
        started = time.perf_counter()
        self._work += 1
        try:
            with plan.lock:
                segment, key = group.find(taken)
        except Exception as error:
            raise _cut_by(group, error) from None
        if segment is None and group.meets_ever_new_values:
            self._work -= 1
        if segment is None or (segment.has_scalars and segment.kinds is None):
            self._passage = _Passage(group, segment, key)
            return None
        is_first = not segment.has_run
        if segment.is_slower_than_python:
            self._work -= group.is_straight
            self._passage = _Passage(group, None if group.is_straight else segment, None)
            return None
        is_short = group.is_straight or segment.python < MOST_TIMES * segment.best
        if segment.runs == RUNS_BEFORE and is_short and segment.best < group.short and trials_are_allowed():
            segment.runs += 1
            self._passage = _Passage(group, segment, key)
            return None
        try:
            found = segment.call(taken)
        except CheckFailed:
            self._passage = _Passage(group, None, None)
            return None
        took = time.perf_counter() - started
        if is_first:
            plan.compile_seconds += took
            group.compile_seconds += took
        else:
            plan.program_seconds += took
            plan.program_runs += 1
            segment.runs += 1
            segment.best = min(segment.best, took)
        if group.results is None:
            return Ran(group.stop, True, found[0])
        return Ran(group.stop, False, None, dict(zip(group.results, found, strict=True)))


class _Passage:
    """Statements that Python runs in the place of a program: once, to see what kinds of numbers it gives, or because
    there is none."""

    def __init__(self, group: _Group, segment: Segment | None, key: Any) -> None:
        self.group, self.segment, self.key = group, segment, key
        self._since = time.perf_counter()

    def end(self) -> None:
        """Note what Python took, and whether the program takes longer."""
        took = time.perf_counter() - self._since
        segment = self.segment
        if segment is None:
            if self.key is not None:
                self.group.note_python(self.key, took)
        elif not segment.runs:
            segment.python = took
        elif segment.is_slower_than_python:
            segment.slow_runs += took > MOST_TIMES * segment.best
            segment.is_slower_than_python = segment.slow_runs < RUNS_BEFORE
        else:
            segment.is_slower_than_python = took < segment.best

    def see(self, values: Sequence[Any]) -> None:
        """Note what Python gave."""
        if self.segment is not None and not self.segment.observe(values):
            step = self.group.step
            step.end_before(self.group.stop - 1)
            if step.stop == step.start:
                step.reason = "a program would give it otherwise"


class _Cut(Exception):
    """Statements can't be one program: they end before `stop`, this time (`is_passing`) or always."""

    def __init__(self, stop: int, reason: str, is_passing: bool) -> None:
        super().__init__(reason)
        self.stop, self.reason, self.is_passing = stop, reason, is_passing


def _cut_at(group: _Group, name: str | None, reason: str) -> _Cut:
    """Before the first statement that reads the name, this time."""
    for number, piece in enumerate(group.pieces):
        if name in piece.reads:
            return _Cut(group.step.start + number, reason, True)
    return _Cut(group.step.start, reason, True)


def _cut_by(group: _Group, error: Exception) -> _Cut:
    """Before the statement that could not be compiled."""
    start, last = group.step.start, len(group.pieces) - 1
    if isinstance(error, CannotLeave):
        binding = [number for number, each in enumerate(group.pieces) if error.name in each.binds]
        return _Cut(start + (binding[-1] if binding else last), f"it makes {error}", False)
    place = _place_of(error.__traceback__, group.step.divided)
    at = next((number for number, each in enumerate(group.pieces) if place is not None and each.holds(place)), last)
    inner = group.pieces[at].first_inner_line
    is_within = place is not None and inner is not None and place[0] >= inner
    return _Cut(start + at, "a statement within it is Python's" if is_within else _reason_of(error), False)


def _reads_arrays(plan: SplitFunction, own_reads: Sequence[str], names: Mapping[str, Any]) -> bool:
    """Whether the statement may have arrays to compute with."""
    for name in own_reads:
        value = plan.value_of(name, names)
        if isinstance(value, np.ndarray | jax.Array | list | tuple | dict):
            return True
        if hasattr(value, "__dict__") and not isinstance(value, type | FunctionType) and not callable(value):
            return True
    return False


def _place_of(traceback: TracebackType | None, divided: Divided) -> tuple[int, int] | None:
    """The line and column of the function that an error arose in; both from 1 on."""
    first, last = divided.definition.lineno, divided.definition.end_lineno or divided.definition.lineno
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename == divided.original.co_filename and first <= traceback.tb_lineno <= last:
            position, _ = position_in(code, traceback.tb_lasti, traceback.tb_lineno)
            return position.line, position.column or 1
        traceback = traceback.tb_next
    return None


def _reason_of(error: Exception) -> str:
    told = as_told(error)
    if isinstance(told, WindlassError):
        first: Diagnostic = told.diagnostics[0]
        return f"{first.headline} ({first.code})"
    return f"{type(error).__name__}: {error}"


# -- what is said of it -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Explanation:
    """What a function by `wl.jit` became: `splits` are the statements that Python runs; none if it is one program."""

    name: str
    is_whole: bool
    reason: str | None
    """Why it is not one program."""
    splits: tuple[Split, ...]
    programs: int
    program_runs: int
    program_seconds: float
    compile_seconds: float
    outrun: str | None = None
    """That Python runs it though it is one program, and what both take."""
    distribution: str = ""
    """In which form the program was divided among devices, and what was compared."""

    def __str__(self) -> str:
        if self.is_whole:
            return "\n".join(filter(None, (f"{self.name} is one program", self.outrun, self.distribution)))
        lines = [f"{self.name} is split: {self.reason}"]
        if not self.splits:
            lines.append("it has not been run: which statements Python runs is found then")
        mean = 1e6 * self.program_seconds / max(self.program_runs, 1)
        made = f"{self.programs} programs between, compiled in {self.compile_seconds:.2g} s"
        again = f", run {self.program_runs} times after that, {mean:.3g} µs each" if self.program_runs else ""
        lines.append(made + again)
        return "\n".join((*lines, *map(str, self.splits)))


def explanation_of(
    name: str, split: SplitFunction | None, outrun: str | None = None, distribution: str = ""
) -> Explanation:
    """What is said of a function that is split, or, with None, of one that is not."""
    if split is None:
        return Explanation(name, True, None, (), 1, 0, 0.0, 0.0, outrun, distribution)
    found = tuple(each for _, each in sorted(split.splits.items()))
    return Explanation(
        name,
        False,
        _reason_of(split.error),
        found,
        split.programs,
        split.program_runs,
        split.program_seconds,
        split.compile_seconds,
    )
