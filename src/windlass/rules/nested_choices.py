"""Choices within choices: what the outer condition says of the inner one is not asked again."""

from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import And, Not, Or, Select
from windlass.ops.pointwise import Binary
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone
from windlass.rules.known_operands import condition, free, random_type

__all__ = ["tensor"]

DEPTH = 4
"""How deep conditions are looked into."""


class KnownChoice:
    """What holds where a condition is this."""

    def __init__(self, condition: Value, holds: bool) -> None:
        self.values: dict[Value, bool] = {}
        self.not_both: list[tuple[Value, Value]] = []
        """Conditions of which one is false."""
        self.either: list[tuple[Value, Value]] = []
        """Conditions of which one is true."""
        self._learn(condition, holds, DEPTH)

    def _learn(self, condition: Value, holds: bool, depth: int) -> None:
        self.values[condition] = holds
        if depth == 0:
            return
        if isinstance(condition, Not):
            self._learn(condition.operand, not holds, depth - 1)
        elif isinstance(condition, And | Or):
            if holds == isinstance(condition, And):
                for each in condition.operands:
                    self._learn(each, holds, depth - 1)
            else:
                (self.either if holds else self.not_both).append((condition.lhs, condition.rhs))

    def find(self, asked: Value, depth: int = DEPTH) -> Value | bool:
        """What is left of a condition there: true, false, a part of it, or itself."""
        if asked in self.values:
            return self.values[asked]
        if depth == 0:
            return asked
        if isinstance(asked, Not):
            found = self.find(asked.operand, depth - 1)
            return not found if isinstance(found, bool) else asked
        if not isinstance(asked, And | Or):
            return asked
        decides = type(asked) is Or
        for each, other in (asked.operands, asked.operands[::-1]):
            found = self.find(each, depth - 1)
            if isinstance(found, bool):
                return found if found == decides else self.find(other, depth - 1)
        # Where not both a and b hold, a without b is a; where either holds, a or not b is a.
        pairs = self.either if decides else self.not_both
        for a, b in (*pairs, *((b, a) for a, b in pairs)):
            for each, other in (asked.operands, asked.operands[::-1]):
                if each is a and isinstance(other, Not) and other.operand is b:
                    return a
        return asked


def _sample_nested(draw: Draw) -> Select:
    type_ = random_type(draw, ("f32", "i32"))
    p, q = condition(type_), condition(type_, "q")
    outer = draw.choose((And(p, q), Or(p, q), Or(p, Not(q)), And(Not(p), q)))
    inner = draw.choose((p, q, And(p, Not(q)), Or(p, Not(q)), And(q, condition(type_, "r")), Or(q, Not(p))))
    chosen = Select(inner, free(type_), free(type_, "y"))
    return Select(outer, *draw.choose(((chosen, free(type_, "z")), (free(type_, "z"), chosen))))


@rewrite(any_op(Select, pred=any_op(Binary, only=(And, Or))), sample=_sample_nested)
def choice_within_known_condition(op: Select) -> Value | None:
    """select(p and q, select(p, x, y), z) = select(p and q, x, z), and so for all that the condition tells

    Where p and q is false, p without q is p.

    >>> p, q, x, y, z = (*(tensor("i1", name=name) for name in "pq"), *(tensor("f32", name=name) for name in "xyz"))
    >>> choice_within_known_condition(Select(And(p, q), Select(p, x, y), z))
    Select(And(p, q), x, z)
    >>> choice_within_known_condition(Select(And(p, q), x, Select(And(p, Not(q)), y, z)))
    Select(And(p, q), x, Select(p, y, z))
    """
    if not isinstance(op.pred, And | Or):
        return None
    sides: list[Value] = [op.on_true, op.on_false]
    for index, side in enumerate(sides):
        if not isinstance(side, Select) or not is_alone(side) or side.pred.type is not op.pred.type:
            continue
        found = KnownChoice(op.pred, index == 0).find(side.pred)
        if found is side.pred:
            continue
        if isinstance(found, bool):
            sides[index] = side.on_true if found else side.on_false
        else:
            sides[index] = Select(found, side.on_true, side.on_false)
        return Select(op.pred, *sides)
    return None
