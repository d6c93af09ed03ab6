"""Writes what many kernels have: searches, sorts, recurrences, local arrays, pointers, vector types."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace

from tests.fuzz.arithmetic import (
    binary,
    compared,
    literal,
    variable,
)
from tests.fuzz.arrays import Argument
from tests.fuzz.expressions import FLOAT_BOUND, ExpressionAuthor
from tests.fuzz.trees import (
    DOUBLE,
    FLOAT,
    INT,
    UNSIGNED,
    CType,
    Expression,
    Statement,
    statement,
)


class IdiomAuthor(ExpressionAuthor):
    """Writes what many kernels have: loops that search, sort and accumulate, local arrays, pointers, vector types."""

    @abstractmethod
    def statements(self, count: int) -> list[Statement]:
        """Some statements of any kind."""

    @abstractmethod
    def store(self) -> list[Statement]:
        """A store to a word of one's own."""

    @abstractmethod
    def storable(self, argument: Argument, target: Expression | None = None) -> Expression:
        """A value for a word of an array."""

    @abstractmethod
    def update(self) -> list[Statement]:
        """A change of a word of one's own."""

    @abstractmethod
    def assignment(self) -> list[Statement]:
        """An assignment to a variable."""

    def invariant(self, ctype: CType) -> tuple[float, float]:
        """The range that a variable of the type keeps to."""
        if ctype.kind == "float":
            return -FLOAT_BOUND, FLOAT_BOUND
        if ctype.kind == "unsigned":
            return ctype.low, ctype.high
        return -100, 1000

    def value(self, ctype: CType, depth: int = 2) -> Expression:
        return self.number(depth) if ctype.kind == "float" else self.integer(depth)

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

    def pointer_store(self) -> list[Statement]:
        """A store through a pointer that the thread keeps."""
        fitting = [each for each in self.own if each.argument.lanes == 1]
        if not fitting:
            return self.assignment()
        own = self.pick(fitting)
        argument = own.argument
        name = self.name("w")
        place = own.place(self.within(self.integer(1), own.words))
        target = Expression(argument.ctype, argument.low, argument.high, (f"*{name}",), argument.grain)
        value = self.fitted(self.value(argument.ctype), argument.low, argument.high, argument.ctype)
        result = [statement(f"{argument.element} *{name} = {argument.name} + ", place, ";")]
        result.append(statement(f"*{name} = ", value, ";"))
        if self.chance(0.5):
            result.append(statement("if (", self.condition(), f") *{name} = ", self.storable(argument, target), ";"))
        return result

    def binary_search(self) -> list[Statement]:
        """Halving an interval of an array of integers; it ends for any contents."""
        fitting = [each for each in self.inputs if each.lanes == 1 and each.ctype.is_integer and each.size > 1]
        if not fitting:
            return self.store()
        argument = self.pick(fitting)
        low, high, middle = self.name("lo"), self.name("hi"), self.name("mid")
        wanted = self.integer(1)
        cell = Expression(argument.ctype, argument.low, argument.high, (f"{argument.name}[{middle}]",))
        test = compared(cell, self.pick(["<", "<=", ">"]), wanted)
        assert test is not None
        self.scope.values.append(Expression(INT, 0, argument.size, (low,)))
        return [
            statement(f"int {low} = 0;"),
            statement(f"int {high} = ", self.known(argument.size), ";"),
            statement(
                f"while ({low} < {high}) ",
                (
                    statement(f"int {middle} = ({low} + {high}) / 2;"),
                    statement("if (", test, f") {low} = {middle} + 1; else {high} = {middle};", is_fixed=True),
                ),
            ),
            *self.store(),
        ]

    def place_of_extreme(self) -> list[Statement]:
        """The least or greatest of some numbers, and where it is."""
        counter, best, place = self.name("k"), self.name("best"), self.name("where")
        count = self.between(2, 12)
        ctype = self.pick([INT, FLOAT])
        with self.inner(loop=True):
            self.scope.values.append(Expression(INT, 0, count - 1, (counter,)))
            value = self.fitted(self.value(ctype), -FLOAT_BOUND, FLOAT_BOUND, ctype)
        if value.is_soft:
            return []
        start = literal(self.pick([0, 1000, -1000]), ctype)
        change = statement(f"{best} = ", value, ";"), statement(f"{place} = {counter};")
        self.scope.values.append(Expression(INT, -1, count - 1, (place,)))
        self.scope.values.append(Expression(ctype, -FLOAT_BOUND, FLOAT_BOUND, (best,)))
        if ctype == INT:
            self.scope.values[-1] = Expression(INT, -1000, 1000, (best,))
        return [
            statement(f"{ctype.name} {best} = ", start, ";"),
            statement(f"int {place} = -1;"),
            statement(
                f"for (int {counter} = 0; {counter} < {count}; {counter}++) ",
                (statement("if (", value, f" {self.pick(['<', '>', '<='])} {best}) ", change),),
            ),
            *self.store(),
        ]

    def recurrence(self) -> list[Statement]:
        """Each of a thread's words from the one before."""
        fitting = [each for each in self.own if each.words > 1 and each.argument.lanes == 1]
        if not fitting:
            return self.store()
        own = self.pick(fitting)
        counter = self.name("k")
        is_forward = self.chance(0.7)
        last = own.words - 1
        k = Expression(INT, 1 if is_forward else 0, last if is_forward else last - 1, (counter,))
        before = binary(k, "-" if is_forward else "+", literal(1))
        assert before is not None
        with self.inner(loop=True):
            self.scope.values.append(k)
            here = self.element(own.argument, own.place(k))
            there = self.element(own.argument, own.place(before))
            value = binary(there, self.pick("+-*"), self.value(own.argument.ctype, 1)) or there
            value = self.fitted(value, own.argument.low, own.argument.high, own.argument.ctype)
        up = f"for (int {counter} = 1; {counter} < {own.words}; {counter}++) "
        down = f"for (int {counter} = {last - 1}; {counter} >= 0; {counter}--) "
        return [statement(up if is_forward else down, (statement(here, " = ", value, ";"),))]

    def sorting(self) -> list[Statement]:
        """Bubble sort of a thread's words or of a local array."""
        cells: Callable[[Expression], Expression]
        fitting = [each for each in self.own if each.words > 1 and each.argument.lanes == 1]
        if self.scope.local_arrays and self.chance(0.5):
            array, size = self.pick(self.scope.local_arrays)
            cells = lambda k: replace(array, pieces=(f"{array}[", k, "]"))  # noqa: E731
        elif fitting:
            own = self.pick(fitting)
            size = own.words
            cells = lambda k: self.element(own.argument, own.place(k))  # noqa: E731
        else:
            return self.local_array()
        outer, inner, held = self.name("k"), self.name("k"), self.name("held")
        j = Expression(INT, 0, size - 2, (inner,))
        after = binary(j, "+", literal(1))
        assert after is not None
        here, there = cells(j), cells(after)
        swap = (
            statement(f"{here.ctype.name} {held} = ", here, ";"),
            statement(here, " = ", there, ";"),
            statement(there, f" = {held};"),
        )
        test = compared(here, self.pick(["<", ">"]), there)
        if test is None:
            return self.store()
        inside = statement("if (", test, ") ", swap)
        bound = self.pick([f"{size - 1} - {outer}", f"{size - 1}"])
        loop = statement(f"for (int {inner} = 0; {inner} < {bound}; {inner}++) ", (inside,))
        return [statement(f"for (int {outer} = 0; {outer} < {size - 1}; {outer}++) ", (loop,))]

    def swap(self) -> list[Statement]:
        """Two words of the thread's change places."""
        fitting = [each for each in self.own if each.words > 1 and each.argument.lanes == 1]
        if not fitting:
            return self.update()
        own = self.pick(fitting)
        held = self.name("held")
        one, other = (own.place(self.within(self.integer(1), own.words)) for _ in "ab")
        here, there = self.element(own.argument, one), self.element(own.argument, other)
        return [
            statement(f"{own.argument.element} {held} = ", here, ";"),
            statement(here, " = ", there, ";"),
            statement(there, f" = {held};"),
        ]

    def moving_pointer(self) -> list[Statement]:
        """A pointer that moves in a loop."""
        fitting = [each for each in self.inputs if each.lanes == 1 and each.size >= 16 and each.ctype.bits <= 32]
        if not fitting:
            return self.store()
        argument = self.pick(fitting)
        name, counter, total = self.name("p"), self.name("k"), self.name("sum")
        steps, stride = self.between(2, 5), self.between(1, 3)
        start = self.within(self.integer(1), argument.size - steps * stride)
        ctype = DOUBLE if argument.ctype.kind == "float" else UNSIGNED
        if ctype == DOUBLE and not argument.grain:
            return self.store()
        result = (
            Expression(DOUBLE, -1000.0, 1000.0, (total,), argument.grain)
            if ctype == DOUBLE
            else Expression(UNSIGNED, 0, UNSIGNED.high, (total,))
        )
        self.scope.values.append(result)
        step = f"{total} += *{name}++;" if stride == 1 else f"{total} += *{name}; {name} += {stride};"
        return [
            statement(f"const {argument.element} *{name} = {argument.name} + ", start, ";"),
            statement(f"{ctype.name} {total} = 0;"),
            statement(f"for (int {counter} = 0; {counter} < {steps}; {counter}++) ", (statement(step),)),
            *self.store(),
        ]

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

    def matrix(self) -> list[Statement]:
        """A small matrix of the thread's own, times itself or its transpose."""
        name, total = self.name("local"), self.name("sum")
        rows, columns = self.between(2, 4), self.between(2, 4)
        r, c, k = (self.name("k") for _ in "rck")
        ctype = self.pick([INT, FLOAT])
        with self.inner(loop=True):
            self.scope.values += [Expression(INT, 0, rows - 1, (r,)), Expression(INT, 0, columns - 1, (c,))]
            value = self.fitted(self.value(ctype), -100, 100, ctype)
        if value.is_soft or (ctype == FLOAT and not value.grain):
            value = literal(2, ctype)
        fill = statement(f"{name}[{r}][{c}] = ", value, ";")
        across = statement(f"for (int {c} = 0; {c} < {columns}; {c}++) ", (fill,))
        row, other = (self.within(self.integer(1), rows) for _ in "ab")
        cell = Expression(ctype, -100, 100, (f"{name}[", row, f"][{k}]"), value.grain if ctype == FLOAT else 0.0)
        twin = Expression(ctype, -100, 100, (f"{name}[", other, f"][{k}]"), value.grain if ctype == FLOAT else 0.0)
        bound = 10_000 * columns
        grain = value.grain**2
        if ctype == FLOAT and (not grain or bound / grain >= 2**24):
            return self.store()
        self.scope.values.append(Expression(ctype, -bound, bound, (total,), grain if ctype == FLOAT else 0.0))
        return [
            statement(f"{ctype.name} {name}[{rows}][{columns}];"),
            statement(f"for (int {r} = 0; {r} < {rows}; {r}++) ", (across,)),
            statement(f"{ctype.name} {total} = 0;"),
            statement(
                f"for (int {k} = 0; {k} < {columns}; {k}++) ", (statement(f"{total} += ", cell, " * ", twin, ";"),)
            ),
            *self.store(),
        ]

    def buffers(self) -> list[Statement]:
        """Two local arrays that change roles."""
        one, other, old, new, round_, k = (self.name(stem) for stem in ("local", "local", "p", "w", "k", "k"))
        size, rounds = self.between(2, 5), self.between(1, 4)
        values = [self.fitted(self.integer(1), -50, 50, INT) for _ in range(2)]
        step = f"{new}[{k}] = {old}[{self.pick([f'({k} + 1) % {size}', f'{size} - 1 - {k}', k])}] + {round_};"
        self.scope.local_arrays.append((Expression(INT, -1000, 1000, (old,)), size))
        return [
            statement(f"int {one}[{size}] = {{}};"),
            statement(f"int {other}[{size}] = {{}};"),
            statement(f"{one}[0] = ", values[0], ";"),
            statement(f"{one}[1] = ", values[1], ";"),
            statement(f"int *{old} = {one};"),
            statement(f"int *{new} = {other};"),
            statement(
                f"for (int {round_} = 0; {round_} < {rounds}; {round_}++) ",
                (
                    statement(f"for (int {k} = 0; {k} < {size}; {k}++) ", (statement(step),)),
                    statement(f"int *keep = {old};"),
                    statement(f"{old} = {new};"),
                    statement(f"{new} = keep;"),
                ),
            ),
            *self.store(),
        ]

    def wide_load(self) -> list[Statement]:
        """Two or four numbers loaded at once from an array of single ones."""
        fitting = [
            each
            for each in self.inputs
            if each.lanes == 1 and each.ctype in (INT, FLOAT) and each.size >= 8 and not each.offset and not each.shares
        ]
        if not fitting:
            return self.store()
        argument = self.pick(fitting)
        lanes = self.pick([2, 4])
        wide, name = f"{argument.ctype.name}{lanes}", self.name("q")
        index = self.index(argument.size // lanes, 1)
        self.scope.values += [
            Expression(argument.ctype, argument.low, argument.high, (f"{name}.{letter}",), argument.grain)
            for letter in "xyzw"[:lanes]
        ]
        load = f"{wide} {name} = reinterpret_cast<const {wide} *>({argument.name})["
        return [statement(load, index, "];"), *self.store()]
