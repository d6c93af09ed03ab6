"""Loops that sum in memory go inwards: the same results to the bit, and none where the order of terms would change."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.ir import Function
from windlass.loops import For
from windlass.loops.evaluation import evaluate_kernel
from windlass.loops.launch_specification import (
    KnownScalar,
    LaunchSpecification,
    MemorySpecification,
    PointerArgument,
)
from windlass.loops.verifier import verify_kernel
from windlass.parallel.memory_sums import move_sums_inward
from windlass.parallel.specialization import specialize_for

SOURCE = """
void k_outermost(int n, const float *A, const float *B, float *C) {
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) C[i * n + j] += A[i * n + k] * B[k * n + j];
}
void k_middle(int n, const float *A, const float *B, float *C) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) C[i * n + j] += A[i * n + k] * B[k * n + j];
}
void triangle(int n, const float *A, const float *B, float *C) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j <= i; j++) C[i * n + j] += A[i * n + k] * A[j * n + k];
}
void recurrence(int n, const float *A, const float *B, float *C) {
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++) C[j] = C[j] * 0.5f + A[k * n + j];
}
void overlapping(int n, const float *A, const float *B, float *C) {
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++) C[j] += C[j + 1] * A[k];
}
void reads_what_is_stored(int n, const float *A, const float *B, float *C) {
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++) C[j] += C[n + k % 2 - 1] * A[k];
}
void moves_with_k(int n, const float *A, const float *B, float *C) {
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++) C[j + k] += A[k] * B[j];
}
void same_place(int n, const float *A, const float *B, float *C) {
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++) C[j / 2] += A[k] * B[j];
}
void two_stores(int n, const float *A, const float *B, float *C) {
    for (int k = 0; k < n; k++) {
        C[n] = A[k];
        for (int j = 0; j < n; j++) C[j] += A[k] * B[j];
    }
}
"""
N = 5
MOVED = ("k_outermost", "k_middle", "triangle", "recurrence")
KEPT = ("overlapping", "reads_what_is_stored", "moves_with_k", "same_place", "two_stores")


@cache
def functions() -> wl.c.CModule:
    return wl.c.compile(SOURCE)


def specified(memories: tuple[int, int, int]) -> LaunchSpecification:
    arguments = (KnownScalar("i32", N), *(PointerArgument(each) for each in memories))
    size = MemorySpecification(4 * N * N, "f32")
    return LaunchSpecification((1, 1, 1), (1, 1, 1), 0, arguments, (size,) * (max(memories) + 1))


def before_and_after(name: str, memories: tuple[int, int, int] = (0, 1, 2)) -> tuple[Function, Function]:
    specification = specified(memories)
    before = specialize_for(functions()[name].as_kernel.function, specification)
    after = before.clone()
    move_sums_inward(after, specification)
    verify_kernel(after, "transformed")
    return before, after


def result(function: Function, is_one: bool = False) -> Any:
    a, b, c = np.random.default_rng(0).standard_normal((3, N * N)).astype(np.float32)
    arrays = (c, c, c) if is_one else (a, b, c)
    evaluate_kernel(function, (1,), (1,), [np.int32(N), *arrays])
    return c


def lines(function: Function) -> list[int]:
    """Those of the loops, outer ones first."""
    return [op.source.line for op in function.walk() if isinstance(op, For) and op.source is not None]


@pytest.mark.parametrize("name", MOVED)
def test_loop_over_terms_becomes_the_innermost(name: str) -> None:
    before, after = before_and_after(name)
    assert lines(before) != lines(after)
    assert np.array_equal(result(before), result(after))


@pytest.mark.parametrize("name", KEPT)
def test_loops_stay_where_places_meet_otherwise(name: str) -> None:
    before, after = before_and_after(name)
    assert lines(before) == lines(after)


@pytest.mark.parametrize("memories", [(0, 0, 0), (1, 0, 1), (0, 1, 1)])
def test_loops_stay_where_arrays_are_one_memory(memories: tuple[int, int, int]) -> None:
    before, after = before_and_after("k_outermost", memories)
    assert lines(before) == lines(after)
    assert np.array_equal(result(before, is_one=True), result(after, is_one=True))


def test_products_written_for_caches_are_products() -> None:
    a, b, c = np.random.default_rng(1).standard_normal((3, 40, 40)).astype(np.float32)
    for name in ("k_outermost", "k_middle"):
        found = c.copy()
        functions()[name](40, a, b, found)
        np.testing.assert_allclose(found, c + a @ b, rtol=1e-4, atol=1e-5)
        report = functions()[name].explain()
        assert report.ops["dot_general"] == 1
        assert not report.ops["while"]
