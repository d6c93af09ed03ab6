"""The loop level as MLIR text: golden for one kernel, and read by jaxlib's parser."""

from __future__ import annotations

import jax._src.interpreters.mlir as jax_mlir
import pytest
from jaxlib.mlir import ir as mlir

from windlass import loops
from windlass.frontends.cuda import compile_device
from windlass.frontends.llvm import import_kernel
from windlass.ir import Block, Builder, Function, Region, tensor_type
from windlass.loops.text import loop_text
from windlass.loops.verifier import LoopFault, find_loop_faults, verify_kernel
from windlass.ops.creation import Constant
from windlass.ops.regions import Return


def imported(source: str) -> Function:
    code = compile_device(source, name="test.cu")
    return import_kernel(code, code.kernels[0].mangled)


SAXPY = """__global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}"""

GOLDEN = """
      %12 = arith.muli %6, %3 : i32
      %13 = arith.addi %12, %9 : i32
      %14 = arith.cmpi slt, %13, %n : i32
      scf.if %14 {
        %15 = arith.extsi %13 : i32 to i64
        %16 = arith.index_cast %15 : i64 to index
        %17 = memref.load %x[%16] : memref<?xf32>
        %18 = arith.mulf %a, %17 : f32
"""


def test_text_of_a_kernel_is_golden() -> None:
    text = loop_text(imported(SAXPY))
    assert GOLDEN in text
    assert text.endswith("      gpu.terminator\n    }\n    return\n  }\n}\n")
    assert text.startswith('module {\n  func.func @"saxpy"(')


EVERYTHING = """
#include <cassert>
__constant__ float table[4] = {1, 2, 3, 4};
struct Setting { float a; int k; };
__global__ void everything(int n, const float *x, float *out, int *counts, Setting s, double *d) {
    __shared__ float tile[64];
    extern __shared__ float scratch[];
    unsigned i = threadIdx.x;
    tile[i] = x[i] * table[i & 3];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < n; k++) sum += tile[(i + k) % 64];
    int steps = 0;
    for (int k = s.k; k > 0 && sum < 3.5f; k >>= 1) { sum += s.a; steps++; }
    scratch[i] = fmaxf(sum, -1e30f);
    const float *p = i & 1 ? x : out;
    float best = p == nullptr ? 0 : *p;
    atomicAdd(counts, steps);
    atomicInc((unsigned *)counts + 1, 7u);
    atomicCAS(counts + 2, 0, 5);
    if (sum > 1e10f) printf("large \\"%f\\" at %d\\n", sum, i);
    assert(n > 0);
    d[i] = tgamma((double)sum) + lgamma(d[i]) + (sum > best ? 1.0 : 0.5) + __shfl_down_sync(~0u, sum, 1);
    out[i] = scratch[63 - i] + 1.0f / 0.0f + (float)(i / 3u) + (float)(unsigned char)steps;
}"""


def test_text_of_everything_is_read_by_the_parser() -> None:
    function = imported(EVERYTHING)
    verify_kernel(function)
    with jax_mlir.make_ir_context():
        module = mlir.Module.parse(loop_text(function))
        assert module.operation.verify()


def test_faults_are_found_with_the_numbers_of_their_rules() -> None:
    function = imported(SAXPY)
    assert list(find_loop_faults(function)) == []
    parallel = next(op for op in function.body if isinstance(op, loops.Parallel))
    branch = next(op for op in parallel.body.block if isinstance(op, loops.If))
    with Builder(branch.then.block, before=branch.then.block.first):
        loops.Allocate("shared", 4, "t")
        loops.LaunchSize("block.x")
    with Builder(parallel.body.block, before=parallel.body.block.first):
        loops.Allocate("shared", 4, "t")
        Constant.of([1, 2])
    found = [fault[:2] for fault in find_loop_faults(function)]
    assert sorted(found) == ["L5", "L7", "L7", "L8"]
    with pytest.raises(LoopFault, match="L7: shared variable t"):
        verify_kernel(function)


def test_a_body_that_hands_on_too_little_is_a_fault() -> None:
    outer, body = Block(), Block([tensor_type((), "i32")] * 6)
    with Builder(outer):
        sizes = tuple(loops.LaunchSize(dimension) for dimension in loops.LAUNCH_DIMENSIONS)
        with Builder(body):
            loop = Block([tensor_type((), "i64"), tensor_type((), "i32")])
            with Builder(loop):
                loops.Yield(())
            loops.For(Constant.of(3, "i64"), (body.arguments[0],), Region(loop))
            loops.Yield(())
        loops.Parallel(sizes, loops.LAUNCH_DIMENSIONS, Region(body))
        Return(())
    (fault,) = find_loop_faults(Function("f", outer))
    assert fault.startswith("L4: the body of For")
