"""Kernels specialized for a launch do what they did, and ask for nothing that the launch knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.loops.test_evaluation import cases, check, compiled
from tests.programs.program import Launch, Program

from windlass.frontends.cuda import compile_device, find_kernel
from windlass.frontends.llvm import import_kernel
from windlass.ir import Function
from windlass.loops import LaunchSize, evaluate_kernel
from windlass.loops.text import loop_text
from windlass.loops.verifier import verify_kernel
from windlass.parallel.specialization import specialize


def imported(source: str, name: str) -> Function:
    code = compile_device(source)
    return import_kernel(code, find_kernel(code, name).mangled)


def extents(launch: Launch) -> tuple[tuple[int, ...], tuple[int, ...]]:
    grid, block = ((each,) if isinstance(each, int) else each for each in (launch.grid, launch.block))
    return (*grid, 1, 1)[:3], (*block, 1, 1)[:3]


SAMPLE = [pytest.param(*case.values, id=case.id) for case in list(cases())[::27]]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("program", "launch"), SAMPLE)
def test_specialized_kernels_do_what_they_did(program: Program, launch: Launch) -> None:
    code = compiled(program.source)
    kernel = import_kernel(code, find_kernel(code, program.kernel).mangled)
    arguments: list[Any] = program.draw_arguments(launch)
    known = {n: each for n, each in enumerate(arguments) if isinstance(each, int | np.integer)}
    before = loop_text(kernel)
    special = specialize(kernel, *extents(launch), known)
    assert loop_text(kernel) == before
    verify_kernel(special)
    assert not any(isinstance(op, LaunchSize) for op in special.walk())
    assert not any(special.arguments[position].uses for position in known)
    check(special, code, program, launch)


ADD = 'extern "C" __global__ void add(int n, float *x) { int i = blockIdx.x * blockDim.x + threadIdx.x; '


def test_a_specialized_kernel_evaluates_to_what_the_kernel_does() -> None:
    kernel = imported(ADD + "if (i < n) x[i] += n + gridDim.x; }", "add")
    for each in (kernel, specialize(kernel, (3, 1, 1), (4, 1, 1), {0: 10})):
        array = np.zeros(12, np.float32)
        evaluate_kernel(each, (3,), (4,), [10, array])
        assert array.tolist() == [13.0] * 10 + [0.0] * 2


BODY = """
      %20 = arith.muli %13, %4 : i32
      %21 = arith.addi %20, %16 : i32
      %22 = arith.cmpi slt, %21, %0 : i32
      scf.if %22 {
"""


def test_a_specialized_kernel_has_its_numbers_in_its_text() -> None:
    kernel = imported(ADD + "if (i < n) x[i] = 0; }", "add")
    text = loop_text(specialize(kernel, (3, 1, 1), (64, 1, 1), {0: 2**32 - 100}))
    assert "%0 = arith.constant -100 : i32" in text
    assert "%1 = arith.constant 3 : i32" in text
    assert "%4 = arith.constant 64 : i32" in text
    assert "blocks(%bid_x, %bid_y, %bid_z) in (%gx = %7, %gy = %8, %gz = %9)" in text
    assert "%7 = arith.index_cast %1 : i32 to index" in text
    assert BODY in text
