"""Random kernels, raised and run thread by thread. Threads read one array and keep to their own part of another."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tests.raising.hand_built import (
    BUFFER,
    INT,
    check,
    compare,
    global_id,
    kernel,
    load,
    number,
    repeat,
    repeat_while,
    store,
    when,
)
from windlass import loops
from windlass.ir import Function, Value
from windlass.ops.conversion import Convert
from windlass.ops.elementwise import (
    Add,
    And,
    Divide,
    Multiply,
    Or,
    Remainder,
    Select,
    ShiftLeft,
    ShiftRightArithmetic,
    Subtract,
    Xor,
)
from windlass.ops.extremes import Maximum, Minimum

SIZE = 64
PART = 8
"""Words that each thread owns."""


class Author:
    """Writes random statements over the values that are in scope."""

    def __init__(self, seed: int, x: Value, m: Value, y: Value, i: Value, j: Value) -> None:
        self.random = random.Random(seed)
        self.x, self.m, self.y, self.i = x, m, y, i
        self.integers: list[Value] = [i, j]
        self.floats: list[Value] = []
        self.arrays: list[Value] = []
        self.budget = 30

    def choose(self, *options: Callable[[], Value]) -> Value:
        return self.random.choice(options)()

    def small(self, low: int = -3, high: int = 9) -> Value:
        return number(self.random.randint(low, high))

    def integer(self, depth: int = 2) -> Value:
        if depth == 0:
            return self.choose(lambda: self.random.choice(self.integers), self.small)
        a = lambda: self.integer(depth - 1)  # noqa: E731
        return self.choose(
            lambda: self.random.choice(self.integers),
            lambda: Add(a(), a()),
            lambda: Subtract(a(), a()),
            lambda: Multiply(a(), self.small()),
            lambda: Minimum(a(), a()),
            lambda: Maximum(a(), a()),
            lambda: Remainder(a(), number(self.random.choice([3, 4, 7, 8]))),
            lambda: Divide(a(), number(self.random.choice([2, 3, 4, -2]))),
            lambda: And(a(), number(self.random.choice([1, 3, 7, 12, -8]))),
            lambda: ShiftRightArithmetic(a(), number(self.random.randint(0, 3))),
            lambda: ShiftLeft(a(), number(self.random.randint(0, 2))),
            lambda: Xor(a(), self.small()),
            lambda: Select(self.condition(depth - 1), a(), a()),
            lambda: load(self.m, self.place(depth - 1), "i32"),
        )

    def condition(self, depth: int = 1) -> Value:
        direction = self.random.choice(["LT", "LE", "GT", "GE", "EQ", "NE"])
        a = lambda: self.integer(max(depth - 1, 0))  # noqa: E731
        return self.choose(
            lambda: compare(a(), direction, a()),
            lambda: compare(self.random.choice(self.integers), direction, self.small(0, 20)),
            lambda: compare(self.number(0), direction, self.number(0)),
            lambda: And(self.condition(0), self.condition(0)) if depth else compare(a(), direction, a()),
            lambda: Or(self.condition(0), self.condition(0)) if depth else compare(a(), direction, a()),
        )

    def place(self, depth: int = 1) -> Value:
        """A place in the arrays that are only read."""
        inner = lambda: self.integer(depth)  # noqa: E731
        return self.choose(
            lambda: And(inner(), number(SIZE - 1)),
            lambda: Minimum(Maximum(inner(), number(0)), number(SIZE - 1)),
            lambda: And(Add(self.random.choice(self.integers), self.small()), number(SIZE - 1)),
        )

    def own_place(self) -> Value:
        """A place in the thread's own part."""
        inside = self.choose(
            lambda: number(self.random.randrange(PART)),
            lambda: And(self.integer(1), number(PART - 1)),
            lambda: And(self.random.choice(self.integers), number(PART - 1)),
        )
        return Add(Multiply(self.i, number(PART)), inside)

    def number(self, depth: int = 2) -> Value:
        if depth == 0:
            return self.choose(
                lambda: number(self.random.choice([0.0, 0.5, 1.0, 2.0, -1.0]), "f32"),
                lambda: self.random.choice(self.floats) if self.floats else number(3.0, "f32"),
                lambda: load(self.x, self.place(0)),
            )
        a = lambda: self.number(depth - 1)  # noqa: E731
        return self.choose(
            lambda: Add(a(), a()),
            lambda: Subtract(a(), a()),
            lambda: Multiply(a(), number(self.random.choice([0.5, -0.25]), "f32")),
            lambda: Multiply(load(self.x, self.place()), load(self.x, self.place())),
            lambda: Maximum(a(), a()),
            lambda: Minimum(a(), a()),
            lambda: Select(self.condition(), a(), a()),
            lambda: Convert(And(self.integer(1), number(15)), "f32"),
            lambda: load(self.x, self.place()),
            lambda: load(self.y, self.own_place()),
            lambda: (
                load(self.random.choice(self.arrays), number(self.random.randrange(4)))
                if self.arrays
                else load(self.x, self.place())
            ),
        )

    # -- statements ---------------------------------------------------------------------------------------------------

    def statements(self, count: int, depth: int) -> None:
        for _ in range(count):
            if self.budget <= 0:
                return
            self.budget -= 1
            kinds = ["store", "store", "let", "integer", "local"]
            if depth:
                kinds += ["branch", "branch", "loop", "loop", "loop", "while"]
            getattr(self, f"write_{self.random.choice(kinds)}")(depth)

    def scoped(self, write: Callable[[], Sequence[Value]]) -> Sequence[Value]:
        integers, floats = list(self.integers), list(self.floats)
        try:
            return write()
        finally:
            self.integers, self.floats = integers, floats

    def write_store(self, depth: int) -> None:
        store(self.number(), self.y, self.own_place())

    def write_let(self, depth: int) -> None:
        self.floats.append(self.number(3))

    def write_integer(self, depth: int) -> None:
        self.integers.append(And(self.integer(3), number(31)))

    def write_local(self, depth: int) -> None:
        if not self.arrays:
            return
        array = self.random.choice(self.arrays)
        place = self.choose(
            lambda: number(self.random.randrange(4)),
            lambda: number(self.random.randrange(4)),
            lambda: And(self.integer(1), number(3)),
        )
        store(self.number(1), array, place)

    def write_branch(self, depth: int) -> None:
        def side() -> Sequence[Value]:
            def write() -> Sequence[Value]:
                self.statements(self.random.randint(0, 2), depth - 1)
                return [self.number(1), And(self.integer(1), number(31))]

            return self.scoped(write)

        one, other = when(self.condition(), side, side)
        self.floats.append(one)
        self.integers.append(other)

    def update(self, carried: Value, k: Value) -> Value:
        """What a loop does with a float that it carries."""
        value = self.number(1)
        return self.choose(
            lambda: Add(carried, value),
            lambda: Subtract(carried, value),
            lambda: Maximum(carried, value),
            lambda: Minimum(value, carried),
            lambda: Select(compare(value, "GT", carried), value, carried),
            lambda: Select(compare(carried, "GT", value), value, carried),
            lambda: Select(self.condition(), Add(carried, value), carried),
            lambda: when(self.condition(), lambda: [Add(carried, value)], lambda: [carried])[0],
            lambda: Add(Multiply(carried, number(0.5, "f32")), value),
            lambda: value,
        )

    def write_loop(self, depth: int) -> None:
        trips = self.choose(
            lambda: number(self.random.randint(1, 7)),
            lambda: number(self.random.randint(5, 40)),
            lambda: And(self.random.choice(self.integers), number(7)),
            lambda: And(load(self.m, self.place(), "i32"), number(7)),
        )

        def body(k: Value, first: Value, second: Value, count: Value) -> Sequence[Value]:
            def write() -> Sequence[Value]:
                self.integers.append(k)
                if self.random.random() < 0.3:
                    self.floats.append(first)
                if self.random.random() < 0.3:
                    self.integers.append(And(count, number(31)))
                self.statements(self.random.randint(0, 2), depth - 1)
                following = self.choose(
                    lambda: Add(count, self.small(1, 3)),
                    lambda: Add(count, number(1)),
                    lambda: Select(self.condition(), Add(count, number(1)), count),
                    lambda: Select(compare(second, "LT", self.number(0)), k, count),
                )
                return [self.update(first, k), self.update(second, k), following]

            return self.scoped(write)

        results = repeat(trips, [self.number(0), number(0.0, "f32"), self.small(0, 3)], body)
        self.floats += results[:2]
        self.integers.append(And(results[2], number(31)))

    def write_while(self, depth: int) -> None:
        limit = self.random.randint(1, 9)

        def body(count: Value, value: Value) -> tuple[Value, Sequence[Value]]:
            def write() -> Sequence[Value]:
                self.integers.append(count)
                self.statements(self.random.randint(0, 1), depth - 1)
                following = Add(count, number(1))
                goes_on = compare(following, "LT", number(limit))
                if self.random.random() < 0.6:
                    goes_on = And(goes_on, self.condition())
                return [goes_on, following, self.update(value, count)]

            goes_on, *others = self.scoped(write)
            return goes_on, others

        count, value = repeat_while([number(0), self.number(0)], body)
        self.integers.append(count)
        self.floats.append(value)


def random_kernel(seed: int, length: int = 5) -> Function:
    """A kernel of x (floats), m (integers) and y, which each thread has a part of."""

    def random_kernel(ids: Sequence[Value], n: Value, x: Value, m: Value, y: Value) -> None:
        i = global_id(ids)

        def body() -> None:
            author = Author(seed, x, m, y, i, ids[3])
            for _ in range(author.random.randint(0, 2)):
                array = loops.Allocate("local", 16)
                for place in range(4):
                    store(number(place / 2, "f32"), array, number(place))
                author.arrays.append(array)
            author.statements(length, 2)
            store(author.number(3), y, author.own_place())
            store(Convert(author.integers[-1], "f32"), y, Multiply(i, number(PART)))

        when(compare(i, "LT", n), body)

    return kernel({"n": INT, "x": BUFFER, "m": BUFFER, "y": BUFFER}, random_kernel)


def run(seed: int, length: int = 5) -> None:
    generator = np.random.default_rng(seed)
    x = generator.integers(-4, 8, SIZE).astype(np.float32)
    m = generator.integers(0, SIZE, SIZE).astype(np.int32)
    y = generator.integers(-4, 8, 20 * PART).astype(np.float32)
    check(random_kernel(seed, length), (3,), (7,), [20, x, m, y], 1e-3)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(40))
def test_random_kernels_do_what_their_threads_do(seed: int) -> None:
    run(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1600))
def test_many_random_kernels_do_what_their_threads_do(seed: int) -> None:
    run(seed)
