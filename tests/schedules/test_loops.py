"""Schedules of loops: what is allowed computes the same, what is not is refused with the accesses that forbid it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import windlass as wl
from tests.frontends.llvm.running import imported
from windlass.ir import Function
from windlass.loops import For, evaluate_kernel
from windlass.loops.launch_specification import (
    KnownScalar,
    LaunchSpecification,
    MemorySpecification,
    PointerArgument,
)
from windlass.parallel.specialization import specialize_for
from windlass.schedules import Schedule, attempt, interchange, parallelize, read_schedule, rules, seq, tile, unroll
from windlass.schedules.loops import schedule_loops

N = 10


def kernel_of(body: str) -> str:
    """Its first line is line 1; `a` and `b` are N by N."""
    return f"__global__ void kernel(int *a, const int *b, int n) {{\n{body}\n}}"


class Program:
    def __init__(self, body: str, n: int = N, overlap: bool = False) -> None:
        pointers = (PointerArgument(0), PointerArgument(0 if overlap else 1))
        self.specification = LaunchSpecification(
            (1, 1, 1), (1, 1, 1), 0, (*pointers, KnownScalar("i32", n)), (MemorySpecification(4 * N * N, "i32"),) * 2
        )
        self.n = n
        self.function = specialize_for(imported(kernel_of(body)), self.specification)

    def scheduled(self, schedule: Schedule) -> Function:
        return schedule_loops(self.function, schedule, self.specification)

    def run(self, function: Function, order: np.random.Generator | None = None) -> NDArray[Any]:
        rng = np.random.default_rng(0)
        a, b = (rng.integers(-99, 99, (N, N)).astype(np.int32) for _ in range(2))
        evaluate_kernel(function, (1,), (1,), [a, b, self.n], order=order)
        return a

    def keeps(self, schedule: Schedule) -> Function:
        """The function under the schedule, which computes the same."""
        changed = self.scheduled(schedule)
        np.testing.assert_array_equal(self.run(changed), self.run(self.function))
        return changed


def lines(function: Function) -> list[int]:
    return [op.source.line for op in function.walk() if isinstance(op, For) and op.source is not None]


COPY = """for (int i = 0; i < n; i++)
for (int j = 0; j < n; j++)
a[i * 10 + j] = b[j * 10 + i] + 1;"""
PRODUCT = """for (int i = 0; i < n; i++)
for (int k = 0; k < n; k++)
for (int j = 0; j < n; j++)
a[i * 10 + j] += b[i * 10 + k] * b[k * 10 + j];"""
TURNED_PRODUCT = """for (int j = 0; j < n; j++)
for (int k = 0; k < n; k++)
for (int i = 0; i < n; i++)
a[i * 10 + j] += b[i * 10 + k] * b[k * 10 + j];"""
DIAGONAL = """for (int i = 1; i < n; i++)
for (int j = 0; j < n - 1; j++)
a[i * 10 + j] += a[(i - 1) * 10 + j + 1];"""
DOWNWARDS = """for (int i = 1; i < n; i++)
for (int j = 1; j < n; j++)
a[i * 10 + j] += a[(i - 1) * 10 + j - 1];"""
TRIANGLE = """for (int i = 0; i < n; i++)
for (int j = i; j < n; j++)
a[i * 10 + j] = j;"""
SUM = """int sum = 0;
for (int i = 0; i < n; i++) {
for (int j = 0; j < n; j++) sum += b[i * 10 + j] * (i + 1);
}
a[0] = sum;"""


@pytest.mark.parametrize("n", [0, 1, 7, 10])
@pytest.mark.parametrize(
    ("body", "schedule", "loops"),
    [
        (COPY, interchange(2, 3), [3, 2]),
        (COPY, tile(2, 3, sizes=(4, 3)), [2, 3, 2, 3]),
        (COPY, tile(3, sizes=(4,)), [2, 3, 3]),
        (COPY, seq(unroll(3, 4), tile(2, sizes=(3,))), None),
        (PRODUCT, interchange(2, 3), [3, 2, 4]),
        (PRODUCT, interchange(3, 4), [2, 4, 3]),
        (PRODUCT, tile(2, 3, 4, sizes=(4, 2, 5)), [2, 3, 4, 2, 3, 4]),
        (PRODUCT, seq(interchange(3, 4), unroll("#2", 4)), None),
        (TURNED_PRODUCT, seq(interchange(2, 3), interchange(2, 4), interchange(3, 4)), [4, 3, 2]),
        (DOWNWARDS, interchange(2, 3), [3, 2]),
        (DOWNWARDS, tile(2, 3, sizes=(3, 3)), [2, 3, 2, 3]),
        (DIAGONAL, unroll(2, 2), None),
        (TRIANGLE, tile(3, sizes=(4,)), [2, 3, 3]),
        (TRIANGLE, unroll(3, 3), None),
        (SUM, seq(tile(4, sizes=(4,)), unroll(3, 3)), None),
    ],
)
def test_what_is_allowed_computes_the_same(body: str, schedule: Schedule, loops: list[int] | None, n: int) -> None:
    assert read_schedule(str(schedule)) == schedule
    changed = Program(body, n).keeps(schedule)
    if n > 1 and loops is not None:
        assert lines(changed) == loops


REFUSED = [
    (DIAGONAL, interchange(2, 3), "two iterations come to one place in memory, and would change their order"),
    (DIAGONAL, tile(2, 3, sizes=(4, 4)), "two iterations come to one place in memory, and would change their order"),
    (TRIANGLE, interchange(2, 3), "the inner one's number of rounds depends on the outer one's counter"),
    (SUM, interchange(3, 4), "a value is carried from round to round"),
    (COPY, interchange(3, 2), "one does not stand directly in the other"),
    (
        """for (int i = 0; i < n; i++) {
        a[i] = i;
        for (int j = 0; j < n; j++) a[i * 10 + j] += b[j]; }""",
        interchange(2, 4),
        "something is done between the two",
    ),
    ('for (int i = 0; i < n; i++)\nfor (int j = 0; j < n; j++) printf("%d", j);', interchange(2, 3), "has an effect"),
]


@pytest.mark.parametrize(("body", "schedule", "reason"), REFUSED)
def test_what_is_not_allowed_is_refused_with_the_reason(body: str, schedule: Schedule, reason: str) -> None:
    program = Program(body)
    with pytest.raises(wl.WindlassError) as caught:
        program.scheduled(schedule)
    assert f"{schedule} is not allowed: " in str(caught.value)
    assert reason in str(caught.value)
    assert caught.value.diagnostics[0].code == "WL0807"
    assert program.scheduled(attempt(schedule)) is not None
    np.testing.assert_array_equal(program.run(program.scheduled(attempt(schedule))), program.run(program.function))


def test_the_accesses_that_forbid_are_named() -> None:
    with pytest.raises(wl.WindlassError, match=r"test\.cu:4"):
        Program(DIAGONAL).scheduled(interchange(2, 3))


def test_arrays_that_overlap_are_one_memory() -> None:
    Program(COPY).scheduled(interchange(2, 3))
    with pytest.raises(wl.WindlassError, match="two iterations come to one place"):
        Program(COPY, overlap=True).scheduled(interchange(2, 3))


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (unroll(9, 2), "unroll(9, 2): no counted loop begins at 9 in 'kernel'"),
        (unroll("#3", 2), "unroll('#3', 2): 'kernel' has 2 loops, none is number '3'"),
        (rules("slices"), "rules('slices') rewrites tensor programs, not loops"),
    ],
)
def test_loops_that_there_are_not_are_refused(schedule: Schedule, message: str) -> None:
    with pytest.raises(wl.WindlassError) as caught:
        Program(COPY).scheduled(schedule)
    assert message in str(caught.value)


def test_steps_of_loops_are_refused_for_tensor_programs() -> None:
    with pytest.raises(wl.WindlassError, match=r"tile\(1, sizes=\(4,\)\) changes loops"):
        wl.optimize(lambda x: x + 1, schedule=tile(1, sizes=(4,)))(1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tile(3, 4, sizes=(2,)),
        lambda: tile(sizes=()),
        lambda: tile(3, sizes=(0,)),
        lambda: unroll(3, 0),
        lambda: unroll(3, 1000),
        lambda: interchange(1.5, 2),  # pyright: ignore[reportArgumentType]
    ],
)
def test_sizes_and_places_are_checked(make: Any) -> None:
    with pytest.raises(wl.WindlassError, match="WL0806"):
        make()


offsets = st.tuples(st.integers(-2, 2), st.integers(-2, 2))


@settings(deadline=None, max_examples=20)
@given(offsets, offsets, st.booleans())
def test_interchange_is_allowed_only_where_it_computes_the_same(
    written: tuple[int, int], read: tuple[int, int], transposed: bool
) -> None:
    """`a[i + p][j + q] = 3·a[i + r][j + s] + 1`, for all distances: what is allowed has no other result."""
    (p, q), (r, s) = written, read
    left = f"(j + {q}) * 10 + i + {p}" if transposed else f"(i + {p}) * 10 + j + {q}"
    body = f"""for (int i = 2; i < n - 2; i++)
    for (int j = 2; j < n - 2; j++)
    a[{left}] = 3 * a[(i + {r}) * 10 + j + {s}] + 1;"""
    program = Program(body)
    before = program.run(program.function)
    for schedule in (interchange(2, 3), tile(2, 3, sizes=(2, 3))):
        try:
            changed = program.scheduled(schedule)
        except wl.WindlassError:
            continue
        np.testing.assert_array_equal(program.run(changed), before)
    if not transposed and (p, q) == (r, s):
        program.scheduled(interchange(2, 3))


def test_interchange_is_allowed_wherever_no_dependence_is_turned() -> None:
    for p, q in itertools.product((-1, 0, 1), repeat=2):
        body = f"""for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
        a[i * 10 + j] = 3 * a[(i + {p}) * 10 + j + {q}];"""
        if (p, q) == (0, -1):
            continue  # LLVM hands the value on to the next round.
        is_turned = p * q < 0
        if is_turned:
            with pytest.raises(wl.WindlassError):
                Program(body).scheduled(interchange(2, 3))
        else:
            Program(body).keeps(interchange(2, 3))


@pytest.mark.parametrize(
    ("body", "place", "reason"),
    [
        (COPY, 2, None),
        (COPY, 3, None),
        (PRODUCT, 2, None),
        (PRODUCT, 4, None),
        (PRODUCT, 3, "two iterations may come to one place in memory"),
        (DIAGONAL, 2, "two iterations may come to one place in memory"),
        (DIAGONAL, 3, None),
        (TRIANGLE, 2, None),
        ("for (int i = 0; i < n; i++)\na[i * 10 + b[i] % 10] = i;", 2, "two iterations may come to one place"),
        ("for (int i = 0; i < n; i++)\nif (i) a[i] = a[0];", 2, None),
        ("for (int i = 0; i < n; i++)\nif (i) a[i] = a[7];", 2, "two iterations may come to one place in memory"),
        ("for (int i = 0; i < n; i++)\na[i % 5] = i;", 2, "two iterations may come to one place in memory"),
        ("for (int i = 0; i < n; i++)\natomicAdd(a + (b[i] & 7), 1);", 2, None),
        ("for (int i = 0; i < n; i++)\na[i] = atomicAdd(a + 99, 1);", 2, "depends on the order"),
        (SUM, 3, None),
    ],
)
def test_loops_are_parallelized_where_no_two_rounds_meet(body: str, place: int, reason: str | None) -> None:
    program = Program(body)
    if reason is not None:
        with pytest.raises(wl.WindlassError, match=reason):
            program.scheduled(parallelize(place))
        return
    changed = program.scheduled(parallelize(place))
    assert any(op.is_independent for op in changed.walk() if isinstance(op, For))
    before = program.run(program.function)
    for seed in range(3):
        np.testing.assert_array_equal(program.run(changed, np.random.default_rng(seed)), before)


def test_marks_of_independence_follow_their_loops() -> None:
    def marks(function: Function) -> list[bool]:
        return [op.is_independent for op in function.walk() if isinstance(op, For)]

    inner = Program(DIAGONAL.replace("+ j + 1", "+ j"))
    assert marks(inner.keeps(seq(parallelize(3), tile(2, 3, sizes=(4, 4))))) == [False, False, False, True]
    both = Program(COPY)
    assert marks(both.keeps(seq(parallelize(3), interchange(2, 3)))) == [False, False]
    assert marks(both.keeps(seq(parallelize(2), interchange(2, 3)))) == [False, True]
    assert marks(both.keeps(seq(parallelize(2), parallelize(3), tile(2, 3, sizes=(4, 4))))) == [True] * 4
    assert marks(both.keeps(seq(parallelize(3), unroll(3, 4))))[1:] == [True, True]
