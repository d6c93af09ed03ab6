"""Random programs through XLA and by their ops' meaning: both must give the same numbers.

Programs multiply matrices, fold, and do arithmetic and movements between, on arrays of odd sizes, many axes, and up to
some 100,000 elements: what XLA:CPU hands to libraries. They compute whole numbers that their types hold exactly, so
that the order of sums is no matter. `python -m tests.fuzz.xla_programs --minutes 10` runs many, in processes of their
own, since XLA may end them; `--way jax` runs programs without what Windlass does about XLA's mistakes.
"""

from __future__ import annotations

import argparse
import collections
import math
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from threading import Timer
from typing import Any
from unittest import mock

import jax
import numpy as np
from numpy.typing import NDArray

from windlass import stablehlo
from windlass.ir import Block, Builder, Function, Module, Op, Result, Value, tensor_type
from windlass.ir.types import NUMPY_DTYPES
from windlass.ops import (
    Abs,
    Add,
    BroadcastInDim,
    Constant,
    Convert,
    DotGeneral,
    Maximum,
    Minimum,
    Multiply,
    Negate,
    Pad,
    ReduceWindow,
    Reshape,
    Return,
    Reverse,
    Sign,
    Slice,
    Subtract,
    Transpose,
)
from windlass.ops.combiners import combiner_region, identity_of
from windlass.ops.evaluation import run_op
from windlass.ops.reduction import reduce_with
from windlass.stablehlo import code, export_text
from windlass.stablehlo.program import TensorProgram

Array = NDArray[Any]

DTYPES = ("f32", "f32", "f32", "f64", "f64", "f64", "bf16", "f16", "i32", "i8", "ui8")
LIMITS = {"f32": 2.0**23, "f64": 2.0**50, "bf16": 2.0**7, "f16": 2.0**10}
"""Up to where types hold all whole numbers; integers wrap around, here and there."""
SIZES = (1, 1, 2, 3, 3, 4, 5, 7, 8, 13, 16, 17, 31, 33, 64, 100, 129, 257, 1000)
LARGE = (4097, 10_000, 16_385, 32_769, 40_000, 65_537, 100_000)
MOST_ELEMENTS = 200_000
MOST_FOLDED = 3_000
"""Elements of a result that the meaning of a fold goes through one after the other."""
MOST_PRODUCTS = 30_000_000
RUNS = 4
"""Threads may meet in one run and not in another."""
PATIENCE = 120.0
"""Seconds after which a program that has not ended hangs."""
WAYS = ("given", "embedded", "exact", "optimized")


@dataclass(frozen=True)
class Program:
    """A program, arguments for it, and what it gives for them."""

    module: Module
    arrays: tuple[Array, ...]
    expected: Array


def write_program(seed: int) -> Program:
    """The program of that number: the same on every run."""
    return _Author(random.Random(seed)).write()


class _Author:
    """Writes a chain of ops, and knows the numbers at each."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.dtype = draw.choice(DTYPES)
        self.block = Block()
        self.known: dict[Value, Any] = {}

    def write(self) -> Program:
        draw = self.draw
        steps: Sequence[Callable[[Value], Value]] = (self.change, self.combine, self.move, self.multiply, self.fold)
        with Builder(self.block):
            value = self.add_argument(self.draw_shape())
            if draw.random() < 0.3:
                value = self.note(self.multiply(value))
            for _ in range(draw.randint(0, 5)):
                (step,) = draw.choices(steps, (2, 3, 3, 2, 2))
                value = self.note(step(value))
            if draw.random() < 0.8:
                value = self.note(self.fold(value))
            Return((value,))
        arrays = tuple(self.known[argument] for argument in self.block.arguments)
        return Program(Module([Function("main", self.block)]), arrays, self.known[value])

    def draw_shape(self) -> tuple[int, ...]:
        draw = self.draw
        if draw.random() < 0.4:
            sizes = [draw.choice(LARGE), *(draw.randint(1, 9) for _ in range(draw.randint(0, 2)))]
        else:
            sizes = [draw.choice(SIZES) for _ in range(draw.choice((1, 2, 2, 3, 3, 4, 5, 6, 7, 8)))]
        while math.prod(sizes) > MOST_ELEMENTS:
            sizes[sizes.index(max(sizes))] //= 2
        draw.shuffle(sizes)
        return tuple(sizes)

    def add_argument(self, shape: tuple[int, ...], dtype: str | None = None) -> Value:
        argument = self.block.add_argument(tensor_type(shape, dtype or self.dtype))
        generator = np.random.default_rng(self.draw.getrandbits(32))
        least = 0 if argument.tensor.is_unsigned else -3
        self.known[argument] = generator.integers(least, 4, shape).astype(NUMPY_DTYPES[argument.dtype])
        return argument

    def note(self, value: Value) -> Value:
        """Compute what is new; gives the value."""
        made: list[Op] = []
        pending = [value]
        while pending:
            each = pending.pop()
            op = each.owner if isinstance(each, Result) else each
            if isinstance(op, Op) and each not in self.known and op not in made:
                made.append(op)
                pending += op.operands
        for op in self.block:
            if op in made:
                run_op(op, self.known, None)
        return value

    def largest(self, value: Value) -> float:
        array = self.known[value]
        return float(np.abs(array.astype(np.float64)).max()) if array.size else 0.0

    def within(self, value: Value, bound: float) -> Value:
        """The value, cut off where its numbers are larger; by ops that libraries take, too."""
        if not value.tensor.is_float or self.largest(value) <= bound:
            return value
        low, high = (Constant.of(limit, value.dtype, value.shape) for limit in (-bound, bound))
        return self.note(Minimum(Maximum(value, low), high))

    def limit(self, value: Value) -> float:
        return LIMITS.get(value.dtype, math.inf)

    # -- steps --------------------------------------------------------------------------------------------------------

    def change(self, value: Value) -> Value:
        choice = self.draw.randint(0, 5)
        if choice == 0 and not value.tensor.is_unsigned:
            return Negate(value)
        if choice == 1 and not value.tensor.is_unsigned:
            return Abs(value)
        if choice == 2 and not value.tensor.is_unsigned:
            return Sign(value)
        if choice == 3 and value.dtype in ("bf16", "f16", "f32"):
            return Convert(value, "f32" if value.dtype != "f32" else "f64")
        square = self.within(value, math.isqrt(int(min(self.limit(value), 2**60))))
        return Multiply(square, square)

    def combine(self, value: Value) -> Value:
        """With an argument that is spread along some axes."""
        draw = self.draw
        combiner = draw.choice((Add, Subtract, Multiply, Multiply, Maximum, Minimum))
        kept = [axis for axis in range(value.tensor.rank) if draw.random() < 0.5]
        if draw.random() < 0.4:
            kept = list(range(value.tensor.rank))
        shape = tuple(value.shape[axis] for axis in kept)
        other: Value = self.add_argument(shape, value.dtype)
        if len(kept) < value.tensor.rank:
            other = BroadcastInDim(other, value.shape, tuple(kept))
        bounded = self.within(value, self.limit(value) // 4)
        return combiner(*((bounded, other) if draw.random() < 0.5 else (other, bounded)))

    def move(self, value: Value) -> Value:
        draw, rank, shape = self.draw, value.tensor.rank, value.shape
        choice = draw.randint(0, 9)
        if choice <= 2 and rank > 1:
            return Transpose(value, tuple(draw.sample(range(rank), rank)))
        if choice <= 4 and rank:
            return Reshape(value, self.draw_reshaped(shape))
        if choice <= 6 and value.tensor.size and rank < 8:
            axis = draw.randint(0, rank)
            size = draw.choice((1, 2, 3, 8, 64, 500))
            if size * value.tensor.size <= MOST_ELEMENTS:
                kept = tuple(each + (each >= axis) for each in range(rank))
                return BroadcastInDim(value, (*shape[:axis], size, *shape[axis:]), kept)
        if choice == 7:
            zero = Constant.of(draw.randint(0, 2), value.dtype)
            low, high = (tuple(draw.randint(0, 2) for _ in shape) for _ in range(2))
            if math.prod(size + 4 for size in shape) <= 2 * MOST_ELEMENTS:
                return Pad(value, zero, low, high, (0,) * rank)
        if choice == 8 and rank:
            return Reverse(value, (draw.randrange(rank),))
        starts = tuple(draw.randint(0, max(size - 1, 0) // 2) for size in shape)
        limits = tuple(
            draw.randint(min(start + 1 + (size - start) // 2, size), size)
            for start, size in zip(starts, shape, strict=True)
        )
        return Slice(value, starts, limits, (1,) * rank)

    def draw_reshaped(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Neighbours merged, or one axis split."""
        draw = self.draw
        axis = draw.randrange(len(shape))
        if len(shape) > 1 and draw.random() < 0.6:
            axis = min(axis, len(shape) - 2)
            return (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])
        factors = [each for each in (1, 2, 3, 4, 8, 10) if shape[axis] % each == 0] or [1]
        factor = draw.choice(factors)
        if len(shape) == 8:
            return shape
        return (*shape[:axis], factor, shape[axis] // factor, *shape[axis + 1 :])

    def multiply(self, value: Value) -> Value:
        """With an argument, by some axes; about half the time as the right operand."""
        draw, shape = self.draw, value.shape
        axes = draw.sample(range(len(shape)), len(shape))
        summed = axes[: draw.choice((0, 1, 1, 1, 1, 2))] if axes else []
        rest = axes[len(summed) :]
        batch = [axis for axis in rest if draw.random() < 0.15]
        free = [axis for axis in rest if axis not in batch]
        new = [draw.choice((1, 2, 3, 3, 4, 7, 8, 16, 33, 257)) for _ in range(draw.choice((0, 1, 1, 2)))]
        terms = math.prod(shape[axis] for axis in summed)
        size = math.prod(shape[axis] for axis in (*batch, *free)) * math.prod(new)
        if size > MOST_ELEMENTS or size * terms > MOST_PRODUCTS or len(batch) + len(free) + len(new) > 8:
            return self.change(value)
        bound = self.limit(value) // (3 * max(terms, 1))
        if bound < 1:
            return self.change(value)
        value = self.within(value, bound)
        letters = [*(("old", axis) for axis in (*summed, *batch)), *(("new", place) for place in range(len(new)))]
        draw.shuffle(letters)
        other_shape = tuple(shape[place] if kind == "old" else new[place] for kind, place in letters)
        other = self.add_argument(other_shape, value.dtype)
        placed = [tuple(letters.index(("old", axis)) for axis in each) for each in (batch, summed)]
        sides = [(value, tuple(batch), tuple(summed)), (other, placed[0], placed[1])]
        if draw.random() < 0.5:
            sides.reverse()
        (left, left_batch, left_summed), (right, right_batch, right_summed) = sides
        element = "f32" if value.dtype in ("bf16", "f16") and draw.random() < 0.5 else value.dtype
        axes_of_both = (left_batch, right_batch, left_summed, right_summed)
        return DotGeneral(left, right, *axes_of_both, ("DEFAULT", "DEFAULT"), None, element)

    def fold(self, value: Value) -> Value:
        draw, rank, shape = self.draw, value.tensor.rank, value.shape
        if not rank or not value.tensor.size:
            return self.change(value)
        combiner = draw.choice((Add, Add, Add, Maximum, Minimum))
        axes = sorted(draw.sample(range(rank), rank if draw.random() < 0.2 else draw.randint(1, rank)))
        while len(axes) > 1 and math.prod(shape[axis] for axis in axes) > MOST_FOLDED:
            axes.remove(max(axes, key=lambda axis: shape[axis]))
        terms = math.prod(shape[axis] for axis in axes)
        if combiner is Add:
            bound = self.limit(value) // terms
            if bound < 1:
                combiner = Maximum
            else:
                value = self.within(value, bound)
        if draw.random() < 0.15:
            return self.fold_windows(value, combiner)
        folded = reduce_with(combiner, value, tuple(axes))
        if draw.random() < 0.3:
            # As a mean is taken from what it is the mean of.
            kept = tuple(axis for axis in range(rank) if axis not in axes)
            self.note(folded)
            spread = BroadcastInDim(self.within(folded, self.limit(value) // 4), shape, kept)
            return Subtract(self.within(value, self.limit(value) // 4), spread)
        return folded

    def fold_windows(self, value: Value, combiner: Any) -> Value:
        draw, shape = self.draw, value.shape
        windows = tuple(draw.choice((1, 2, 3)) if size >= 3 else 1 for size in shape)
        if combiner is Add and math.prod(windows) * self.largest(value) > self.limit(value):
            combiner = Maximum
        strides = tuple(window if draw.random() < 0.7 else draw.choice((1, 2)) for window in windows)
        dilations = tuple(2 if draw.random() < 0.1 and size * 2 <= 1000 else 1 for size in shape)
        ones, none = (1,) * len(shape), ((0, 0),) * len(shape)
        start = Constant.of(identity_of(combiner, value.dtype), value.dtype)
        region = combiner_region(combiner, value.dtype)
        return ReduceWindow((value,), (start,), windows, strides, dilations, ones, none, region).results[0]


# -- running ----------------------------------------------------------------------------------------------------------


def run_program(program: Program, way: str) -> str:
    """What is wrong with what XLA gives, or nothing."""
    with jax.enable_x64(True), mock.patch.object(code, "avoid_miscompilations") if way == "jax" else nullcontext():
        text = export_text(program.module)
        if way in ("exact", "optimized"):
            text = stablehlo.optimize(text, exact=way == "exact", device="cpu")
        prepared = TensorProgram(stablehlo.import_text(text), is_given=True)
        compiled: Any = jax.jit(prepared.bind) if way == "embedded" else prepared.jitted()
        for turn in range(RUNS):
            found = np.asarray(compiled(*program.arrays)[0])
            wrong = np.argwhere(found != program.expected)
            if len(wrong):
                first = tuple(wrong[0])
                return (
                    f"{len(wrong)} of {found.size} differ in run {turn}, first at {wrong[0].tolist()}: "
                    f"{program.expected[first]} became {found[first]}"
                )
    return ""


def run_all(seeds: range, way: str) -> None:
    """Tells of each program that it begins, and how it ends: what a process that XLA ends has left behind."""
    for seed in seeds:
        print("begin", seed, flush=True)
        chosen = WAYS[seed % len(WAYS)] if way == "ours" else way
        try:
            program = write_program(seed)
        except NotImplementedError as error:
            print("unfit", seed, error, flush=True)
            continue
        try:
            wrong = run_program(program, chosen)
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}".replace("\n", " ")[:500]
        print("wrong" if wrong else "same", seed, chosen, wrong, flush=True)
        if seed % 50 == 0:
            jax.clear_caches()


def watch(seeds: range, way: str) -> list[tuple[str, int, str]]:
    """What came of each program, in processes of their own; a program that ends its process is named."""
    found: list[tuple[str, int, str]] = []
    first = seeds.start
    while first < seeds.stop:
        command = [sys.executable, "-m", "tests.fuzz.xla_programs", "--way", way, "--first", str(first)]
        command += ["--count", str(seeds.stop - first), "--here"]
        root = Path(__file__).parents[2]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root) as process:
            assert process.stdout is not None
            timer = Timer(PATIENCE, process.kill)
            timer.start()
            running: int | None = None
            for line in process.stdout:
                kind, seed, *rest = line.rstrip("\n").split(" ", 2)
                timer.cancel()
                timer = Timer(PATIENCE, process.kill)
                timer.start()
                if kind == "begin":
                    running = int(seed)
                else:
                    found.append((kind, int(seed), "".join(rest)))
                    running = None
            timer.cancel()
            errors = process.stderr.read() if process.stderr is not None else ""
        if running is None:
            if process.returncode:
                raise RuntimeError(f"the process ended with {process.returncode} before a program began: {errors}")
            break
        found.append(("ended", running, f"the process ended with {process.returncode}: {errors[-300:]}"))
        first = running + 1
    return found


def describe(seed: int) -> str:
    """The program of that number as StableHLO."""
    return export_text(write_program(seed).module)


def main() -> None:
    """Writes each program that goes wrong, and how many there were of what."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, help="so many programs")
    parser.add_argument("--minutes", type=float, help="for so long")
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--way", choices=("ours", "jax", *WAYS), default="ours", help="how programs are run")
    parser.add_argument("--failures", type=int, default=20, help="stop after so many")
    parser.add_argument("--show", type=int, help="write the program of this number, and no more")
    parser.add_argument("--here", action="store_true", help="run programs in this process")
    options = parser.parse_args()
    if options.show is not None:
        print(describe(options.show))
        return
    if options.here:
        run_all(range(options.first, options.first + options.count), options.way)
        return
    if options.count is None and options.minutes is None:
        options.count = 500
    last = math.inf if options.count is None else options.first + options.count
    end = math.inf if options.minutes is None else time.monotonic() + 60 * options.minutes
    counts: collections.Counter[str] = collections.Counter()
    begun = time.monotonic()
    for first in count(options.first, options.batch):
        bad = counts.total() - counts["same"] - counts["unfit"]
        if first >= last or time.monotonic() > end or bad >= options.failures:
            break
        for kind, seed, message in watch(range(first, int(min(first + options.batch, last))), options.way):
            counts[kind] += 1
            if kind not in ("same", "unfit"):
                print(f"## {seed} {kind}: {message}\n{describe(seed)}", flush=True)
        print(
            f"-- {counts.total()} programs, {dict(counts)}, {time.monotonic() - begun:.0f} s",
            file=sys.stderr,
            flush=True,
        )
    print(f"{counts.total()} programs, {dict(counts)}, {time.monotonic() - begun:.0f} s")
    sys.exit(1 if counts.total() > counts["same"] + counts["unfit"] else 0)


if __name__ == "__main__":
    main()
