"""Whole kernels with tiles: what is shared, rounds within rounds of sections, guards, early exits."""

from __future__ import annotations

import random

from tests.fuzz.arrays import Argument
from tests.fuzz.kernels import Extents, Kernel
from tests.fuzz.tiles.sections import BARRIER, Scene, Sections, Tile
from tests.fuzz.trees import DOUBLE, FLOAT, UNSIGNED, WORD, Statement, statement

BLOCKS: tuple[Extents, ...] = ((16, 1, 1), (4, 4, 1), (32, 1, 1), (8, 4, 1), (64, 1, 1), (8, 8, 1))
GRID = 3
GIVEN = 1024
"""How many numbers the input has."""


def write_tiled_kernel(seed: int) -> Kernel:
    """The kernel of that seed."""
    return TileAuthor(seed).write()


class TileAuthor:
    """Writes one kernel."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.draw = random.Random(seed)
        self.ctype = self.draw.choice([UNSIGNED, FLOAT])
        self.block = self.draw.choice(BLOCKS)
        self.threads = self.block[0] * self.block[1]
        self.tiles = [self.tile("a", self.threads)]
        if self.draw.random() < 0.6:
            self.tiles.append(self.tile("b", self.draw.choice([self.threads, self.threads + 1, 2 * self.threads])))
        exits = ["none"] * 7 + ["block"] * 2 + (["threads"] if self.threads % 32 else [])
        self.exit = self.draw.choice(exits)
        self.sections = Sections(self.draw, self.ctype, self.threads, self.tiles, self.exit == "threads")

    def tile(self, name: str, size: int) -> Tile:
        has_rows = self.draw.random() < 0.2 and size % 4 == 0
        other = (DOUBLE if self.ctype == FLOAT else WORD) if self.draw.random() < 0.15 else None
        return Tile(name, size, 4 if has_rows else 0, other)

    def write(self) -> Kernel:
        draw, number = self.draw, self.ctype.name
        body = self.several(Scene(), draw.randint(0, 2), 0)
        trips = draw.choice([1, 2, 3, 6, 10])
        if self.exit == "block":
            body.append(statement(f"if (blockIdx.x == {draw.randint(0, GRID - 1)}) return;"))
        elif self.exit == "threads":
            # Those that go on wait for each other alone.
            body.append(statement(f"if (l >= {draw.randint(self.threads // 2, self.threads - 1)}) return;"))
        body.append(statement(f"for (int t = 0; t < {trips}; t++) ", tuple(self.rounds())))
        body += self.several(Scene(), draw.randint(0, 2), 2)
        start = [
            statement("int l = threadIdx.y * blockDim.x + threadIdx.x;"),
            statement(f"int g = blockIdx.x * {self.threads} + l;"),
            statement(f"{number} v = x[g];"),
            *(statement(tile.declaration(self.ctype)) for tile in self.tiles),
        ]
        for tile in self.tiles:
            filling = draw.choice(["0", f"({number})k", "x[k]"])
            start.append(
                statement(
                    f"for (int k = l; k < {tile.size}; k += {self.threads}) ",
                    (statement(f"{tile.at('k')} = {filling};"),),
                )
            )
        pair = statement(f"struct Pair {{ {number} p, q; }};")
        high = 1 if self.ctype == FLOAT else self.ctype.high
        low = -1 if self.ctype == FLOAT else 0
        arguments = (
            Argument("x", self.ctype, GIVEN, low, high, is_constant=True),
            Argument("y", self.ctype, GRID * self.threads, 0, 0, contents="zeros"),
            Argument("z", UNSIGNED, 8, 0, 0, contents="zeros"),
        )
        whole = (pair, *start, *self.sections.declarations, BARRIER, *body, statement("y[g] = v;"))
        return Kernel(
            self.seed, (), whole, arguments, (), (GRID, 1, 1), self.block, 1, is_soft=self.ctype == FLOAT
        ).trimmed()

    def rounds(self) -> list[Statement]:
        """The body of the outermost loop, which some kernels leave early, all threads of a block at once."""
        body = self.several(Scene(("t",)), self.draw.randint(2, 4), 1)
        if self.draw.random() < 0.2:
            body.append(statement(f"if (t + blockIdx.x > {self.draw.randint(1, 4)}) break;"))
        return body

    def several(self, scene: Scene, count: int, depth: int) -> list[Statement]:
        """So many sections and loops of sections."""
        body: list[Statement] = []
        for _ in range(count):
            if self.draw.random() < 0.1:
                # All threads of a block are of one mind.
                condition = self.draw.choice(
                    [f"{self.sections.counter(scene)} % 2 == 1", "blockIdx.x > 0", "blockIdx.x == 1"]
                )
                body.append(statement(f"if ({condition}) ", tuple(self.sections.section(scene))))
            elif depth and self.draw.random() < 0.2:
                counter = f"u{depth}"
                trips = self.draw.choice([1, 2, 3, 5])
                inner = self.several(scene.within(counter), self.draw.randint(1, 2), depth - 1)
                body.append(statement(f"for (int {counter} = 0; {counter} < {trips}; {counter}++) ", tuple(inner)))
            else:
                body += self.sections.section(scene)
        return body
