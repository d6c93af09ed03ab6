"""Rules that are declared with their duals."""

from __future__ import annotations

import pytest

from windlass.catalogue import catalogue
from windlass.ir import Hole, Value
from windlass.ir.values import tensor
from windlass.ops import Add, And, Compare, Constant, Maximum, Minimum, Or, Pad
from windlass.ops.sampling import RandomDraw
from windlass.rewriting import Rule, rewrite
from windlass.rewriting.duals import Dual, Exchange
from windlass.rewriting.pattern import any_op, hole

x, y = hole("x"), hole("y")
low, high = hole("limit", lambda value: value is LOW), hole("limit", lambda value: value is HIGH)
LOW, HIGH = Constant.of(0, "i32"), Constant.of(9, "i32")

ORDER = Exchange((Maximum, Minimum), ("GE", "LE"), (low, high), words=(("max", "min"), ("least", "most")))


def find(name: str) -> Rule:
    return next(rule for rule in catalogue if rule.name == name)


def test_dual_has_its_own_name_docstring_and_pattern() -> None:
    rule, dual = find("and_absorbs_or"), find("or_absorbs_and")
    assert dual.equation == "x or (x and y) = x"
    assert "or_absorbs_and(Or(x, And(x, y)))" in (dual.__doc__ or "")
    assert (rule.roots, dual.roots) == ((And,), (Or,))
    x, y = tensor("i1"), tensor("i1", name="y")
    assert dual(Or(x, And(x, y))) is x
    assert dual(And(x, Or(x, y))) is None


def test_dual_comes_right_after_the_rule() -> None:
    names = [rule.name for rule in catalogue]
    assert names.index("or_of_same") == names.index("and_of_same") + 1


def test_body_is_told_what_stands_for_ops_and_attributes() -> None:
    given: list[object] = []

    @rewrite(Compare(Maximum(x, y), y, "GE", hole("kind")), dual=ORDER, register=False)
    def max_beside_operand(dual: Dual) -> Value | None:
        given.append((dual(Maximum), dual("GE"), dual(Add)))
        return None

    other = max_beside_operand.dual
    assert other is not None and other.name == "min_beside_operand"
    x_, y_ = tensor("i32"), tensor("i32", name="y")
    max_beside_operand(Compare(Maximum(x_, y_), y_, "GE"))
    other(Compare(Minimum(x_, y_), y_, "LE"))
    assert given == [(Maximum, "GE", Add), (Minimum, "LE", Add)]
    other(Compare(Minimum(x_, y_), y_, "GE"))
    assert len(given) == 2


def test_holes_are_exchanged_but_keep_their_names() -> None:
    pattern = ORDER.pattern(Maximum(x, low))
    assert type(pattern) is Minimum and isinstance(pattern.rhs, Hole)
    assert pattern.rhs.name == "limit"
    assert pattern.rhs.accepts is not None
    assert pattern.rhs.accepts(HIGH) and not pattern.rhs.accepts(LOW)


def test_patterns_for_any_op_are_exchanged() -> None:
    pattern = ORDER.pattern(any_op(Maximum, takes=(Minimum, Pad)))
    assert type(pattern) is Minimum and pattern.__dict__["takes"] == (Maximum, Pad)


def test_samples_are_exchanged_and_used_by_nothing_else() -> None:
    value = tensor("i32", 3)
    made = ORDER.sample(lambda draw: Maximum(Minimum(value, value), Add(value, value)))(RandomDraw(0))
    assert repr(made) == "Minimum(Maximum(x, x), Add(x, x))"
    assert all(len(each.uses) == 1 for each in made.operands)
    assert len(value.uses) == 2


def test_words_are_exchanged_where_they_stand_alone() -> None:
    assert ORDER.spell("max_of_maximal(Maximum(x)): least >= at least 'most'") == (
        "min_of_maximal(Minimum(x)): most >= at most 'least'"
    )
    assert Exchange(words=(("3", "5"),)).spell("i32: 3") == "i32: 5"


def test_dual_has_to_be_the_last_parameter() -> None:
    with pytest.raises(TypeError, match="last parameter"):

        @rewrite(Maximum(x, y), dual=ORDER, register=False)
        def max_of_two(dual: Dual, x: Value) -> Value | None: ...
