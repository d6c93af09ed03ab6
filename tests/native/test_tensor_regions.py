"""Loops over whole arrays as native code: the bits of NumPy, in place and with memories that change places."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest

import windlass as wl
from windlass.ir import Block, Builder, Value, tensor_type
from windlass.lowering import native_loops
from windlass.lowering.native_loops import ElementLoop
from windlass.native import element_loops
from windlass.native.region_places import find_boxes, rows_of, volume
from windlass.ops import Constant, DynamicUpdateSlice, Negate, Slice

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="native code is a CPU's")


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ElementLoop]]:
    """The loops that were looked at while programs were compiled; all of them are worth it."""
    found: list[ElementLoop] = []
    take = element_loops.take_element_loops

    def noting(*given: Any, **named: Any) -> list[ElementLoop]:
        loops = take(*given, **named)
        found.extend(loops)
        return loops

    monkeypatch.setattr(element_loops, "WORTH", 0)
    monkeypatch.setattr(element_loops, "WORTH_OF_ARRAYS", 0)
    monkeypatch.setattr(native_loops, "LITTLE", 0)
    monkeypatch.setattr(element_loops, "take_element_loops", noting)
    yield found


def expect_native(looked_at: list[ElementLoop]) -> None:
    assert looked_at
    assert [each.reason for each in looked_at if each.reason] == []


def expect_same_bits(function: Callable[..., Any], rounds: int, *given: Any) -> None:
    """Also of what is changed in place."""
    found, expected = ([each.copy() for each in given] for _ in range(2))
    results = wl.jit(function)(rounds, *found)
    with np.errstate(all="ignore"):
        wanted = function(rounds, *expected)
    for one, other in zip([*found, *(results or ())], [*expected, *(wanted or ())], strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
        if one.dtype.kind == "f":
            np.testing.assert_array_equal((np.signbit(one) | np.isnan(one)), (np.signbit(other) | np.isnan(other)))


def heat(rounds: int, u: Any) -> None:
    for _ in range(rounds):
        inner = u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1]
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.2 * (inner - 4 * u[1:-1, 1:-1])


def jacobi(rounds: int, a: Any, b: Any) -> None:
    for _ in range(rounds):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])


def waves(rounds: int, ex: Any, ey: Any, hz: Any) -> None:
    for t in range(rounds):
        ey[0, :] = t
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def leapfrog(rounds: int, before: Any, now: Any) -> Any:
    """Three memories take each other's places."""
    for _ in range(rounds):
        left, right = np.roll(now, 1), np.roll(now, -1)
        before, now = now, 2 * now - before + 0.1 * (left - 2 * now + right)
    return before, now


def exchange(rounds: int, a: Any, b: Any) -> Any:
    for _ in range(rounds):
        a, b = b, a
        a[1:] = a[:-1] + b[1:]
    return a, b


def within(rounds: int, a: Any, b: Any) -> None:
    """A loop in a loop, whose rounds depend on the one around it."""
    for t in range(rounds):
        for s in range(t):
            a[1:, :] = np.where(a[1:, :] > b[:-1, :], a[:-1, :], b[1:, :] + s)
        b[:, :] = np.concatenate([a[:, 1:], b[:, :1]], 1)


def until(rounds: int, a: Any) -> Any:
    """Goes on until what it computes says so."""
    t = 0
    while a[3, 2] < 100 and t < rounds:
        a = np.pad(a[1:-1, 1:-1] * 1.5 + a[:-2, 1:-1], 1, constant_values=1)
        t += 1
    return a, np.asarray(t)


def halves(rounds: int, x: Any, y: Any) -> Any:
    """Short rows of two parts that are computed otherwise, both of many rows."""
    for _ in range(rounds):
        y[:, :20] = 2 * x[:, :20]
        y[:, 20:] = x[:, 20:] + 1
        x[:] = y
    return x, y


draw = np.random.default_rng(1)
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 5e-324, 1e308] * 10).reshape(7, 10)
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "heat": (heat, (draw.random((37, 70)),)),
    "heat, large": (heat, (draw.random((601, 130)).astype(np.float32),)),
    "heat, special": (heat, (SPECIAL,)),
    "heat, one point": (heat, (draw.random((3, 3)),)),
    "jacobi": (jacobi, (draw.random(5001), draw.random(5001))),
    "waves": (waves, tuple(draw.random((3, 30, 41)))),
    "leapfrog": (leapfrog, tuple(draw.random((2, 300)))),
    "exchange": (exchange, tuple(draw.integers(0, 99, (2, 31, 9)).astype(np.int16))),
    "within": (within, tuple(draw.integers(0, 99, (2, 20, 13)))),
    "halves, 150 rows": (halves, (np.linspace(0, 9, 150 * 41).reshape(150, 41), np.zeros((150, 41)))),
    "halves, 1001 rows": (halves, (np.linspace(0, 9, 1001 * 40).reshape(1001, 40), np.zeros((1001, 40)))),
    "until": (until, (draw.random((12, 40)),)),
}


@pytest.mark.parametrize("name", CASES)
def test_loops_over_arrays_give_the_bits_of_numpy(name: str, looked_at: list[ElementLoop]) -> None:
    function, given = CASES[name]
    expect_same_bits(function, 5, *given)
    expect_native(looked_at)


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_memories_that_changed_places_are_given_back_where_they_belong(
    rounds: int, looked_at: list[ElementLoop]
) -> None:
    expect_same_bits(leapfrog, rounds, *draw.random((2, 40)))
    expect_same_bits(exchange, rounds, *draw.random((2, 40)))
    expect_native(looked_at)


def test_derivatives_of_loops_over_arrays_are_those_of_tensors() -> None:
    def last(u: Any) -> Any:
        heat(9, u)
        return (u[3] ** 2).sum()

    u, step = draw.random((20, 40)), draw.random((20, 40))
    slope = float((np.asarray(jax.grad(wl.jit(last))(u.copy())) * step).sum())
    ahead, behind = (float(wl.jit(last)(u + sign * 1e-6 * step)) for sign in (1, -1))
    assert slope == pytest.approx((ahead - behind) / 2e-6, rel=1e-6)


class Programs:
    """Draws programs that change arrays in loops, and before and after these, as NumPy code."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        rank = self.draw.choice([1, 2, 2, 3])
        self.shape = tuple(self.draw.choice([1, 2, 3, 5, 8, 33] if rank < 3 else [1, 2, 4, 9]) for _ in range(rank))
        if self.draw.random() < 0.15:
            self.shape = tuple(extent * (60, 9, 3)[rank - 1] for extent in self.shape)
        self.dtype = self.draw.choice(["f4", "f8", "f8", "i4", "u1"])
        self.names = ["a", "b", "c"][: self.draw.choice([1, 2, 3])]

    def part(self, extents: tuple[int, ...]) -> str:
        starts = (self.draw.randint(0, whole - extent) for extent, whole in zip(extents, self.shape, strict=True))
        return ", ".join(f"{start}:{start + extent}" for start, extent in zip(starts, extents, strict=True))

    def leaf(self, extents: tuple[int, ...]) -> str:
        found = f"{self.draw.choice(self.names)}[{self.part(extents)}]"
        axis = self.draw.randrange(len(extents))
        chance = self.draw.random()
        if chance < 0.08:
            return f"np.flip({found}, {axis})"
        return f"np.roll({found}, {self.draw.randint(-2, 2)}, {axis})" if chance < 0.16 else found

    def expression(self, extents: tuple[int, ...], depth: int) -> str:
        if not depth or self.draw.random() < 0.15:
            return self.leaf(extents) if self.draw.random() < 0.9 else "(t + 1) * one"
        x, y = (self.expression(extents, depth - 1) for _ in range(2))
        forms = [f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"np.maximum({x}, {y})"]
        forms.append(f"np.where({self.leaf(extents)} > {y}, {x}, {self.leaf(extents)})")
        forms += [f"({x} / {y})", f"np.sqrt(np.abs({x}))"] if self.dtype[0] == "f" else [f"({x} & {y})", f"(~{x})"]
        return self.draw.choice(forms)

    def statement(self) -> str:
        name, other = self.draw.choice(self.names), self.draw.choice(self.names)
        extents = tuple(self.draw.randint(max(1, extent - 2), extent) for extent in self.shape)
        axis = self.draw.randrange(len(extents))
        before = ":, " * axis
        chance = self.draw.random()
        if chance < 0.45:
            return f"{name}[{self.part(extents)}] = {self.expression(extents, 2)}"
        if chance < 0.6:
            return f"{name} = {self.expression(self.shape, 2)} + zero"
        if chance < 0.7:
            return f"{name}, {other} = {other}, {name}" if name != other else f"{name} = {name}.copy()"
        if chance < 0.8:
            cut = self.draw.randint(0, self.shape[axis])
            return f"{name} = np.concatenate([{other}[{before}{cut}:], {name}[{before}:{cut}]], {axis})"
        if chance < 0.9:
            extent = self.shape[axis]
            return f"{name}[{before}t % {extent}] = {other}[{before}(t + 1) % {extent}]"
        return f"for s in range(t): {name}[{self.part(extents)}] = {self.expression(extents, 1)}"

    def text(self) -> str:
        body = "\n".join(f"        {self.statement()}" for _ in range(self.draw.randint(1, 4)))
        before, after = (
            "".join(f"    {self.statement()}\n" for _ in range(self.draw.choice([0, 0, 1, 3]))) for _ in range(2)
        )
        names = ", ".join(self.names)
        loop = f"    for t in range(rounds):\n{body}\n" if self.draw.random() < 0.7 else ""
        return f"def program(rounds, {names}):\n    t = 1\n{before}{loop}    t = 2\n{after}    return ({names},)\n"

    def values(self, seed: int) -> list[Any]:
        numbers = np.random.default_rng(seed)
        given = [(numbers.standard_normal(self.shape) * 50).astype(self.dtype) for _ in self.names]
        if self.dtype[0] == "f" and seed % 2:
            for each in given:
                each[numbers.random(self.shape) < 0.05] = numbers.choice([np.nan, np.inf, -np.inf, -0.0])
        return given


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(32))
def test_drawn_loops_over_arrays_give_the_bits_of_numpy(seed: int, looked_at: list[ElementLoop]) -> None:
    programs = Programs(seed)
    text, name = programs.text(), f"<drawn program {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    zero, one = np.zeros(programs.shape, programs.dtype), np.ones((), programs.dtype)[()]
    names: dict[str, Any] = {"np": np, "zero": zero, "one": one}
    exec(compile(text, name, "exec"), names)
    expect_same_bits(names["program"], (3, 0, 1, 2)[seed % 4], *programs.values(seed))
    assert not any("defect" in each.reason for each in looked_at), text


def differences(field: Any, coefficient: Any, out: Any) -> None:
    """What is computed of a temporary at several places of it."""
    lap = 4.0 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
    change = lap[1:, 1:-1] - lap[:-1, 1:-1]
    flux = np.where(change * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0, change)
    out[:, :] = field[2:-2, 2:-2] - coefficient * (flux[1:, :] - flux[:-1, :])


def parts(a: Any, b: Any) -> Any:
    """Some of what is written is read before and after."""
    first = a[:3] + 1
    a[1:4] = b[2:5] * a[1:4]
    b[:-1] = a[1:] - b[1:]
    a[0] = -b[-1]
    return first, a + b, np.flip(a, 1).copy()


STRAIGHT: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "differences": (differences, (draw.random((23, 70)), draw.random((19, 66)), np.zeros((19, 66)))),
    "differences, special": (differences, (SPECIAL, SPECIAL[:3, :6].copy(), np.zeros((3, 6)))),
    "parts": (parts, tuple(draw.random((2, 9, 5)))),
    "squares": (lambda a: ((a - 1) ** 2 + a * a,), (SPECIAL,)),
}


@pytest.mark.parametrize("name", STRAIGHT)
def test_array_code_gives_the_bits_of_numpy(name: str, looked_at: list[ElementLoop]) -> None:
    function, given = STRAIGHT[name]
    expect_same_bits(lambda _, *arrays: function(*arrays), 1, *given)
    expect_native(looked_at)


def test_functions_of_arrays_are_as_close_as_libmvec_is(looked_at: list[ElementLoop]) -> None:
    def run(x: Any, y: Any) -> Any:
        return np.arctan2(np.sin(x), np.cos(y)) + np.exp(-(x**2)) * np.tanh(y), np.log1p(np.abs(x))

    x, y = np.append(draw.standard_normal((2, 500)), SPECIAL.reshape(2, 35), 1)
    with np.errstate(all="ignore"):
        wanted = run(x, y)
    for found, expected in zip(wl.jit(run)(x, y), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=2e-15)
    expect_native(looked_at)


@pytest.mark.parametrize("seed", range(40))
def test_boxes_are_parts_of_the_whole_and_the_large_ones_whole_runs(seed: int) -> None:
    random_ = random.Random(seed)
    shape = tuple(random_.choice([1, 2, 7, 41, 63, 64, 150, 1001]) for _ in range(random_.choice([1, 2, 2, 3])))
    if np.prod(shape) > 200_000:
        shape = shape[:1]
    block = Block([tensor_type(shape, "f64")])
    with Builder(block):
        value: Value = block.arguments[0]
        for _ in range(random_.choice([1, 2])):
            sizes = [random_.randint(1, extent) for extent in shape]
            starts = [random_.randint(0, extent - size) for extent, size in zip(shape, sizes, strict=True)]
            ends = tuple(start + size for start, size in zip(starts, sizes, strict=True))
            update = Negate(Slice(value, tuple(starts), ends, (1,) * len(shape)))
            value = DynamicUpdateSlice(value, update, tuple(Constant.of(each, "i32") for each in starts))
    written = np.zeros(shape, int)
    for boxes in find_boxes(value, {block.arguments[0]}):
        for box in boxes:
            written[tuple(slice(*along) for along in box)] += 1
        if len(boxes) == 1 and 8 * volume(boxes[0]) > np.prod(shape):
            (first, last), *_ = boxes[0]
            _, run = rows_of(boxes[0])
            assert not run or (last - first) % run == 0
    assert (written == 1).all()
