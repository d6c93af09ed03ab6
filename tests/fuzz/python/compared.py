# pyright: basic
"""Runs a composition by Python and by `wl.jit`, compares all that can be seen of them, and makes it small."""

from __future__ import annotations

import ast
import contextlib
import copy
import io
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import windlass as wl
from tests.fuzz.python.compositions import Composition
from tests.fuzz.python.run_forms import module_of

MOST_LINES = 4000
"""Lines that a function may run: a loop without an end is none of ours."""


class _TooLong(BaseException):
    """The function runs on and on."""


@dataclass
class Outcome:
    """What came of a call."""

    value: Any = None
    fault: BaseException | None = None
    printed: str = ""
    given: Any = None
    """The arguments afterwards."""
    line: int | None = None
    """The line of `program` that raises."""
    is_open: bool = False
    """Whether a float becomes an integer that can't hold it: NumPy leaves open which."""


def outcome_of(function: Any, given: tuple[Any, ...], name: str = "") -> Outcome:
    """What comes of a call with copies of these arguments."""
    arguments = copy.deepcopy(given)
    printed = io.StringIO()
    found = Outcome(given=arguments)
    told: list[warnings.WarningMessage] = []
    try:
        with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found.value = function(*arguments)
    except (Exception, _TooLong) as error:
        found.fault = error
        lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == name]
        found.line = lines[0] if lines else -1
    found.printed = printed.getvalue()
    found.is_open = any("encountered in cast" in str(each.message) for each in told)
    return found


def outcome_in_python(text: str, given: tuple[Any, ...]) -> Outcome:
    """What Python makes of the module's `program`, which may run a limited number of lines."""
    scope = module_of(text)
    function = scope["program"]
    name = function.__code__.co_filename
    left = MOST_LINES

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename != name:
            return None
        left -= event == "line"
        if left < 0:
            raise _TooLong
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return outcome_of(function, given, name)
    finally:
        sys.settrace(before)


@dataclass(frozen=True)
class Verdict:
    """ "same", "wrong" or "invalid" (Python itself makes nothing of it); what is wrong, or how it was run."""

    kind: str
    detail: str = ""
    how: str = ""

    @property
    def cause(self) -> str:
        """What is wrong, without numbers of the case."""
        return self.detail.split("\n")[0]


def compare(made: Composition, *, whole: bool = False) -> Verdict:
    """Whether `wl.jit` gives, writes, prints and raises what Python does, on all inputs, each twice.

    With `whole` what is refused is "refused".
    """
    try:
        wanted = [outcome_in_python(made.text, given) for given in made.inputs]
        ours = module_of(made.text + "#\n")
    except SyntaxError as error:
        return Verdict("invalid", str(error))
    if any(isinstance(each.fault, _TooLong | MemoryError | OverflowError | RecursionError) for each in wanted):
        return Verdict("invalid", "it runs on and on")
    if any(each.is_open for each in wanted):
        return Verdict("invalid", "a float becomes an integer that can't hold it")
    if any(isinstance(each.fault, NameError) and not isinstance(each.fault, UnboundLocalError) for each in wanted):
        return Verdict("invalid", "a name that nobody binds")
    compiled = wl.jit(whole=whole)(ours["program"])
    for number in (*range(len(made.inputs)), *range(len(made.inputs))):
        given, want = made.inputs[number], wanted[number]
        found = outcome_of(compiled, given)
        if whole and isinstance(found.fault, wl.WindlassError) and not _is_alike_fault(want.fault, found.fault):
            return Verdict("refused", found.fault.diagnostics[0].headline)
        is_whole = "one program" in str(compiled.explain(*copy.deepcopy(given)))
        if difference := _difference(want, found, is_whole):
            return Verdict("wrong", f"{difference}\n  on {given}\n  found {_told(found)}\n  wanted {_told(want)}")
    return Verdict("same", how="whole" if is_whole else "split")


def _told(outcome: Outcome) -> str:
    if outcome.fault is not None:
        return repr(outcome.fault)
    try:
        return f"{outcome.value}, arguments {outcome.given}"
    except wl.WindlassError as error:
        return f"what has no value: {error}"


def _is_alike_fault(wanted: BaseException | None, found: BaseException | None) -> bool:
    if wanted is None or found is None:
        return wanted is found
    own = next(each for each in type(wanted).__mro__ if each.__module__ == "builtins")
    return isinstance(found, own)


def _difference(wanted: Outcome, found: Outcome, is_whole: bool) -> str:
    if not _is_alike_fault(wanted.fault, found.fault):
        return f"raised {type(found.fault).__name__} for {type(wanted.fault).__name__}"
    if wanted.fault is not None:
        if is_whole:
            return ""  # nothing is written where a program fails
    elif difference := different(wanted.value, found.value):
        return difference
    if difference := different(wanted.given, found.given):
        return f"in place: {difference}"
    return "" if wanted.printed == found.printed else "printed something else"


def different(wanted: Any, found: Any) -> str:
    """How two values differ: "" for not at all. Numbers of Python and NumPy with one dtype are alike."""
    if _is_number(wanted) or _is_number(found):
        if not (_is_number(wanted) and _is_number(found)):
            return f"{type(found).__name__} for {type(wanted).__name__}"
        one, other = np.asarray(wanted), np.asarray(found)
        return _different_arrays(one, other, "a number")
    if isinstance(wanted, np.ndarray) and isinstance(found, np.ndarray):
        return _different_arrays(wanted, found, "an array")
    if type(wanted).__name__ != type(found).__name__:
        return f"{type(found).__name__} for {type(wanted).__name__}"
    if isinstance(wanted, tuple | list):
        if len(wanted) != len(found):
            return "another length"
        return next(filter(None, map(different, wanted, found)), "")
    if isinstance(wanted, dict):
        return different(list(wanted), list(found)) or different(list(wanted.values()), list(found.values()))
    if hasattr(wanted, "__dataclass_fields__"):
        return different(vars(wanted), vars(found))
    if callable(wanted):
        return ""
    return "" if wanted == found else "another value"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | complex | np.generic) and not isinstance(value, np.str_)


def _different_arrays(wanted: np.ndarray, found: np.ndarray, what: str) -> str:
    if wanted.dtype != found.dtype:
        return f"{what} of {found.dtype} for {wanted.dtype}"
    if wanted.shape != found.shape:
        return f"{what} of another shape"
    if wanted.dtype == object:
        return different(wanted.tolist(), found.tolist())
    if wanted.dtype.kind not in "fc":
        return "" if np.array_equal(wanted, found) else f"{what} of other values ({wanted.dtype})"
    with np.errstate(all="ignore"):
        exactness = np.finfo(wanted.dtype).eps
        finite = np.abs(wanted[np.isfinite(wanted)])
        close = np.isclose(
            found, wanted, rtol=64 * exactness, atol=64 * exactness * finite.max(initial=0), equal_nan=True
        )
    return "" if close.all() else f"{what} of other values ({wanted.dtype})"


# -- making it small --------------------------------------------------------------------------------------------------


def shrink(made: Composition, verdict: Verdict, seconds: float = 60.0, *, whole: bool = False) -> Composition:
    """The smallest function found in that time that goes wrong in the same way."""
    end = time.monotonic() + seconds
    is_smaller = True
    for given in made.inputs:
        alone = replace(made, inputs=(given,))
        if compare(alone, whole=whole).cause == verdict.cause:
            made = alone
            break
    while is_smaller:
        is_smaller = False
        for text in smaller(made.text):
            if time.monotonic() > end:
                return made
            candidate = replace(made, text=text)
            found = compare(candidate, whole=whole)
            if found.kind == "wrong" and found.cause == verdict.cause:
                made, is_smaller = candidate, True
                break
    return made


def smaller(text: str) -> Iterator[str]:
    """Modules with a statement of `program` less, a block in its place, or a part of an expression in its place."""
    count = len(_edits(ast.parse(text)))
    for number in range(count):
        tree = ast.parse(text)
        _edits(tree)[number]()
        try:
            made = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        except Exception:
            continue
        if len(made) < len(text):
            yield made


def _edits(tree: ast.Module) -> list[Any]:
    """Functions that each make the tree smaller in one way, those that take most first."""
    function = next(each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == "program")
    statements: list[Any] = []
    expressions: list[Any] = []

    def replaced(block: list[Any], each: Any, by: list[Any]) -> Any:
        def edit() -> None:
            block[block.index(each) : block.index(each) + 1] = by
            if not block:
                block.append(ast.Pass())

        return edit

    def put(node: Any, name: str, place: int | None, value: Any) -> Any:
        def edit() -> None:
            if place is None:
                setattr(node, name, value)
            else:
                getattr(node, name)[place] = value

        return edit

    for node in ast.walk(function):
        for name in ("body", "orelse", "finalbody", "handlers"):
            block = getattr(node, name, None)
            if not isinstance(block, list):
                continue
            for each in block:
                inner = [getattr(each, part, None) or [] for part in ("body", "orelse", "finalbody")]
                if isinstance(each, ast.stmt):
                    statements.append(replaced(block, each, []))
                    statements += [replaced(block, each, part) for part in inner if isinstance(part, list) and part]
                    if isinstance(each, ast.Match):
                        statements += [replaced(block, each, case.body) for case in each.cases]
            if name in ("orelse", "finalbody") and block:
                statements.append(put(node, name, None, []))
        for name, value in ast.iter_fields(node):
            parts = value if isinstance(value, list) else [value]
            for place, part in enumerate(parts):
                where = place if isinstance(value, list) else None
                if isinstance(part, ast.expr) and isinstance(getattr(part, "ctx", ast.Load()), ast.Load):
                    inner = [each for each in ast.iter_child_nodes(part) if isinstance(each, ast.expr)]
                    expressions += [put(node, name, where, each) for each in inner if not isinstance(each, ast.Starred)]
                    if not isinstance(part, ast.Constant | ast.Name):
                        expressions.append(put(node, name, where, ast.Constant(1)))
                if isinstance(part, ast.Tuple) and where is None and len(part.elts) > 1:
                    expressions += [
                        put(part, "elts", None, [other for other in part.elts if other is not each])
                        for each in part.elts
                        if isinstance(part.ctx, ast.Load)
                    ]
    return [*statements, *expressions]
