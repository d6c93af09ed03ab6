"""Blocks or threads one after another: the text of it, and what it does."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from tests.frontends.llvm.running import checked, imported
from tests.loops.test_evaluation import cases, check, compiled
from tests.parallel.test_specialization import extents
from tests.programs.program import Launch, Program

from windlass.frontends.cuda import find_kernel
from windlass.frontends.llvm import import_kernel
from windlass.ir import Function
from windlass.loops import BLOCKS, THREADS, evaluate_kernel
from windlass.loops.text import loop_text
from windlass.parallel.serialization import can_be_serialized, serialize
from windlass.parallel.specialization import specialize

GOLDEN = Path(__file__).with_name("golden")
SHARED = """__global__ void kernel(int *p, int n) {
    __shared__ int held[4];
    int t = threadIdx.x;
    held[t] = p[t] * n;
    __syncthreads();
    p[t] = held[3 - t] + blockIdx.x;
}"""
COUNTED = """__global__ void kernel(int *p, int n) {
    int place = *p;
    *p = place + 1;
    if (place < n) p[place + 1] = blockIdx.x * 10 + threadIdx.x;
}"""
WAITS = """__global__ void kernel(volatile int *p, int n) {
    while (p[0] < n) { }
    p[1] = n;
}"""


def serialized(kernel: Function, what: str) -> Function:
    copy = kernel.clone()
    serialize(copy.body, what)
    return checked(copy, "transformed")


@pytest.mark.parametrize(("what", "source"), [(BLOCKS, SHARED), (THREADS, COUNTED)])
def test_serialized_kernels_are_as_written(what: str, source: str) -> None:
    kernel = imported(source)
    found = f"// before: {what} one after another\n{loop_text(kernel)}// after\n{loop_text(serialized(kernel, what))}"
    golden = GOLDEN / f"serialized_{what}.mlir"
    if os.environ.get("WINDLASS_WRITE_GOLDEN"):
        golden.write_text(found)
    assert found == golden.read_text()


def result_of(kernel: Function, order: int | None = None) -> list[int]:
    p = np.array([0, 5, 7, 9, 1, 2, 3, 4, 6, 8, 2, 1, 9], np.int32)
    evaluate_kernel(kernel, (3,), (4,), [p, 12], order=None if order is None else np.random.default_rng(order))
    return p.tolist()


def test_an_order_is_the_same_each_time_where_there_was_none() -> None:
    kernel = imported(COUNTED)
    in_turn = [0 + 12, *(10 * block + thread for block in range(3) for thread in range(4))]
    assert result_of(kernel, 1) != in_turn
    special = specialize(kernel, (3, 1, 1), (4, 1, 1), {})
    for each in (kernel, special):
        for order in (None, 1, 2):
            assert result_of(serialized(each, THREADS), order) == in_turn


def test_threads_that_meet_stay_together_in_their_block() -> None:
    kernel = imported(SHARED)
    assert not can_be_serialized(kernel, THREADS)
    assert can_be_serialized(kernel, BLOCKS)
    assert result_of(serialized(kernel, BLOCKS), 1) == result_of(kernel)


def test_threads_that_wait_for_others_are_not_serialized() -> None:
    kernel = imported(WAITS)
    assert not can_be_serialized(kernel, BLOCKS)
    assert not can_be_serialized(kernel, THREADS)


def programs() -> list[object]:
    """Every fifteenth of the small programs; the others are slow."""
    return [
        pytest.param(*case.values, id=case.id, marks=[pytest.mark.slow] if number % 15 else [])
        for number, case in enumerate(cases())
    ]


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("program", "launch"), programs())
@pytest.mark.parametrize("what", [BLOCKS, THREADS])
def test_programs_do_one_after_another_what_they_did(what: str, program: Program, launch: Launch) -> None:
    code = compiled(program.source)
    kernel = import_kernel(code, find_kernel(code, program.kernel).mangled)
    if can_be_serialized(kernel, what):
        special = specialize(kernel, *extents(launch), {})
        check(serialized(special, what), code, program, launch)
