"""An author of random functions in index notation, with arguments for which no access leaves its tensor."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

TYPES = {"float": np.float32, "double": np.float64, "int32": np.int32, "int8": np.int8, "uint8": np.uint8}
SIGNS = ("=", "=", "+=!", "+=!", "+=!", "max=!", "min=!", "*=!")


@dataclass
class Tensor:
    name: str
    type: str
    shape: list[int]
    is_index: bool = False


@dataclass
class Author:
    """Each tensor grows while subscripts are written, so that all of them are inside."""

    seed: int
    tensors: list[Tensor] = field(default_factory=list[Tensor])
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)

    def text(self) -> str:
        """A function; the parameters are declared with their sizes, once these are known."""
        results = [f"r{number}" for number in range(self.draw.choice((1, 1, 2)))]
        body = [self.statement(name) for name in results]
        parameters = ", ".join(
            f"{each.type}({', '.join(map(str, each.shape))}) {each.name}" if each.shape else f"{each.type} {each.name}"
            for each in self.tensors
        )
        lines = "\n".join(f"  {line}" for line in body)
        return f"def f({parameters}) -> ({', '.join(results)}) {{\n{lines}\n}}"

    def arguments(self) -> list[Any]:
        """Small whole numbers, so that sums and products are exact in any order."""
        numbers = np.random.default_rng(self.seed)
        made: list[Any] = []
        for each in self.tensors:
            if each.is_index:
                made.append(numbers.integers(0, 3, each.shape).astype(TYPES[each.type]))
            else:
                low = 0 if each.type.startswith("u") else -2
                made.append(numbers.integers(low, 3, each.shape).astype(TYPES[each.type]))
        return made

    # -- statements ---------------------------------------------------------------------------------------------------

    def statement(self, target: str) -> str:
        draw = self.draw
        kept = [f"i{number}" for number in range(draw.choice((0, 1, 1, 2, 2, 3)))]
        sign = draw.choice(SIGNS)
        lost = [] if sign == "=" else [f"k{number}" for number in range(draw.choice((0, 1, 1, 2)))]
        self.ranges = {}
        for name in (*kept, *lost):
            low = draw.choice((0, 0, 0, 1)) if sign != "=" or name in lost else 0
            self.ranges[name] = (low, low + draw.choice((1, 2, 3, 3, 4)))
        if draw.random() < 0.03 and sign != "=":
            name = draw.choice((*kept, *lost, "none"))
            if name in self.ranges:
                self.ranges[name] = (0, 0)
        where = ", ".join(f"{name} in {low}:{high}" for name, (low, high) in self.ranges.items())
        if sign == "+=!" and len(kept) > 1 and draw.random() < 0.2:
            return self.transposed(target, kept, lost, where)
        value = self.convolution(kept, lost) if lost and draw.random() < 0.3 else None
        value = value or self.value(list(self.ranges), draw.choice((1, 2, 2, 3)))
        left = self.left(kept, sign)
        # All indices have to stand somewhere, so that all ranges count.
        missing = " + ".join(f"0 * {name}" for name in self.ranges if name not in left + value)
        value = f"{value} + ({missing})" if missing else value
        return f"{target}{left} {sign} {value}{' where ' + where if where else ''}"

    def left(self, kept: list[str], sign: str) -> str:
        if not kept:
            return ""
        draw = self.draw
        names = draw.sample(kept, len(kept))
        if sign == "=" or draw.random() < 0.6:
            return f"({', '.join(names)})"
        kind = draw.randrange(5)
        first, *rest = names
        others = [f"2 * {first} + 1", f"{first} + {rest[0]}" if rest else f"5 - {first}", f"{first}, {first}"]
        others += [
            f"4 * {first} + {rest[0]}" if rest else f"3 * {first}",
            f"6 - 2 * {first} + {rest[0]}" if rest else "2",
        ]
        uses = [[first], [first, *rest[:1]], [first], [first, *rest[:1]], [first, *rest[:1]]][kind]
        if others[kind] == "2":
            return f"({', '.join(['2', *names])})"
        return f"({', '.join([others[kind], *(name for name in names if name not in uses)])})"

    # -- values -------------------------------------------------------------------------------------------------------

    def value(self, names: list[str], depth: int) -> str:
        draw = self.draw
        if depth == 0 or draw.random() < 0.15:
            return self.leaf(names)
        kind = draw.randrange(10)
        one, other = self.value(names, depth - 1), self.value(names, depth - 1)
        if kind < 5:
            return f"{one} * {other}" if draw.random() < 0.6 else f"({one}) * ({other})"
        if kind == 5:
            return f"({one} - {other})"
        if kind == 6:
            return f"{draw.choice(('max', 'min', 'fmax', 'fmin'))}({one}, {other})"
        if kind == 7:
            test = f"{self.leaf(names)} {draw.choice(('<', '>=', '==', '!='))} {self.leaf(names)}"
            return f"({test} ? {one} : {other})"
        if kind == 8:
            return f"-({one})"
        return f"abs({one})"

    def convolution(self, kept: list[str], lost: list[str]) -> str | None:
        """An image that slides along a kernel, or what looks much like it."""
        draw = self.draw
        pairs = list(zip(kept, draw.sample(lost, len(lost)), strict=False))
        others = [name for name in (*kept, *lost) if not any(name in pair for pair in pairs)]
        if not pairs:
            return None
        sums = [f"{draw.choice((1, 1, 2))} * {one} + {draw.choice((1, 1, 2))} * {other}" for one, other in pairs]
        image = [*sums, *(name for name in others if draw.random() < 0.7)]
        kernel = [*(other for _, other in pairs), *(name for name in others if draw.random() < 0.7)]
        if draw.random() < 0.15:
            draw.choice((image, kernel)).append(draw.choice((*kept, *lost)))
        type_ = draw.choice(("float", "float", "int32"))
        factors = [self.access(type_, image), self.access(type_, kernel)]
        factors += [self.leaf([*kept, *lost]) for _ in range(draw.choice((0, 0, 1)))]
        draw.shuffle(factors)
        return " * ".join(factors)

    def access(self, type_: str, subscripts: list[str]) -> str:
        """A new tensor, read at these subscripts."""
        self.draw.shuffle(subscripts)
        tensor = Tensor(f"t{len(self.tensors)}", type_, [1] * len(subscripts))
        self.tensors.append(tensor)
        for axis, text in enumerate(subscripts):
            self.reach(tensor, axis, text)
        return f"{tensor.name}({', '.join(subscripts)})"

    def transposed(self, target: str, kept: list[str], lost: list[str], where: str) -> str:
        """An image whose elements are spread by a kernel, or what looks much like it."""
        draw = self.draw
        one, other, *rest = kept
        image, kernel = [one], [other]
        left = [f"{draw.choice((1, 2))} * {one} + {draw.choice((1, 2, 3))} * {other}"]
        if lost and draw.random() < 0.3:
            rest += lost
        for name in (*rest, *lost):
            for side in draw.choice(([image], [kernel], [image, kernel])):
                if name not in side:
                    side.append(name)
        left += [name for name in rest if name not in lost]
        draw.shuffle(left)
        if draw.random() < 0.2:
            draw.choice((image, kernel)).append(draw.choice(kept))
        factors = [self.access("float", image), self.access("float", kernel)]
        factors += [str(draw.choice((2.0, 0.5))) for _ in range(draw.choice((0, 0, 1)))]
        draw.shuffle(factors)
        return f"{target}({', '.join(left)}) +=! {' * '.join(factors)} where {where}"

    def leaf(self, names: list[str]) -> str:
        draw = self.draw
        kind = draw.random()
        if kind < 0.08:
            return str(draw.choice((1, 2, 2.0, 0.5)))
        if kind < 0.14 and names:
            return draw.choice(names)
        if kind < 0.24 and names:
            return self.guarded(names)
        return self.read(names)

    def read(self, names: list[str]) -> str:
        draw = self.draw
        known = [each for each in self.tensors if not each.is_index]
        if known and draw.random() < 0.3:
            tensor = draw.choice(known)
        else:
            rank = draw.choice((0, 1, 2, 2, 3)) if names else draw.choice((0, 1))
            type_ = draw.choice(("float", "float", "double", "int32", "int8"))
            tensor = Tensor(f"t{len(self.tensors)}", type_, [1] * rank)
            self.tensors.append(tensor)
        subscripts = [self.subscript(tensor, axis, names) for axis in range(len(tensor.shape))]
        return f"{tensor.name}({', '.join(subscripts)})" if subscripts else tensor.name

    def guarded(self, names: list[str]) -> str:
        """A read that a condition keeps inside of its tensor."""
        draw = self.draw
        one, other, size = draw.choice(names), draw.choice(names), draw.choice((1, 2, 3, 5))
        sum_ = draw.choice(
            (f"{one} - 1", f"{one} + {other} - 1", f"2 * {one} + {other} - 2", f"3 - {one}", f"{one} - {other}")
        )
        test = draw.choice(
            (
                f"{sum_} >= 0 && {sum_} < {size}",
                f"0 <= {sum_} && !({sum_} >= {size})",
                f"-1 < {sum_} && {size} > {sum_}",
            )
        )
        if other == one and " - " in sum_ and sum_.endswith(other):
            test = "true"
        tensor = Tensor(f"t{len(self.tensors)}", draw.choice(("float", "int32")), [size])
        self.tensors.append(tensor)
        number = draw.choice((0, 1))
        if draw.random() < 0.3 and test != "true":
            return f"({sum_} < 0 || {sum_} >= {size} ? {number} : {tensor.name}({sum_}))"
        return f"({test} ? {tensor.name}({sum_}) : {number})"

    def subscript(self, tensor: Tensor, axis: int, names: list[str]) -> str:
        draw = self.draw
        kind = draw.random()
        if not names or kind < 0.05:
            self.grow(tensor, axis, 1)
            return "1"
        one, other = draw.choice(names), draw.choice(names)
        if kind < 0.55:
            text = one
        elif kind < 0.8:
            text = f"{draw.choice((1, 1, 2, 3))} * {one} + {draw.choice((1, 1, 2))} * {other}"
        elif kind < 0.85:
            text = f"{one} + {draw.choice((1, 2))}"
        elif kind < 0.9:
            text = f"{self.ranges[one][1] - 1} - {one} + {other}"
        elif kind < 0.94:
            text = draw.choice((f"{one} / 2", f"{one} % 2", f"{one} * {other}", f"max({one}, {other})"))
        else:
            index = Tensor(f"t{len(self.tensors)}", draw.choice(("int32", "uint8", "int8")), [1], True)
            self.tensors.append(index)
            inner = self.subscript(index, 0, names)
            self.grow(tensor, axis, 2)
            return f"{index.name}({inner})"
        self.reach(tensor, axis, text)
        return text

    def reach(self, tensor: Tensor, axis: int, text: str) -> None:
        """Let the axis hold all that the subscript reaches."""
        names = [name for name in self.ranges if name in text]
        spaces = [[(name, value) for value in range(*self.ranges[name])] for name in names]
        reached = [eval(text.replace("/", "//"), {"max": max}, dict(point)) for point in itertools.product(*spaces)]
        self.grow(tensor, axis, max(reached, default=0))

    def grow(self, tensor: Tensor, axis: int, reached: int) -> None:
        tensor.shape[axis] = max(tensor.shape[axis], reached + 1)
