"""Sums and products that have a term several times: x · x · x · x is the square of a square."""

from __future__ import annotations

from collections import Counter
from math import gcd

from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import Add, Multiply
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import users_of
from windlass.rules.known_operands import random_type

x, y, z = hole("x"), hole("y"), hole("z")

MOST_TERMS = 32
"""Of longer sums and products the last so many terms are looked at, at most."""

__all__ = ["tensor"]


def sample_repetition(draw: Draw, combine: type[Add] | type[Multiply], dtypes: tuple[str, ...]) -> Op:
    type_ = random_type(draw, dtypes)
    names = draw.choose(("x", "xy"))
    leaves = [tensor(type_.dtype, *type_.shape, name=name) for name in names]
    values: list[Value] = list(leaves)
    made = combine(leaves[0], leaves[-1])
    for _ in range(draw.integer(1, 5)):
        values.append(made)
        made = combine(made, draw.choose(values))
    return made


def _terms(op: Op) -> tuple[Counter[Value], int]:
    """The terms of a sum or product of sums or products, and how many ops go with it."""
    counts: Counter[Value] = Counter({op: 1})
    going: set[Op] = set()
    pending: list[Op] = [op]
    while pending:
        each = pending.pop()
        going.add(each)
        times = counts.pop(each)
        for operand in each.operands:
            counts[operand] += times
        if counts.total() > MOST_TERMS:
            return Counter(), 0
        # All users have to be taken apart before: only then is it known how often the value comes.
        ready = [
            value
            for value in each.operands
            if type(value) is type(op) and value.block is op.block and all(user in going for user in users_of(value))
        ]
        pending += dict.fromkeys(value for value in ready if value not in going and value not in pending)
    return counts, len(going)


def _shorter(op: Add | Multiply) -> Value | None:
    counts, size = _terms(op)
    if not counts or max(counts.values()) < 2:
        return None
    times = gcd(*counts.values())
    base = Counter({value: count // times for value, count in counts.items()})
    needed = sum(_length(count) for count in base.values()) + len(base) - 1 + _length(times)
    if needed >= size:
        return None
    combine = type(op)
    found: Value | None = None
    for value, count in base.items():
        part = _repeat(combine, value, count)
        found = part if found is None else combine(found, part)
    assert found is not None
    return _repeat(combine, found, times)


def _length(count: int) -> int:
    """How many ops `_repeat` makes."""
    return count.bit_length() - 1 + count.bit_count() - 1


def _repeat(combine: type[Add] | type[Multiply], value: Value, count: int) -> Value:
    """So many times the value, by doubling."""
    found: Value | None = None
    doubled = value
    while True:
        if count & 1:
            found = doubled if found is None else combine(found, doubled)
        count >>= 1
        if not count:
            break
        doubled = combine(doubled, doubled)
    assert found is not None
    return found


@rewrite(
    Multiply(x, Multiply(y, z)),
    reassociates=True,
    sample=lambda draw: sample_repetition(draw, Multiply, ("f32", "f64")),
)
def product_of_repeated_factors(op: Multiply) -> Value | None:
    """x · x · x · x = (x · x) · (x · x), x · (y · (x · y)) = (x · y) · (x · y), wherever that takes fewer products

    >>> x = tensor("f32")
    >>> square = product_of_repeated_factors(Multiply(x, Multiply(x, Multiply(x, x))))
    >>> square.lhs is square.rhs, square.lhs
    (True, Multiply(x, x))
    """
    return _shorter(op) if op.tensor.is_float else None


@rewrite(Add(x, Add(y, z)), reassociates=True, sample=lambda draw: sample_repetition(draw, Add, ("f32", "f64")))
def sum_of_repeated_terms(op: Add) -> Value | None:
    """x + (y + (x + y)) = (x + y) + (x + y), wherever that takes fewer sums

    >>> x, y = tensor("f32"), tensor("f32", name="y")
    >>> twice = sum_of_repeated_terms(Add(x, Add(y, Add(x, y))))
    >>> twice.lhs is twice.rhs
    True
    """
    return _shorter(op) if op.tensor.is_float else None


@rewrite(Multiply(x, Multiply(y, z)), sample=lambda draw: sample_repetition(draw, Multiply, ("i32", "ui8")))
def integer_product_of_repeated_factors(op: Multiply) -> Value | None:
    """x · x · x · x = (x · x) · (x · x), and so on, for integers

    >>> x = tensor("i32")
    >>> square = integer_product_of_repeated_factors(Multiply(x, Multiply(x, Multiply(x, x))))
    >>> square.lhs is square.rhs
    True
    """
    return _shorter(op) if op.tensor.is_integer else None
