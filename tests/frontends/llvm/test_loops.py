"""Counted loops become `For`, with the right number of iterations for every kind of test; others don't."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from windlass import loops
from windlass.loops import StoppedError

from .running import imported, ops_of, run

COUNTED: dict[str, tuple[str, Callable[[int, int, int], range]]] = {
    "up": ("for (int i = a; i < b; i++)", lambda a, b, c: range(a, b)),
    "up to": ("for (int i = a; i <= b; i++)", lambda a, b, c: range(a, b + 1)),
    "in threes": ("for (int i = a; i < b; i += 3)", lambda a, b, c: range(a, b, 3)),
    "by a variable": ("for (int i = a; i < b; i += c)", range),
    "down": ("for (int i = b; i > a; i--)", lambda a, b, c: range(b, a, -1)),
    "down to": ("for (int i = b; i >= a; i -= 2)", lambda a, b, c: range(b, a - 1, -2)),
    "down by a variable": ("for (int i = b; i > a; i -= c)", lambda a, b, c: range(b, a, -c)),
    "wide": ("for (long long i = a; i < b; i += 2)", lambda a, b, c: range(a, b, 2)),
    "unsigned": ("for (unsigned i = a + 9; i < unsigned(b + 9); i += c)", lambda a, b, c: range(a + 9, b + 9, c)),
    "unequal": ("for (int i = 0; i != b + 9; ++i)", lambda a, b, c: range(b + 9)),
    "before the step": ("for (int i = a; i + 2 < b; i++)", lambda a, b, c: range(a, b - 2)),
    "size_t": ("for (size_t i = 0; i < size_t(b + 9); i += 4)", lambda a, b, c: range(0, b + 9, 4)),
    "size_t by threads": (
        "for (size_t i = threadIdx.x; i < size_t(b + 9); i += blockDim.x * c)",
        lambda a, b, c: range(0, b + 9, c),
    ),
}


def kernel_of(head: str) -> str:
    return f"""__global__ void kernel(int a, int b, int c, int *out) {{
        int sum = 0, count = 0, last = -99;
        {head} {{ sum = sum * 31 + (int)i; count++; last = (int)i; }}
        out[0] = sum; out[1] = count; out[2] = last;
    }}"""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", COUNTED)
def test_counted_loops_run_as_often_as_in_c(name: str) -> None:
    head, values = COUNTED[name]
    source = kernel_of(head)
    assert len(ops_of(imported(source), loops.For)) == 1
    assert not ops_of(imported(source), loops.DoWhile)
    for a, b, c in itertools.product((-4, 0, 3), (-5, -4, 0, 1, 7), (1, 2, 5)):
        out = np.zeros(3, np.int32)
        run(source, a, b, c, out)
        total = np.int32(0)
        with np.errstate(over="ignore"):
            for i in values(a, b, c):
                total = total * np.int32(31) + np.int32(i)
        wanted = [int(total), len(values(a, b, c)), values(a, b, c)[-1] if values(a, b, c) else -99]
        assert out.tolist() == wanted, (a, b, c)


def test_carried_values_are_recurrences_only() -> None:
    (loop,) = ops_of(
        imported("""__global__ void kernel(const float *x, float *out, int n, int stride) {
            float sum = 0;
            const float *p = x;
            for (int i = 0, k = 5; i < n; i++, k += stride, p += 2) sum += x[k] * *p;
            out[0] = sum;
        }"""),
        loops.For,
    )
    assert isinstance(loop, loops.For)
    assert [str(value.type) for value in loop.initial] == ["tensor<f32>"]


def test_pointers_count_too() -> None:
    source = """__global__ void kernel(const int *x, int n, int *out) {
        int sum = 0;
        for (const int *p = x; p != x + n; ++p) sum += *p;
        for (const int *p = x + n - 1; p >= x; p -= 2) sum += 100 * *p;
        out[0] = sum;
    }"""
    assert len(ops_of(imported(source), loops.For)) == 2
    out = np.zeros(1, np.int32)
    run(source, np.arange(1, 7, dtype=np.int32), 6, out)
    assert out[0] == 21 + 100 * (6 + 4 + 2)


@pytest.mark.parametrize(
    "head", ["for (int i = b; i > 0; i >>= 1)", "for (int i = 1; i < b; i *= 2)", "while (x[x[a]] > b)"]
)
def test_other_loops_stay_loops_with_a_condition(head: str) -> None:
    source = f"__global__ void kernel(int a, int b, int *x) {{ {head} {{ x[a]--; }} }}"
    assert len(ops_of(imported(source), loops.DoWhile)) == 1


def test_a_loop_with_a_break_keeps_flags_for_its_exits() -> None:
    source = """__global__ void kernel(const int *x, int n, int *out) {
        int i;
        for (i = 0; i < n; i++) if (x[i] == 3) break;
        out[0] = i;
        for (i = 0; i < n; i++) { if (x[i] == 9) { out[1] = i; return; } }
        out[1] = -1;
    }"""
    assert len(ops_of(imported(source), loops.DoWhile)) == 2
    for x, wanted in (([1, 3, 9], [1, 2]), ([9, 1, 1], [3, 0]), ([1, 1, 1], [3, -1])):
        out = np.zeros(2, np.int32)
        run(source, np.array(x, np.int32), 3, out)
        assert out.tolist() == wanted


def test_a_counter_that_would_wrap_around_stops_the_program() -> None:
    source = kernel_of("for (unsigned i = a; i < unsigned(b); i += c)")
    with pytest.raises(StoppedError, match="wraps around"):
        run(source, -16, -1, 16, np.zeros(3, np.int32))
    run(source, -16, -1, 15, np.zeros(3, np.int32))


def test_a_counter_that_ends_below_its_bound_does_not_count_as_wrapped() -> None:
    source = """__global__ void kernel(int *out, int t) {
        int n = 0;
        for (unsigned i = 6; i > (unsigned)t; i -= 3) n++;
        out[0] = n;
    }"""
    for t, wanted in ((0, 2), (3, 1), (6, 0)):
        out = np.zeros(1, np.int32)
        run(source, out, t)
        assert out[0] == wanted


def test_nested_loops_with_inner_bounds_from_outer_counters() -> None:
    source = """__global__ void kernel(int *out, int n) {
        int count = 0;
        for (int i = 0; i < n; i++) for (int j = i; j < n; j += 2) for (int k = n; k > j; --k) count += i ^ j * k;
        out[0] = count;
    }"""
    assert len(ops_of(imported(source), loops.For)) == 3
    out = np.zeros(1, np.int32)
    run(source, out, 7)
    assert out[0] == sum(i ^ (j * k) for i in range(7) for j in range(i, 7, 2) for k in range(7, j, -1))
