"""Writes kernels whose numbers may be anything: all integer widths, floats with their special values, and all the
control flow, local and shared memory, shuffles and atomics that threads have."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar

from tests.fuzz.arrays import Argument, Scalar
from tests.fuzz.kernels import Extents, Kernel
from tests.fuzz.trees import (
    BOOL,
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

T = TypeVar("T")
TYPES = (BYTE, SIGNED_BYTE, SHORT, WORD, INT, INT, INT, UNSIGNED, UNSIGNED, LONG, SIZE, FLOAT, FLOAT, DOUBLE)
BLOCKS: tuple[Extents, ...] = (
    (32, 1, 1), (64, 1, 1), (24, 1, 1), (13, 1, 1), (1, 1, 1), (8, 4, 1), (16, 3, 1), (5, 3, 2), (1, 32, 1), (4, 4, 4),
)  # fmt: skip
GRIDS: tuple[Extents, ...] = ((1, 1, 1), (3, 1, 1), (5, 1, 1), (2, 2, 1), (1, 3, 2), (40, 1, 1))
GIVEN = 64
"""How many elements each input has; and shared and local arrays have less."""
SPECIAL = {
    "float": ("0.0f", "-0.0f", "1.0f", "-1.5f", "3.0e9f", "-2147483648.0f", "1.0e-40f", "__int_as_float(0x7f800000)"),
    "double": ("0.0", "-0.0", "0.1", "1.0e300", "4.0e-310", "-9.3e18", "4294967295.5", "0.5"),
}


class FreeAuthor:
    """Writes one kernel."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.draw = random.Random(seed)
        self.count = 0
        self.names: list[tuple[str, CType]] = []
        self.constants: list[tuple[str, CType]] = []
        self.locals: list[tuple[str, CType, int]] = []
        self.loops = 0
        self.meets = self.draw.random() < 0.45
        """Whether threads meet: then none of them leaves early, or loops as its own data say around a meeting."""
        self.block = self.draw.choice(BLOCKS)
        self.grid = self.draw.choice(GRIDS)
        self.threads = self.block[0] * self.block[1] * self.block[2]
        self.inputs = [
            Argument(f"in{k}", ctype, GIVEN, _low(ctype), _high(ctype), is_constant=True)
            for k, ctype in enumerate(self.draw.sample([INT, UNSIGNED, LONG, FLOAT, DOUBLE, SHORT, BYTE, SIZE], 3))
        ]
        self.sums = [
            Argument(f"sum{k}", ctype, 16, 0, 9) for k, ctype in enumerate(self.draw.sample([INT, UNSIGNED, SIZE], 2))
        ]
        # One kind for each array: the order of several matters, and is the emulator's only within a piece.
        self.kinds = {
            each.name: "Add" if each.ctype == SIZE else self.draw.choice(["Add", "Min", "Max", "And", "Or", "Xor"])
            for each in self.sums
        }
        self.tile = self.draw.choice([INT, UNSIGNED, FLOAT, LONG, SHORT])

    # -- small choices ------------------------------------------------------------------------------------------------

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def chance(self, part: float) -> bool:
        return self.draw.random() < part

    def pick(self, options: list[T]) -> T:
        return self.draw.choice(options)

    # -- expressions --------------------------------------------------------------------------------------------------

    def leaf(self, ctype: CType) -> Expression:
        known = [name for name, other in (*self.names, *self.constants) if other == ctype]
        if known and self.chance(0.7):
            return self.of(ctype, self.pick(known))
        given = [each for each in self.inputs if each.ctype == ctype]
        if given and self.chance(0.5):
            return self.of(ctype, f"{self.pick(given).name}[", self.place(GIVEN), "]")
        own = [each for each in self.locals if each[1] == ctype]
        if own and self.chance(0.6):
            array, _, size = self.pick(own)
            return self.of(ctype, f"{array}[", self.place(size), "]")
        # What clang sees to be beyond a type it leaves open, so that all numbers are hidden from it.
        if not ctype.is_integer:
            return self.of(ctype, f"(one * {self.draw.choice(SPECIAL[ctype.name])})")
        near = [0, 1, 2, 3, 7, 31, 32, ctype.high, ctype.low, -1 if ctype.kind == "signed" else ctype.high - 1]
        value = self.pick(near) if self.chance(0.7) else self.draw.randint(ctype.low, ctype.high)
        return self.of(ctype, f"({ctype.name})(none ^ {_literal(value)})")

    def of(self, ctype: CType, *pieces: str | Expression) -> Expression:
        return Expression(ctype, _low(ctype), _high(ctype), pieces)

    def place(self, size: int) -> Expression:
        """An index within a power of two."""
        if self.chance(0.3):
            return self.of(UNSIGNED, f"(i + {self.draw.randint(0, 9)}) & {size - 1}")
        if self.chance(0.2):
            return self.of(UNSIGNED, f"({self.draw.randint(1, 5)} * i) & {size - 1}")
        return self.of(UNSIGNED, "(unsigned)(", self.value(self.pick([INT, UNSIGNED, LONG]), 1), f") & {size - 1}")

    def condition(self, depth: int) -> Expression:
        ctype = self.draw.choice(TYPES)
        a, b = self.value(ctype, depth - 1), self.value(ctype, depth - 1)
        plain = self.of(BOOL, "(", a, f" {self.pick(['<', '<=', '>', '>=', '==', '!='])} ", b, ")")
        if self.chance(0.2):
            return self.of(BOOL, "(", plain, self.pick([" && ", " || "]), self.condition(depth - 1), ")")
        return plain

    def value(self, ctype: CType, depth: int = 3) -> Expression:
        if depth <= 0 or self.chance(0.2):
            return self.leaf(ctype)
        makers: list[Callable[[CType, int], Expression]] = [
            self.binary,
            self.binary,
            self.binary,
            self.cast,
            self.chosen,
        ]
        makers += [self.bits] if ctype.is_integer else [self.function]
        return self.pick(makers)(ctype, depth - 1)

    def binary(self, ctype: CType, depth: int) -> Expression:
        a, b = self.value(ctype, depth), self.value(ctype, depth)
        if not ctype.is_integer:
            return self.of(ctype, "(", a, f" {self.pick(['+', '-', '*', '/'])} ", b, ")")
        sign = self.pick(["+", "-", "*", "&", "|", "^", "/", "%", "<<", ">>"])
        if sign in ("<<", ">>", "/", "%"):
            b = self.second(ctype, is_shift=sign in ("<<", ">>"), value=b)
        if sign in ("+", "-", "*") and ctype.kind == "signed":  # C leaves it open what is beyond
            unsigned = {8: "unsigned", 16: "unsigned", 32: "unsigned", 64: "size_t"}[ctype.bits]
            return self.of(ctype, f"({ctype.name})(({unsigned})(", a, f") {sign} ({unsigned})(", b, "))")
        return self.of(ctype, f"({ctype.name})(", a, f" {sign} (", b, "))")

    def second(self, ctype: CType, *, is_shift: bool, value: Expression) -> Expression:
        """By what a number is shifted or divided: data may be anything, other numbers what C has a meaning for."""
        given = [each.name for each in self.inputs if each.ctype == ctype]
        if given and self.chance(0.5):
            return self.of(ctype, f"{self.pick(given)}[", self.place(GIVEN), f"]{' & 127' if is_shift else ''}")
        return self.of(ctype, "(", value, f" & {ctype.bits - 1})" if is_shift else " | 1)")

    def cast(self, ctype: CType, depth: int) -> Expression:
        return self.of(ctype, f"({ctype.name})(", self.value(self.draw.choice(TYPES), depth), ")")

    def chosen(self, ctype: CType, depth: int) -> Expression:
        return self.of(
            ctype, "(", self.condition(depth), " ? ", self.value(ctype, depth), " : ", self.value(ctype, depth), ")"
        )

    def bits(self, ctype: CType, depth: int) -> Expression:
        a, b = self.value(ctype, depth), self.value(ctype, depth)
        if ctype.bits < 32:
            return self.of(ctype, f"({ctype.name})(", a, " < ", b, " ? ", a, " : ", b, ")")
        wide = "ll" if ctype.bits == 64 else ""
        form = self.draw.randint(0, 6)
        if form == 0:
            call = self.pick(["popc", "clz", "ffs", "brev"])
            return self.of(ctype, f"({ctype.name})__{call}{wide}(", a, ")")
        if form == 1:
            high = {"int": "__mulhi", "unsigned": "__umulhi", "long long": "__mul64hi", "size_t": "__umul64hi"}
            return self.of(ctype, f"({ctype.name}){high[ctype.name]}(", a, ", ", b, ")")
        if form == 2 and not wide:
            call = self.pick(["__funnelshift_l", "__funnelshift_r", "__byte_perm"])
            return self.of(ctype, f"({ctype.name}){call}(", a, ", ", b, ", ", self.value(UNSIGNED, depth), ")")
        if form == 3:
            return self.of(ctype, f"({ctype.name})~(", a, ")")
        if form == 4:
            like = self.pick([FLOAT, DOUBLE])
            x = self.value(like, depth)
            return self.of(ctype, f"({ctype.name})(", x, " != ", x, ")")
        return self.of(ctype, f"{self.pick(['min', 'max'])}(", a, ", ", b, ")")

    def function(self, ctype: CType, depth: int) -> Expression:
        a, b, f = self.value(ctype, depth), self.value(ctype, depth), "f" if ctype == FLOAT else ""
        form = self.draw.randint(0, 5)
        if form <= 1:
            call = self.pick(["fabs", "sqrt", "floor", "ceil", "trunc", "rint", "round", "-"])
            return self.of(ctype, "(-(", a, "))") if call == "-" else self.of(ctype, f"{call}{f}(", a, ")")
        if form == 2:
            return self.of(ctype, f"{self.pick(['fmin', 'fmax', 'copysign', 'fmod'])}{f}(", a, ", ", b, ")")
        if form == 3:
            return self.of(ctype, f"fma{f}(", a, ", ", b, ", ", self.value(ctype, depth), ")")
        if form == 4 and ctype == FLOAT:
            return self.of(ctype, "__int_as_float(", self.value(INT, depth), ")")
        return self.of(
            ctype, f"({ctype.name})(", self.value(self.pick([INT, UNSIGNED, LONG, SIZE, DOUBLE, FLOAT]), depth), ")"
        )

    # -- statements ---------------------------------------------------------------------------------------------------

    def declare(self) -> Statement:
        ctype, name = self.draw.choice(TYPES), self.name("v")
        made = statement(f"{ctype.name} {name} = ", self.value(ctype), ";", is_fixed=True)
        self.names.append((name, ctype))
        return made

    def assign(self) -> Statement:
        name, ctype = self.pick(self.names)
        return statement(f"{name} = ", self.value(ctype), ";")

    def local(self) -> Statement:
        ctype, name, size = self.pick([INT, FLOAT, SHORT, DOUBLE, UNSIGNED]), self.name("own"), self.pick([2, 4, 8])
        made = statement(f"{ctype.name} {name}[{size}] = {{}};", is_fixed=True)
        self.locals.append((name, ctype, size))
        return made

    def store_local(self) -> Statement:
        name, ctype, size = self.pick(self.locals)
        return statement(f"{name}[", self.place(size), "] = ", self.value(ctype), ";")

    def count_up(self) -> Statement:
        target = self.pick(self.sums)
        kind = self.kinds[target.name]
        name = "unsigned long long" if target.ctype == SIZE else target.ctype.name
        place, value = self.place(16), self.value(target.ctype, 2)
        return statement(f"atomic{kind}(({name} *)&{target.name}[", place, f"], ({name})(", value, "));")

    def branch(self, depth: int, *, may_meet: bool) -> Statement:
        if may_meet:
            condition = self.of(BOOL, f"blockIdx.x % 2 == {self.draw.randint(0, 1)}")
        else:
            condition = self.condition(2)
        one = self.several(depth - 1, may_meet=may_meet)
        if self.chance(0.4):
            return statement("if (", condition, ") ", one)
        return statement("if (", condition, ") ", one, "else ", self.several(depth - 1, may_meet=may_meet))

    def loop(self, depth: int, *, may_meet: bool) -> Statement:
        k = self.name("k")
        self.constants.append((k, INT))
        self.loops += 1
        if may_meet:
            trips = self.of(INT, str(self.draw.randint(1, 4)))
        else:
            trips = self.of(INT, "(int)((", self.value(self.pick([INT, UNSIGNED]), 1), f") & {self.pick([1, 3, 7])})")
        if self.chance(0.6) or may_meet:
            body = self.several(depth - 1, may_meet=may_meet)
            made = statement(f"for (int {k} = 0; {k} < ", trips, f"; {k}++) ", body)
        else:
            condition = self.condition(2)
            body = self.several(depth - 1, may_meet=False)
            made = statement(f"for (int {k} = 0; {k} < 9 && ", condition, f"; {k}++) ", body)
        self.loops -= 1
        self.constants.remove((k, INT))
        return made

    def leave(self) -> Statement:
        return statement("if (", self.condition(2), f") {self.pick(['break', 'continue'])};")

    def exchange(self) -> list[Statement]:
        """Each thread writes its own place of the tile, all meet, and read where they like."""
        name = self.tile.name
        v = self.name("v")
        put = statement("tile[t] = ", self.value(self.tile), ";")
        place = self.of(UNSIGNED, "(unsigned)(", self.value(INT, 1), f") % {self.threads}u")
        read = statement(f"{name} {v} = tile[", place, "];", is_fixed=True)
        self.names.append((v, self.tile))
        meet = statement("__syncthreads();", is_fixed=True)
        return [put, meet, read, meet]

    def shuffle(self) -> Statement:
        ctype, v = self.pick([INT, UNSIGNED, FLOAT, LONG]), self.name("v")
        how = self.pick(["", "_xor", "_up", "_down"])
        other = self.value(INT, 1) if not how else self.of(INT, str(self.pick([1, 2, 4, 8, 16])))
        width = self.pick(["", "", ", 16", ", 8"])
        made = statement(
            f"{ctype.name} {v} = __shfl{how}_sync(0xffffffff, ",
            self.value(ctype, 2),
            ", ",
            other,
            f"{width});",
            is_fixed=True,
        )
        self.names.append((v, ctype))
        return made

    def vote(self) -> Statement:
        v = self.name("v")
        how = self.pick(["__ballot_sync", "__any_sync", "__all_sync"])
        made = statement(f"unsigned {v} = {how}(0xffffffff, ", self.condition(2), ");", is_fixed=True)
        self.names.append((v, UNSIGNED))
        return made

    def several(self, depth: int, *, may_meet: bool) -> Block:
        known, own = len(self.names), len(self.locals)
        made: list[Statement] = []
        for _ in range(self.draw.randint(1, 4 if depth else 2)):
            made += self.one(depth, may_meet=may_meet)
        del self.names[known:], self.locals[own:]
        return tuple(made)

    def one(self, depth: int, *, may_meet: bool) -> list[Statement]:
        if may_meet and self.chance(0.35):
            if self.threads % 32 == 0 and self.chance(0.6):
                return [self.shuffle() if self.chance(0.7) else self.vote()]
            return self.exchange()
        form = self.draw.random()
        if depth > 0 and form < 0.18:
            return [self.branch(depth, may_meet=may_meet and self.chance(0.5))]
        if depth > 0 and form < 0.33:
            return [self.loop(depth, may_meet=may_meet and self.chance(0.5))]
        if form < 0.4 and self.loops and not may_meet:
            return [self.leave()]
        if form < 0.5:
            return [self.count_up()]
        if form < 0.58:
            return [self.local()]
        if form < 0.7 and self.locals:
            return [self.store_local()]
        return [self.declare() if form < 0.85 else self.assign()]

    # -- the whole ----------------------------------------------------------------------------------------------------

    def write(self) -> Kernel:
        (bx, by, _), (gx, gy, _) = self.block, self.grid
        start = [
            statement(f"unsigned t = (threadIdx.z * {by} + threadIdx.y) * {bx} + threadIdx.x;", is_fixed=True),
            statement(f"unsigned b = (blockIdx.z * {gy} + blockIdx.y) * {gx} + blockIdx.x;", is_fixed=True),
            statement(f"unsigned i = b * {self.threads} + t;", is_fixed=True),
        ]
        self.constants += [("t", UNSIGNED), ("i", UNSIGNED), ("n", INT)]
        if self.meets:
            start.append(statement(f"__shared__ {self.tile.name} tile[{self.threads}];", is_fixed=True))
        body = [self.declare(), self.declare()]
        if not self.meets and self.chance(0.4):
            body.append(statement(f"if (i >= {self.draw.randint(1, 60)} + n) return;"))
        for _ in range(self.draw.randint(3, 8)):
            body += self.one(2, may_meet=self.meets)
        everyone = self.threads * self.grid[0] * self.grid[1] * self.grid[2]
        outs: list[Argument] = []
        for k, ctype in enumerate(dict.fromkeys(ctype for _, ctype in self.names)):
            values = [name for name, other in self.names if other == ctype]
            out = Argument(f"out{k}", ctype, everyone * len(values), 0, 0, contents="zeros")
            outs.append(out)
            for at, name in enumerate(values):
                place = f"i * {len(values)} + {at}" if self.seed % 2 else f"i + {at * everyone}"
                body.append(statement(f"out{k}[{place}] = ", self.of(ctype, name), ";"))
        n = self.draw.choice([0, 1, 7, -1, 2**31 - 1, 1000])
        scalars = (Scalar("n", INT, n), Scalar("none", LONG, 0), Scalar("one", FLOAT, 1.0))
        arguments = (*self.inputs, *self.sums, *outs)
        return Kernel(
            self.seed, (), (*start, *body), arguments, scalars, self.grid, self.block, 1, False, form="native"
        ).trimmed()


def write_free_kernel(seed: int) -> Kernel:
    """The kernel of that seed."""
    return FreeAuthor(seed).write()


def _low(ctype: CType) -> float:
    return ctype.low if ctype.is_integer else float("-inf")


def _high(ctype: CType) -> float:
    return ctype.high if ctype.is_integer else float("inf")


def _literal(value: int) -> str:
    if value == -(2**63):
        return "(-9223372036854775807LL - 1)"
    return f"{value}ull" if value >= 2**63 else f"{value}ll" if abs(value) >= 2**31 else str(value)
