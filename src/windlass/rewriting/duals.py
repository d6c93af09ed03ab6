"""Rules that hold for other ops likewise: written once, and registered for both.

`x and (x or y) = x` and `x or (x and y) = x` are one rule and its dual: ops, names and words take each other's places.

    LOGIC = Exchange((And, Or), words=(("and", "or"), ("true", "false")))

    @rewrite(And(x, Or(x, y)), dual=LOGIC)
    def and_absorbs_or(x): ...

This declares the rule `or_absorbs_and` too, with a docstring, example and sample of its own: those of the first with
all that is exchanged. A body that names ops takes, last, `dual`, a function that gives the op that stands for one in
the rule that is applied: `dual(Or)(x, y)` is an `Or` in the first, an `And` in the second.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from windlass.ir import Hole, Op, Result
from windlass.ops import Constant
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, is_any, parts_of

Dual = Callable[[Any], Any]
"""What the body of a rule with a dual asks for what stands for an op in the rule that is applied."""


class Exchange:
    """What takes each other's place in the dual of a rule.

    `pairs` are op classes, values of attributes, holes (what they accept), and whatever bodies ask `dual` for; `words`
    are what docstrings and names say of them. The names of op classes need not be said.

    >>> from windlass.ops import And, Or
    >>> logic = Exchange((And, Or), words=(("and", "or"),))
    >>> logic.of(And) is Or, logic.spell("and_of_same(And(x, x)): x and x = x")
    (True, 'or_of_same(Or(x, x)): x or x = x')
    """

    def __init__(self, *pairs: tuple[Any, Any], words: tuple[tuple[str, str], ...] = ()) -> None:
        self.pairs = pairs
        self.words = words
        self._other = dict(_both_ways(pairs))
        classes = [(one.__name__, other.__name__) for one, other in pairs if isinstance(one, type)]
        self._word = dict(_both_ways((*words, *classes)))
        spelled = sorted(map(_whole_word, self._word), key=len, reverse=True)
        self._any_word = re.compile("|".join(spelled))

    def saying(self, *words: tuple[str, str]) -> Exchange:
        """The same exchange for a rule whose docstring holds more that differs: numbers of its example, say."""
        return Exchange(*self.pairs, words=(*words, *self.words))

    def of(self, thing: Any) -> Any:
        """What stands in the dual for an op class, or whatever else is exchanged; all else stands for itself."""
        return self._other.get(thing, thing)

    def spell(self, text: str) -> str:
        """A name or docstring, of the dual."""
        return self._any_word.sub(lambda found: self._word[found[0]], text)

    def pattern(self, pattern: Any) -> Any:
        """A pattern, or a part of one, of the dual."""
        if isinstance(pattern, Hole):
            return Hole(pattern.name, self.of(pattern).accepts)
        if isinstance(pattern, tuple):
            return tuple(self.pattern(each) for each in pattern)
        if not isinstance(pattern, Op):
            return self.of(pattern)
        op_class = self.of(type(pattern))
        if is_any(pattern):
            only, takes = (tuple(map(self.of, pattern.__dict__[name])) for name in ("only", "takes"))
            parts = {name: self.pattern(value) for name, value in parts_of(pattern).items()}
            return any_op(op_class, only=only, takes=takes, bind=pattern.__dict__["bind"], **parts)
        return op_class(**{name: self.pattern(value) for name, value in pattern.field_values().items()})

    def sample(self, sample: Callable[[Draw], Op]) -> Callable[[Draw], Op]:
        """What makes random ops that the dual's pattern matches, of what does for the first rule."""

        def sample_dual(draw: Draw) -> Op:
            made: dict[Op, Op] = {}
            self._term(sample(draw), made)
            for each in made:
                # The new op is the only user of its operands, as rules may ask.
                each.drop_operands()
            return list(made.values())[-1]

        return sample_dual

    def _term(self, value: Any, made: dict[Op, Op]) -> Any:
        """The op or value with all that it is computed from exchanged."""
        if isinstance(value, tuple):
            return tuple(self._term(each, made) for each in value)
        if isinstance(value, Result):
            return self._term(value.owner, made).results[value.index]
        if not isinstance(value, Op) or isinstance(value, Constant):
            return self.of(value) if isinstance(value, str) else value
        if value not in made:
            fields = {name: self._term(field, made) for name, field in value.field_values().items()}
            made[value] = self.of(type(value)).from_fields(fields)
        return made[value]


def _both_ways(pairs: tuple[tuple[Any, Any], ...]) -> list[tuple[Any, Any]]:
    return [each for one, other in pairs for each in ((one, other), (other, one))]


def _whole_word(text: str) -> str:
    """A regular expression for a word where it is one: in names, underscores divide words."""
    before, after = ("(?<![A-Za-z0-9])" if text[0].isalnum() else ""), ("(?![A-Za-z0-9])" if text[-1].isalnum() else "")
    return before + re.escape(text) + after
