"""Writes random functions of divided arrays, a line for each value, so that they can be made small."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

MOST = 5000
"""Elements of a value."""
INDENT = "    "
Spec = tuple[tuple[str, ...], ...]
"""For each axis of an array the axes of the mesh that divide it."""


@dataclass(frozen=True)
class Kind:
    """The type of a value; `rounds` where its last bits depend on the order of what was done."""

    shape: tuple[int, ...]
    dtype: str
    rounds: bool = False

    @property
    def struct(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.shape, jnp.dtype(self.dtype))


@dataclass(frozen=True)
class Argument:
    """An array that the function takes: how it is divided, and whether NaN, infinities and -0.0 are in it."""

    name: str
    kind: Kind
    spec: Spec
    is_special: bool = False
    is_donated: bool = False


@dataclass(frozen=True)
class Line:
    """A value: an expression of others, or a block of lines of which it is carried through a loop or chosen."""

    name: str
    kind: Kind
    text: str
    """The expression; in one with a block, `BLOCK` is the name of the function that the block is."""
    parameters: tuple[tuple[str, Kind], ...] = ()
    body: tuple[Line, ...] = ()
    given: tuple[str, ...] = ()
    """What the block gives."""

    def source(self, depth: int) -> Iterator[str]:
        pad = INDENT * depth
        if self.parameters:
            yield f"{pad}def {self.name}_block({', '.join(name for name, _ in self.parameters)}):"
            for line in self.body:
                yield from line.source(depth + 1)
            yield f"{pad}{INDENT}return {', '.join(self.given)}{',' if self.is_tuple else ''}"
        yield f"{pad}{self.name} = {self.text.replace('BLOCK', f'{self.name}_block')}"

    @property
    def is_tuple(self) -> bool:
        return "*" in self.text.split("BLOCK")[-1]


@dataclass(frozen=True)
class Program:
    """A function of arrays on a mesh."""

    mesh: tuple[tuple[str, int], ...]
    arguments: tuple[Argument, ...]
    lines: tuple[Line, ...]
    results: tuple[str, ...]
    seed: int

    def text(self) -> str:
        """The source."""
        head = f"def program({', '.join(each.name for each in self.arguments)}):"
        body = [text for line in self.lines for text in line.source(1)]
        return "\n".join([head, *body, f"{INDENT}return {', '.join(self.results)},", ""])

    def describe(self) -> str:
        """The source, and how the arguments are divided."""
        told = [
            f"# {each.name}: {each.kind.dtype}{list(each.kind.shape)} by {each.spec}"
            + (", special" if each.is_special else "") + (", donated" if each.is_donated else "")
            for each in self.arguments
        ]  # fmt: skip
        return "\n".join([f"# mesh {dict(self.mesh)}, seed {self.seed}", *told, self.text()])

    def function(self) -> Callable[..., Any]:
        names: dict[str, Any] = {"jnp": jnp, "jax": jax, "lax": jax.lax, "np": np, "q": quantized}
        exec(compile(self.text(), "<program>", "exec"), names)
        return names["program"]

    def kinds(self) -> dict[str, Kind]:
        return {each.name: each.kind for each in (*self.arguments, *self.lines)}

    def arrays(self) -> list[Any]:
        """The same arguments each time."""
        draw = np.random.default_rng(self.seed)
        return [_array(each, draw) for each in self.arguments]

    def smaller(self) -> Iterator[Program]:
        """Programs with less in them."""
        if len(self.results) > 1:
            for result in self.results:
                yield replace(self, results=(result,)).trimmed()
            for result in self.results:
                yield replace(self, results=tuple(each for each in self.results if each != result)).trimmed()
        for result in self.results:
            line = next((each for each in self.lines if each.name == result), None)
            if line is not None:
                for name in names_in(line, self.kinds()):
                    yield replace(self, results=(name,)).trimmed()
        outer = tuple((each.name, each.kind) for each in self.arguments)
        for lines in _smaller_block(self.lines, outer):
            yield replace(self, lines=lines).trimmed()
        for place, argument in enumerate(self.arguments):
            changes: list[Argument] = []
            if argument.is_special:
                changes.append(replace(argument, is_special=False))
            if argument.is_donated:
                changes.append(replace(argument, is_donated=False))
            if any(argument.spec):
                changes.append(replace(argument, spec=((),) * len(argument.spec)))
                changes += [
                    replace(argument, spec=tuple(() if axis == own else each for own, each in enumerate(argument.spec)))
                    for axis, names in enumerate(argument.spec) if names
                ]  # fmt: skip
            for change in changes:
                yield replace(self, arguments=(*self.arguments[:place], change, *self.arguments[place + 1 :]))

    def trimmed(self) -> Program:
        """Without the lines that nothing uses; arguments stay."""
        lines = _trimmed(self.lines, self.results)
        used = {name for line in lines for name in names_in(line, self.kinds())} | set(self.results)
        arguments = tuple(each for each in self.arguments if each.name in used)
        return replace(self, lines=lines, arguments=arguments) if arguments else replace(self, lines=lines)


def names_in(line: Line, known: Any) -> list[str]:
    text = "\n".join(line.source(0)).replace(f"{line.name} =", "=")
    return [name for name in known if name != line.name and _mentions(text, name)]


def _mentions(text: str, name: str) -> bool:
    place = text.find(name)
    while place >= 0:
        after = place + len(name)
        if not (
            text[place - 1 : place].isidentifier()
            or text[after : after + 1].isalnum()
            or text[after : after + 1] == "_"
        ):
            return True
        place = text.find(name, after)
    return False


def _trimmed(lines: Sequence[Line], wanted: Sequence[str]) -> tuple[Line, ...]:
    kept: list[Line] = []
    text = " ".join(wanted)
    for line in reversed(lines):
        if _mentions(text, line.name):
            if line.body:
                line = replace(line, body=_trimmed(line.body, line.given))
            kept.append(line)
            text += "\n" + "\n".join(line.source(0))
    return tuple(reversed(kept))


def _smaller_block(lines: tuple[Line, ...], outer: tuple[tuple[str, Kind], ...]) -> Iterator[tuple[Line, ...]]:
    before = list(outer)
    for place, line in enumerate(lines):
        for name, kind in before:
            if (kind.shape, kind.dtype) == (line.kind.shape, line.kind.dtype):
                yield (*lines[:place], Line(line.name, line.kind, name), *lines[place + 1 :])
        if line.text not in dict(before) and not line.kind.rounds:
            yield (
                *lines[:place],
                Line(line.name, line.kind, f"jnp.ones({line.kind.shape}, jnp.{_named(line.kind.dtype)})"),
                *lines[place + 1 :],
            )
        if line.body:
            for body in _smaller_block(line.body, (*before, *line.parameters)):
                yield (*lines[:place], replace(line, body=body), *lines[place + 1 :])
            for own, given in enumerate(line.given):
                parameter = line.parameters[len(line.parameters) - len(line.given) + own][0]
                if given != parameter:
                    changed = (*line.given[:own], parameter, *line.given[own + 1 :])
                    yield (*lines[:place], replace(line, given=changed), *lines[place + 1 :])
        before.append((line.name, line.kind))


def _named(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype


def quantized(x: Any) -> Any:
    """Eighths between -32 and 32, so that sums and products of a few have no rounding."""
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return jax.lax.complex(quantized(x.real), quantized(x.imag))
    return jnp.floor(jnp.clip(x, -32, 32) * 8) / 8 if jnp.issubdtype(x.dtype, jnp.floating) else x


def _array(argument: Argument, draw: np.random.Generator) -> Any:
    shape, dtype = argument.kind.shape, jnp.dtype(argument.kind.dtype)
    if dtype.kind == "b":
        return draw.random(shape) < 0.5
    if dtype.kind in "iu":
        return draw.integers(0 if dtype.kind == "u" else -100, 100, shape).astype(dtype)
    found = np.round(draw.uniform(-8, 8, shape) * 8) / 8
    if argument.is_special:
        special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0])
        found = np.where(draw.random(shape) < 0.1, special[draw.integers(0, 5, shape)], found)
    if dtype.kind == "c":
        found = found + 1j * np.round(draw.uniform(-8, 8, shape))
    return np.asarray(found).astype(dtype)


Made = tuple[str, list[str]] | tuple[str, list[str], bool] | None
"""An expression, the names in it, and whether it rounds; None where there are no operands for it."""


class Author:
    """Adds lines to a block, of the values that are known there."""

    def __init__(
        self, draw: random.Random, known: dict[str, Kind], makers: Sequence[Callable[[Author], Made]], prefix: str = "a"
    ) -> None:
        self.draw, self.known, self.makers, self.prefix = draw, dict(known), makers, prefix
        self.lines: list[Line] = []
        self.depth = len(prefix)

    def write(self, count: int) -> list[Line]:
        for _ in range(20 * count):
            if len(self.lines) == count:
                break
            self.add()
        return self.lines

    def add(self) -> None:
        draw = self.draw
        name = f"{self.prefix}{len(self.lines)}"
        if self.depth < 3 and draw.random() < 0.12:
            line = self.block(name)
        else:
            made = draw.choice(self.makers)(self)
            line = None if made is None else self.line(name, made[0], made[1], len(made) > 2 and bool(made[-1]))
        if line is not None:
            self.lines.append(line)
            self.known[name] = line.kind

    def line(self, name: str, text: str, names: Sequence[str], rounds: bool) -> Line | None:
        """The line, if it means something; it rounds, too, if what it is made of does."""
        kinds = [self.known[each] for each in names]
        try:
            function = eval(
                f"lambda {', '.join(names)}: {text}",
                {"jnp": jnp, "jax": jax, "lax": jax.lax, "np": np, "q": quantized},
            )
            found = jax.eval_shape(function, *(each.struct for each in kinds))
        except (TypeError, ValueError, IndexError, ZeroDivisionError, AttributeError, NotImplementedError):
            return None
        if not hasattr(found, "shape") or math.prod(found.shape) > MOST or not all(found.shape):
            return None
        is_rounded = any(each.rounds for each in kinds) or rounds
        dtype = str(found.dtype)
        return Line(
            name,
            Kind(
                tuple(found.shape),
                dtype,
                (is_rounded or dtype in ("bfloat16", "float16")) and dtype[0] in "fbc" and dtype != "bool",
            ),
            text,
        )

    # -- what operands there are ----------------------------------------------------------------------------------

    def pick(self, test: Callable[[Kind], bool] = lambda _: True) -> str | None:
        names = [name for name, kind in self.known.items() if test(kind)]
        if not names:
            return None
        return self.draw.choice(names[-3:] if self.draw.random() < 0.6 else names)

    def array(self, test: Callable[[Kind], bool] = lambda _: True) -> str | None:
        return self.pick(lambda kind: bool(kind.shape) and test(kind))

    def axis(self, name: str) -> int:
        return self.draw.randrange(len(self.known[name].shape))

    def like(self, name: str) -> str | None:
        """Another of the same shape, or one that fits to it."""
        kind = self.known[name]
        return self.pick(lambda each: each.shape == kind.shape) if self.draw.random() < 0.8 else self.pick()

    # -- loops and branches ---------------------------------------------------------------------------------------

    def block(self, name: str) -> Line | None:
        draw = self.draw
        carried = list(dict.fromkeys(each for each in (self.array(), self.array()) if each is not None))
        if not carried:
            return None
        kinds = [self.known[each] for each in carried]
        form = draw.choice(("fori", "fori", "fori", "while", "cond", "scan", "switch"))
        own = [f"{name}c{place}" for place in range(len(carried))]
        parameters = [*zip(own, kinds, strict=True)]
        if form in ("fori", "scan"):
            parameters = [(f"{name}i", Kind((), "int32")), *parameters]
        inner = Author(draw, {**self.known, **dict(parameters)}, self.makers, f"{name}b")
        lines = inner.write(draw.randint(1, 4))
        given: list[str] = []
        rounds = any(line.kind.rounds for line in lines)
        for place, kind in enumerate(kinds):
            fitting = [line.name for line in lines if (line.kind.shape, line.kind.dtype) == (kind.shape, kind.dtype)]
            given.append(draw.choice(fitting) if fitting else own[place])
        if given == own or (rounds and not all(kind.rounds for kind in kinds)):
            return None
        chosen = draw.randrange(len(carried))
        count = draw.choice(("1", "2", "3", "n % 4" if "n" in self.known else "2"))
        values = ", ".join(carried)
        text = {
            "fori": f"lax.fori_loop(0, {count}, lambda i, c: BLOCK(i, *c), ({values},))[{chosen}]",
            "while": f"lax.while_loop(lambda c: c[1] < {count}, "
            f"lambda c: (BLOCK(*c[0]), c[1] + 1), (({values},), 0))[0][{chosen}]",
            "cond": f"lax.cond({self.predicate(carried[0])}, lambda *c: BLOCK(*c), lambda *c: c, {values})[{chosen}]",
            "switch": f"lax.switch({self.number()}, [lambda *c: c, lambda *c: BLOCK(*c), "
            f"lambda *c: BLOCK(*BLOCK(*c))], {values})[{chosen}]",
            "scan": f"lax.scan(lambda c, i: (BLOCK(i, *c), c[{chosen}]), ({values},), jnp.arange(3))"
            + draw.choice((f"[0][{chosen}]", "[1]")),
        }[form]
        kind = kinds[chosen]
        if form == "scan" and text.endswith("[1]"):
            kind = replace(kind, shape=(3, *kind.shape))
            if math.prod(kind.shape) > MOST:
                return None
        return Line(name, kind, text, tuple(parameters), tuple(lines), tuple(given))

    def predicate(self, name: str) -> str:
        kind = self.known[name]
        if kind.rounds or kind.dtype.startswith("complex"):
            return "n > 1" if "n" in self.known else "True"
        return f"jnp.sum({name} > 0) > {self.draw.choice((0, 10))}"

    def number(self) -> str:
        return "n % 3" if "n" in self.known else "1"
