"""Writes random functions: statements as a tree, so that they can be made small."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

ARRAYS = ("x", "y", "a", "b", "c")
FLOATS = ("s", "r")
INTEGERS = ("k", "j")
PAIRS = ("p", "h")
INDENT = "    "


@dataclass(frozen=True)
class Statement:
    """A line, and the statements below it if it opens a block; `tail` is the block of its `else`."""

    line: str
    body: tuple[Statement, ...] = ()
    tail: tuple[Statement, ...] = ()

    def lines(self, depth: int) -> list[str]:
        """Its source, and that of what is below."""
        if not self.opens:
            return [INDENT * depth + self.line]
        found = [INDENT * depth + self.line, *lines_of(self.body, depth + 1)]
        return [*found, INDENT * depth + "else:", *lines_of(self.tail, depth + 1)] if self.tail else found

    @property
    def opens(self) -> bool:
        return self.line.endswith(":")


def lines_of(body: Sequence[Statement], depth: int) -> list[str]:
    """The source of a block."""
    return [line for each in body for line in each.lines(depth)] or [INDENT * depth + "pass"]


@dataclass(frozen=True)
class Program:
    """A function of two arrays of floats and one of integers."""

    body: tuple[Statement, ...]

    def text(self) -> str:
        """The source."""
        head = ["def program(x, y, q):", f"{INDENT}n, m, t = q[0], q[1], x[4]"]
        return "\n".join([*head, *lines_of(self.body, 1), ""])


def write_program(choose: random.Random, size: int = 7, *, has_pythons: bool = False) -> Program:
    """A program with about so many statements, some of which only Python can run."""
    author = _Author(choose, size, has_pythons)
    start = [
        Statement(f"a = {choose.choice(('x * 1.0', 'x', 'y', 'np.zeros(5)', 'x + y'))}"),
        Statement(f"b = {choose.choice(('a', 'y * 0.5', 'a[::-1]', 'x - 1.0', 'a + 0.0'))}"),
        Statement("s, k = 0.0, 0"),
    ]
    known = {"x", "y", "a", "b", "s", "k"}
    body = author.block(known, 0, False, 4)
    if has_pythons:
        start = [Statement("notes = q.tolist()"), *start]
    return Program((*start, *body, Statement(author.result(known))))


class _Author:
    def __init__(self, choose: random.Random, size: int, has_pythons: bool) -> None:
        self.choose = choose
        self.left = size
        self.count = 0
        self.gives_number = choose.random() < 0.5
        self.has_pythons = has_pythons
        self.ever = {"a", "b", "s", "k"}
        """Names that are bound somewhere."""

    def result(self, known: set[str]) -> str:
        """What the function returns: of one kind, whichever way it is left."""
        first = self.number(known) if self.gives_number else self.name(ARRAYS, known)
        return f"return {first}, {self.array(known)}"

    # -- expressions --------------------------------------------------------------------------------------------------

    def name(self, kind: Sequence[str], known: set[str]) -> str:
        found = [each for each in kind if each in known]
        if self.choose.random() < 0.03:
            found = [each for each in kind if each in self.ever] or found
        return self.choose.choice(found)

    def integer(self, known: set[str]) -> str:
        pick = self.choose.random()
        if pick < 0.35:
            return self.choose.choice(("n", "m"))
        if pick < 0.5:
            return str(self.choose.randint(0, 4))
        name = self.name([*INTEGERS, *(each for each in known if each[0] == "i")], known)
        return name if pick < 0.8 else f"({name} {self.choose.choice(('+ 1', '- 1', '* 2', '% 3', '// 2'))})"

    def place(self, known: set[str]) -> str:
        """An index; mostly one that is inside."""
        found = self.integer(known)
        return found if self.choose.random() < 0.04 else f"{found} % 5"

    def number(self, known: set[str]) -> str:
        match self.choose.randrange(8):
            case 0:
                return str(self.choose.choice((0.0, 1.0, -2.0, 0.5, 3.0)))
            case 1 | 2:
                return self.name(FLOATS, known)
            case 3:
                return "t"
            case 4 | 5:
                return f"{self.name(ARRAYS, known)}[{self.place(known)}]"
            case 6:
                return f"{self.name(ARRAYS, known)}.{self.choose.choice(('sum', 'max', 'min'))}()"
            case _:
                return f"({self.number(known)} {self.choose.choice('+-')} {self.number(known)})"

    def fresh(self, known: set[str]) -> str:
        """An array that is no other."""
        one, other = self.name(ARRAYS, known), self.name(ARRAYS, known)
        forms = (
            f"{one} + {other}", f"{one} * 0.5", f"{one} - {self.number(known)}", f"np.maximum({one}, {other})",
            f"-{one}", f"{one}.copy()", f"np.where({one} > {self.number(known)}, {one}, {other})",
            f"np.minimum({one}, 64.0)",
        )  # fmt: skip
        return self.choose.choice(forms)

    def array(self, known: set[str]) -> str:
        """An array, which may be another by name or share its memory."""
        pick = self.choose.random()
        name = self.name(ARRAYS, known)
        if pick < 0.3:
            return name
        if pick < 0.4:
            return f"{name}[::-1]"
        if pick < 0.48 and (pairs := [each for each in PAIRS if each in known]):
            return f"{self.choose.choice(pairs)}[0]"
        if pick < 0.55:
            return f"({name} if {self.condition(known)} else {self.name(ARRAYS, known)})"
        return self.fresh(known)

    def condition(self, known: set[str]) -> str:
        match self.choose.randrange(9):
            case 0 | 1:
                return f"{self.number(known)} {self.choose.choice(('<', '>', '<=', '=='))} {self.number(known)}"
            case 2 | 3:
                return f"{self.integer(known)} {self.choose.choice(('<', '>', '==', '!='))} {self.integer(known)}"
            case 4 | 5:
                return f"{self.name(ARRAYS, known)}[{self.place(known)}] > {self.number(known)}"
            case 6:
                return f"{self.number(known)} < {self.number(known)} <= {self.number(known)}"
            case 7:
                word = self.choose.choice(("and", "or"))
                return f"({self.condition(known)} {word} {self.condition(known)})"
            case _:
                return f"not {self.condition(known)}"

    # -- statements ---------------------------------------------------------------------------------------------------

    def block(self, known: set[str], depth: int, in_loop: bool, most: int) -> tuple[Statement, ...]:
        """Statements, which add to the known names."""
        found: list[Statement] = []
        for _ in range(self.choose.randint(1, most)):
            if self.left <= 0 and found:
                break
            self.left -= 1
            found += self.statement(known, depth, in_loop)
        return tuple(found)

    def statement(self, known: set[str], depth: int, in_loop: bool) -> list[Statement]:
        pick = self.choose.random()
        if depth < 2 and pick < 0.24:
            return [self.branch(known, depth, in_loop)]
        if depth < 2 and pick < 0.46:
            return self.loop(known, depth)
        if depth and pick < 0.56:
            return [self.leaves(known, in_loop)]
        return [Statement(self.simple(known))]

    def simple(self, known: set[str]) -> str:
        array = self.name(ARRAYS, known)
        if self.has_pythons and self.choose.random() < 0.25:
            return self.pythons(known)
        match self.choose.randrange(12):
            case 0 | 1:
                value, target = self.array(known), self.choose.choice(("a", "b", "c", "x"))
            case 2 | 3:
                return f"{array}[{self.place(known)}] = {self.number(known)}"
            case 4:
                return f"{array} {self.choose.choice('+-')}= {self.choose.choice((self.number, self.array))(known)}"
            case 5:
                span = self.choose.choice(("1:3", "...", ":2", "::2"))
                return f"{array}[{span}] = {self.number(known)}"
            case 6:
                value, target = self.number(known), self.choose.choice(FLOATS)
            case 7:
                return f"{self.name(FLOATS, known)} += {self.number(known)}"
            case 8:
                value, target = self.integer(known), self.choose.choice(INTEGERS)
            case 9:
                one, other = self.choose.sample([each for each in ARRAYS if each in known], 2)
                return f"{one}, {other} = {other}, {one}"
            case 10:
                form = self.choose.choice(("({}, {})", "({}, {})", "[{}, {}]"))
                value, target = form.format(self.array(known), self.number(known)), self.choose.choice(PAIRS)
            case _:
                pairs = [each for each in PAIRS if each in known]
                if not pairs:
                    value, target = self.fresh(known), "c"
                else:
                    pair = self.choose.choice(pairs)
                    if self.choose.random() < 0.5:
                        return f"{pair}[0][{self.place(known)}] = {self.number(known)}"
                    value, target = f"{pair}", f"{self.choose.choice(('a', 'b', 'c'))}, s"
        names = {each.strip() for each in target.split(",")}
        known |= names
        self.ever |= names
        return f"{target} = {value}"

    def pythons(self, known: set[str]) -> str:
        """A statement that can't be part of a program: sizes follow from elements, or lists change."""
        array, other = self.name(ARRAYS, known), self.name(ARRAYS, known)
        number = self.name(FLOATS, known)
        forms = (
            (f"a = np.resize(np.unique({array}), 5)", "a"),
            (f"b = {other} + np.unique({array}).size", "b"),
            (f"s = {number} + np.flatnonzero({array} > {other}).size", "s"),
            (f"{array}[np.nonzero({other} > 0.0)[0]] = {number}", ""),
            (f"c = np.array(sorted({array}))", "c"),
            (f"x = np.resize({array}[{array} > {number}], 5) if ({array} > {number}).any() else {other}", "x"),
            (f"notes.append(float({array}[0]))", ""),
            (f"s = {number} + len(notes)", "s"),
        )
        line, name = self.choose.choice(forms)
        known |= {name} - {""}
        self.ever |= {name} - {""}
        return line

    def branch(self, known: set[str], depth: int, in_loop: bool) -> Statement:
        condition = self.condition(known)
        one, other = set(known), set(known)
        body = self.block(one, depth + 1, in_loop, 3)
        tail = self.block(other, depth + 1, in_loop, 3) if self.choose.random() < 0.5 else ()
        known |= one & other
        return Statement(f"if {condition}:", body, tail)

    def loop(self, known: set[str], depth: int) -> list[Statement]:
        self.count += 1
        name = f"i{self.count}"
        inner = set(known)
        before: list[Statement] = []
        first: tuple[Statement, ...] = ()
        match self.choose.randrange(6):
            case 0 | 1 | 2:
                inner.add(name)
                head = f"for {name} in range({self.integer(known)}):"
            case 3:
                inner |= {name, "s"}
                head = f"for {name}, s in enumerate({self.name(ARRAYS, known)}):"
            case 4:
                before = [Statement(f"{name} = 0")]
                known.add(name)
                inner.add(name)
                head = f"while {name} < {self.choose.choice(('n', 'm', '3'))}"
                head += f" and {self.condition(known)}:" if self.choose.random() < 0.5 else ":"
                first = (Statement(f"{name} += 1"),)
            case _:
                before = [Statement(f"{name} = 0")]
                known.add(name)
                inner.add(name)
                head = "while True:"
                end = Statement(
                    f"if {name} > {self.choose.choice(('n', 'm', '2'))}:", (self.leaves(known, True, False),)
                )
                first = (Statement(f"{name} += 1"), end)
        body = (*first, *self.block(inner, depth + 1, True, 4))
        tail: tuple[Statement, ...] = ()
        if head != "while True:" and self.choose.random() < 0.2:
            tail = self.block(set(known), depth + 1, False, 2)
        return [*before, Statement(head, body, tail)]

    def leaves(self, known: set[str], in_loop: bool, may_go_on: bool = True) -> Statement:
        """A way out, mostly under a condition."""
        pick = self.choose.random()
        if not in_loop or pick < 0.2:
            line = self.result(known)
        else:
            line = "continue" if pick < 0.5 and may_go_on else "break"
        leaving = Statement(line)
        return (
            leaving
            if not may_go_on or self.choose.random() < 0.1
            else Statement(f"if {self.condition(known)}:", (leaving,))
        )


def smaller(program: Program) -> list[Program]:
    """Programs with a statement less, or a block in its place."""
    return [replace(program, body=body) for body in _smaller_blocks(program.body)]


def _smaller_blocks(body: tuple[Statement, ...]) -> list[tuple[Statement, ...]]:
    found: list[tuple[Statement, ...]] = []
    for number, each in enumerate(body):
        before, after = body[:number], body[number + 1 :]
        found.append((*before, *after))
        if each.opens:
            found += [(*before, *each.body, *after), (*before, *each.tail, *after)]
            if each.tail:
                found.append((*before, replace(each, tail=()), *after))
            found += [(*before, replace(each, body=inner), *after) for inner in _smaller_blocks(each.body)]
            found += [(*before, replace(each, tail=inner), *after) for inner in _smaller_blocks(each.tail)]
    return found
