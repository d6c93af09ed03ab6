"""Writes random expressions over the names in scope and the arrays that can be read."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tests.fuzz.arithmetic import (
    Maybe,
    binary,
    called,
    cast,
    chosen,
    common,
    compared,
    converted,
    literal,
    rounded,
)
from tests.fuzz.arrays import Argument, Own, Scalar
from tests.fuzz.trees import (
    BOOL,
    BYTE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    SHORT,
    SIGNED_BYTE,
    SIZE,
    UNSIGNED,
    WORD,
    CType,
    Expression,
    Statement,
    statement,
)

T = TypeVar("T")

FLOAT_BOUND = 1000.0
"""Floats in variables and written arrays stay below it."""


@dataclass
class Scope:
    """What names there are: values that can be read, variables that can be assigned, arrays of the thread's own."""

    values: list[Expression] = field(default_factory=list[Expression])
    mutable: list[Expression] = field(default_factory=list[Expression])
    local_arrays: list[tuple[Expression, int]] = field(default_factory=list["tuple[Expression, int]"])

    def copy(self) -> Scope:
        return Scope(list(self.values), list(self.mutable), list(self.local_arrays))


class ExpressionAuthor(ABC):
    """Writes expressions at random over what is in scope. `budget` is about how many statements there are to be."""

    def __init__(self, seed: int, budget: int = 14) -> None:
        self.random = random.Random(seed)
        self.budget = budget
        self.scope = Scope()
        self.inputs: list[Argument] = []
        self.own: list[Own] = []
        self.totals: list[tuple[Argument, str]] = []
        """Arrays that threads add to atomically, and how."""
        self.scalars: list[Scalar] = []
        self.preamble: list[Statement] = []
        self.in_loop = 0
        self.may_return = True
        self.is_soft = False
        self.names = 0

    @abstractmethod
    def call_helper(self, wanted: Callable[[CType], bool], depth: int) -> Maybe:
        """A call of a device function of one's own."""

    # -- choice -------------------------------------------------------------------------------------------------------

    def pick(self, options: Sequence[T]) -> T:
        return self.random.choice(options)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def between(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def name(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def attempt(self, forms: Sequence[Callable[[], Maybe]], otherwise: Callable[[], Expression]) -> Expression:
        """One of the forms, of those that can be written and aren't long."""
        for _ in range(3):
            result = self.pick(forms)()
            if result is not None and len(str(result)) < 240:
                return result
        return otherwise()

    @contextmanager
    def inner(self, loop: bool = False) -> Generator[None]:
        """A block: names declared in it are gone after it."""
        before, self.scope = self.scope, self.scope.copy()
        self.in_loop += loop
        yield
        self.in_loop -= loop
        self.scope = before

    # -- integers -----------------------------------------------------------------------------------------------------

    def known(self, value: int) -> Expression:
        """A number, by the name of a parameter that has its value where there is one."""
        named = [each for each in self.scalars if each.ctype.is_integer and each.value == value]
        if named and self.chance(0.7):
            each = self.pick(named)
            return Expression(each.ctype, value, value, (each.name,))
        return literal(value)

    def small(self) -> Expression:
        if self.chance(0.15):
            return literal(self.between(0, 9), self.pick([UNSIGNED, LONG, SIZE]))
        if self.chance(0.2) and self.scalars:
            each = self.pick(self.scalars)
            if each.ctype.is_integer:
                return Expression(each.ctype, each.value, each.value, (each.name,))
        return literal(self.pick([0, 1, 1, 2, 2, 3, 4, 5, 7, 8, 13, -1, -1, -2, -3, -7, 16, 100]))

    def integer_leaf(self) -> Expression:
        integers = [each for each in self.scope.values if each.ctype.is_integer]
        if integers and self.chance(0.75):
            return self.pick(integers[-4:]) if self.chance(0.4) else self.pick(integers)
        return self.small()

    def integer(self, depth: int = 2) -> Expression:
        if depth <= 0:
            return self.integer_leaf()
        inner = lambda: self.integer(depth - 1)  # noqa: E731
        forms: list[Callable[[], Maybe]] = [
            self.integer_leaf,
            lambda: binary(inner(), "+", inner()),
            lambda: binary(inner(), "+", self.small()),
            lambda: binary(inner(), "-", inner()),
            lambda: binary(inner(), "*", self.small()),
            lambda: binary(inner(), "*", inner()),
            lambda: binary(inner(), "/", self.divisor()),
            lambda: binary(inner(), "%", self.divisor()),
            lambda: binary(inner(), "&", literal(self.pick([1, 3, 7, 12, 15, 31, 63]))),
            lambda: binary(inner(), self.pick("&|^"), inner()),
            lambda: binary(inner(), ">>", literal(self.between(0, 4))),
            lambda: binary(inner(), "<<", literal(self.between(0, 4))),
            lambda: binary(literal(1), "<<", self.within(inner(), 8)),
            lambda: self.same(self.pick(["min", "max"]), inner(), inner()),
            lambda: called("abs", self.signed(inner())),
            lambda: cast(inner(), self.pick([INT, UNSIGNED, LONG, SIZE, SHORT, BYTE, SIGNED_BYTE, WORD])),
            lambda: chosen(self.condition(depth - 1), inner(), inner()),
            lambda: self.read(lambda each: each.ctype.is_integer, depth - 1),
            lambda: self.read_own(lambda each: each.ctype.is_integer, depth - 1),
            lambda: cast(self.number(depth - 1), INT),
            lambda: cast(self.condition(depth - 1), INT),
            lambda: self.read_local(lambda each: each.is_integer),
            lambda: self.count_bits(inner()),
            lambda: self.bits_of_float(depth - 1),
            lambda: self.call_helper(lambda each: each.is_integer, depth - 1),
            lambda: self.table(depth - 1),
            lambda: self.reinterpreted(depth - 1),
        ]
        return self.attempt(forms, self.integer_leaf)

    def count_bits(self, e: Expression) -> Maybe:
        name, least = self.pick([("__popc", 0), ("__clz", 0), ("__ffs", 0), ("__brev", None), ("__popcll", 0)])
        if least is None:
            return Expression(UNSIGNED, 0, UNSIGNED.high, (f"{name}(", e, ")"))
        return Expression(INT, 0, 64, (f"{name}(", e, ")"))

    def bits_of_float(self, depth: int) -> Maybe:
        value = self.number(depth)
        if value.is_soft or value.ctype != FLOAT or math.isinf(value.high - value.low):
            return None
        return Expression(UNSIGNED, 0, UNSIGNED.high, ("(unsigned)__float_as_int(", value, ")"))

    def signed(self, e: Expression) -> Expression:
        """As an int or long long."""
        if e.ctype in (INT, LONG):
            return e
        return cast(e, INT) or e

    def same(self, name: str, a: Expression, b: Expression) -> Maybe:
        """A function of two numbers of one type."""
        ctype = common(a.ctype, b.ctype)
        # `long` and `long long` are different types to overload resolution, and ours hide which it is.
        wide = ctype.bits == 64
        x, y = (cast(each, ctype) if wide or each.ctype != ctype else each for each in (a, b))
        return called(name, x, y) if x and y else None

    def divisor(self) -> Expression:
        return self.attempt(
            [
                lambda: literal(self.pick([2, 3, 3, 4, 5, 7, 8, 10, 16, -3])),
                lambda: next((self.known(int(each.value)) for each in self.scalars if each.value > 0), None),
                lambda: binary(binary(self.integer_leaf(), "&", literal(3)) or literal(1), "+", literal(1)),
                lambda: literal(self.pick([2, 3, 5]), UNSIGNED),
            ],
            lambda: literal(3),
        )

    def within(self, e: Expression, size: int) -> Expression:
        """The number brought into [0, size), in one of the ways that people use."""
        if e.low >= 0 and e.high < size and not self.chance(0.03):
            return e
        last, count = self.known(size - 1), self.known(size)
        power = 1 << (size.bit_length() - 1)
        zero = literal(0)

        def wrapped() -> Maybe:
            if e.low >= 0:
                return binary(e, "%", count)
            s = self.signed(e)
            once = binary(s, "%", count)
            more = once and binary(once, "+", count)
            return more and binary(more, "%", count)

        def clamped() -> Maybe:
            s = self.signed(e)
            ctype = s.ctype
            low, high = (zero, last) if ctype == INT else (literal(0, LONG), cast(last, LONG))
            up = self.same("max", s, low)
            return self.same("min", up, high) if up and high else None

        def clamped_by_hand() -> Maybe:
            s = self.signed(e)
            tests = compared(s, "<", zero), compared(s, ">", last) if self.chance(0.5) else compared(s, ">=", count)
            if tests[0] is None or tests[1] is None:
                return None
            upper = chosen(tests[1], last, s)
            whole = upper and chosen(tests[0], zero, upper)
            return whole and replace(whole, low=0, high=size - 1)

        def masked() -> Maybe:
            return binary(e, "&", literal(power - 1))

        def folded() -> Maybe:
            positive = called("abs", self.signed(e))
            return positive and binary(positive, "%", count)

        def unsigned() -> Maybe:
            positive = cast(e, UNSIGNED)
            return positive and binary(positive, "%", count)

        for _ in range(6):
            result = self.pick(
                [wrapped, wrapped, clamped, clamped, clamped_by_hand, masked, masked, folded, unsigned]
            )()
            if result is not None and result.low >= 0 and result.high < size:
                return result
        return literal(self.between(0, size - 1))

    def fitted(self, e: Expression, low: float, high: float, ctype: CType) -> Expression:
        """The number brought into a range, converted to a type."""
        if ctype.kind == "float":
            return self.fitted_float(e, low, high, ctype)
        if e.ctype.kind == "float":
            e = cast(e, INT) or literal(0)
        e_converted = converted(e, ctype)
        if low <= e_converted.low and e_converted.high <= high:
            return e
        if low <= 0 <= high and self.chance(0.8):
            bounded = self.within(e, int(high) + 1)
            if low <= -1 and self.chance(0.5):
                shifted = binary(bounded, "-", literal(min(int(-low), 5)))
                if shifted and low <= converted(shifted, ctype).low:
                    return shifted
            return bounded
        least, most = int(low), int(high)
        if least <= -9 and most >= 9:
            least, most = -9, 9
        return literal(self.between(least, most), ctype)

    # -- floats -------------------------------------------------------------------------------------------------------

    def number_leaf(self, ctype: CType | None = None) -> Expression:
        floats = [each for each in self.scope.values if each.ctype.kind == "float"]
        if floats and self.chance(0.75):
            return self.pick(floats)
        if self.chance(0.1):
            return literal(self.pick([0.1, 1.3, -0.7, 3.3]), ctype or FLOAT)
        return literal(self.pick([0.0, 0.5, 1.0, 2.0, -1.0, 0.25, 3.0, -2.5]), ctype or FLOAT)

    def number(self, depth: int = 2) -> Expression:
        if depth <= 0:
            return self.number_leaf()
        inner = lambda: self.number(depth - 1)  # noqa: E731
        forms: list[Callable[[], Maybe]] = [
            self.number_leaf,
            lambda: binary(inner(), "+", inner()),
            lambda: binary(inner(), "-", inner()),
            lambda: binary(inner(), "*", inner()),
            lambda: binary(inner(), "*", literal(self.pick([0.5, 2.0, 0.25, 3.0]), FLOAT)),
            lambda: binary(inner(), "/", literal(self.pick([2.0, 3.0, 4.0, 7.0]), FLOAT)),
            lambda: self.quotient(inner(), inner()),
            lambda: self.read(lambda each: each.ctype.kind == "float", depth - 1),
            lambda: self.read(lambda each: each.ctype.kind == "float", depth - 1),
            lambda: self.read(lambda each: each.ctype.kind == "float", depth - 1),
            lambda: self.read_own(lambda each: each.ctype.kind == "float", depth - 1),
            lambda: self.guarded_read(depth - 1),
            lambda: self.read_local(lambda each: each.kind == "float"),
            lambda: chosen(self.condition(depth - 1), inner(), inner()),
            lambda: cast(self.fitted(self.integer(depth - 1), -1000, 1000, INT), FLOAT),
            lambda: binary(inner(), "+", self.fitted(self.integer(depth - 1), -1000, 1000, INT)),
            lambda: self.unary_call(inner()),
            lambda: self.float_call(inner(), inner()),
            lambda: self.transcendental(inner()),
            lambda: cast(inner(), self.pick([FLOAT, DOUBLE])),
            lambda: self.call_helper(lambda each: each.kind == "float", depth - 1),
        ]
        return self.attempt(forms, self.number_leaf)

    def quotient(self, a: Expression, b: Expression) -> Maybe:
        """A quotient whose divisor is at least one."""
        suffix = "f" if b.ctype == FLOAT else ""
        positive = called(f"fabs{suffix}", b)
        divisor = positive and binary(positive, "+", literal(1.0, b.ctype))
        return divisor and binary(a, "/", divisor)

    def unary_call(self, e: Expression) -> Maybe:
        if e.ctype != FLOAT:
            return None
        if self.chance(0.3):
            positive = called("fabsf", e)
            return positive and called("sqrtf", positive)
        return called(self.pick(["fabsf", "floorf", "ceilf", "truncf", "rintf", "roundf"]), e)

    def float_call(self, a: Expression, b: Expression) -> Maybe:
        if a.ctype != FLOAT or b.ctype != FLOAT:
            return None
        # Which zero is the lesser of two is nobody's business: let there be none of the other sign.
        return called(self.pick(["fminf", "fmaxf"]), self.shifted(a), b)

    def shifted(self, e: Expression) -> Expression:
        return binary(e, "+", literal(0.125, FLOAT)) or e

    def transcendental(self, e: Expression) -> Maybe:
        if not self.is_soft or e.ctype != FLOAT or math.isinf(e.high - e.low):
            return None
        name = self.pick(["sinf", "cosf", "tanhf", "atanf"])
        return rounded(FLOAT, -2.0, 2.0, (f"{name}(", e, ")"), 0.0, is_soft=True)

    def fitted_float(self, e: Expression, low: float, high: float, ctype: CType) -> Expression:
        if e.ctype.is_integer:
            e = cast(self.fitted(e, max(low, -1000), min(high, 1000), INT), ctype) or literal(0.0, ctype)
        if e.ctype != ctype:
            e = cast(e, ctype) or literal(0.0, ctype)
        if low <= e.low and e.high <= high:
            return e
        suffix = "f" if ctype == FLOAT else ""
        up = called(f"fmax{suffix}", e, literal(low, ctype))
        down = up and called(f"fmin{suffix}", up, literal(high, ctype))
        return down or literal(0.0, ctype)

    # -- conditions ---------------------------------------------------------------------------------------------------

    def condition(self, depth: int = 1) -> Expression:
        directions = ["<", "<=", ">", ">=", "==", "!="]
        inner = lambda: self.condition(depth - 1)  # noqa: E731
        forms: list[Callable[[], Maybe]] = [
            lambda: compared(self.integer(min(depth, 1)), self.pick(directions), self.integer(max(depth - 1, 0))),
            lambda: compared(self.integer_leaf(), self.pick(directions), self.small()),
            self.divisible,
            lambda: compared(self.number(min(depth, 1)), self.pick(directions), self.number(0)),
        ]
        if depth > 0:
            forms += [
                lambda: Expression(BOOL, 0, 1, ("(", inner(), " && ", inner(), ")")),
                lambda: Expression(BOOL, 0, 1, ("(", inner(), " || ", inner(), ")")),
                lambda: Expression(BOOL, 0, 1, ("!", inner())),
            ]
        return self.attempt(forms, lambda: Expression(BOOL, 0, 1, ("true",)))

    def divisible(self) -> Maybe:
        rest = binary(self.integer_leaf(), "%", literal(self.pick([2, 3, 4])))
        return rest and compared(rest, self.pick(["==", "!="]), literal(self.pick([0, 1])))

    # -- memory -------------------------------------------------------------------------------------------------------

    def element(self, argument: Argument, index: Expression) -> Expression:
        text: tuple[str | Expression, ...] = (f"{argument.name}[", index, "]")
        if self.chance(0.05):
            text = (f"*({argument.name} + ", index, ")")
        if argument.lanes > 1:
            text = (
                ("(", *text, ")." + self.pick("xyzw"[: argument.lanes]))
                if text[0][0] == "*"
                else (
                    *text,
                    "." + self.pick("xyzw"[: argument.lanes]),
                )
            )
        return Expression(argument.ctype, argument.low, argument.high, text, argument.grain)

    def index(self, size: int, depth: int) -> Expression:
        """A place in an array that can be read anywhere."""
        if self.chance(0.2) and size >= 12:
            width = self.between(2, size // 2)
            row = self.within(self.integer(depth), size // width)
            column = self.within(self.integer(depth), width)
            start = binary(row, "*", self.known(width))
            place = start and binary(start, "+", column)
            if place is not None and place.low >= 0 and place.high < size:
                return place
        return self.within(self.integer(depth), size)

    def read(self, wanted: Callable[[Argument], bool], depth: int) -> Maybe:
        fitting = [each for each in self.inputs if wanted(each)]
        tails = [each for each in self.own if each.tail and wanted(each.argument)]
        if tails and self.chance(0.2):
            each = self.pick(tails)
            start = each.argument.size - each.tail
            index = binary(self.index(each.tail, depth), "+", self.known(start))
            return index and self.element(each.argument, index)
        if not fitting:
            return None
        argument = self.pick(fitting)
        return self.element(argument, self.index(argument.size, depth))

    def reinterpreted(self, depth: int) -> Maybe:
        """An array's bytes or words read as another type."""
        fitting = [each for each in self.inputs if each.lanes == 1 and each.offset == 0 and not each.shares]
        if not fitting:
            return None
        argument = self.pick(fitting)
        ctype = self.pick([BYTE, SHORT, UNSIGNED, SIGNED_BYTE] if argument.ctype.bits >= 32 else [BYTE, SIGNED_BYTE])
        index = self.index(argument.size * argument.ctype.bits // ctype.bits, depth)
        text = (f"((const {ctype.name} *){argument.name})[", index, "]")
        return Expression(ctype, ctype.low, ctype.high, text)

    def guarded_read(self, depth: int) -> Maybe:
        """`inside ? x[i] : other`."""
        fitting = [each for each in self.inputs if each.ctype.kind == "float"]
        index = self.signed(self.integer(depth))
        if not fitting or index.ctype != INT:
            return None
        argument = self.pick(fitting)
        above = compared(index, ">=", literal(0))
        below = compared(index, "<", self.known(argument.size))
        if above is None or below is None:
            return None
        inside = Expression(BOOL, 0, 1, (above, " && ", below))
        return chosen(inside, self.element(argument, index), literal(0.0, argument.ctype))

    def read_own(self, wanted: Callable[[Argument], bool], depth: int) -> Maybe:
        fitting = [each for each in self.own if wanted(each.argument)]
        if not fitting:
            return None
        own = self.pick(fitting)
        return self.element(own.argument, own.place(self.within(self.integer(depth), own.words)))

    def read_local(self, wanted: Callable[[CType], bool]) -> Maybe:
        fitting = [each for each in self.scope.local_arrays if wanted(each[0].ctype)]
        if not fitting:
            return None
        array, size = self.pick(fitting)
        return replace(array, pieces=(f"{array}[", self.within(self.integer(1), size), "]"))

    def table(self, depth: int) -> Maybe:
        """A constant table of the module's."""
        if not self.chance(0.3):
            return None
        name = self.name("table")
        numbers = [self.between(-9, 99) for _ in range(self.between(2, 7))]
        index = self.within(self.integer(depth), len(numbers))
        text = f"__constant__ int {name}[{len(numbers)}] = {{{', '.join(map(str, numbers))}}};"
        self.preamble.append(statement(text, is_fixed=True))
        return Expression(INT, min(numbers), max(numbers), (f"{name}[", index, "]"))

    def plain(self, like: Expression) -> Expression:
        """A constant that may stand for the expression."""
        ctype = like.ctype
        if ctype.kind == "float":
            return literal(0.0, ctype) if like.low <= 0 <= like.high else replace(like, pieces=(repr(like.low),))
        return literal(
            self.between(int(max(like.low, min(like.high, 0))), int(min(like.high, max(like.low, 9)))), ctype
        )
