"""Writes what a thread does: random statements over its own words of some arrays, reading others anywhere."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
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
    variable,
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
    Block,
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


class Author:
    """Writes statements at random. `budget` is about how many."""

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

    def attempt(self, write: Callable[[], Maybe], otherwise: Callable[[], Expression]) -> Expression:
        for _ in range(3):
            result = write()
            if result is not None and len(str(result)) < 240:
                return result
        return otherwise()

    @contextmanager
    def inner(self, loop: bool = False) -> Iterator[None]:
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
            lambda: self.integer_leaf(),
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
            lambda: Expression(INT, 0, 32, ("__popc(", inner(), ")")),
            lambda: self.call_helper(lambda each: each.is_integer, depth - 1),
            lambda: self.table(depth - 1),
        ]
        return self.attempt(lambda: self.pick(forms)(), self.integer_leaf)

    def signed(self, e: Expression) -> Expression:
        """As an int or long long."""
        if e.ctype in (INT, LONG):
            return e
        return cast(e, INT) or e

    def same(self, name: str, a: Expression, b: Expression) -> Maybe:
        """A function of two numbers of one type."""
        ctype = common(a.ctype, b.ctype)
        # `long` and `long long` are different types to overload resolution, and expressions' own types hide which it is.
        wide = ctype.bits == 64
        x, y = (cast(each, ctype) if wide or each.ctype != ctype else each for each in (a, b))
        return called(name, x, y) if x and y else None

    def divisor(self) -> Expression:
        return self.attempt(
            lambda: self.pick(
                [
                    lambda: literal(self.pick([2, 3, 3, 4, 5, 7, 8, 10, 16, -3])),
                    lambda: next((self.known(int(each.value)) for each in self.scalars if each.value > 0), None),
                    lambda: binary(binary(self.integer_leaf(), "&", literal(3)) or literal(1), "+", literal(1)),
                    lambda: literal(self.pick([2, 3, 5]), UNSIGNED),
                ]
            )(),
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
            up = high and self.same("max", s, low)
            return up and self.same("min", up, high)

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
            result = self.pick([wrapped, wrapped, clamped, clamped, clamped_by_hand, masked, masked, folded, unsigned])()
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
            lambda: self.number_leaf(),
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
        return self.attempt(lambda: self.pick(forms)(), self.number_leaf)

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
            lambda: self.divisible(),
            lambda: compared(self.number(min(depth, 1)), self.pick(directions), self.number(0)),
        ]
        if depth > 0:
            forms += [
                lambda: Expression(BOOL, 0, 1, ("(", inner(), " && ", inner(), ")")),
                lambda: Expression(BOOL, 0, 1, ("(", inner(), " || ", inner(), ")")),
                lambda: Expression(BOOL, 0, 1, ("!", inner())),
            ]
        return self.attempt(lambda: self.pick(forms)(), lambda: Expression(BOOL, 0, 1, ("true",)))

    def divisible(self) -> Maybe:
        rest = binary(self.integer_leaf(), "%", literal(self.pick([2, 3, 4])))
        return rest and compared(rest, self.pick(["==", "!="]), literal(self.pick([0, 1])))

    # -- memory -------------------------------------------------------------------------------------------------------

    def element(self, argument: Argument, index: Expression) -> Expression:
        text: tuple[str | Expression, ...] = (f"{argument.name}[", index, "]")
        if self.chance(0.05):
            text = (f"*({argument.name} + ", index, ")")
        if argument.lanes > 1:
            text = ("(", *text, ")." + self.pick("xyzw"[: argument.lanes])) if text[0][0] == "*" else (
                *text,
                "." + self.pick("xyzw"[: argument.lanes]),
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

    def call_helper(self, wanted: Callable[[CType], bool], depth: int) -> Maybe:
        """A call of a device function of one's own."""
        if not self.chance(0.15):
            return None
        parameters = [
            Expression(INT, -50, 50, ("a",)),
            self.pick([Expression(FLOAT, -50.0, 50.0, ("b",)), Expression(UNSIGNED, 0, 2**32 - 1, ("b",))]),
        ]
        name = self.name("helper")
        given = [self.fitted(self.integer(depth), -50, 50, INT)]
        second = parameters[1]
        given.append(self.fitted(self.number(depth) if second.ctype == FLOAT else self.integer(depth), second.low, second.high, second.ctype))
        if any(each.is_soft for each in given):
            return None
        kept = {name: getattr(self, name) for name in ("scope", "own", "inputs", "scalars", "totals", "in_loop", "may_return", "budget")}
        self.scope, self.own, self.inputs, self.scalars, self.totals = Scope(list(parameters)), [], [], [], []
        self.in_loop, self.may_return, self.budget = 0, False, min(self.budget, 3)
        body = self.block() if self.chance(0.4) else ()
        result = self.integer() if self.chance(0.5) else self.number()
        self.__dict__.update(kept)
        if not wanted(result.ctype) or result.ctype.bits < 32 or result.is_soft:
            return None
        early: Block = ()
        if self.chance(0.3):
            test = compared(parameters[0], self.pick(["<", ">"]), literal(self.between(-9, 9)))
            other = self.plain(result)
            early = (statement("if (", test, ") return ", other, ";"),) if test else ()
        head = f"__device__ {result.ctype.name} {name}(int a, {second.ctype.name} b)"
        self.preamble.append(statement(head, (*body, *early, statement("return ", result, ";", is_fixed=True)), is_fixed=True))
        return replace(result, pieces=(f"{name}(", given[0], ", ", given[1], ")"))

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
        return literal(self.between(int(max(like.low, min(like.high, 0))), int(min(like.high, max(like.low, 9)))), ctype)

    # -- statements ---------------------------------------------------------------------------------------------------

    def block(self, loop: bool = False) -> Block:
        with self.inner(loop):
            return tuple(self.statements(self.between(1, 3)))

    def statements(self, count: int) -> list[Statement]:
        result: list[Statement] = []
        for _ in range(count):
            if self.budget <= 0:
                break
            self.budget -= 1
            result += self.one_statement()
        return result or self.store()

    def one_statement(self) -> list[Statement]:
        nested = self.budget > 1
        forms: list[tuple[int, Callable[[], list[Statement]]]] = [
            (5, self.declaration),
            (5, self.store),
            (2, self.update),
            (2, self.assignment),
            (3 if nested else 0, self.branch),
            (1 if nested else 0, self.bounds_branch),
            (1 if nested else 0, self.switch),
            (4 if nested else 0, self.loop),
            (2, self.reduction),
            (1 if nested else 0, self.search),
            (1, self.local_array),
            (1, self.pointer_walk),
            (1, self.vector),
            (2 if self.totals else 0, self.atomic),
            (1 if self.in_loop else 0, self.jump),
            (1 if self.may_return and not self.in_loop else 0, self.early_return),
        ]
        weights = [weight for weight, _ in forms]
        return self.random.choices([form for _, form in forms], weights)[0]()

    def value_type(self) -> CType:
        return self.pick([INT, INT, INT, UNSIGNED, FLOAT, FLOAT, FLOAT, LONG, DOUBLE, SHORT, SIZE])

    def value(self, ctype: CType, depth: int = 2) -> Expression:
        return self.number(depth) if ctype.kind == "float" else self.integer(depth)

    def declaration(self) -> list[Statement]:
        ctype = self.value_type()
        value = self.value(ctype)
        name = self.name("v")
        if self.chance(0.4):
            low, high = self.invariant(ctype)
            value = self.fitted(value, low, high, ctype)
            if value.is_soft:
                return self.store()
            self.scope.mutable.append(Expression(ctype, low, high, (name,)))
            self.scope.values.append(self.scope.mutable[-1])
        else:
            if ctype.kind == "float" and FLOAT_BOUND < max(abs(value.low), abs(value.high)) < math.inf:
                value = self.fitted(value, -FLOAT_BOUND, FLOAT_BOUND, ctype)
            spelled = converted(value, ctype)
            self.scope.values.append(variable(name, spelled))
        return [statement(f"{ctype.name} {name} = ", value, ";")]

    def invariant(self, ctype: CType) -> tuple[float, float]:
        """The range that a variable of the type keeps to."""
        if ctype.kind == "float":
            return -FLOAT_BOUND, FLOAT_BOUND
        if ctype.kind == "unsigned":
            return ctype.low, ctype.high
        return -100, 1000

    def store(self) -> list[Statement]:
        """A store to a word of one's own, or an update of it."""
        if not self.own:
            return self.assignment()
        own = self.pick(self.own)
        argument = own.argument
        place = own.place(self.within(self.integer(1), own.words))
        if argument.lanes > 1 and self.chance(0.6):
            made: list[str | Expression] = [f"make_{argument.element}("]
            for _ in range(argument.lanes):
                made += [self.storable(argument), ", "]
            return [statement(f"{argument.name}[", place, "] = ", *made[:-1], ");")]
        target = self.element(argument, place)
        return [statement(target, " = ", self.storable(argument, target), ";")]

    def storable(self, argument: Argument, target: Expression | None = None) -> Expression:
        ctype = argument.ctype
        value = self.value(ctype if self.chance(0.85) else self.pick([INT, FLOAT]))
        if target is not None and self.chance(0.25):
            value = binary(target, self.pick("+-*"), value) or value
        return self.fitted(value, argument.low, argument.high, ctype)

    def update(self) -> list[Statement]:
        """`x[i] += e` where that stays in range: unsigned words, and floats damped."""
        fitting = [each for each in self.own if each.argument.ctype.kind in ("unsigned", "float")]
        if not fitting:
            return self.store()
        own = self.pick(fitting)
        target = self.element(own.argument, own.place(self.within(self.integer(1), own.words)))
        if own.argument.ctype.kind == "float":
            if own.argument.grain:
                return self.store()
            return [statement(target, self.pick([" *= 0.5f;", " *= -1.0f;", " /= 3.0f;"]))]
        operator = self.pick(["+=", "-=", "*=", "^=", "|="])
        return [statement(target, f" {operator} ", self.integer(), ";")]

    def assignment(self) -> list[Statement]:
        if not self.scope.mutable:
            return self.declaration()
        target = self.pick(self.scope.mutable)
        value = self.value(target.ctype)
        if self.chance(0.5):
            operator = self.pick(["+", "-", "*"])
            value = binary(target, operator, value) or value
        value = self.fitted(value, target.low, target.high, target.ctype)
        if value.is_soft:
            return []
        return [statement(target, " = ", value, ";")]

    def branch(self) -> list[Statement]:
        condition = self.condition(2)
        if self.chance(0.5):
            return [statement("if (", condition, ") ", self.block())]
        if self.chance(0.3):
            return [
                statement(
                    "if (", condition, ") ", self.block(), "else if (", self.condition(), ") ", self.block(), "else ", self.block()
                )
            ]
        return [statement("if (", condition, ") ", self.block(), "else ", self.block())]

    def bounds_branch(self) -> list[Statement]:
        """A branch whose condition tells a value's range, as the guards of stencils do."""
        places = [
            k
            for k, each in enumerate(self.scope.values)
            if each.ctype.is_integer and 4 <= each.high - each.low < 10_000 and each not in self.scope.mutable
        ]
        if not places:
            return self.branch()
        k = self.pick(places)
        value = self.scope.values[k]
        low = int(value.low) + self.between(0, 3)
        high = int(value.high) - self.between(0, 3)
        if low < 0 and value.ctype.kind == "unsigned":
            return self.branch()
        tests = [compared(value, ">=", literal(low)), compared(value, "<=", self.known(high))]
        if self.chance(0.4):
            tests = [compared(value, ">", literal(low - 1)), compared(value, "<", self.known(high + 1))]
        if low <= 0 and value.ctype.kind == "unsigned":
            tests = tests[1:]
        with self.inner():
            self.scope.values[k] = value.narrowed(low, high)
            body = tuple(self.statements(self.between(1, 3)))
        pieces: list[str | Expression | Block] = ["if ("]
        for test in tests:
            if test is not None:
                pieces += [test, " && "]
        return [statement(*pieces[:-1], ") ", body, *(("else ", self.block()) if self.chance(0.3) else ()))]

    def switch(self) -> list[Statement]:
        cases = self.between(2, 4)
        choice = self.within(self.integer(1), cases + 1)
        inside: list[Statement] = []
        was_in_loop, self.in_loop = self.in_loop, 0
        for case in range(cases):
            ends = statement("break;") if self.chance(0.8) else statement(";")
            inside.append(statement(f"case {case}: ", (*self.block(), ends), is_fixed=False))
        if self.chance(0.6):
            inside.append(statement("default: ", self.block()))
        self.in_loop = was_in_loop
        return [statement("switch (", self.signed(choice), ") ", tuple(inside))]

    def trips(self) -> Expression:
        """How often a loop runs: a constant, a parameter, a number of the thread's, a number from memory."""
        return self.attempt(
            lambda: self.pick(
                [
                    lambda: literal(self.between(0, 6)),
                    lambda: literal(self.between(2, 20)),
                    lambda: next((self.known(int(each.value)) for each in self.scalars if 0 < each.value < 30), None),
                    lambda: self.within(self.integer(1), self.between(3, 9)),
                    lambda: self.within(self.integer_leaf(), self.between(3, 9)),
                ]
            )(),
            lambda: literal(3),
        )

    def counting(self, name: str, trips: Expression) -> tuple[tuple[str | Expression, ...], Expression]:
        """A loop's head, and its counter."""
        high = int(trips.high)
        ctype = self.pick([INT, INT, INT, UNSIGNED, SIZE]) if trips.low >= 0 else INT
        up = Expression(ctype, 0, max(high - 1, 0), (name,))
        kind = self.between(0, 9)
        start = f"for ({ctype.name} {name} = "
        if kind <= 5:
            return (f"{start}0; {name} < ", trips, f"; {self.pick([f'{name}++', f'++{name}', f'{name} += 1'])})"), up
        if kind == 6:
            return (f"{start}0; {name} < ", trips, f"; {name} += {self.between(2, 3)})"), up
        signed = Expression(INT, 0, max(high - 1, 0), (name,))
        if kind == 7:
            return (f"for (int {name} = (int)(", trips, f") - 1; {name} >= 0; {name}--)"), signed
        if kind == 8:
            powers = Expression(INT, 1, max(high - 1, 1), (name,))
            return (f"for (int {name} = 1; {name} < ", trips, f"; {name} *= 2)"), powers
        reach = self.between(1, 2)
        return (f"for (int {name} = -{reach}; {name} <= {reach}; {name}++)",), Expression(INT, -reach, reach, (name,))

    def loop(self) -> list[Statement]:
        name = self.name("k")
        head, counter = self.counting(name, self.trips())
        with self.inner(loop=True):
            self.scope.values.append(counter)
            body = tuple(self.statements(self.between(1, 3)))
        return [statement(*head, " ", body)]

    def reduction(self) -> list[Statement]:
        """An accumulator over a loop: sums, products of sums, least and greatest values, Horner."""
        name, total = self.name("k"), self.name("sum")
        head, counter = self.counting(name, self.trips())
        trips = int(max(abs(counter.low), abs(counter.high))) * 2 + 3
        ctype = self.pick([FLOAT, FLOAT, DOUBLE, INT, UNSIGNED, LONG])
        extra: list[Statement] = []
        with self.inner(loop=True):
            self.scope.values.append(counter)
            if self.chance(0.3) and self.budget > 1:
                self.budget -= 1
                extra = self.declaration()
            term = self.value(ctype, 3)
            condition = self.condition() if self.chance(0.25) else None
        kind = self.pick(["+=", "+=", "+=", "-=", "min", "max", "horner"])
        bound = FLOAT_BOUND if ctype.kind == "float" else 1000
        if ctype == UNSIGNED:
            step, result = statement(f"{total} {self.pick(['+=', '^=', '*=', '|='])} ", term, ";"), Expression(UNSIGNED, 0, UNSIGNED.high, (total,))
            start = literal(1, UNSIGNED)
            if term.ctype.kind == "float":
                return []
        else:
            if kind not in ("min", "max") or ctype.is_integer or term.ctype != ctype:
                term = self.fitted(term, -bound, bound, ctype)
            start = literal(self.pick([0, 0, 1]), ctype)
            x = converted(term, ctype)
            if kind in ("+=", "-="):
                most = trips * max(abs(x.low), abs(x.high)) + 1
                exact = ctype.is_integer or (x.grain > 0 and most / x.grain < 2**ctype.precision)
                if not exact and not self.is_soft:
                    return []
                grain = min(x.grain, 1.0) if exact and ctype.kind == "float" else 0.0
                result = Expression(ctype, -most, most, (total,), grain, x.is_soft or not exact)
                step = statement(f"{total} {kind} ", term, ";")
            elif kind == "horner":
                if x.is_soft or ctype.is_integer:
                    return []
                result = Expression(ctype, -3 * bound, 3 * bound, (total,))
                step = statement(f"{total} = {total} * 0.5f + ", term, ";")
            else:
                comparison = "<" if kind == "min" else ">"
                if x.is_soft:
                    return []
                result = Expression(ctype, min(x.low, -1), max(x.high, 1), (total,), min(x.grain, 1.0))
                step = statement("if (", term, f" {comparison} {total}) {total} = ", term, ";")
        if condition is not None:
            step = statement("if (", condition, ") ", (step,))
        body = [*extra, step]
        if self.chance(0.2) and self.own and not result.is_soft:
            with self.inner(loop=True):
                self.scope.values += [counter, result]
                body += self.store()
        if self.chance(0.15):
            with self.inner(loop=True):
                self.scope.values.append(counter)
                body.insert(0, statement("if (", self.condition(), f") {self.pick(['continue', 'break'])};"))
        self.scope.values.append(result)
        return [
            statement(f"{ctype.name} {total} = ", start, ";"),
            statement(*head, " ", tuple(body)),
            *(self.store() if self.own and self.chance(0.8) else ()),
        ]

    def search(self) -> list[Statement]:
        """A loop whose end depends on data."""
        name = self.name("c")
        most = self.between(3, 12)
        counter = Expression(INT, 0, most - 1, (name,))
        with self.inner(loop=True):
            self.scope.values.append(counter)
            condition = self.condition(1)
            body = tuple(self.statements(self.between(1, 2)))
        self.scope.values.append(Expression(INT, 0, most, (name,)))
        step = statement(f"{name}++;", is_fixed=True)
        start = statement(f"int {name} = 0;")
        if any("continue" in line for each in body for line in each.lines(0)):
            return [start, statement(f"for (; {name} < {most} && ", condition, f"; {name}++) ", body)]
        kind = self.between(0, 2)
        if kind == 0:
            return [start, statement(f"while ({name} < {most} && ", condition, ") ", (*body, step))]
        if kind == 1:
            return [start, statement("do ", (*body, step), f"while ({name} < {most} && ", self.condition(1), ");")]
        out = statement("if (", condition, ") break;")
        return [start, statement(f"while ({name} < {most}) ", (out, *body, step))]

    def local_array(self) -> list[Statement]:
        name, counter = self.name("local"), self.name("k")
        size = self.pick([2, 3, 4, 5, 8])
        ctype = self.pick([INT, FLOAT, UNSIGNED, FLOAT])
        low, high = self.invariant(ctype)
        array = Expression(ctype, low, high, (name,))
        result: list[Statement] = []
        if self.chance(0.4):
            result.append(statement(f"{ctype.name} {name}[{size}] = {{}};"))
        else:
            with self.inner(loop=True):
                self.scope.values.append(Expression(INT, 0, size - 1, (counter,)))
                value = self.fitted(self.value(ctype), low, high, ctype)
            if value.is_soft:
                return []
            fill = statement(f"{name}[{counter}] = ", value, ";")
            result += [
                statement(f"{ctype.name} {name}[{size}];"),
                statement(f"for (int {counter} = 0; {counter} < {size}; {counter}++) ", (fill,)),
            ]
        self.scope.local_arrays.append((array, size))
        if self.chance(0.6):
            value = self.fitted(self.value(ctype), low, high, ctype)
            if not value.is_soft:
                result.append(statement(f"{name}[", self.within(self.integer(1), size), "] = ", value, ";"))
        return result

    def pointer_walk(self) -> list[Statement]:
        """A pointer into an array, moved and read."""
        fitting = [each for each in self.inputs if each.lanes == 1 and each.size >= 8]
        if not fitting:
            return self.store()
        argument = self.pick(fitting)
        name, value = self.name("p"), self.name("v")
        steps = self.between(1, 4)
        start = self.within(self.integer(1), argument.size - steps)
        pieces: list[Statement] = [statement(f"const {argument.element} *{name} = {argument.name} + ", start, ";")]
        if self.chance(0.3):
            other = self.within(self.integer(1), argument.size - steps)
            pieces.append(statement("if (", self.condition(), f") {name} = {argument.name} + ", other, ";"))
        if self.chance(0.5):
            pieces.append(statement(f"{name} += {steps};"))
            text = f"{name}[-{self.between(0, steps)}]"
        else:
            text = f"{name}[{self.between(0, steps)}]"
        element = Expression(argument.ctype, argument.low, argument.high, (text,), argument.grain)
        pieces.append(statement(f"{argument.element} {value} = ", element, ";"))
        self.scope.values.append(variable(value, element))
        return pieces

    def vector(self) -> list[Statement]:
        """A value of a vector type, loaded or made, its parts read and changed."""
        name = self.name("q")
        fitting = [each for each in self.inputs if each.lanes > 1]
        if fitting and self.chance(0.7):
            argument = self.pick(fitting)
            whole = self.index(argument.size, 1)
            result = [statement(f"{argument.element} {name} = {argument.name}[", whole, "];")]
            parts = [
                Expression(argument.ctype, argument.low, argument.high, (f"{name}.{letter}",), argument.grain)
                for letter in "xyzw"[: argument.lanes]
            ]
        else:
            ctype = self.pick([INT, FLOAT])
            values = [self.fitted(self.value(ctype), *self.invariant(ctype), ctype) for _ in "xy"]
            if any(each.is_soft for each in values):
                return []
            made = f"{ctype.name}2 {name} = make_{ctype.name}2("
            result = [statement(made, values[0], ", ", values[1], ");")]
            parts = [Expression(ctype, *self.invariant(ctype), (f"{name}.{letter}",)) for letter in "xy"]
            self.scope.mutable += parts
        self.scope.values += parts
        return result

    def atomic(self) -> list[Statement]:
        argument, name = self.pick(self.totals)
        place = self.within(self.integer(1), argument.size)
        value = self.value(argument.ctype)
        if argument.ctype.kind == "float":
            if not value.grain or value.grain < 2.0**-4 or max(abs(value.low), abs(value.high)) > 1000:
                value = literal(self.pick([1.0, 0.5, 2.0]), argument.ctype)
            value = cast(value, argument.ctype) or literal(1.0, argument.ctype)
        elif name == "atomicInc":
            value = literal(17, UNSIGNED)
        else:
            value = self.fitted(value, *(self.invariant(argument.ctype)), argument.ctype)
        return [statement(f"{name}(&{argument.name}[", place, "], ", value, ");")]

    def jump(self) -> list[Statement]:
        return [statement("if (", self.condition(), f") {self.pick(['continue', 'break'])};")]

    def early_return(self) -> list[Statement]:
        return [*self.store(), statement("if (", self.condition(), ") return;"), *self.store()]
