"""Expressions as tensors: each part is a value with an axis for each index that it depends on."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from windlass.frontends.notation.accesses import Line, Stride, read_lines, take_elements
from windlass.frontends.notation.element_types import BOOLEAN, INTEGER, NUMBER, SPELLED, is_weak, join, own_type
from windlass.frontends.notation.forms import Form, Ranges, UnknownQuotient, form_of, limits_of
from windlass.frontends.notation.functions import FUNCTIONS
from windlass.frontends.notation.syntax import Source
from windlass.frontends.notation.terms import (
    Literal,
    Operation,
    Part,
    Read,
    Size,
    is_affine,
    is_constant,
    parts_of,
)
from windlass.ir import Value
from windlass.ir.types import NUMPY_DTYPES
from windlass.ops import (
    Add,
    And,
    Compare,
    Constant,
    Convert,
    Divide,
    Iota,
    Multiply,
    Negate,
    Not,
    Or,
    Pad,
    Remainder,
    Select,
    Subtract,
    reduce_max,
    reduce_min,
)
from windlass.rules.letters import Term, spread

DIRECTIONS = {"<": "LT", ">": "GT", "<=": "LE", ">=": "GE", "==": "EQ", "!=": "NE"}
OPERATORS: dict[str, Any] = {
    "+": Add,
    "-": Subtract,
    "*": Multiply,
    "/": Divide,
    "%": Remainder,
    "negate": Negate,
    "&&": And,
    "||": Or,
    "!": Not,
}


@dataclass(frozen=True)
class Window:
    """A sum of indices as one letter of its own: its values are low, low + step, ..., so many."""

    letter: int
    low: int
    step: int
    count: int


@dataclass(frozen=True)
class LookUp:
    """A subscript that the program knows when it runs: between `least` and `most`, which have to be in the axis."""

    read: Read
    part: Part
    size: int
    least: Value
    most: Value


class Expressions:
    """Makes tensors of the parts of one statement.

    `letters` numbers the indices. Where `windows` has a sum of indices, parts that depend on them through that sum get
    an axis for the sum in place of theirs.
    """

    def __init__(
        self,
        source: Source,
        values: Mapping[str, Value],
        sizes: Mapping[str, int],
        ranges: Ranges,
        letters: Mapping[str, int],
    ) -> None:
        self.source, self.values, self.sizes, self.ranges, self.letters = source, values, sizes, ranges, letters
        self.extents = {letter: ranges[name][1] - ranges[name][0] for name, letter in letters.items()}
        self.windows: dict[Form, Window] = {}
        self.look_ups: list[LookUp] = []
        self._conditions: list[Term] = []

    # -- what a part depends on ---------------------------------------------------------------------------------------

    def form(self, part: Part) -> Form:
        try:
            return form_of(part, self.sizes)
        except UnknownQuotient:
            raise self.source.misfit("WL1506", part.span, "this divides by zero") from None

    def letters_of(self, part: Part) -> set[int]:
        """The letters that the part's tensor has."""
        if is_affine(part):
            form = self.form(part)
            window = form.window and self.windows.get(form.window)
            return {window.letter} if window else {self.letters[name] for name in form.indices}
        inner = part.subscripts if isinstance(part, Read) else part.operands if isinstance(part, Operation) else ()
        return set().union(*map(self.letters_of, inner))

    def window_forms(self, part: Part) -> set[Form]:
        """The sums of several indices within the part."""
        if is_affine(part):
            window = self.form(part).window
            return {window} if window else set()
        inner = part.subscripts if isinstance(part, Read) else part.operands if isinstance(part, Operation) else ()
        return set().union(*map(self.window_forms, inner))

    @contextmanager
    def joined(self, forms: Iterable[Form]) -> Generator[None]:
        """Within, these sums have letters of their own."""
        before = self.windows
        self.windows = dict(before)
        for form in forms:
            letter = max(self.extents, default=-1) + 1
            low, high = form.limits(self.ranges)
            step = math.gcd(*(abs(factor) for _, factor in form.terms))
            window = Window(letter, low, step, (high - low) // step + 1)
            self.windows[form] = window
            self.extents[letter] = window.count
        try:
            yield
        finally:
            self.windows = before

    # -- values -------------------------------------------------------------------------------------------------------

    def value(self, part: Part, dtype: str) -> Term:
        """The part in an element type.

        Raises LaunchError (WL1506) for an integer without a type of its own that this one can't hold.
        """
        if part.type == INTEGER:
            limits = limits_of(part, self.sizes, self.ranges, self.source)
            self._check_fits(part, limits, dtype)
            if is_constant(part):
                return Term(Constant.of(limits[0], dtype), ())
            return converted(self._integer(part, self._index_type([part])), dtype)
        if part.type == NUMBER:
            number = self._known_number(part)
            if number is None:
                assert isinstance(part, Operation)
                return self._operation(part, dtype)
            self._check_fits(part, (number, number), dtype)
            return Term(Constant.of(number, dtype), ())
        return converted(self._natural(part), dtype)

    def _natural(self, part: Part) -> Term:
        """A part that has an element type, in that."""
        if isinstance(part, Literal):
            return Term(Constant.of(part.value, part.type), ())
        if isinstance(part, Read):
            return self._read(part)
        assert isinstance(part, Operation)
        return self._operation(part, part.type)

    def _operation(self, part: Operation, dtype: str) -> Term:
        sign, operands = part.sign, part.operands
        if sign == "cast":
            return self._cast(operands[0], dtype)
        if sign == "?:":
            return self._choice(part, dtype)
        if sign in DIRECTIONS:
            return self._comparison(sign, operands)
        if sign in ("&&", "||"):
            return self._both(sign, operands)
        build = OPERATORS.get(sign) or FUNCTIONS[sign].build
        return self.combine(build, [self.value(each, dtype) for each in operands])

    def _both(self, sign: str, operands: Sequence[Part]) -> Term:
        """`&&` or `||`, whose second operand counts only where the first does not decide."""
        first = self.value(operands[0], BOOLEAN)
        with self._where(first if sign == "&&" else Term(Not(first.value), first.letters)):
            second = self.value(operands[1], BOOLEAN)
        return self.combine(OPERATORS[sign], [first, second])

    def _cast(self, operand: Part, dtype: str) -> Term:
        if operand.type == NUMBER and dtype not in ("f16", "bf16", "f32", "f64"):
            return converted(self.value(operand, "f32"), dtype)
        return self.value(operand, dtype)

    def _choice(self, part: Operation, dtype: str) -> Term:
        condition, yes, no = part.operands
        test = self.value(condition, BOOLEAN)
        with self._where(test):
            chosen = self.value(yes, dtype)
        with self._where(Term(Not(test.value), test.letters)):
            other = self.value(no, dtype)
        return self.combine(Select, [test, chosen, other])

    @contextmanager
    def _where(self, condition: Term) -> Generator[None]:
        """Within, what is read is of no matter where the condition does not hold."""
        self._conditions.append(condition)
        try:
            yield
        finally:
            self._conditions.pop()

    def _comparison(self, sign: str, operands: Sequence[Part]) -> Term:
        left, right = (each.type for each in operands)
        if left == right == INTEGER:
            type_ = self._index_type(operands)
        else:
            type_ = own_type(join(left, right) or left)
        terms = [self.value(each, type_) for each in operands]
        return self.combine(lambda left, right: Compare(left, right, DIRECTIONS[sign]), terms)

    def combine(self, build: Any, terms: Sequence[Term]) -> Term:
        """An op of tensors of the same letters, to which these are spread."""
        if len({term.letters for term in terms}) == 1:
            letters = terms[0].letters
        else:
            letters = tuple(sorted({letter for term in terms for letter in term.letters}))
        return Term(build(*(spread(term, letters, self.extents) for term in terms)), letters)

    # -- integers -----------------------------------------------------------------------------------------------------

    def _index_type(self, parts: Sequence[Part]) -> str:
        """The element type in which integers without one are exact, on the way to them too.

        Raises LaunchError (WL1506) where there is none.
        """
        widest = "i32"
        for each in (inner for part in parts for inner in parts_of(part)):
            if each.type != INTEGER:
                continue
            low, high = limits_of(each, self.sizes, self.ranges, self.source)
            for bits in (31, 63):
                if -(1 << bits) <= low and high < 1 << bits:
                    widest = "i64" if bits == 63 else widest
                    break
            else:
                raise self.source.misfit(
                    "WL1506", each.span, f"this reaches {max(high, -low)}, and integers have 64 bits"
                )
        return widest

    def _integer(self, part: Part, dtype: str) -> Term:
        """A part of indices, sizes and integers."""
        if is_affine(part):
            return self._sum_of_indices(self.form(part), dtype)
        assert isinstance(part, Operation)
        if part.sign == "?:":
            condition, yes, no = part.operands
            return self.combine(
                Select, [self.value(condition, BOOLEAN), self._integer(yes, dtype), self._integer(no, dtype)]
            )
        build = OPERATORS.get(part.sign) or FUNCTIONS[part.sign].build
        return self.combine(build, [self._integer(each, dtype) for each in part.operands])

    def _sum_of_indices(self, form: Form, dtype: str) -> Term:
        window = form.window and self.windows.get(form.window)
        if window:
            line = Line(form.constant + window.low, (Stride(window.letter, window.step, window.count),))
        else:
            line = self._line(form)
        total = Term(Constant.of(line.base, dtype), ())
        for each in line.strides:
            steps: Value = Iota((each.count,), dtype, 0)
            if each.factor != 1:
                steps = Multiply(steps, Constant.of(each.factor, dtype, (each.count,)))
            term = Term(steps, (each.letter,))
            total = term if line.base == 0 and not total.letters else self.combine(Add, [total, term])
        return total

    def _line(self, form: Form) -> Line:
        base = form.constant + sum(factor * self.ranges[name][0] for name, factor in form.terms)
        strides = (Stride(self.letters[name], factor, self.extents[self.letters[name]]) for name, factor in form.terms)
        return Line(base, tuple(strides))

    def _known_number(self, part: Part) -> float | int | None:
        """What a part of numbers that are written, and of sizes, is; None for others."""
        if isinstance(part, Literal):
            return part.value
        if isinstance(part, Size):
            return self.sizes[part.name]
        if part.type == INTEGER and is_constant(part):
            return limits_of(part, self.sizes, self.ranges, self.source)[0]
        if not isinstance(part, Operation) or part.sign not in ("+", "-", "*", "/", "negate") or not is_weak(part.type):
            return None
        found = [self._known_number(each) for each in part.operands]
        numbers = [each for each in found if each is not None]
        if len(numbers) < len(found):
            return None
        left, right = float(numbers[0]), float(numbers[-1])
        with np.errstate(all="ignore"):
            values = np.float64(left), np.float64(right)
            return float(
                {
                    "+": lambda: values[0] + values[1],
                    "-": lambda: values[0] - values[1],
                    "*": lambda: values[0] * values[1],
                    "/": lambda: values[0] / values[1],
                    "negate": lambda: -values[0],
                }[part.sign]()
            )

    def _check_fits(self, part: Part, limits: tuple[float, float], dtype: str) -> None:
        numpy_dtype = NUMPY_DTYPES[dtype]
        if dtype == BOOLEAN:
            return
        most: float
        if numpy_dtype.kind in "iu":
            least, most = int(np.iinfo(numpy_dtype).min), int(np.iinfo(numpy_dtype).max)
        else:
            most = {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": 3.4028235677973362e38}.get(dtype, math.inf)
            least = -most
        if (limits[0] >= least and limits[1] <= most) or math.isinf(limits[0]) or math.isnan(limits[0]):
            return
        reached = limits[1] if limits[1] > most else limits[0]
        raise self.source.misfit(
            "WL1506",
            part.span,
            f"this {'is' if limits[0] == limits[1] else 'reaches'} {reached}, which {SPELLED[dtype]} can't hold",
            "convert what it stands beside to a wider type",
        )

    # -- reads --------------------------------------------------------------------------------------------------------

    def _read(self, read: Read) -> Term:
        value = self.values[read.tensor]
        if not read.subscripts:
            return Term(value, ())
        if not value.tensor.size and all(map(is_affine, read.subscripts)):
            # No condition for this read holds anywhere: it would have been refused.
            return Term(Constant.of(0, value.dtype), ())
        looked_up = self._looked_up(read)
        lines: list[Line] = []
        for axis, part in enumerate(read.subscripts):
            if axis in looked_up:
                lines.append(Line(0, (Stride(-1 - axis, 1, value.shape[axis]),)))
                continue
            form = self.form(part)
            window = form.window and self.windows.get(form.window)
            if window:
                stride = Stride(window.letter, window.step, window.count)
                lines.append(Line(form.constant + window.low, (stride,)))
            else:
                lines.append(self._line(form))
        term = read_lines(*_with_margins(value, lines))
        if not looked_up:
            return term
        places = [self._place(read, axis) for axis in looked_up]
        wide = "i64" if any(each.value.dtype == "i64" for each in places) else "i32"
        letters = tuple(sorted({letter for each in places for letter in each.letters}))
        spreads = [spread(converted(each, wide), letters, self.extents) for each in places]
        return take_elements(term, [term.letters.index(-1 - axis) for axis in looked_up], spreads, letters)

    def _looked_up(self, read: Read) -> list[int]:
        """The axes that are read at integers which are no sums of indices, and those whose letters these depend on."""
        letters = [self.letters_of(part) for part in read.subscripts]
        found = [axis for axis, part in enumerate(read.subscripts) if not is_affine(part)]
        while True:
            taken = set[int]().union(*(letters[axis] for axis in found))
            more = [axis for axis in range(len(letters)) if axis not in found and letters[axis] & taken]
            if not more:
                return sorted(found)
            found += more

    def _place(self, read: Read, axis: int) -> Term:
        """Where an axis is read, which the program checks if it is not known to lie inside."""
        part, size = read.subscripts[axis], self.values[read.tensor].shape[axis]
        if part.type == INTEGER:
            term = self._integer(part, self._index_type([part]))
            low, high = limits_of(part, self.sizes, self.ranges, self.source)
            if is_affine(part) or (low >= 0 and high < size):
                return term
        else:
            natural = self._natural(part)
            term = converted(natural, "i64" if natural.value.dtype in ("i64", "ui32", "ui64") else "i32")
        if size == 0:
            raise self.source.misfit("WL1504", read.span, "this reads an element of an axis that has none")
        checked = term
        for condition in self._conditions:
            inside = Term(Constant.of(0, term.value.dtype), ())
            checked = self.combine(Select, [condition, checked, inside])
        axes = tuple(range(len(checked.letters)))
        least, most = (reduce(checked.value, axes) if axes else checked.value for reduce in (reduce_min, reduce_max))
        self.look_ups.append(LookUp(read, part, size, least, most))
        return term


def _with_margins(value: Value, lines: Sequence[Line]) -> tuple[Value, list[Line]]:
    """The tensor with zeros around it as far as the lines reach beyond, and the lines in that. Conditions see to it
    that no zero is used."""
    lows, highs = [0] * len(lines), [0] * len(lines)
    moved: list[Line] = []
    for axis, line in enumerate(lines):
        ends = [each.factor * (each.count - 1) for each in line.strides]
        lows[axis] = max(-(line.base + sum(min(end, 0) for end in ends)), 0)
        highs[axis] = max(line.base + sum(max(end, 0) for end in ends) - value.shape[axis] + 1, 0)
        moved.append(Line(line.base + lows[axis], line.strides))
    if any(lows) or any(highs):
        value = Pad(value, Constant.of(0, value.dtype), tuple(lows), tuple(highs), (0,) * len(lines))
    return value, moved


def converted(term: Term, dtype: str) -> Term:
    """The term in another element type; a boolean is whether a number is not 0."""
    value = term.value
    if value.dtype == dtype:
        return term
    if dtype == BOOLEAN:
        zero = Constant.of(0, value.dtype, value.shape)
        return Term(Compare(value, zero, "NE"), term.letters)
    return Term(Convert(value, dtype), term.letters)
