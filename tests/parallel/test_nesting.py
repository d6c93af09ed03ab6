"""A launch as a grid of blocks of threads or of warps, and back: its text, its rules, and what it does."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax._src.interpreters.mlir as jax_mlir
import numpy as np
import pytest
from jaxlib.mlir import ir as mlir
from tests.frontends.llvm.running import checked, imported
from tests.raising.hand_built import run_raised

from windlass import loops
from windlass.diagnostics import RaisingError
from windlass.ir import Block, Builder, Function, Region, tensor_type
from windlass.loops import evaluate_kernel, evaluate_program
from windlass.loops.text import loop_text
from windlass.loops.verifier import find_loop_faults, verify_program
from windlass.ops import Add, Constant, Convert, Multiply
from windlass.parallel.dead_code import remove_unused
from windlass.parallel.launches import KernelLaunch, inline_launches, make_program
from windlass.parallel.nesting import flatten, nest, nest_lanes

GOLDEN = Path(__file__).with_name("golden")
Change = Callable[[Block], None]
REVERSED = """__global__ void kernel(int *p, int n) {
    __shared__ int held[4];
    int t = threadIdx.x, i = blockIdx.x * 4 + t;
    held[t] = p[i] * n;
    __syncthreads();
    p[i] = held[3 - t] + blockIdx.x;
}"""
SHUFFLED = """__global__ void kernel(int *p, int n) {
    int t = threadIdx.x + threadIdx.y * 2, i = blockIdx.x * 4 + t, got = __shfl_xor_sync(~0u, p[i], 1);
    p[i] = got * n + blockIdx.y + threadIdx.y;
}"""


def changed(function: Function, *changes: Any) -> Function:
    copy = function.clone()
    for change in changes:
        change(copy.body)
    return checked(copy, "transformed")


def result_of(function: Function, block: tuple[int, ...] = (4,), order: int | None = None) -> list[int]:
    p = np.arange(3, 15, dtype=np.int32)
    evaluate_kernel(function, (3,), block, [p, 5], order=None if order is None else np.random.default_rng(order))
    return p.tolist()


GOLDEN_OF: dict[str, Change] = {"nest": nest, "nest_lanes": nest_lanes, "flatten": flatten}


@pytest.mark.parametrize("name", GOLDEN_OF)
def test_forms_are_as_written_and_read_by_the_parser(name: str) -> None:
    before = imported(REVERSED) if name != "flatten" else changed(imported(REVERSED), nest_lanes, use_warp)
    after = changed(before, GOLDEN_OF[name])
    found = f"// before: {name}\n{loop_text(before)}// after\n{loop_text(after)}"
    golden = GOLDEN / f"{name}.mlir"
    if os.environ.get("WINDLASS_WRITE_GOLDEN"):
        golden.write_text(found)
    assert found == golden.read_text()
    with jax_mlir.make_ir_context():
        assert mlir.Module.parse(loop_text(after)).operation.verify()


CHANGES: list[tuple[Change, ...]] = [
    (nest,),
    (nest, flatten),
    (nest, nest),
    (flatten,),
    (nest_lanes,),
    (nest, nest_lanes, nest_lanes, nest),
    (nest_lanes, flatten),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("source", "block"), [(REVERSED, (4,)), (SHUFFLED, (2, 2))])
def test_nesting_and_flattening_keep_what_a_kernel_does(source: str, block: tuple[int, ...]) -> None:
    flat = imported(source)
    wanted = result_of(flat, block)
    assert wanted != list(range(3, 15))
    for form in (changed(flat, *changes) for changes in CHANGES):
        assert result_of(form, block) == wanted
        assert all(result_of(form, block, order) == wanted for order in range(3))


@pytest.mark.parametrize("change", [nest, nest_lanes])
def test_flattening_what_was_nested_gives_the_text_that_it_was(change: Change) -> None:
    flat = changed(imported(REVERSED), nest, flatten)
    assert loop_text(changed(flat, change, flatten, remove_unused)) == loop_text(flat)


MEETING = """__global__ void kernel(int *p, int n) {
    __shared__ int votes[3], total;
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    if (t == 0) total = 0;
    __syncthreads();
    int up = __shfl_up_sync(~0u, t, 3), even = __ballot_sync(~0u, p[t] % 2 == 0), sum = __reduce_add_sync(~0u, t);
    if (t % 32 == 0) votes[t / 32] = even;
    __syncwarp();
    p[t] = up + 100 * __syncthreads_count(t > n) + 10000 * sum + (votes[t / 32] & 1 << t % 32 ? 7 : 0);
    atomicAdd(&total, p[t]);
    __syncthreads();
    if (t == 69) p[70] = total + __activemask();
}"""


def test_lanes_meet_in_their_warp_and_warps_in_their_block() -> None:
    """A block of 70 threads in three dimensions: the last warp has six."""
    flat = imported(MEETING)
    nested = changed(flat, nest_lanes)
    found: list[list[int]] = []
    for form in (flat, nested, changed(nested, flatten)):
        for order in (None, np.random.default_rng(5)):
            p = np.arange(71, dtype=np.int32) * 5 % 11
            evaluate_kernel(form, (1,), (5, 7, 2), [p, 40], order=order)
            found.append(p.tolist())
    assert all(each == found[0] for each in found)
    t = np.arange(70)
    sums = [t[t // 32 == warp].sum() for warp in range(3)]
    p = t * 5 % 11
    wanted = np.where(t % 32 < 3, t, t - 3) + 2900 + 10000 * np.array(sums)[t // 32] + 7 * (p % 2 == 0)
    assert found[0] == [*wanted, wanted.sum() + 32]


def use_warp(block: Block) -> None:
    """Have the lanes add the number of their warp, of which the warp makes a value of its own."""
    lanes = next(op for op in block.walk() if isinstance(op, loops.Parallel) and op.kind == "lane")
    warps = lanes.block
    assert warps is not None
    with Builder(warps, before=lanes):
        tens = Multiply(warps.arguments[0], Constant.of(10, "i32"))
    store = next(op for op in reversed([*lanes.body.walk()]) if isinstance(op, loops.Store))
    assert store.block is not None
    with Builder(store.block, before=store):
        loops.Store(Add(store.value, tens), store.buffer, store.offset)
    store.erase()


def test_what_a_warp_has_in_common_stays_when_flattened() -> None:
    source = "__global__ void kernel(int *p, int n) { p[threadIdx.x + blockDim.x * threadIdx.y] = n; }"
    nested = changed(imported(source), nest_lanes, use_warp)
    for form in (nested, changed(nested, flatten)):
        p = np.zeros(40, np.int32)
        evaluate_kernel(form, (1,), (8, 5), [p, 3])
        assert p.tolist() == [3] * 32 + [13] * 8


def test_sequences_of_launches_nest() -> None:
    p = np.arange(5, dtype=np.int32)
    kernel = imported("__global__ void kernel(int *p, int n) { p[threadIdx.x] += n; }")
    module = make_program([KernelLaunch(kernel, (1,), (3,), [p, 10]), KernelLaunch(kernel, (1,), (5,), [p, 1])]).module
    inline_launches(module)
    for change in (nest, nest_lanes, flatten):
        change(module.main.body)
        verify_program(module)
        evaluate_program(module, [p])
    assert p.tolist() == [33, 34, 35, 6, 7]


def independent(function: Function, factor: int) -> Function:
    """A kernel whose thread writes p[i * factor] = i for i below 8, said to be independent."""
    copy = function.clone()
    body = next(op for op in copy.body if isinstance(op, loops.Parallel)).body.block
    points = Block([tensor_type((), "i32")])
    with Builder(points):
        number = points.arguments[0]
        place = Multiply(Convert(number, "i64"), Constant.of(4 * factor, "i64"))
        loops.Store(number, copy.arguments[0], place)
        loops.Yield(())
    with Builder(body, before=body.terminator):
        loops.Parallel((Constant.of(8, "i32"),), ("i",), Region(points), kind="independent")
    return copy


EMPTY = "__global__ void kernel(int *p, int n) {}"


def test_a_false_claim_of_independence_shows_in_some_order() -> None:
    true, false = (checked(independent(imported(EMPTY), factor), "transformed") for factor in (1, 0))
    assert len({tuple(result_of(true, (1,), order)) for order in range(4)}) == 1
    assert len({tuple(result_of(false, (1,), order)) for order in range(4)}) > 1
    with jax_mlir.make_ir_context():
        assert mlir.Module.parse(loop_text(true)).operation.verify()


def test_rules_of_nesting_are_checked() -> None:
    kernel = independent(imported(EMPTY), 1)
    inner = next(op for op in kernel.walk() if isinstance(op, loops.Parallel) and op.kind == "independent")
    with Builder(inner.body.block, before=inner.body.block.first):
        loops.Barrier("block")
        loops.Allocate("local", 4, "mine")
    assert sorted(fault[:2] for fault in find_loop_faults(kernel, "transformed")) == ["L7", "L9"]

    kernel = changed(imported(REVERSED), nest)
    grid = next(op for op in kernel.body if isinstance(op, loops.Parallel))
    with Builder(grid.body.block, before=grid.body.block.terminator):
        loops.Barrier("block")
    (fault,) = find_loop_faults(kernel, "transformed")
    assert fault == "L11: Barrier after the threads of a block"
    with Builder(grid.body.block, before=grid.body.block.first):
        loops.Barrier("block")
    assert sorted(fault.partition(":")[0] for fault in find_loop_faults(kernel, "transformed")) == ["L11", "L8"]


def test_raising_takes_either_form() -> None:
    flat = imported(REVERSED)
    nested = changed(flat, nest)
    before = loop_text(nested)
    names: list[list[str]] = []
    for form in (flat, nested, changed(flat, nest_lanes)):
        raised, (p,) = run_raised(form, (3,), (4,), [np.arange(3, 15, dtype=np.int32), 5])
        assert p.tolist() == result_of(flat)
        names.append([op.name for op in raised.function.walk()])
    assert names[0] == names[1]
    assert loop_text(nested) == before


def test_independent_points_have_no_tensor_form_yet() -> None:
    with pytest.raises(RaisingError, match="it holds Parallel, which has no tensor form here"):
        run_raised(independent(imported(EMPTY), 1), (1,), (1,), [np.zeros(12, np.int32), 5])


def test_blocks_have_equally_many_threads() -> None:
    kernel = changed(imported(REVERSED), nest)
    threads = next(op for op in kernel.walk() if isinstance(op, loops.Parallel) and op.kind == "block")
    assert threads.block is not None
    sizes = (threads.block.arguments[0], *threads.extents[1:])
    with Builder(threads.block, before=threads):
        loops.Parallel(sizes, threads.dimensions, threads.body.clone({}), kind="block")
    threads.erase()
    assert list(find_loop_faults(kernel, "transformed")) == ["L11: the number of threads differs from block to block"]
