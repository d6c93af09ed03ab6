"""What stands around a thread's statements: the launch, its indices, its guards, and which words are its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tests.fuzz.arithmetic import binary, literal, variable
from tests.fuzz.arrays import Argument, Own, Scalar
from tests.fuzz.author import Author
from tests.fuzz.cooperation import cooperate
from tests.fuzz.expressions import FLOAT_BOUND
from tests.fuzz.kernels import Kernel
from tests.fuzz.trees import (
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

Wrap = Callable[[Block], list[Statement]]


@dataclass
class Frame:
    """Statements before the body, the body's place among them, and what is known inside."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    indices: list[Expression]
    """What may be read: threads' indices."""
    owner: Expression
    """A number below `owners` that no two bodies share."""
    wrap: Wrap
    is_loop: bool = False

    @property
    def owners(self) -> int:
        return int(self.owner.high) + 1


def named(name: str, high: int, ctype: CType = INT, low: int = 0) -> Expression:
    """An index as a name."""
    return Expression(ctype, low, high, (name,))


def must(e: Expression | None) -> Expression:
    """Arithmetic that can't overflow."""
    assert e is not None
    return e


class FrameWriter:
    """Writes one of the frames at random."""

    def __init__(self, author: Author) -> None:
        self.author = author

    def scalar(self, stem: str, value: int) -> Expression:
        """A size: a parameter or a literal."""
        author = self.author
        if author.chance(0.75):
            name = author.name(stem)
            ctype = author.pick([INT, INT, INT, INT, UNSIGNED, LONG, SIZE])
            author.scalars.append(Scalar(name, ctype, value))
            return Expression(ctype, value, value, (name,))
        return literal(value)

    def write(self) -> Frame:
        frames = [
            self.line,
            self.line,
            self.line,
            self.grid_stride,
            self.plane,
            self.plane,
            self.space,
            self.delinearized,
            self.rows,
            self.coarse,
            self.block_rows,
        ]
        return self.author.pick(frames)()

    def threads(self) -> tuple[int, int]:
        """Blocks and their size, few threads in all."""
        author = self.author
        if author.chance(0.08):
            return author.between(3, 12), author.pick([96, 128])
        block = author.pick([1, 4, 7, 8, 16, 16, 32, 33])
        return author.between(1, max(1, min(6, 96 // block))), block

    def linear(self, ctype: CType) -> str:
        text = self.author.pick(
            [
                "blockIdx.x * blockDim.x + threadIdx.x",
                "threadIdx.x + blockIdx.x * blockDim.x",
                "blockDim.x * blockIdx.x + threadIdx.x",
            ]
        )
        if ctype.bits == 64 and self.author.chance(0.5):
            text = f"({ctype.name})" + text.replace("* ", f"* ({ctype.name})", 1)
        return text

    def index_type(self) -> CType:
        return self.author.pick([INT, INT, INT, INT, UNSIGNED, LONG, SIZE])

    def guarded(self, inside: str, outside: str, bounds: tuple[Expression, ...]) -> Wrap:
        """`if (inside) { body }` or `if (outside) return; body`; {0} and so on stand for the bounds."""
        if self.author.chance(0.5):
            return lambda body: [statement("if (", *_spelled(outside, bounds), ") return;"), *body]
        return lambda body: [statement("if (", *_spelled(inside, bounds), ") ", body)]

    def line(self) -> Frame:
        author = self.author
        blocks, block = self.threads()
        total = blocks * block
        count = author.pick([total, total, max(1, total - author.between(1, block)), total + 3])
        ctype = self.index_type()
        n = self.scalar("n", count)
        live = min(total, count)
        start = [statement(f"{ctype.name} i = {self.linear(ctype)};")]
        kind = author.between(0, 5)
        index = named("i", live - 1, ctype)
        if kind == 0 and ctype in (INT, LONG):  # reversed
            start.append(statement(f"{ctype.name} r = ", n, " - 1 - i;"))
            reach = named("r", count - 1, ctype, count - live)
            guard = self.guarded("r >= 0", "r < 0", ())
            return Frame((blocks, 1, 1), (block, 1, 1), [index, reach], reach, lambda body: start + guard(body))
        if kind == 1 and live > 3:  # a window
            low = author.between(1, live // 2)
            first = self.scalar("first", low)
            index = named("i", live - 1, ctype, low)
            guard = self.guarded("i >= {0} && i < {1}", "i < {0} || i >= {1}", (first, n))
            return Frame((blocks, 1, 1), (block, 1, 1), [index], index, lambda body: start + guard(body))
        if kind == 2:  # several blocks' own halves
            threads = [named("threadIdx.x", block - 1, UNSIGNED), named("blockIdx.x", blocks - 1, UNSIGNED)]
            guard = self.guarded("i < {0}", "i >= {0}", (n,))
            return Frame(
                (blocks, 1, 1), (block, 1, 1), [index, index, *threads], index, lambda body: start + guard(body)
            )
        guard = self.guarded("i < {0}", "!(i < {0})" if author.chance(0.3) else "i >= {0}", (n,))
        return Frame((blocks, 1, 1), (block, 1, 1), [index], index, lambda body: start + guard(body))

    def grid_stride(self) -> Frame:
        blocks, block = self.threads()
        count = self.author.between(1, 3 * blocks * block)
        count = min(count, 120) if block < 96 else count
        n = self.scalar("n", count)
        ctype = self.index_type()
        step = self.author.pick(["blockDim.x * gridDim.x", "gridDim.x * blockDim.x", f"{blocks * block}"])
        head = (f"for ({ctype.name} i = {self.linear(ctype)}; i < ", n, f"; i += {step})")
        return Frame(
            (blocks, 1, 1),
            (block, 1, 1),
            [named("i", count - 1, ctype)],
            named("i", count - 1, ctype),
            lambda body: [statement(*head, body)],
            is_loop=True,
        )

    def plane(self) -> Frame:
        author = self.author
        across, down = author.pick([(8, 4), (4, 4), (5, 3), (16, 2), (1, 8), (7, 1)])
        grid = (author.between(1, 3), author.between(1, 3), 1)
        width = max(1, grid[0] * across - author.pick([0, 0, 1, 2, 3]))
        height = max(1, grid[1] * down - author.pick([0, 0, 1, 2]))
        w, h = self.scalar("w", width), self.scalar("h", height)
        swapped = author.chance(0.2)
        x, y = ("x", "y") if not swapped else ("y", "x")
        ctype = self.index_type()
        start = [
            statement(f"{ctype.name} x = blockIdx.{x} * blockDim.{x} + threadIdx.{x};"),
            statement(f"{ctype.name} y = blockIdx.{y} * blockDim.{y} + threadIdx.{y};"),
        ]
        block = (across, down, 1)
        if swapped:
            grid, block = (grid[1], grid[0], 1), (down, across, 1)
        low = 0
        if author.chance(0.3) and width > 2 and height > 2:
            low = 1
            guard = self.guarded(
                "x > 0 && x < {0} - 1 && y > 0 && y < {1} - 1", "x < 1 || x >= {0} - 1 || y < 1 || y >= {1} - 1", (w, h)
            )
            column, row = named("x", width - 2, ctype, 1), named("y", height - 2, ctype, 1)
        else:
            guard = self.guarded("x < {0} && y < {1}", "x >= {0} || y >= {1}", (w, h))
            column, row = named("x", width - 1, ctype), named("y", height - 1, ctype)
        transposed = author.chance(0.3)
        place = (
            binary(must(binary(column, "*", h)), "+", row)
            if transposed
            else binary(must(binary(row, "*", w)), "+", column)
        )
        place = must(place)
        indices = [column, row]
        if author.chance(0.5):
            start_inside = statement(f"{place.ctype.name} at = ", place, ";")
            at = variable("at", place)
            indices.append(at)
            return Frame(grid, block, indices, at, lambda body: start + guard((start_inside, *body)))
        del low
        return Frame(grid, block, indices, place, lambda body: start + guard(body))

    def space(self) -> Frame:
        author = self.author
        block = author.pick([(4, 2, 2), (3, 3, 2), (8, 1, 2), (2, 2, 4)])
        grid = (author.between(1, 2), author.between(1, 2), author.between(1, 2))
        sizes = [max(1, g * b - author.pick([0, 0, 1])) for g, b in zip(grid, block, strict=True)]
        w, h, d = (self.scalar(stem, size) for stem, size in zip("whd", sizes, strict=True))
        start = [statement(f"int {c} = blockIdx.{c} * blockDim.{c} + threadIdx.{c};") for c in "xyz"]
        x, y, z = (named(c, size - 1) for c, size in zip("xyz", sizes, strict=True))
        guard = self.guarded("x < {0} && y < {1} && z < {2}", "x >= {0} || y >= {1} || z >= {2}", (w, h, d))
        if author.chance(0.5):
            plane = must(binary(must(binary(z, "*", h)), "+", y))
            place = must(binary(must(binary(plane, "*", w)), "+", x))
        else:
            plane = must(binary(must(binary(x, "*", h)), "+", y))
            place = must(binary(must(binary(plane, "*", d)), "+", z))
        return Frame(grid, block, [x, y, z], place, lambda body: start + guard(body))

    def delinearized(self) -> Frame:
        author = self.author
        blocks, block = self.threads()
        ctype = author.pick([INT, UNSIGNED, LONG])
        width = author.pick([2, 3, 4, 5, 8])
        total = blocks * block
        count = max(1, total - author.pick([0, 1, 2, 5]))
        n, w = self.scalar("n", count), self.scalar("w", width)
        start = [statement(f"{ctype.name} i = {self.linear(ctype)};")]
        i = named("i", count - 1, ctype)
        if width in (2, 4, 8) and author.chance(0.5):
            shift = width.bit_length() - 1
            row, column = must(binary(i, ">>", literal(shift))), must(binary(i, "&", literal(width - 1)))
        else:
            row, column = must(binary(i, "/", w)), must(binary(i, "%", w))
        inside = [
            statement(f"{row.ctype.name} row = ", row, ";"),
            statement(f"{column.ctype.name} column = ", column, ";"),
        ]
        row, column = variable("row", row), variable("column", column)
        rows = int(row.high) + 1
        owner = i
        if author.chance(0.5):
            owner = must(binary(must(binary(column, "*", literal(rows))), "+", row))
        guard = self.guarded("i < {0}", "i >= {0}", (n,))
        return Frame(
            (blocks, 1, 1),
            (block, 1, 1),
            [i, row, column],
            owner,
            lambda body: start + guard((*inside, *body)),
        )

    def rows(self) -> Frame:
        """A thread has a row, or a column, of its own."""
        author = self.author
        blocks, block = self.threads()
        blocks = min(blocks, 2)
        total = blocks * block
        count = max(1, total - author.pick([0, 1, 2]))
        width = author.between(1, 6)
        n, w = self.scalar("n", count), self.scalar("w", width)
        start = statement(f"int row = {self.linear(INT)};")
        row, column = named("row", count - 1), named("j", width - 1)
        guard = self.guarded("row < {0}", "row >= {0}", (n,))
        if author.chance(0.5):
            owner = must(binary(must(binary(row, "*", w)), "+", column))
        else:
            owner = must(binary(must(binary(column, "*", n)), "+", row))
        if author.chance(0.7):
            head: tuple[str | Expression, ...] = ("for (int j = 0; j < ", w, "; j++)")
        else:
            head = ("for (int j = ", w, " - 1; j >= 0; j--)")
        return Frame(
            (blocks, 1, 1),
            (block, 1, 1),
            [row, column],
            owner,
            lambda body: [start, *guard((statement(*head, body),))],
            is_loop=True,
        )

    def coarse(self) -> Frame:
        """A block works on several times its size."""
        author = self.author
        blocks, block = self.threads()
        times = author.between(2, 3)
        total = blocks * block * times
        count = max(1, total - author.between(0, block))
        n = self.scalar("n", count)
        start = statement(f"int base = blockIdx.x * blockDim.x * {times} + threadIdx.x;")
        inside = statement("int i = base + j * blockDim.x;")
        i = named("i", count - 1)
        return Frame(
            (blocks, 1, 1),
            (block, 1, 1),
            [i, named("j", times - 1)],
            i,
            lambda body: [
                start,
                statement(
                    f"for (int j = 0; j < {times}; j++) ",
                    (inside, statement("if (i < ", n, ") ", body)),
                ),
            ],
            is_loop=True,
        )

    def block_rows(self) -> Frame:
        """A block has a row, its threads stride over the columns."""
        author = self.author
        block = author.pick([4, 7, 8, 16])
        blocks = author.between(1, 5)
        width = author.between(1, 20)
        w = self.scalar("w", width)
        row, column = named("blockIdx.x", blocks - 1, UNSIGNED), named("j", width - 1)
        owner = must(binary(must(binary(row, "*", w)), "+", column))
        head = ("for (int j = threadIdx.x; j < ", w, "; j += blockDim.x)")
        return Frame(
            (blocks, 1, 1), (block, 1, 1), [row, column], owner, lambda body: [statement(*head, body)], is_loop=True
        )


def _spelled(template: str, bounds: tuple[Expression, ...]) -> list[str | Expression]:
    pieces: list[str | Expression] = []
    rest = template
    for k, bound in enumerate(bounds):
        before, rest = rest.split(f"{{{k}}}", 1)
        pieces += [before, bound]
    return [*pieces, rest]


class ArrayWriter:
    """Draws the arrays: read anywhere, owned word by word, added to."""

    def __init__(self, author: Author) -> None:
        self.author = author

    def inputs(self) -> None:
        author = self.author
        for _ in range(author.between(1, 3)):
            ctype = author.pick(
                [
                    INT,
                    INT,
                    INT,
                    FLOAT,
                    FLOAT,
                    FLOAT,
                    FLOAT,
                    UNSIGNED,
                    SHORT,
                    BYTE,
                    SIGNED_BYTE,
                    WORD,
                    DOUBLE,
                    LONG,
                    SIZE,
                ]
            )
            size = author.pick([1, 5, 16, 24, 37, 64, 100])
            low, high, grain = contents(ctype)
            if author.chance(0.15) and ctype.kind == "float":
                grain = 0.0
            if author.chance(0.1) and ctype.kind == "float":
                low, high, grain = -math.inf, math.inf, 0.0
            lanes = author.pick([2, 4]) if ctype in (INT, FLOAT) and author.chance(0.15) else 1
            offset = author.pick([0, 0, 0, 1, 3])
            author.inputs.append(
                Argument(
                    author.name("x"),
                    ctype,
                    size,
                    low,
                    high,
                    grain,
                    lanes=lanes,
                    offset=offset,
                    is_constant=author.chance(0.7),
                )
            )
        for each in author.inputs:
            if author.chance(0.4):
                author.scalars.append(Scalar(author.name("size"), INT, each.size))
        if author.chance(0.5):
            author.scalars.append(Scalar(author.name("m"), INT, author.between(-3, 12)))

    def own(self, owner: Expression) -> None:
        author = self.author
        for _ in range(author.pick([1, 1, 2, 2, 3])):
            ctype = author.pick(
                [
                    INT,
                    INT,
                    INT,
                    FLOAT,
                    FLOAT,
                    FLOAT,
                    FLOAT,
                    UNSIGNED,
                    SHORT,
                    BYTE,
                    SIGNED_BYTE,
                    WORD,
                    DOUBLE,
                    LONG,
                    SIZE,
                ]
            )
            low, high, _ = contents(ctype)
            if ctype.kind == "float":
                low, high = (-math.inf, math.inf) if author.chance(0.15) else (-FLOAT_BOUND, FLOAT_BOUND)
            if ctype.kind == "unsigned":
                low, high = ctype.low, ctype.high
            words = author.pick([1, 1, 1, 2, 3, 4])
            place, size = self.layout(owner, words)
            tail = author.pick([0, 0, 4, 9])
            lanes = author.pick([2, 4]) if ctype in (INT, FLOAT) and author.chance(0.1) else 1
            slack = author.pick([0, 2])
            argument = Argument(
                author.name("y"), ctype, size + slack + tail, low, high, lanes=lanes, offset=author.pick([0, 0, 1, 3])
            )
            author.own.append(Own(argument, words, place, tail))
            if tail and author.chance(0.3):
                part = replace(argument, name=author.name("part"), size=tail, is_constant=True, offset=0)
                author.inputs.append(replace(part, shares=argument.name, start=argument.size - tail))

    def layout(self, owner: Expression, words: int) -> tuple[Callable[[Expression], Expression], int]:
        """Where word k of a thread is, and how many words there are."""
        author = self.author
        count = int(owner.high) + 1
        kind = author.between(0, 9)
        base, size = owner, count
        signed = owner.ctype in (INT, LONG)
        if kind == 0 and signed:
            base = must(binary(literal(count - 1), "-", owner))
            base = base.narrowed(0, count - 1)
        elif kind == 1:
            step, start = author.between(2, 3), author.between(0, 4)
            base = must(binary(must(binary(owner, "*", literal(step))), "+", literal(start)))
            size = int(base.high) + 1
        elif kind == 2:
            turned = must(binary(owner, "+", literal(author.between(1, 9))))
            base = must(binary(turned, "%", author.known(count)))
        elif kind == 3:
            permutation = Argument(
                author.name("order"), INT, count, 0, count - 1, contents="permutation", is_constant=True
            )
            author.inputs.append(permutation)
            base = Expression(INT, 0, count - 1, (f"{permutation.name}[", owner, "]"))
        elif kind == 4:
            size = 1 << (count - 1).bit_length() if count > 1 else 1
            base = must(binary(owner, "^", literal(author.between(0, max(size - 1, 0)))))
            base = base.narrowed(0, max(size - 1, 0))
        elif kind == 5:
            start = author.between(1, 5)
            base = must(binary(owner, "+", author.known(start)))
            size = count + start
        if words == 1:
            return (lambda k: base), size
        if author.chance(0.5):
            blocked = must(binary(base, "*", literal(words)))
            return (lambda k: must(binary(blocked, "+", k))), size * words
        extent = author.known(size)
        return (lambda k: must(binary(must(binary(k, "*", extent)), "+", base))), size * words

    def totals(self) -> None:
        author = self.author
        for _ in range(author.pick([0, 0, 1, 2])):
            ctype = author.pick([INT, INT, UNSIGNED, FLOAT])
            name = author.pick(
                {
                    INT: [
                        "atomicAdd",
                        "atomicAdd",
                        "atomicSub",
                        "atomicMin",
                        "atomicMax",
                        "atomicAnd",
                        "atomicOr",
                        "atomicXor",
                    ],
                    UNSIGNED: ["atomicAdd", "atomicMin", "atomicMax", "atomicOr", "atomicInc"],
                    FLOAT: ["atomicAdd"],
                }[ctype]
            )
            size = author.pick([1, 4, 9, 17])
            author.totals.append(
                (
                    Argument(author.name("total"), ctype, size, -8, 8, 1.0)
                    if ctype != UNSIGNED
                    else Argument(author.name("total"), ctype, size, 0, 15),
                    name,
                )
            )


def contents(ctype: CType) -> tuple[float, float, float]:
    """What is in an array of that type: low, high, grain."""
    if ctype.kind == "float":
        return -8.0, 8.0, 0.25
    if ctype in (UNSIGNED, SIZE):
        return 0, ctype.high, 0.0
    if ctype.bits < 32:
        return ctype.low, ctype.high, 0.0
    return -100, 1000, 0.0


def write_kernel(seed: int) -> Kernel:
    """The kernel of that seed; some have one before them that writes what they read."""
    author = Author(seed)
    if author.chance(0.12):
        before = write_one(author, ())
        given = [
            each
            for each in before.arguments
            if not before.is_soft and not each.is_constant and not each.shares and each.lanes == 1
        ]
        second = Author(seed + 2**40)
        second.names = 100
        kernel = write_one(second, given)
        form = author.pick(["launch", "jit", "jit", "traced"])
        if any(each.lanes > 1 or each.shares for each in (*kernel.arguments, *before.arguments)):
            form = "launch"
        is_soft = kernel.is_soft or before.is_soft
        return replace(kernel, seed=seed, before=before, form=form, is_soft=is_soft)
    return replace(write_one(author, ()), seed=seed)


def write_one(author: Author, given: Sequence[Argument]) -> Kernel:
    """A single kernel, which may read the given arrays."""
    author.budget = author.pick([3, 6, 10, 16, 24])
    author.is_soft = author.chance(0.15)
    arrays = ArrayWriter(author)
    arrays.inputs()
    author.inputs += [each for each in given if author.chance(0.7)]
    arrays.totals()
    if author.chance(0.3):
        grid, block, body, owner_count = cooperate(author, arrays)
        del owner_count
    else:
        frame = FrameWriter(author).write()
        author.scope.values = list(frame.indices)
        arrays.own(frame.owner)
        author.in_loop = int(frame.is_loop)
        body = tuple(frame.wrap(tuple(author.statements(author.between(1, 4)) + author.store())))
        grid, block = frame.grid, frame.block
    arguments = (*author.inputs, *(each.argument for each in author.own), *(each for each, _ in author.totals))
    kernel = Kernel(
        0,
        tuple(author.preamble),
        body,
        arguments,
        tuple(author.scalars),
        grid,
        block,
        author.pick([1, 1, 1, 2]),
        author.is_soft,
        author.pick(["launch"] * 7 + ["jit", "traced"]),
    )
    if any(each.lanes > 1 or each.shares for each in arguments):
        kernel = replace(kernel, form="launch")
    return kernel.trimmed()
