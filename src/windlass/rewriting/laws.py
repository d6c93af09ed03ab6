"""What must be true of a rule, whatever it does: laws, derived from its declaration alone.

On random instances of its pattern, special values included, a rule

* gives a value of the type of what it replaces, made of nothing else than the instance's own variables;
* keeps the meaning: every bit but the payload of NaN, or, if it reassociates, about the distance to the result in
  double precision that the program as written has;
* lowers the measure (see measure.py), unless it asks for the cost model's consent;
* fires at all, and raises nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.facts.ranges import granting
from windlass.facts.terms import evaluate_term
from windlass.ir import Op, Value
from windlass.ops.sampling import RandomDraw
from windlass.rewriting.instances import Mismatch, evaluate_wide, list_arguments, make_instance
from windlass.rewriting.measure import measure_term
from windlass.rewriting.rule import Rule

ATTEMPTS, WANTED, LEAST = 1500, 30, 3
"""How many instances are tried, on how many of them the rule is checked, and on how few it may fire."""


@dataclass(frozen=True)
class Breach:
    """A law that a rule breaks, and on what. `notes` hold the counterexample line by line."""

    rule: str
    law: str
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n  ".join((f"{self.rule}: {self.law}", *self.notes))


@dataclass(frozen=True)
class Application:
    """A random instance on which a rule fired, what the rule made of it, and where the random choices came from."""

    before: Op
    after: Any
    draw: RandomDraw


def check_rule(rule: Rule, attempts: int = ATTEMPTS, wanted: int = WANTED) -> None:
    """Check the laws of a rule on random instances of its pattern.

    Raises WindlassError (WL0801) with the counterexample where it breaks one, (WL0802) where it never fires.

    >>> from windlass.ir import Hole
    >>> from windlass.ops import Add, Multiply
    >>> from windlass.rewriting.rule import rewrite
    >>> x, y = Hole("x"), Hole("y")
    >>> @rewrite(Add(x, y), register=False)
    ... def add_is_multiply(x, y):
    ...     return Multiply(x, y)
    >>> check_rule(add_is_multiply)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    windlass.diagnostics.message.WindlassError: error[WL0801]: rule add_is_multiply does not keep the meaning...
    """
    breach = find_breach(rule, attempts, wanted)
    if breach is None:
        return
    if breach.law == RARE:
        help_ = "give @rewrite a sample=: a function of a draw that makes an op which the pattern matches"
        raise WindlassError(Diagnostic("WL0802", f"rule {rule.name} {breach.law}", notes=breach.notes, help=help_))
    raise WindlassError(
        Diagnostic(
            "WL0801",
            f"rule {rule.name} {breach.law}",
            notes=breach.notes,
            help="return None for operands that the equation does not hold for, or declare what it needs: "
            "assumes=, reassociates=, by_cost=, single_use=",
        )
    )


RARE = "hardly ever fires on its own pattern"


def find_breach(
    rule: Rule, attempts: int = ATTEMPTS, wanted: int = WANTED, granted: Iterable[str] = ()
) -> Breach | None:
    """The first law that the rule is found to break, or None; where the user grants this, and what the rule assumes."""
    taken = frozenset((*granted, *rule.assumes))
    with granting(taken):
        return _find_breach(rule, attempts, wanted, taken)


def _find_breach(rule: Rule, attempts: int, wanted: int, granted: frozenset[str]) -> Breach | None:
    fired = telling = 0
    for seed in range(attempts):
        found = try_instance(rule, RandomDraw(seed))
        if isinstance(found, Breach):
            return found
        if found is None:
            continue
        breach = _check_application(rule, found, granted)
        if breach is not None:
            return breach
        fired += 1
        # Much is right by chance for no elements or for one.
        telling += any(result.tensor.size > 1 for result in found.before.results)
        if telling == wanted:
            return None
    if fired < LEAST:
        return Breach(rule.name, RARE, (f"it fired on {fired} of {attempts} random instances",))
    return None


def try_instance(rule: Rule, draw: RandomDraw) -> Application | Breach | None:
    """The rule applied to a random instance; None where there is none or the rule declines."""
    try:
        before = make_instance(rule, draw)
    except Mismatch:
        return None
    try:
        after = rule(before)
    except Exception as error:
        return Breach(rule.name, f"raises {type(error).__name__}", (f"on {before!r}", str(error)))
    return None if after is None else Application(before, after, draw)


def _check_application(rule: Rule, application: Application, granted: frozenset[str]) -> Breach | None:
    before, after, draw = application.before, application.after, application.draw
    shown = (f"before: {before!r}", f"after: {after!r}")
    news: tuple[Value, ...] = after if isinstance(after, tuple) else (after,)
    if [new.type for new in news] != [old.type for old in before.results]:
        types = ", ".join(str(old.type) for old in before.results), ", ".join(str(new.type) for new in news)
        return Breach(rule.name, f"makes {types[1]} of {types[0]}", shown)
    arguments = list_arguments(before)
    foreign = [each for new in news for each in list_arguments(new) if each not in arguments]
    if foreign:
        return Breach(rule.name, f"uses {foreign[0]!r}, which is not in what it replaces", shown)
    values: dict[Value, Any] = {
        argument: meet(draw.array(argument.tensor), rule.reassociates, granted) for argument in arguments
    }
    # Results without users may become anything, if others have some.
    is_partly_used = any(old.uses for old in before.results)
    for old, new in zip(before.results, news, strict=True):
        if is_partly_used and not old.uses:
            continue
        computed = dict(values)
        expected, found = evaluate_term(old, computed), evaluate_term(new, dict(values))
        if granted and not all(are_as_granted(array, granted) for array in computed.values()):
            continue
        if "no -0.0" in granted:
            expected, found = without_signs_of_zeros(expected), without_signs_of_zeros(found)
        if rule.reassociates:
            kept = is_near(expected, found, evaluate_wide(old, values))
        else:
            kept = same_bits(expected, found)
        if not kept:
            inputs = tuple(f"{argument!r}: {argument.type} = {_short(values[argument])}" for argument in arguments)
            results = (f"means {_short(expected)}", f"becomes {_short(found)}")
            return Breach(rule.name, "does not keep the meaning", (*shown, *inputs, *results))
    if not rule.by_cost:
        was = max(measure_term(old, arguments) for old in before.results)
        now = max(measure_term(new, arguments) for new in news)
        if now >= was:
            return Breach(rule.name, "does not lower the measure", (*shown, f"from {was}", f"to {now}"))
    return None


def _short(array: Any) -> str:
    return np.array2string(np.asarray(array), threshold=24, separator=", ").replace("\n", "")


def same_bits(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    """Equal, with NaN equal to NaN and the zeros of both signs told apart."""
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if left.dtype.kind in "iub":
        return bool(np.array_equal(left, right))
    if left.dtype.kind == "c":
        return same_bits(left.real, right.real) and same_bits(left.imag, right.imag)
    wide_left, wide_right = left.astype(np.float64), right.astype(np.float64)
    equal = (wide_left == wide_right) & (np.signbit(wide_left) == np.signbit(wide_right))
    return bool((equal | (np.isnan(wide_left) & np.isnan(wide_right))).all())


def without_signs_of_zeros(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array with 0.0 for -0.0, in complex numbers too."""
    array = np.array(array, order="C")
    parts = array.reshape(-1).view(array.real.dtype)
    parts[parts == 0] = 0
    return array


def are_as_granted(array: np.ndarray[Any, Any], granted: frozenset[str]) -> bool:
    """Whether there are no elements in it that the user says don't occur."""
    if not _holds_floats(array):
        return True
    wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    parts = np.asarray(wide).reshape(-1).view(np.float64)
    return not (
        ("no NaN" in granted and np.isnan(parts).any())
        or ("finite" in granted and not np.isfinite(parts).all())
        or ("no -0.0" in granted and (np.signbit(parts) & (parts == 0)).any())
    )


def _holds_floats(array: np.ndarray[Any, Any]) -> bool:
    return array.dtype.kind in "fc" or array.dtype.name == "bfloat16"


def meet(array: np.ndarray[Any, Any], reassociates: bool, granted: frozenset[str]) -> np.ndarray[Any, Any]:
    """The array, but for values that are granted not to be; without infinities and NaN where sums are reordered."""
    if not _holds_floats(array):
        return array
    array = array.copy()
    if "no NaN" in granted or reassociates:
        array[np.isnan(array)] = 1
    if "finite" in granted or reassociates:
        array[~np.isfinite(array)] = 2
    if reassociates:
        array[np.abs(array) > 1e3] = 3
    return without_signs_of_zeros(array) if "no -0.0" in granted else array


def is_near(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any], exact: np.ndarray[Any, Any]) -> bool:
    """Whether the rewritten result is about as near to the result in double precision as the one as written."""
    if left.dtype.kind in "iub":
        return bool(np.array_equal(left, right))
    kind = np.complex128 if left.dtype.kind == "c" else np.float64
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    size = np.max(np.abs(exact), initial=1.0, where=np.isfinite(exact))
    # What is exact here is in doubles itself, and may have lost as much as they have.
    units = 64 if left.dtype.itemsize < np.dtype(kind).itemsize else 512
    slack = units * float(ml_dtypes.finfo(left.dtype).eps) * size
    with np.errstate(invalid="ignore"):
        as_written, rewritten = (np.abs(array.astype(kind) - exact) for array in (left, right))
    most = np.max(as_written, initial=0.0, where=np.isfinite(as_written))
    return bool((same | (rewritten <= 4 * most + slack)).all())


__all__ = ["Application", "Breach", "check_rule", "find_breach", "is_near", "meet", "same_bits"]
