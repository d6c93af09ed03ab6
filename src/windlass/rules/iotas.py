"""Counting: what is computed from iotas and constants alone is often the same everywhere."""

from __future__ import annotations

from windlass.facts.known_values import known_elements
from windlass.ir import Value
from windlass.ops import And, Compare, Constant, Iota, Slice
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite


def sample_known_predicate(draw: Draw) -> Compare:
    """A comparison of some of the numbers from 0 with a number."""
    first = draw.integer(0, 5)
    if draw.boolean():
        counted = Slice(Iota((9,), "i32", 0), (first,), (draw.integer(first, 9),), (1,))
        return Compare(counted, Constant.of(draw.integer(0, 9), "i32", counted.shape), draw.choose(("LT", "NE")))
    counted = Slice(Iota((9, 2), "i32", 0), (first, 0), (draw.integer(first, 9), 2), (1, 1))
    return Compare(counted, Constant.of(draw.integer(0, 9), "i32", counted.shape), draw.choose(("LT", "GE", "EQ")))


LARGEST_LISTED = 16
"""Of so many elements in a row the conditions are listed."""


def _fold_predicate(op: Value) -> Value | None:
    if isinstance(op, Compare) and not op.lhs.tensor.is_integer:
        return None
    found = known_elements(op)
    if found is None or found.size == 0:
        return None
    first = bool(found.flat[0])
    if bool((found == first).all()):
        return Constant.of(first, "i1", op.shape)
    return Constant.of(found) if found.ndim == 1 and found.size <= LARGEST_LISTED else None


@rewrite(any_op(Compare), sample=sample_known_predicate)
def comparison_without_variables(op: Compare) -> Value | None:
    """compare(f(iota), g(iota)) = true or false, if it is the same for all elements; a list of these, if it is short

    >>> rows = Slice(Iota((9,), "i32", 0), (5,), (9,), (1,))
    >>> comparison_without_variables(Compare(rows, Constant.of(5, "i32", (4,)), "GE"))
    Constant(True)
    """
    return _fold_predicate(op)


def sample_known_conjunction(draw: Draw) -> And:
    """Two comparisons of the same numbers."""
    counted = Iota((9, 2), "i32", 0)
    low, high = (Constant.of(draw.integer(-1, 9), "i32", (9, 2)) for _ in range(2))
    return And(Compare(counted, low, "GE"), Compare(counted, high, "LT"))


@rewrite(any_op(And), sample=sample_known_conjunction)
def conjunction_without_variables(op: And) -> Value | None:
    """and(p(iota), q(iota)) = true or false, if it is the same for all elements; a list of these, if it is short

    >>> counted, three = Iota((9,), "i32", 0), Constant.of(3, "i32", (9,))
    >>> conjunction_without_variables(And(Compare(counted, three, "LT"), Compare(counted, three, "GT")))
    Constant(False)
    """
    return _fold_predicate(op) if op.tensor.is_boolean else None
