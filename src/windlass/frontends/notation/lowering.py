"""From a procedure, for arguments of known shapes, to a tensor program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from windlass.frontends.notation.accesses import Line, Stride
from windlass.frontends.notation.element_types import BOOLEAN
from windlass.frontends.notation.expressions import Expressions, LookUp, converted
from windlass.frontends.notation.placing import TooManyPieces, covers, is_injective, place
from windlass.frontends.notation.ranges import RangeFinder
from windlass.frontends.notation.reducing import Spread, combiner_for, reduce_part, spread_part
from windlass.frontends.notation.syntax import Source
from windlass.frontends.notation.terms import Declared, Entry, Literal, Part, Procedure, Size, Slot, Update, indices_in
from windlass.ir import Block, Builder, Function, Op, Value, tensor_type
from windlass.ir.types import TensorType
from windlass.ops import Add, Constant, Convert, Or, Return, Select
from windlass.ops.combiners import identity_of, neutral_of
from windlass.rewriting.driver import remove_dead_code
from windlass.rules.letters import Term, arrange, spread

MOST_ELEMENTS = 1 << 36
"""A tensor of more elements is made for no statement, not even in passing."""


@dataclass(frozen=True)
class Lowered:
    """The program, whose last results are the least and the largest of what each look-up looks for, as 64 bits."""

    function: Function
    look_ups: tuple[LookUp, ...]


def lower(source: Source, procedure: Procedure, shapes: Sequence[tuple[int, ...]], checks: bool = True) -> Lowered:
    """The tensor program of a procedure for arguments of these shapes; without `checks` nobody learns of look-ups
    outside of their tensors, which then give the nearest element.

    Raises LaunchError, at a place in the text: WL1503 and WL1504 for ranges, WL1506 for integers that don't fit, WL1507
    for elements that are never set, WL1508 for what is too large, WL1509 for shapes that are not the parameters'.
    """
    types = [tensor_type(shape, slot.type) for shape, slot in zip(shapes, procedure.parameters, strict=True)]
    block = Block(types, [slot.name for slot in procedure.parameters])
    made = _Lowering(source, block)
    made.enter(procedure.parameters, block.arguments)
    with made.builder:
        for step in procedure.steps:
            made.take(step)
        results = [made.values[slot.name] for slot in procedure.results]
        if checks:
            for each in made.look_ups:
                results += [Convert(end, "i64") if end.dtype != "i64" else end for end in (each.least, each.most)]
        Return(tuple(results))
    remove_dead_code(block)
    return Lowered(Function(procedure.name, block), tuple(made.look_ups))


class _Lowering:
    def __init__(self, source: Source, block: Block) -> None:
        self.source = source
        self.builder = Builder(block)
        self.values: dict[str, Value] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.sizes: dict[str, int] = {}
        self.look_ups: list[LookUp] = []

    # -- sizes --------------------------------------------------------------------------------------------------------

    def enter(self, slots: Sequence[Slot], values: Sequence[Value]) -> None:
        """Give the parameters their values, and their sizes what these have.

        Raises LaunchError (WL1509) where shapes do not agree.
        """
        first: dict[str, str] = {}
        for slot, value in zip(slots, values, strict=True):
            self.values[slot.name], self.shapes[slot.name] = value, value.shape
            shown = _plain(slot.name)
            for axis, (part, size) in enumerate(zip(slot.sizes or (), value.shape, strict=True)):
                if isinstance(part, Literal):
                    known, why = int(part.value), "is declared with"
                else:
                    assert isinstance(part, Size)
                    name = self.source.spelled(part.span)
                    known = self.sizes.setdefault(part.name, size)
                    why = f"'{first.setdefault(part.name, shown)}' says {name} ="
                if known != size:
                    raise self.source.misfit(
                        "WL1509",
                        part.span,
                        f"axis {axis} of '{shown}' has {size} element{'s'[: size != 1]}, and {why} {known}",
                    )

    # -- steps --------------------------------------------------------------------------------------------------------

    def take(self, step: Update | Entry | Declared) -> None:
        if isinstance(step, Update):
            self.builder.source = self.source.position(step.span)
            self.builder.placed = placed = []
            self._update(step)
            self._check_sizes(step, placed)
        elif isinstance(step, Entry):
            self.enter(step.parameters, [self.values[key] for key in step.arguments])
        else:
            self._declare(step.slot)

    def _declare(self, slot: Slot) -> None:
        finder = Expressions(self.source, {}, self.sizes, {}, {})
        shape = tuple(finder.form(part).constant for part in slot.sizes or ())
        for size, part in zip(shape, slot.sizes or (), strict=True):
            if size < 0:
                raise self.source.misfit("WL1504", part.span, f"this size is {size}")
        self.shapes[slot.name] = shape

    def _check_sizes(self, update: Update, placed: Sequence[Op]) -> None:
        for op in placed:
            for type_ in (result.type for result in op.results):
                if isinstance(type_, TensorType) and type_.size > MOST_ELEMENTS:
                    raise self.source.misfit(
                        "WL1508",
                        update.span,
                        f"this statement would make a tensor of {type_.size} elements on its way",
                        "split it into statements that reduce earlier",
                    )

    def _update(self, update: Update) -> None:
        source = self.source
        ranges = RangeFinder(source, update, self.shapes, self.sizes).find()
        names: dict[str, int] = {}
        for part in (*update.subscripts, update.value):
            for name in indices_in(part):
                names.setdefault(name, len(names))
        made = Expressions(source, self.values, self.sizes, ranges, names)
        outer = {name for part in update.subscripts for name in indices_in(part)}
        kept = tuple(letter for name, letter in names.items() if name in outer)
        lost = tuple(letter for name, letter in names.items() if name not in outer)
        lines = [self._line(made, part) for part in update.subscripts]
        shape = self._shape(update, made, lines)
        spread_out = self._spread(update, made, kept, lines)
        if spread_out is not None:
            term, lines = spread_out
        else:
            term = self._elements(update, made, kept, lost)
        self.look_ups += made.look_ups
        self.values[update.target] = self._placed(update, term, lines, shape)
        self.shapes[update.target] = shape

    def _line(self, made: Expressions, part: Part) -> Line:
        form = made.form(part)
        base = form.constant + sum(factor * made.ranges[name][0] for name, factor in form.terms)
        return Line(
            base,
            tuple(Stride(made.letters[name], factor, made.extents[made.letters[name]]) for name, factor in form.terms),
        )

    def _spread(
        self, update: Update, made: Expressions, kept: tuple[int, ...], lines: Sequence[Line]
    ) -> tuple[Term, list[Line]] | None:
        """What is added up where windows that are written meet, and where it is written; None if it is no transposed
        convolution."""
        letters = [each.letter for line in lines for each in line.strides]
        pairs = [axis for axis, line in enumerate(lines) if len(line.strides) == 2]
        is_plain = all(each.factor > 0 for axis in pairs for each in lines[axis].strides)
        if update.combiner != "+" or not pairs or not is_plain or len(set(letters)) < len(letters):
            return None
        if is_injective(lines) or not all(made.extents.values()):
            return None
        axes: list[Spread] = []
        moved = list(lines)
        for axis in pairs:
            steps, taps = lines[axis].forward()[0].strides
            result = max(made.extents) + 1
            made.extents[result] = steps.factor * (steps.count - 1) + taps.factor * (taps.count - 1) + 1
            axes.append(Spread(steps, taps, result))
            moved[axis] = Line(lines[axis].base, (Stride(result, 1, made.extents[result]),))
        is_small = update.type in ("f16", "bf16")
        term = spread_part(made, update.value, axes, kept, "f32" if is_small else update.type)
        if term is None:
            return None
        outer = tuple(each.letter for line in moved for each in line.strides)
        term = converted(term, update.type)
        if set(term.letters) != set(outer):
            return Term(spread(term, outer, made.extents), outer), moved
        return Term(arrange(term, outer), outer), moved

    def _elements(self, update: Update, made: Expressions, kept: tuple[int, ...], lost: tuple[int, ...]) -> Term:
        """What the statement writes, with an axis for each index on the left."""
        combiner = combiner_for(update.combiner, update.type) if update.combiner else None
        is_empty = not all(made.extents[letter] for letter in (*kept, *lost))
        if is_empty:
            number = identity_of(combiner, update.type) if combiner else 0
            term = Term(Constant.of(number, update.type), ())
        elif combiner is None:
            term = made.value(update.value, update.type)
        else:
            # Sums of small floats are made in wider ones.
            is_small = update.type in ("f16", "bf16") and update.combiner in ("+", "*")
            term = reduce_part(made, update.value, combiner, kept, lost, "f32" if is_small else update.type)
            term = converted(term, update.type)
        if set(term.letters) != set(kept):
            return Term(spread(term, kept, made.extents), kept)
        return Term(arrange(term, kept), kept)

    def _shape(self, update: Update, made: Expressions, lines: Sequence[Line]) -> tuple[int, ...]:
        """The target's shape: the one that it has, or as far as the statement reaches.

        Raises LaunchError (WL1504) where that is below its first element.
        """
        if update.target in self.shapes:
            return self.shapes[update.target]
        shape: list[int] = []
        for part, line in zip(update.subscripts, lines, strict=True):
            if not all(each.count for each in line.strides):
                shape.append(0)
                continue
            low, high = made.form(part).limits(made.ranges)
            if low < 0:
                raise self.source.misfit("WL1504", part.span, f"this writes element {low}")
            shape.append(high + 1)
        return tuple(shape)

    def _placed(self, update: Update, term: Term, lines: Sequence[Line], shape: tuple[int, ...]) -> Value:
        """The target after the statement."""
        combiner = combiner_for(update.combiner, update.type) if update.combiner else None
        old = self.values.get(update.target) if update.is_there and not update.begins_anew else None
        unique = len({each.letter for line in lines for each in line.strides}) == sum(
            len(line.strides) for line in lines
        )
        if combiner is None and not is_injective(lines):
            raise self.source.misfit(
                "WL1507", update.target_span, "several values are written to one element", "combine them: +=!, max=!"
            )
        is_whole = unique and is_injective(lines) and covers(lines, shape)
        if combiner is None:
            # No two meet: to add is to put side by side.
            beside = Or if update.type == BOOLEAN else Add
            filling = Constant.of(neutral_of(beside, update.type), update.type)
            if is_whole:
                return self._place(update, term, lines, shape, filling, beside)
            if old is None:
                raise self.source.misfit(
                    "WL1507",
                    update.target_span,
                    "the statement does not set all elements, and nothing has set the others",
                    "add to zeros, +=!, or set it as a whole before",
                )
            new = self._place(update, term, lines, shape, filling, beside)
            marks = Term(Constant.of(True, BOOLEAN, term.value.shape), term.letters)
            is_set = self._place(update, marks, lines, shape, Constant.of(False, BOOLEAN), Or)
            return Select(is_set, new, old)
        neutral = identity_of(combiner, update.type) if old is None else neutral_of(combiner, update.type)
        new = self._place(update, term, lines, shape, Constant.of(neutral, update.type), combiner)
        return new if old is None else combiner(old, new)

    def _place(
        self, update: Update, term: Term, lines: Sequence[Line], shape: tuple[int, ...], filling: Value, combine: Any
    ) -> Value:
        if not all(shape) or not term.value.tensor.size:
            return spread(Term(filling, ()), tuple(range(len(shape))), dict(enumerate(shape)))
        try:
            return place(term, lines, shape, filling, combine)
        except TooManyPieces:
            raise self.source.misfit(
                "WL1511",
                update.target_span,
                "too many values meet in each element for this version",
                "let the sum run on the right: read at the difference of the indices",
            ) from None


def _plain(key: str) -> str:
    """The name of a tensor as it stands in the text."""
    return key.rpartition(".")[2]
