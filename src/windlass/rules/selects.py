"""Selects whose choice is known, or makes no difference."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import And, Compare, Constant, Not, Select
from windlass.rewriting.pattern import hole
from windlass.rewriting.rule import rewrite

__all__ = ["Compare", "tensor"]

p, x, y, z = hole("p"), hole("x"), hole("y"), hole("z")
known = hole("known", lambda value: isinstance(value, Constant) and value.is_splat)


@rewrite(Select(known, x, y))
def select_by_constant(known: Constant, x: Value, y: Value) -> Value:
    """select(true, x, y) = x; select(false, x, y) = y

    >>> select_by_constant(Select(Constant.of(True), tensor("f32"), tensor("f32", name="y")))
    x
    """
    return x if bool(known.number) else y


@rewrite(Select(p, x, x))
def select_of_same(x: Value) -> Value:
    """select(p, x, x) = x

    >>> x = tensor("f32", 3)
    >>> select_of_same(Select(tensor("i1", 3, name="p"), x, x))
    x
    """
    return x


@rewrite(Select(Not(p), x, y))
def select_by_not(p: Value, x: Value, y: Value) -> Value:
    """select(not p, x, y) = select(p, y, x)

    >>> select_by_not(Select(Not(tensor("i1", name="p")), tensor("f32"), tensor("f32", name="y")))
    Select(p, y, x)
    """
    return Select(p, y, x)


@rewrite(Select(p, Select(p, x, y), z))
def select_of_select_on_true(p: Value, x: Value, z: Value) -> Value:
    """select(p, select(p, x, y), z) = select(p, x, z)

    >>> p, x, y, z = tensor("i1", name="p"), tensor("f32"), tensor("f32", name="y"), tensor("f32", name="z")
    >>> select_of_select_on_true(Select(p, Select(p, x, y), z))
    Select(p, x, z)
    """
    return Select(p, x, z)


@rewrite(Select(p, z, Select(p, x, y)))
def select_of_select_on_false(p: Value, z: Value, y: Value) -> Value:
    """select(p, z, select(p, x, y)) = select(p, z, y)

    >>> p, x, y, z = tensor("i1", name="p"), tensor("f32"), tensor("f32", name="y"), tensor("f32", name="z")
    >>> select_of_select_on_false(Select(p, z, Select(p, x, y)))
    Select(p, z, y)
    """
    return Select(p, z, y)


true = hole("true", lambda value: isinstance(value, Constant) and value.is_splat and value.number == True)  # noqa: E712
false = hole("false", lambda value: isinstance(value, Constant) and value.is_splat and value.number == False)  # noqa: E712


@rewrite(Select(p, true, false))
def select_of_true_and_false(op: Select, p: Value) -> Value | None:
    """select(p, true, false) = p

    >>> select_of_true_and_false(Select(tensor("i1", name="p"), Constant.of(True), Constant.of(False)))
    p
    """
    return p if op.dtype == "i1" and p.shape == op.shape else None


@rewrite(Select(p, x, false))
def select_of_false(op: Select, p: Value, x: Value) -> Value | None:
    """select(p, x, false) = and(p, x)

    >>> select_of_false(Select(tensor("i1", name="p"), tensor("i1"), Constant.of(False)))
    And(p, x)
    """
    return And(p, x) if op.dtype == "i1" and p.shape == op.shape else None


@rewrite(Not(Not(x)))
def not_of_not(x: Value) -> Value:
    """not(not(x)) = x

    >>> not_of_not(Not(Not(tensor("i1"))))
    x
    """
    return x
