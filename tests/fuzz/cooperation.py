"""What the threads of a block do together: tiles, halos, trees, scans and histograms in shared memory."""

from __future__ import annotations

from typing import Protocol

from tests.fuzz.arithmetic import Maybe, binary, literal
from tests.fuzz.arrays import Scalar
from tests.fuzz.author import Author
from tests.fuzz.trees import (
    FLOAT,
    INT,
    UNSIGNED,
    Block,
    CType,
    Expression,
    Statement,
    statement,
)

BARRIER = statement("__syncthreads();")


class Arrays(Protocol):
    """What draws the threads' own arrays once it is known which number is a thread's own."""

    def own(self, owner: Expression) -> None:
        """Draws them."""


class Cooperation:
    """Writes sections that all threads of a block run, each followed by a barrier."""

    def __init__(self, author: Author, block: tuple[int, int, int], total: int) -> None:
        self.author = author
        self.across, self.down = block[0], block[1]
        self.size = block[0] * block[1]
        self.local = Expression(INT, 0, self.size - 1, ("l",))
        self.index = Expression(INT, 0, total - 1, ("i",))

    def section(self) -> list[Statement]:
        forms = [
            self.exchange,
            self.exchange,
            self.halo,
            self.tree,
            self.scan,
            self.histogram,
            self.tiles,
            self.transposed,
            self.leader,
            self.stages,
            *([self.shuffle] * 3 if self.size == 32 else []),
        ]
        return self.author.pick(forms)()

    def number_type(self) -> tuple[CType, float, float]:
        ctype = self.author.pick([FLOAT, FLOAT, INT, UNSIGNED])
        if ctype == UNSIGNED:
            return ctype, 0, ctype.high
        return ctype, -100, 100

    def filled(self, name: str) -> tuple[CType, Expression, Expression]:
        """A type, a value of a thread for it (sharp: every thread's is the same in both forms), what a load gives."""
        author = self.author
        ctype, low, high = self.number_type()
        value = author.fitted(author.value(ctype), low, high, ctype)
        if value.is_soft:
            value = literal(1, ctype)
        grain = value.grain if ctype == FLOAT and value.ctype == FLOAT else 0.0
        return ctype, value, Expression(ctype, low, high, (name,), grain)

    def give(self, ctype: CType, value: Expression) -> Statement:
        """A variable with the value, for all that follows."""
        name = self.author.name("v")
        self.author.scope.values.append(Expression(ctype, value.low, value.high, (name,), value.grain, value.is_soft))
        return statement(f"{ctype.name} {name} = ", value, ";")

    def at(self, like: Expression, index: Maybe) -> Expression:
        assert index is not None
        return Expression(like.ctype, like.low, like.high, (f"{like}[", index, "]"), like.grain)

    def exchange(self) -> list[Statement]:
        author = self.author
        ctype, value, cell = self.filled(author.name("tile"))
        last = literal(self.size - 1)
        places: list[Maybe] = [
            binary(last, "-", self.local),
            binary(self.local, "+", literal(1)),
            binary(self.local, "-", literal(author.between(1, 3))),
            author.integer(2),
        ]
        result = [
            statement(f"__shared__ {ctype.name} {cell}[{self.size}];"),
            statement(f"{cell}[l] = ", value, ";"),
            BARRIER,
        ]
        for _ in range(author.between(1, 2)):
            place = author.pick(places)
            assert place is not None
            result.append(self.give(ctype, self.at(cell, author.within(place, self.size))))
        return [*result, BARRIER]

    def halo(self) -> list[Statement]:
        author = self.author
        ctype, value, cell = self.filled(author.name("row"))
        edge = [author.fitted(author.value(ctype, 1), cell.low, cell.high, ctype) for _ in range(2)]
        if any(each.is_soft for each in edge):
            return self.exchange()
        exact = [each.grain if each.ctype == FLOAT else 0.0 for each in (value, *edge)]
        cell = Expression(ctype, cell.low, cell.high, cell.pieces, min(exact) if ctype == FLOAT else 0.0)
        size = self.size
        return [
            statement(f"__shared__ {ctype.name} {cell}[{size} + 2];"),
            statement(f"{cell}[l + 1] = ", value, ";"),
            statement(f"if (l == 0) {cell}[0] = ", edge[0], ";"),
            statement(f"if (l == {size} - 1) {cell}[{size} + 1] = ", edge[1], ";"),
            BARRIER,
            *(
                self.give(ctype, self.at(cell, binary(self.local, "+", literal(shift))))
                for shift in author.pick([(0, 2), (0, 1, 2), (2,), (0,)])
            ),
            BARRIER,
        ]

    def tree(self) -> list[Statement]:
        author = self.author
        ctype, value, cell = self.filled(author.name("part"))
        size = self.size
        if ctype == FLOAT and not cell.grain:
            value = author.fitted(author.integer(1), -100, 100, INT)
            cell = Expression(ctype, -100, 100, cell.pieces, 1.0)
        combine = f"{cell}[l] += {cell}[l + s];"
        bound = 100 * size
        low, high = (cell.low, cell.high) if ctype == UNSIGNED else (-bound, bound)
        if author.chance(0.3) and ctype != UNSIGNED:
            function = {INT: "max", FLOAT: "fmaxf"}[ctype]
            combine = f"{cell}[l] = {function}({cell}[l], {cell}[l + s]);"
            if ctype == FLOAT:
                value = binary(value, "+", literal(0.125, FLOAT)) or value
        if size & (size - 1) == 0 and author.chance(0.7):
            head, guard = f"for (int s = {size} / 2; s > 0; s >>= 1) ", "if (l < s) "
        elif author.chance(0.5):
            head, guard = f"for (int s = 1; s < {size}; s *= 2) ", f"if (l % (2 * s) == 0 && l + s < {size}) "
        else:
            power = 1 << (size - 1).bit_length()
            head, guard = f"for (int s = {power} / 2; s > 0; s /= 2) ", f"if (l < s && l + s < {size}) "
        total = Expression(ctype, low, high, (f"{cell}[0]",), min(cell.grain, 0.125) if ctype == FLOAT else 0.0)
        return [
            statement(f"__shared__ {ctype.name} {cell}[{size}];"),
            statement(f"{cell}[l] = ", value, ";"),
            BARRIER,
            statement(head, (statement(f"{guard}{combine}"), BARRIER)),
            self.give(ctype, total),
            BARRIER,
        ]

    def scan(self) -> list[Statement]:
        author = self.author
        ctype, value, cell = self.filled(author.name("sums"))
        if ctype == FLOAT and not cell.grain:
            value = author.fitted(author.integer(1), -100, 100, INT)
            cell = Expression(ctype, -100, 100, cell.pieces, 1.0)
        size, bound = self.size, 100 * self.size
        low, high = (cell.low, cell.high) if ctype == UNSIGNED else (-bound, bound)
        before = author.name("before")
        result = Expression(ctype, low, high, (f"{cell}[l]",), cell.grain)
        return [
            statement(f"__shared__ {ctype.name} {cell}[{size}];"),
            statement(f"{cell}[l] = ", value, ";"),
            BARRIER,
            statement(
                f"for (int o = 1; o < {size}; o *= 2) ",
                (
                    statement(f"{ctype.name} {before} = l >= o ? {cell}[l - o] : ({ctype.name})0;"),
                    BARRIER,
                    statement(f"{cell}[l] += {before};"),
                    BARRIER,
                ),
            ),
            self.give(ctype, result),
        ]

    def histogram(self) -> list[Statement]:
        author = self.author
        name = author.name("bins")
        bins = author.pick([1, 4, 7, 8])
        place = author.within(author.integer(2), bins)
        amount = author.fitted(author.integer(1), -5, 9, INT)
        bound = 9 * self.size + 9
        return [
            statement(f"__shared__ int {name}[{bins}];"),
            statement(f"for (int b = l; b < {bins}; b += {self.size}) {name}[b] = 0;"),
            BARRIER,
            statement(f"atomicAdd(&{name}[", place, "], ", amount, ");"),
            BARRIER,
            self.give(INT, Expression(INT, -bound, bound, (f"{name}[", author.within(author.integer(1), bins), "]"))),
            BARRIER,
        ]

    def tiles(self) -> list[Statement]:
        """A long row, tile by tile."""
        author = self.author
        name, total, counter = author.name("tile"), author.name("sum"), author.name("t")
        fitting = [each for each in author.inputs if each.lanes == 1 and each.ctype == FLOAT and each.grain]
        if not fitting:
            return self.exchange()
        argument = author.pick(fitting)
        rounds = author.between(1, 3)
        t = Expression(INT, 0, rounds - 1, (counter,))
        place = binary(binary(t, "*", literal(self.size)) or t, "+", self.local)
        assert place is not None
        load = Expression(
            FLOAT, argument.low, argument.high, (f"{argument.name}[", author.within(place, argument.size), "]")
        )
        k = Expression(INT, 0, self.size - 1, ("k",))
        index = author.within(binary(k, "+", self.local) or k, self.size) if author.chance(0.5) else k
        most = rounds * self.size * 8.0
        return [
            statement(f"__shared__ float {name}[{self.size}];"),
            statement(f"float {total} = 0.0f;"),
            statement(
                f"for (int {counter} = 0; {counter} < {rounds}; {counter}++) ",
                (
                    statement(f"{name}[l] = ", load, ";"),
                    BARRIER,
                    statement(f"for (int k = 0; k < {self.size}; k++) {total} += {name}[", index, "];"),
                    BARRIER,
                ),
            ),
            self.give(FLOAT, Expression(FLOAT, -most, most, (total,), argument.grain)),
        ]

    def transposed(self) -> list[Statement]:
        author = self.author
        ctype, value, cell = self.filled(author.name("tile"))
        pad = author.pick([0, 1])
        across, down = self.across, self.down
        return [
            statement(f"__shared__ {ctype.name} {cell}[{down}][{across + pad}];"),
            statement(f"{cell}[threadIdx.y][threadIdx.x] = ", value, ";"),
            BARRIER,
            self.give(ctype, Expression(ctype, cell.low, cell.high, (f"{cell}[l % {down}][l / {down}]",), cell.grain)),
            BARRIER,
        ]

    def leader(self) -> list[Statement]:
        author = self.author
        ctype, value, cell = self.filled(author.name("shared"))
        result = author.name("best")
        who = author.between(0, self.size - 1)
        return [
            statement(f"__shared__ {ctype.name} {cell}[2];"),
            statement(f"if (l == {who}) ", (statement(f"{cell}[0] = ", value, ";"), statement(f"{cell}[1] = 3;"))),
            BARRIER,
            statement(f"{ctype.name} {result} = {cell}[1];"),
            self.give(ctype, Expression(ctype, cell.low, cell.high, (f"{cell}[0]",), cell.grain)),
            BARRIER,
        ]

    def shuffle(self) -> list[Statement]:
        """Numbers from other lanes of the warp."""
        author = self.author
        ctype, value, cell = self.filled(author.name("mine"))
        kind = author.pick(["down", "up", "xor", "", "sum", "vote"])
        if kind == "vote":
            name, high = author.pick([("ballot", UNSIGNED.high), ("any", 1), ("all", 1)])
            vote = (f"__{name}_sync(0xffffffff, ", author.condition(1), ")")
            return [self.give(UNSIGNED, Expression(UNSIGNED, 0, high, vote))]
        start = statement(f"{ctype.name} {cell} = ", value, ";")
        if kind == "sum":
            if ctype == FLOAT:
                return self.exchange()
            head = "for (int s = 16; s > 0; s /= 2) "
            low, high = (0, ctype.high) if ctype == UNSIGNED else (-3200, 3200)
            step = statement(f"{cell} += __shfl_xor_sync(0xffffffff, {cell}, s);")
            return [start, statement(head, (step,)), self.give(ctype, Expression(ctype, low, high, cell.pieces))]
        if kind:
            lane: Expression = literal(author.between(1, 16))
        else:
            lane = author.within(author.integer(1), 32)
        pieces = (f"__shfl_{kind}_sync(" if kind else "__shfl_sync(") + f"0xffffffff, {cell}, "
        return [start, self.give(ctype, Expression(ctype, cell.low, cell.high, (pieces, lane, ")"), cell.grain))]

    def stages(self) -> list[Statement]:
        """Two arrays, each read by neighbours to fill the other."""
        author = self.author
        first, second = author.name("a"), author.name("b")
        value = author.fitted(author.integer(1), -100, 100, INT)
        rounds = author.between(1, 4)
        near = author.within(binary(self.local, "+", literal(author.between(1, 2))) or self.local, self.size)
        far = author.within(binary(self.local, "-", literal(author.between(1, 3))) or self.local, self.size)
        result = Expression(INT, -(2**20), 2**20, (f"{first}[l]",))
        return [
            statement(f"__shared__ int {first}[{self.size}];"),
            statement(f"__shared__ int {second}[{self.size}];"),
            statement(f"{first}[l] = ", value, ";"),
            BARRIER,
            statement(
                f"for (int round = 0; round < {rounds}; round++) ",
                (
                    statement(f"{second}[l] = {first}[", near, f"] + {first}[l];"),
                    BARRIER,
                    statement(f"{first}[l] = {second}[", far, "] - round;"),
                    BARRIER,
                ),
            ),
            self.give(INT, result),
        ]


def cooperate(author: Author, arrays: Arrays) -> tuple[tuple[int, int, int], tuple[int, int, int], Block, int]:
    """A kernel's grid, block and body, and how many threads have words of their own."""
    block = author.pick(
        [(8, 1, 1), (16, 1, 1), (32, 1, 1), (32, 1, 1), (7, 1, 1), (1, 1, 1), (4, 4, 1), (8, 2, 1), (5, 3, 1)]
    )
    blocks = author.between(1, 4)
    size = block[0] * block[1]
    total = blocks * size
    count = max(1, total - author.pick([0, 0, 1, 3]))
    author.scalars.append(Scalar("n", INT, count))
    flat = "threadIdx.x" if block[1] == 1 else "threadIdx.y * blockDim.x + threadIdx.x"
    together = Cooperation(author, block, total)
    author.scope.values = [together.local, together.index]
    author.may_return = False
    body = [statement(f"int l = {flat};"), statement(f"int i = blockIdx.x * {size} + l;")]
    for _ in range(author.pick([1, 1, 2, 3])):
        body += together.section()
    inside = Expression(INT, 0, count - 1, ("i",))
    author.scope.values[1] = inside
    arrays.own(inside)
    author.may_return = True
    body.append(statement("if (i < n) ", tuple(author.statements(author.between(1, 3)) + author.store())))
    return (blocks, 1, 1), block, tuple(body), count
