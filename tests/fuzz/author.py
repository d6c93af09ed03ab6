"""Writes what a thread does: random statements over its own words of some arrays, reading others anywhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from tests.fuzz.arithmetic import (
    Maybe,
    binary,
    cast,
    compared,
    converted,
    literal,
    variable,
)
from tests.fuzz.arrays import Argument
from tests.fuzz.expressions import FLOAT_BOUND, Scope
from tests.fuzz.idioms import IdiomAuthor
from tests.fuzz.trees import (
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    SHORT,
    SIZE,
    UNSIGNED,
    Block,
    CType,
    Expression,
    Statement,
    statement,
)


class Author(IdiomAuthor):
    """Writes statements at random. `budget` is about how many."""

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
            (1, self.pointer_store),
            (1, self.binary_search),
            (1, self.place_of_extreme),
            (1, self.recurrence),
            (1, self.sorting),
            (1, self.swap),
            (1, self.moving_pointer),
            (1, self.matrix),
            (1, self.buffers),
            (1, self.wide_load),
            (2 if self.totals else 0, self.atomic),
            (1 if self.in_loop else 0, self.jump),
            (1 if self.may_return and not self.in_loop else 0, self.early_return),
        ]
        weights = [weight for weight, _ in forms]
        return self.random.choices([form for _, form in forms], weights)[0]()

    def value_type(self) -> CType:
        return self.pick([INT, INT, INT, UNSIGNED, FLOAT, FLOAT, FLOAT, LONG, DOUBLE, SHORT, SIZE])

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
                    "if (",
                    condition,
                    ") ",
                    self.block(),
                    "else if (",
                    self.condition(),
                    ") ",
                    self.block(),
                    "else ",
                    self.block(),
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
            [
                lambda: literal(self.between(0, 6)),
                lambda: literal(self.between(2, 20)),
                lambda: literal(self.between(50, 300)) if self.budget < 3 and not self.in_loop else None,
                lambda: next((self.known(int(each.value)) for each in self.scalars if 0 < each.value < 30), None),
                lambda: self.within(self.integer(1), self.between(3, 9)),
                lambda: self.within(self.integer_leaf(), self.between(3, 9)),
            ],
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
            step, result = (
                statement(f"{total} {self.pick(['+=', '^=', '*=', '|='])} ", term, ";"),
                Expression(UNSIGNED, 0, UNSIGNED.high, (total,)),
            )
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

    def atomic(self) -> list[Statement]:
        argument, name = self.pick(self.totals)
        place = self.within(self.integer(1), argument.size)
        value = self.value(argument.ctype)
        if argument.ctype.kind == "float":
            if not value.grain or value.grain < 2.0**-4 or max(abs(value.low), abs(value.high)) > 16:
                value = literal(self.pick([1.0, 0.5, 2.0]), argument.ctype)
            value = cast(value, argument.ctype) or literal(1.0, argument.ctype)
        elif name == "atomicInc":
            value = literal(17, UNSIGNED)
        else:
            value = self.fitted(value, *(self.invariant(argument.ctype)), argument.ctype)
        return [statement(f"{name}(&{argument.name}[", place, "], ", value, ");")]

    def jump(self) -> list[Statement]:
        how = self.pick(["continue", "break", "return"] if self.may_return else ["continue", "break"])
        return [statement("if (", self.condition(), f") {how};")]

    def early_return(self) -> list[Statement]:
        return [*self.store(), statement("if (", self.condition(), ") return;"), *self.store()]

    # -- functions ----------------------------------------------------------------------------------------------------

    def call_helper(self, wanted: Callable[[CType], bool], depth: int) -> Maybe:
        """A call of a device function of one's own."""
        if not self.chance(0.5):
            return None
        parameters = [
            Expression(INT, -50, 50, ("a",)),
            self.pick([Expression(FLOAT, -50.0, 50.0, ("b",)), Expression(UNSIGNED, 0, 2**32 - 1, ("b",))]),
        ]
        name = self.name("helper")
        given = [self.fitted(self.integer(depth), -50, 50, INT)]
        second = parameters[1]
        given.append(
            self.fitted(
                self.number(depth) if second.ctype == FLOAT else self.integer(depth),
                second.low,
                second.high,
                second.ctype,
            )
        )
        if any(each.is_soft for each in given):
            return None
        kept = {
            name: getattr(self, name)
            for name in ("scope", "own", "inputs", "scalars", "totals", "in_loop", "may_return", "budget")
        }
        self.scope, self.own, self.inputs, self.scalars, self.totals = Scope(list(parameters)), [], [], [], []
        self.in_loop, self.may_return, self.budget = 0, False, min(self.budget, 3)
        body = self.block() if self.chance(0.4) else ()
        result = self.integer() if self.chance(0.5) else self.number()
        vars(self).update(kept)
        if not wanted(result.ctype) or result.ctype.bits < 32 or result.is_soft:
            return None
        early: Block = ()
        if self.chance(0.3):
            test = compared(parameters[0], self.pick(["<", ">"]), literal(self.between(-9, 9)))
            other = self.plain(result)
            early = (statement("if (", test, ") return ", other, ";"),) if test else ()
        by_reference = self.pick(["", "const ", "const &"])
        spelled = (
            f"const {second.ctype.name} &b" if by_reference == "const &" else f"{by_reference}{second.ctype.name} b"
        )
        head = f"__device__ {result.ctype.name} {name}(int a, {spelled})"
        self.preamble.append(
            statement(head, (*body, *early, statement("return ", result, ";", is_fixed=True)), is_fixed=True)
        )
        return replace(result, pieces=(f"{name}(", given[0], ", ", given[1], ")"))
