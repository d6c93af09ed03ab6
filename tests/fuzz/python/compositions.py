# pyright: basic
"""Writes functions in which forms of Python's statements and of NumPy's are put together at random.

Names have kinds (array, float, integer, truth value, list, dictionary, function, object), not types: what NumPy has no
meaning for is taken out again by `repaired`, which runs the function and leaves out the statement that raises.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz.python.templates import (
    ARRAYS,
    CAUGHT,
    CONTEXTS,
    FAULTS,
    FRESH,
    INTEGERS,
    LOOPS,
    MASKS,
    MASKS_ALONE,
    MATCHES,
    NEW,
    NOT_PLAIN,
    NUMBERS,
    RESULTS,
    SLICES,
    STATEMENTS,
    TRUTHS,
    TRUTHS_ALONE,
)  # fmt: skip

INDENT = "    "
PRELUDE = """import contextlib
import dataclasses
import functools
import itertools
import math
import operator
from collections import namedtuple

import numpy as np

Pair = namedtuple("Pair", "first second")
LIMIT = 3
total = 0.0


@dataclasses.dataclass
class Point:
    place: object
    speed: object = 0.5

    def moved(self, by):
        return Point(self.place + by * self.speed, self.speed)

    @property
    def doubled(self):
        return self.place * 2

    def __call__(self, value):
        return self.place + value


@contextlib.contextmanager
def noting(notes, value):
    notes.append(value)
    try:
        yield value
    finally:
        notes.append(-1)


def halves(v):
    for k in range(2):
        yield v / 2
        v = v - 1


def pairwise(v):
    if v.size <= 2:
        return v.sum()
    return pairwise(v[: v.size // 2]) + pairwise(v[v.size // 2 :])


def touched(v, by=1):
    v[...] += by
    return v
"""

EXPRESSIONS = {
    "I": ("int", INTEGERS, ()), "F": ("float", NUMBERS, ()), "B": ("bool", TRUTHS, TRUTHS_ALONE),
    "M": ("mask", MASKS, MASKS_ALONE), "A": ("array", ARRAYS, ()),
}  # fmt: skip
"""What expressions are made of: the kind of names, templates, and those without depth."""
NAMES = {"a": "array", "v": "array", "w": "list", "d": "dict", "p": "object", "g": "function"}
WORDS = {
    "k": (1, 2, 3), "c": ("<", ">", "<=", ">=", "==", "!="), "o": ("+", "-", "*"),
    "t": ("float64", "float32", "float16", "complex128", "int64"),
}  # fmt: skip
FLOATS = ("float64", "float64", "float64", "float32", "float16")
DTYPES_OF_INTEGERS = ("int64", "int64", "int32", "int8", "uint8", "uint32", "int16", "uint64")
SHAPES = ((5,), (5,), (5,), (4,), (2, 3), (3, 3), (1,), (0,), (), (3, 1), (2, 2, 2))


@dataclass(frozen=True)
class Composition:
    """A module with `program`, and the arguments that it is called with."""

    text: str
    inputs: tuple[tuple[Any, ...], ...]


def write_composition(seed: int) -> Composition:
    """The function with this number, of which Python makes something."""
    choose = random.Random(seed)
    for _ in range(20):
        author = _Author(choose)
        text = PRELUDE + "\n\n" + author.program()
        found = repaired(Composition(text, author.inputs()), choose)
        if found is not None:
            return found
    raise AssertionError(f"no function comes of {seed}")


# -- arguments --------------------------------------------------------------------------------------------------------


def _array(choose: random.Random, dtype: str, shape: tuple[int, ...], is_special: bool) -> np.ndarray:
    size = int(np.prod(shape, dtype=int))
    kind = np.dtype(dtype)
    if kind.kind == "b":
        values = [choose.random() < 0.5 for _ in range(size)]
    elif kind.kind in "iu":
        least = 0 if kind.kind == "u" else -4
        values = [choose.randint(least, 9) for _ in range(size)]
        if is_special and size:
            limits = np.iinfo(kind)
            values[choose.randrange(size)] = choose.choice((limits.min, limits.max))
    elif kind.kind == "c":
        values = [complex(choose.randint(-4, 4), choose.randint(-4, 4) / 2) for _ in range(size)]
    else:
        values = [choose.choice((-3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.25, 2, 3, 4, 6)) for _ in range(size)]
        if is_special and size:
            values[choose.randrange(size)] = choose.choice((np.nan, np.inf, -np.inf, -0.0))
    found = np.array(values, kind).reshape(shape)
    if is_special and choose.random() < 0.3:
        found = np.asfortranarray(found)
    return found


# -- statements -------------------------------------------------------------------------------------------------------


class _Author:
    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.count = 0
        self.left = choose.randint(5, 22)
        self.is_special = choose.random() < 0.15
        self.shape = choose.choice(SHAPES)
        self.arrays = ["x", "y", "z"][: choose.choice((2, 2, 3))]
        family = choose.random()
        self.dtypes = [
            choose.choice(FLOATS) if family < 0.55 else choose.choice(DTYPES_OF_INTEGERS) if family < 0.8
            else choose.choice((*FLOATS, *DTYPES_OF_INTEGERS, "bool", "complex128", "complex64"))
            for _ in self.arrays
        ]  # fmt: skip
        self.shapes = [self.shape if choose.random() < 0.85 else choose.choice(SHAPES) for _ in self.arrays]
        self.is_plain = choose.random() < 0.5
        self.is_unsigned = any(np.dtype(each).kind == "u" for each in self.dtypes)
        self.number_kinds = choose.choice(("python", "python", "numpy"))
        self.names: dict[str, list[str]] = {
            "array": list(self.arrays), "float": ["t"], "int": ["n", "m"], "bool": ["flag"],
            "list": [], "dict": [], "function": [], "object": [], "mask": [],
        }  # fmt: skip

    def inputs(self) -> tuple[tuple[Any, ...], ...]:
        """Three calls' arguments: alike in shapes and dtypes, taking different ways."""
        found = []
        for n, m, t, flag in ((2, 3, 1.5, True), (0, 1, -0.5, False), (3, 0, 4.0, True)):
            arrays = [
                _array(self.choose, dtype, shape, self.is_special)
                for dtype, shape in zip(self.dtypes, self.shapes, strict=True)
            ]
            if self.number_kinds == "numpy":
                found.append((*arrays, np.int64(n), np.int64(m), np.float64(t), np.bool_(flag), []))
            else:
                found.append((*arrays, n, m, t, flag, []))
        return tuple(found)

    def program(self) -> str:
        lines = [f"def program({', '.join(self.arrays)}, n, m, t, flag, notes):"]
        lines += [INDENT + line for line in (*self.block(1, False, most=30, least=4), self.result())]
        return "\n".join(lines) + "\n"

    def result(self) -> str:
        parts = [self.pick("array"), self.expression("A", 1)]
        for _ in range(self.choose.randint(0, 3)):
            kind = self.choose.choice(("array", "float", "int", "list", "dict", "object", "bool", "mask"))
            if self.names[kind]:
                parts.append(self.pick(kind))
        return f"return {', '.join(parts)}"

    # -- names --------------------------------------------------------------------------------------------------------

    def pick(self, kind: str) -> str:
        return self.choose.choice(self.names[kind])

    def has(self, kind: str) -> bool:
        return bool(self.names[kind])

    def target(self, kind: str, fresh: str) -> str:
        """A name to bind: mostly one that is there, so that loops carry it and ways meet in it."""
        own = [each for each in self.names[kind] if each not in ("n", "m", "t", "flag", "notes") and each[0] != "i"]
        if own and self.choose.random() < 0.55:
            return self.choose.choice(own)
        self.count += 1
        return f"{fresh}{self.count % 4}"

    def bind(self, kind: str, name: str) -> str:
        for each in self.names.values():
            if name in each:
                each.remove(name)
        if not any(self.names[each] for each in ("array",)):
            self.names["array"].append("x")
        self.names[kind].append(name)
        return name

    def saved(self) -> dict[str, list[str]]:
        return {kind: list(names) for kind, names in self.names.items()}

    # -- expressions --------------------------------------------------------------------------------------------------

    def filled(self, template: str, depth: int = 1) -> str:
        """The template with expressions and names in its places; one of Python's own where a name is missing."""
        return re.sub(r"\$([A-Za-z])", lambda place: self.part(place[1], depth), template)

    def part(self, letter: str, depth: int) -> str:
        c = self.choose
        match letter:
            case "I" | "F" | "B" | "M" | "A":
                return self.expression(letter, depth - 1)
            case "i" | "f" | "b" | "m":
                return self.expression(letter.upper(), 0)
            case "v":
                name = self.pick("array")
                return name if len(self.shape) == 1 else f"{name}.ravel()"
            case "P":
                return c.choice((self.part("i", 0), str(c.randint(-1, 2)), self.part("i", 0) + " % 2"))
            case "s":
                return self.filled(c.choice(SLICES), 0)
            case _ if letter in NAMES:
                return self.pick(NAMES[letter])
            case "o" if self.is_unsigned:
                return c.choice("+*")
            case _:
                return str(c.choice(WORDS[letter]))

    def expression(self, letter: str, depth: int) -> str:
        c = self.choose
        kind, templates, alone = EXPRESSIONS[letter]
        if depth <= 0 or c.random() < 0.25:
            if letter == "I" and c.random() < 0.3:
                return str(c.randint(0, 4))
            if letter == "F" and c.random() < 0.35:
                return str(c.choice((0.5, 1.0, 4.0 if self.is_unsigned else -2.0, 2.5, 0.0, 3)))
            if alone and (not self.has(kind) or c.random() < 0.7):
                return self.filled(c.choice(alone), 0)
            return self.pick(kind)
        return self.filled(self.possible(templates), depth)

    def possible(self, templates: Sequence[str]) -> str:
        """One for which there are names."""
        while True:
            found = self.choose.choice(templates)
            if self.is_plain and any(word in found for word in NOT_PLAIN):
                continue
            if self.is_unsigned and ("-" in found or "~" in found):
                continue  # negative floats become unsigned integers as the machine likes
            if all(self.has(kind) for letter, kind in NAMES.items() if f"${letter}" in found):
                return found

    # -- statements ---------------------------------------------------------------------------------------------------

    def block(self, depth: int, in_loop: bool, most: int, least: int = 1) -> list[str]:
        lines: list[str] = []
        for _ in range(self.choose.randint(least, most)):
            if self.left <= 0 and lines:
                break
            self.left -= 1
            lines += self.statement(depth, in_loop)
        return lines

    def within(self, depth: int, in_loop: bool, most: int = 4) -> list[str]:
        """The lines of a block a level deeper."""
        return [INDENT + line for line in self.block(depth + 1, in_loop, most)]

    def apart(self, depth: int, in_loop: bool, most: int = 4) -> tuple[list[str], dict[str, list[str]]]:
        """A block whose names don't count, and those known after it."""
        before = self.saved()
        lines = self.within(depth, in_loop, most)
        after, self.names = self.names, before
        return lines, after

    def meet(self, *ways: dict[str, list[str]]) -> None:
        """Keep the names that are known on all ways, and now and then one that isn't."""
        for kind in self.names:
            common = [each for each in ways[0][kind] if all(each in way[kind] for way in ways[1:])]
            if self.choose.random() < 0.06:
                common = list(dict.fromkeys(name for way in ways for name in way[kind]))
            self.names[kind] = common
        for kind, names in (("array", "x"), ("int", "n"), ("bool", "flag"), ("float", "t")):
            if not self.names[kind]:
                self.names[kind].append(names)

    def statement(self, depth: int, in_loop: bool) -> list[str]:
        pick = self.choose.random()
        if depth < 4 and pick < 0.34:
            return self.compound(depth, in_loop)
        if depth > 1 and pick < 0.42:
            return self.leaving(in_loop)
        return self.simple()

    def leaving(self, in_loop: bool) -> list[str]:
        lines = ["break", "continue", "break"] if in_loop else []
        pick = self.choose.random()
        line = self.choose.choice(lines) if lines and pick < 0.75 else self.result()
        if pick > 0.95:
            line = f"raise {self.choose.choice(('ValueError', 'ArithmeticError', 'KeyError'))}('no')"
        if self.choose.random() < 0.1:
            return [line]
        return [f"if {self.expression('B', 1)}:", INDENT + line]

    def compound(self, depth: int, in_loop: bool) -> list[str]:
        kinds = (
            self.branch, self.branch, self.branch, self.for_, self.for_, self.for_, self.while_, self.try_, self.with_,
            self.match, self.function,
        )  # fmt: skip
        if self.is_plain:
            kinds = kinds[:7]
        return self.choose.choice(kinds)(depth, in_loop)

    def branch(self, depth: int, in_loop: bool) -> list[str]:
        c = self.choose
        test = self.expression("B", 2)
        if c.random() < 0.1:
            test = f"(q := {self.expression('F', 1)}) > 1"
        body, one = self.apart(depth, in_loop)
        lines, ways = [f"if {test}:", *body], [one]
        while c.random() < 0.2:
            body, way = self.apart(depth, in_loop)
            lines += [f"elif {self.expression('B', 1)}:", *body]
            ways.append(way)
        if c.random() < 0.55:
            body, way = self.apart(depth, in_loop)
            lines += ["else:", *body]
            ways.append(way)
        else:
            ways.append(self.saved())
        self.meet(*ways)
        return lines

    def for_(self, depth: int, in_loop: bool) -> list[str]:
        c = self.choose
        self.count += 1
        target, before = f"i{self.count % 5}", self.saved()
        head = ""
        while not head or any(f"${letter}" in head and not self.has(kind) for letter, kind in NAMES.items()):
            kind, head = c.choice(LOOPS)
        head = self.filled(head)
        if kind in ("pair", "two"):
            self.bind("int" if kind == "pair" else "float", target)
            self.bind("float", "e")
            target += ", e"
        else:
            self.bind(kind, target)
        lines = [f"for {target} in {head}:", *self.within(depth, True)]
        after, self.names = self.names, before
        if c.random() < 0.2:
            tail, after = self.apart(depth, in_loop, 2)
            lines += ["else:", *tail]
        self.meet(before, after)
        return lines

    def while_(self, depth: int, in_loop: bool) -> list[str]:
        c = self.choose
        self.count += 1
        i = f"i{self.count % 5}w"
        before = self.saved()
        self.bind("int", i)
        truth = self.expression("B", 1)
        test = c.choice((f"{i} < n", f"{i} < m and {truth}", "True", f"{i} < 3 or {i} < m", truth, f"{i} != 3"))
        first = [f"{i} += 1"]
        if test not in (f"{i} < n", f"{i} != 3"):
            first += [f"if {i} > {c.choice(('n', '3', 'm'))}:", INDENT + "break"]
        body = self.within(depth, True)
        lines = [f"{i} = 0", f"while {test}:", *(INDENT + line for line in first), *body]
        after, self.names = self.names, before
        if c.random() < 0.2:
            tail, _ = self.apart(depth, in_loop, 2)
            lines += ["else:", *tail]
        self.meet(before, after)
        self.bind("int", i)
        return lines

    def try_(self, depth: int, in_loop: bool) -> list[str]:
        c = self.choose
        body, one = self.apart(depth, in_loop, 3)
        if c.random() < 0.5:
            body.append(INDENT + self.filled(c.choice(FAULTS)))
        handler, other = self.apart(depth, in_loop, 2)
        lines, ways = ["try:", *body, f"except {c.choice(CAUGHT)}:", *handler], [one, other]
        if c.random() < 0.25:
            tail, way = self.apart(depth, in_loop, 2)
            lines += ["else:", *tail]
            ways.append(way)
        if c.random() < 0.3:
            lines += ["finally:", *self.apart(depth, False, 2)[0]]
        self.meet(*ways)
        return lines

    def with_(self, depth: int, in_loop: bool) -> list[str]:
        head = self.filled(self.choose.choice(CONTEXTS))
        if head.startswith("noting"):
            head += f" as {self.bind('float', 's0')}"
        return [f"with {head}:", *self.within(depth, in_loop)]

    def match(self, depth: int, in_loop: bool) -> list[str]:
        subject, cases = self.choose.choice(MATCHES)
        if not all(self.has(kind) for letter, kind in NAMES.items() if f"${letter}" in subject):
            return self.branch(depth, in_loop)
        lines, ways = [f"match {self.filled(subject)}:"], []
        for each in cases:
            body, way = self.apart(depth, in_loop, 2)
            lines += [INDENT + f"case {each}:", *(INDENT + line for line in body)]
            ways.append(way)
        if cases[-1] != "_":
            ways.append(self.saved())
        self.meet(*ways)
        return lines

    def function(self, depth: int, in_loop: bool) -> list[str]:
        """A function within, which may change a variable of the one around it."""
        c = self.choose
        self.count += 1
        name, before = f"f{self.count % 3}", self.saved()
        if c.random() < 0.15:
            self.bind("function", name)
            return [f"def {name}(v):", INDENT + f"return 1 if v <= 1 else v + {name}(v - 1)"]
        outer = [each for each in self.names["float"] if each[0] == "s"]
        lines = [f"def {name}(v{c.choice(('', ', by=' + self.part('f', 0), ', *more', ', **rest'))}):"]
        if outer and c.random() < 0.5:
            changed = c.choice(outer)
            lines += [INDENT + f"nonlocal {changed}", INDENT + f"{changed} += {self.part('f', 0)}"]
        self.bind("float", "v")
        lines += self.within(depth, False, 3) if c.random() < 0.6 else []
        lines.append(INDENT + f"return {self.filled(c.choice(RESULTS))}")
        self.names = before
        self.bind("function", name)
        return lines

    def simple(self) -> list[str]:
        c = self.choose
        pick = c.random()
        if pick < 0.5:
            kind = c.choice(
                (
                    "array",
                    "array",
                    "array",
                    "float",
                    "float",
                    "int",
                    "bool",
                    "mask",
                    "view",
                    "view",
                    "list",
                    "dict",
                    "object",
                )
            )
            value = self.filled(self.possible(NEW[kind]), 3)
            kept = "array" if kind == "view" else kind
            return [f"{self.bind(kept, self.target(kept, FRESH[kind]))} = {value}"]
        if pick < 0.95:
            return [self.filled(self.possible(STATEMENTS), 2)]
        if pick < 0.98:
            line = self.filled(c.choice(("s1, *w1 = $v", "*w1, s1 = $v", "s1, (s2, *w1) = t, $v", "s1, s2 = $f, $F")))
            self.bind("float", "s1")
            self.bind(*(("list", "w1") if "w1" in line else ("float", "s2")))
            return [line]
        own = [each for each in self.names["float"] if each[0] == "s"]
        if not own:
            return ["pass"]
        name = c.choice(own)
        self.names["float"].remove(name)
        return [f"del {name}"]


# -- taking out what has no meaning -----------------------------------------------------------------------------------


def repaired(made: Composition, choose: random.Random) -> Composition | None:
    """The function without the statements that raise, but for a few; None where nothing is left of it."""
    from tests.fuzz.python.compared import outcome_in_python  # which knows compositions

    text = made.text
    for _ in range(80):
        try:
            tree = ast.parse(text)
        except SyntaxError:
            return None
        try:
            compile(text, "<made>", "exec")
        except SyntaxError as error:
            if error.lineno is None or (text := without(tree, error.lineno)) is None:
                return None
            continue
        line = next(filter(None, (outcome_in_python(text, given).line for given in made.inputs)), None)
        if line is None:
            break
        if choose.random() < 0.03:
            break
        if (shorter := without(tree, line)) is None:
            return None
        text = shorter
    else:
        return None
    return Composition(text, made.inputs)


def without(tree: ast.Module, line: int) -> str | None:
    """The module without the innermost statement of `program` that holds the line."""
    function = next((each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == "program"), None)
    if function is None:
        return None
    found: tuple[list[ast.stmt], ast.stmt] | None = None
    waiting: list[ast.AST] = [function]
    while waiting:
        node = waiting.pop()
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            for each in getattr(node, name, []) if isinstance(getattr(node, name, []), list) else []:
                if isinstance(each, ast.match_case):
                    waiting.append(each)
                elif each.lineno <= line <= (each.end_lineno or each.lineno):
                    if isinstance(each, ast.stmt):
                        found = getattr(node, name), each
                    waiting = [each]
    if found is None:
        return None
    block, statement = found
    if isinstance(statement, ast.Return) and block is function.body:
        return None
    block.remove(statement)
    if not block:
        block.append(ast.Pass())
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
