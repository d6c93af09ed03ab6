"""What the threads of a block do together between two barriers, or with barriers of their own."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tests.fuzz.trees import FLOAT, CType, Statement, statement

T = TypeVar("T")

BARRIER = statement("__syncthreads();")


@dataclass(frozen=True)
class Tile:
    """A shared array of so many numbers; `columns` where it is declared with rows, of which each has so many."""

    name: str
    size: int
    columns: int = 0
    ctype: CType | None = None
    """The type of its numbers where that is not the kernel's."""

    def at(self, index: str) -> str:
        """An element by its number."""
        if self.columns:
            return f"{self.name}[({index}) / {self.columns}][({index}) % {self.columns}]"
        return f"{self.name}[{index}]"

    def declaration(self, ctype: CType) -> str:
        extents = f"[{self.size // self.columns}][{self.columns}]" if self.columns else f"[{self.size}]"
        return f"__shared__ {(self.ctype or ctype).name} {self.name}{extents};"


@dataclass(frozen=True)
class Scene:
    """What is known where a section stands: the loops' counters around it."""

    counters: tuple[str, ...] = ()

    def within(self, counter: str) -> Scene:
        return replace(self, counters=(*self.counters, counter))


class Sections:
    """Writes sections for blocks of `threads` threads, of which each has its number `l` and a value `v`."""

    def __init__(
        self, draw: random.Random, ctype: CType, threads: int, tiles: Sequence[Tile], threads_exit: bool
    ) -> None:
        self.draw = draw
        self.ctype = ctype
        self.threads = threads
        self.tiles = tiles
        self.threads_exit = threads_exit
        """Whether some threads are gone, so that their elements of arrays stay as they were."""
        self.count = 0
        self.declarations: list[Statement] = []
        """Shared arrays that sections have of their own."""
        self.kinds: list[Callable[[Scene], list[Statement]]] = [
            *[self.store] * 3,
            *[self.load] * 3,
            *[self.exchange] * 3,
            self.tree,
            self.running_sum,
            self.sweeps,
            self.local_array,
            self.histogram,
            self.total,
            self.records,
            self.halves,
            self.count_block,
            self.leader,
            self.views,
            self.either_tile,
            self.memory_of_rounds,
            self.until,
            *([self.shuffle, self.warp_tree, self.warp_sum, self.vote] if threads % 32 == 0 else []),
            *([self.transpose] if threads in (16, 64) else []),
        ]

    def section(self, scene: Scene) -> list[Statement]:
        """Any of them, with a barrier at its end."""
        return [*self.pick(self.kinds)(scene), BARRIER]

    # -- drawing --------------------------------------------------------------------------------------------------

    def pick(self, choices: Sequence[T]) -> T:
        return self.draw.choice(choices)

    def number(self, low: int, high: int) -> int:
        return self.draw.randint(low, high)

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def counter(self, scene: Scene) -> str:
        return self.pick([*scene.counters, *scene.counters, "1"])

    def shared(self, stem: str, size: int, type_name: str = "") -> str:
        """An array of the section's own; nothing is in it at first, unless not all threads will write to it."""
        name = self.name(stem)
        self.declarations.append(statement(f"__shared__ {type_name or self.ctype.name} {name}[{size}];"))
        if self.threads_exit:
            self.declarations.append(statement(f"for (int k = l; k < {size}; k += {self.threads}) {name}[k] = {{}};"))
        return name

    def place(self, size: int, scene: Scene) -> str:
        """Any element of an array of that size, no smaller than the block."""
        counter, threads = self.counter(scene), self.threads
        return self.pick(
            [
                "l",
                f"{threads - 1} - l + {self.number(0, size - threads)}",
                f"(l + {counter}) % {size}",
                f"(l + {self.number(0, size - 1)}) % {size}",
                f"l + {self.number(0, size - threads)}",
                f"(l * 3 + {counter}) % {size}",
                f"l ^ {self.pick([1, 2, 4, 8])}",
                f"l / 2 + {self.number(0, size - threads // 2)}",
                f"(int)(x[l] > {self.half()} ? l : {self.number(0, size - 1)})",
                f"{self.number(0, size - 1)}",
            ]
        )

    def own_place(self, size: int, scene: Scene) -> str:
        """An element that is no other thread's."""
        return self.pick(
            [
                "l",
                f"l + {self.number(0, size - self.threads)}",
                f"{self.threads - 1} - l + {self.number(0, size - self.threads)}",
                f"(l + {self.counter(scene)}) % {size}",
                f"l ^ {self.pick([1, 2, 4, 8])}",
            ]
        )

    def half(self) -> str:
        """A number that about half of the given numbers exceed."""
        return "0.1f" if self.ctype == FLOAT else "2000000000u"

    def guard(self, scene: Scene) -> str:
        """A condition on threads, blocks, rounds or data; often none."""
        return self.pick(
            [
                *[""] * 5,
                f"if (l < {self.number(1, self.threads - 1)}) ",
                f"if (l == {self.number(0, self.threads - 1)}) ",
                f"if (blockIdx.x > {self.number(0, 1)}) ",
                f"if ((l + {self.counter(scene)}) % 3 == 0) ",
                f"if ({self.counter(scene)} < {self.number(1, 3)}) ",
                f"if (x[l + {self.counter(scene)}] > {self.half()}) ",
                f"if (l > {self.number(0, 3)} && x[l] > {self.half()}) ",
                f"if (l % {self.number(2, 4)} == {self.number(0, 1)}) ",
                f"if (l < {self.number(1, self.threads // 2)} || l == {self.threads - 1}) ",
            ]
        )

    def given(self, scene: Scene) -> str:
        """A number from the input."""
        stride = self.pick([0, 1, self.threads, 3 * self.threads])
        return f"x[(g + {self.counter(scene)} * {stride} + {self.number(0, 3)}) % 1024]"

    def value(self, scene: Scene) -> str:
        tile = self.pick(self.tiles)
        half = "v * 0.5f" if self.ctype == FLOAT else "v * 3u"
        return self.pick(
            [
                self.given(scene),
                self.given(scene),
                f"({self.ctype.name})(l + 1) * {self.counter(scene)}",
                "v",
                f"{half} + {tile.at(self.place(tile.size, scene))}",
            ]
        )

    def sum_up(self, text: str) -> Statement:
        """Let the thread's value depend on a number, without growing much."""
        return statement(f"v = v * 0.5f + {text};" if self.ctype == FLOAT else f"v += {text};")

    # -- sections -------------------------------------------------------------------------------------------------

    def store(self, scene: Scene) -> list[Statement]:
        tile, name = self.pick(self.tiles), self.name("w")
        return [
            statement(f"{self.ctype.name} {name} = {self.value(scene)};"),
            BARRIER,
            statement(f"{self.guard(scene)}{tile.at(self.own_place(tile.size, scene))} = {name};"),
        ]

    def exchange(self, scene: Scene) -> list[Statement]:
        """What some threads have just stored, read by others."""
        tile = self.pick(self.tiles)
        own, guard = self.own_place(tile.size, scene), self.guard(scene)
        other = self.pick(["l", own, f"{self.threads - 1} - l", self.place(tile.size, scene)])
        return [
            statement(f"{guard}{tile.at(own)} = {self.given(scene)};"),
            BARRIER,
            statement(f"{self.pick([guard, '', self.guard(scene)])}v += {tile.at(other)};"),
        ]

    def load(self, scene: Scene) -> list[Statement]:
        tile, number = self.pick(self.tiles), self.ctype.name
        inner = scene.within("k")
        return [
            self.pick(
                [
                    statement(f"{self.guard(scene)}v += {tile.at(self.place(tile.size, scene))};"),
                    statement(f"for (int k = 0; k < {tile.size}; k++) v += {tile.at('k')} * ({number})(k + 1);"),
                    statement(f"for (int k = {self.number(1, 3)}; k < {tile.size}; k *= 2) v += {tile.at('k')};"),
                    statement(f"for (int k = {tile.size - 1}; k >= l; k -= {self.number(1, 5)}) v -= {tile.at('k')};"),
                    statement(
                        f"for (int k = 0; k < {self.threads}; k++) ",
                        (
                            statement(
                                f"v += {tile.at(self.place(tile.size, inner))} * x[(k * {self.threads} + l) % 1024];"
                            ),
                        ),
                    ),
                    statement(
                        f"for (int k = 0; k <= {self.pick(['l', 'l / 2', self.counter(scene)])}; k++) ",
                        (statement(f"{self.guard(inner)}v += {tile.at('k')};"),),
                    ),
                ]
            )
        ]

    def combine(self, target: str, source: str) -> str:
        """One number into another, by an operation whose order does not matter."""
        function = "fmaxf" if self.ctype == FLOAT else "max"
        return self.pick([f"{target} += {source};", f"{target} = {function}({target}, {source});"])

    def tree(self, scene: Scene) -> list[Statement]:
        tile = self.pick(self.tiles)
        step = self.combine(tile.at("l"), tile.at("l + s"))
        rising = self.combine(tile.at("2 * s * l"), tile.at("2 * s * l + s"))
        half = self.threads // 2
        return [
            self.pick(
                [
                    statement(
                        f"for (int s = {half}; s > 0; s >>= 1) ",
                        (statement("if (l < s) ", (statement(step),)), BARRIER),
                    ),
                    statement(
                        f"for (int s = 1; s < {self.threads}; s *= 2) ",
                        (statement(f"if (l % (2 * s) == 0) {step}"), BARRIER),
                    ),
                    statement(
                        f"for (int s = 1; s < {self.threads}; s *= 2) ",
                        (statement(f"if (2 * s * l < {self.threads}) {rising}"), BARRIER),
                    ),
                ]
            ),
            *([self.sum_up(tile.at("0"))] if self.number(0, 1) else []),
        ]

    def warp_tree(self, scene: Scene) -> list[Statement]:
        """A tree whose last rounds are one warp's."""
        plain = [each for each in self.tiles if not each.columns and each.ctype is None]
        tile = self.pick(plain or [Tile(self.filled(), self.threads)])
        name, number = self.name("p"), self.ctype.name
        # The last warp reads before any lane writes, as `__syncwarp` sees to.
        old = self.name("q")
        rounds: list[Statement] = []
        for s in (16, 8, 4, 2, 1):
            rounds += [
                statement(f"{number} {old}_{s} = l < {s} ? {name}[l + {s}] : ({number})0;"),
                statement("__syncwarp();"),
                statement(f"{name}[l] += {old}_{s};"),
                statement("__syncwarp();"),
            ]
        step = statement(f"if (l < s) {tile.name}[l] += {tile.name}[l + s];")
        outer = [statement(f"for (int s = {self.threads // 2}; s > 16; s >>= 1) ", (step, BARRIER))]
        volatile = self.pick(["volatile ", "volatile ", ""])
        return [
            *(outer if self.threads > 32 else []),
            statement("if (l < 32) ", (statement(f"{volatile}{number} *{name} = {tile.name};"), *rounds)),
        ]

    def filled(self) -> str:
        """An array of the section's own that holds zeros; all threads have passed a barrier since."""
        name = self.shared("own", self.threads)
        self.declarations += [statement(f"{name}[l] = 0;"), BARRIER]
        return name

    def running_sum(self, scene: Scene) -> list[Statement]:
        """Hillis and Steele's."""
        tile, before = self.pick(self.tiles), self.name("o")
        return [
            statement(
                f"for (int o = 1; o < {self.threads}; o *= 2) ",
                (
                    statement(f"{self.ctype.name} {before} = l >= o ? {tile.at('l - o')} : ({self.ctype.name})0;"),
                    BARRIER,
                    statement(f"{tile.at('l')} += {before};"),
                    BARRIER,
                ),
            )
        ]

    def sweeps(self, scene: Scene) -> list[Statement]:
        """Blelloch's: up the tree and down again."""
        tile, threads, number = self.pick(self.tiles), self.threads, self.ctype.name
        low, high, last = tile.at("s * (2 * l + 1) - 1"), tile.at("s * (2 * l + 2) - 1"), tile.at(f"{threads - 1}")
        down = (statement(f"{number} low = {low};"), statement(f"{low} = {high};"), statement(f"{high} += low;"))
        return [
            statement(
                f"for (int s = 1; s < {threads}; s *= 2) ",
                (statement(f"if (s * (2 * l + 2) <= {threads}) {high} += {low};"), BARRIER),
            ),
            statement(f"if (l == 0) {last} = 0;"),
            BARRIER,
            statement(
                f"for (int s = {threads // 2}; s > 0; s /= 2) ",
                (statement(f"if (s * (2 * l + 2) <= {threads}) ", down), BARRIER),
            ),
        ]

    def shuffle(self, scene: Scene) -> list[Statement]:
        width = self.pick(["", "", ", 16", ", 8"])
        lane = self.pick([f"{self.number(1, 15)}", f"l + {self.number(0, 40)}", self.counter(scene)])
        kind = self.pick(["xor", "up", "down", ""])
        if kind:
            return [self.sum_up(f"__shfl_{kind}_sync(~0u, v, {self.number(1, 31) % (32 if not width else 8)}{width})")]
        return [self.sum_up(f"__shfl_sync(~0u, v, ({lane}) % 32{width})")]

    def warp_sum(self, scene: Scene) -> list[Statement]:
        """The sum over a warp, or over all lanes up to one's own."""
        name, number = self.name("r"), self.ctype.name
        kind = self.pick(["down", "xor", "scan"])
        if kind == "scan":
            step = (
                statement(f"{number} before = __shfl_up_sync(~0u, {name}, o);"),
                statement(f"if (l % 32 >= o) {name} += before;"),
            )
            loop = statement("for (int o = 1; o < 32; o *= 2) ", step)
        else:
            step = (statement(f"{name} += __shfl_{kind}_sync(~0u, {name}, o);"),)
            loop = statement("for (int o = 16; o > 0; o >>= 1) ", step)
        return [statement(f"{number} {name} = {self.value(scene)};"), loop, self.sum_up(name)]

    def local_array(self, scene: Scene) -> list[Statement]:
        """Numbers of a thread's own, by an index that is known as it runs."""
        name, number, size = self.name("own"), self.ctype.name, self.pick([2, 3, 4, 8])
        index = self.pick(["l", f"l + {self.counter(scene)}", f"(int)(x[l] > {self.half()})"])
        inner = scene.within("k")
        return [
            statement(f"{number} {name}[{size}];"),
            statement(f"for (int k = 0; k < {size}; k++) {name}[k] = {self.value(inner)};"),
            statement(f"{self.guard(scene)}{name}[({index}) % {size}] {self.pick(['=', '+='])} {self.value(scene)};"),
            self.sum_up(f"{name}[(l * 3 + {self.counter(scene)}) % {size}]"),
        ]

    def histogram(self, scene: Scene) -> list[Statement]:
        """Counts in shared memory, by atomic operations."""
        size = self.pick([1, 3, 8])
        name = self.shared("bins", size, "unsigned")
        function = self.pick(["atomicAdd", "atomicAdd", "atomicMax", "atomicXor", "atomicOr"])
        bit = f"(unsigned)(x[(l * 5 + {self.counter(scene)}) % 1024] > {self.half()})"
        return [
            statement(f"for (int k = l; k < {size}; k += {self.threads}) {name}[k] = {self.number(0, 2)};"),
            BARRIER,
            statement(f"{self.guard(scene)}{function}(&{name}[({bit} + l) % {size}], (unsigned)l + {bit});"),
            BARRIER,
            self.sum_up(f"({self.ctype.name}){name}[l % {size}]"),
        ]

    def total(self, scene: Scene) -> list[Statement]:
        """Sums of all blocks."""
        return [statement(f"{self.guard(scene)}atomicAdd(&z[(l + {self.counter(scene)}) % 8], (unsigned)l + 1u);")]

    def records(self, scene: Scene) -> list[Statement]:
        """A tile of records, of which members are set one by one or at once."""
        name = self.shared("pairs", self.threads, "Pair")
        whole = statement(f"{name}[l] = Pair{{v, {self.given(scene)}}};")
        parts = (statement(f"{name}[l].p = {self.given(scene)};"), statement(f"{name}[{self.threads - 1} - l].q = v;"))
        other = self.place(self.threads, scene)
        return [
            *self.pick([(whole,), parts]),
            BARRIER,
            *self.pick([(), (statement(f"{self.guard(scene)}{name}[l].q = v + {self.given(scene)};"), BARRIER)]),
            statement(f"{{ Pair pair = {name}[{other}]; v += pair.p - pair.q; }}"),
        ]

    def halves(self, scene: Scene) -> list[Statement]:
        """Two halves of an array, each made from the other in turn."""
        threads, trips = self.threads, self.number(1, 5)
        name, now = self.shared("halves", 2 * threads), self.name("now")
        near = self.pick([f"(l + {self.number(1, 3)}) % {threads}", f"{threads - 1} - l", "l ^ 1"])
        half = "0.5f *" if self.ctype == FLOAT else "3u *"
        swap = self.pick([f"{now} ^= 1;", f"{now} = 1 - {now};"])
        return [
            statement(f"int {now} = 0;"),
            statement(f"{name}[l] = v;"),
            BARRIER,
            statement(
                f"for (int h = 0; h < {trips}; h++) ",
                (
                    statement(
                        f"{name}[(1 - {now}) * {threads} + l] = {name}[{now} * {threads} + {near}]"
                        f" + {half} {name}[{now} * {threads} + l];"
                    ),
                    statement(swap),
                    BARRIER,
                ),
            ),
            self.sum_up(f"{name}[{now} * {threads} + {self.place(threads, scene)}]"),
        ]

    def count_block(self, scene: Scene) -> list[Statement]:
        """A barrier that counts."""
        function = self.pick(["count", "or", "and"])
        return [
            self.sum_up(f"({self.ctype.name})__syncthreads_{function}(x[l + {self.counter(scene)}] > {self.half()})")
        ]

    def leader(self, scene: Scene) -> list[Statement]:
        """One thread works alone."""
        tile, number, who = self.pick(self.tiles), self.ctype.name, self.number(0, self.threads - 1)
        return [
            statement(
                f"if (l == {who}) ",
                (
                    statement(f"{number} sum = 0;"),
                    statement(f"for (int k = 0; k < {tile.size}; k++) sum += {tile.at('k')};"),
                    statement(f"{tile.at('0')} = sum;"),
                ),
            )
        ]

    def transpose(self, scene: Scene) -> list[Statement]:
        """A square tile with a padding column, read across."""
        side = 4 if self.threads == 16 else 8
        pad = self.number(0, 1)
        square = Tile(self.name("square"), side * (side + pad), side + pad)
        self.declarations.append(statement(square.declaration(self.ctype)))
        if self.threads_exit:
            self.declarations.append(statement(f"{square.name}[l / {side}][l % {side}] = 0;"))
        return [
            statement(f"{square.name}[l / {side}][l % {side}] = v;"),
            BARRIER,
            self.sum_up(f"{square.name}[l % {side}][l / {side}]"),
        ]

    def views(self, scene: Scene) -> list[Statement]:
        """Two arrays in one piece of shared memory, one of them behind the other."""
        threads, number = self.threads, self.ctype.name
        name, first, second = self.shared("raw", 2 * threads, "unsigned"), self.name("first"), self.name("second")
        place = self.place(threads, scene)
        return [
            statement(f"{number} *{first} = ({number} *){name};"),
            statement(f"{number} *{second} = {first} + {threads};"),
            statement(f"{first}[l] = v;"),
            statement(f"{second}[{threads - 1} - l] = {self.given(scene)};"),
            BARRIER,
            self.sum_up(f"{first}[{place}] - {second}[{self.place(threads, scene)}]"),
        ]

    def either_tile(self, scene: Scene) -> list[Statement]:
        """A pointer into one of two tiles, by round, block or thread."""
        plain = [each for each in self.tiles if not each.columns and each.ctype is None]
        if len(plain) < 2:
            return self.store(scene)
        name, number = self.name("some"), self.ctype.name
        condition = self.pick([f"({self.counter(scene)} & 1)", "(blockIdx.x == 1)", "(l & 1)", f"(v > {self.half()})"])
        least = min(each.size for each in plain)
        return [
            statement(f"{number} *{name} = {condition} ? {plain[0].name} : {plain[1].name};"),
            self.pick(
                [
                    statement(f"v += {name}[{self.place(least, scene)}];"),
                    statement(f"{self.guard(scene)}{name}[l] = v;"),
                ]
            ),
        ]

    def memory_of_rounds(self, scene: Scene) -> list[Statement]:
        """Numbers of a thread's own that last from round to round."""
        name, size = self.name("kept"), self.pick([1, 2, 4])
        self.declarations.append(statement(f"{self.ctype.name} {name}[{size}] = {{}};"))
        index = f"({self.pick(['l', '0'])} + {self.counter(scene)}) % {size}"
        return [
            statement(f"{self.guard(scene)}{name}[{index}] {self.pick(['=', '+='])} {self.value(scene)};"),
            self.sum_up(f"{name}[{self.number(0, size - 1)}]"),
        ]

    def until(self, scene: Scene) -> list[Statement]:
        """Rounds until all threads agree that it is enough."""
        name, tile = self.name("left"), self.pick(self.tiles)
        read = statement(f"v += {tile.at(self.place(tile.size, scene))};")
        return [
            statement(f"int {name} = {self.pick(['l', 'l % 3', '(int)blockIdx.x'])} + {self.counter(scene)};"),
            statement(f"while (__syncthreads_or({name} > 0)) ", (statement(f"if ({name}-- > 0) ", (read,)),)),
        ]

    def vote(self, scene: Scene) -> list[Statement]:
        condition = f"x[l + {self.counter(scene)}] > {self.half()}"
        text = self.pick(
            [
                f"__popc(__ballot_sync(~0u, {condition}))",
                f"(__ballot_sync(~0u, {condition}) >> l % 32 & 3)",
                f"__any_sync(~0u, {condition})",
                f"__ffs(__ballot_sync(~0u, {condition}))",
                f"__popc(__ballot_sync(~0u, {condition}) & ((1u << l % 32) - 1))",
            ]
        )
        vote = self.sum_up(f"({self.ctype.name}){text}")
        # A whole warp may vote alone.
        return [statement("if (l < 32) ", (vote,)) if self.number(0, 2) == 0 else vote]
