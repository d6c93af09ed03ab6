"""A launch as a grid of blocks of threads, and back: its text, its rules, and what it does."""

from __future__ import annotations

import os
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
from windlass.loops import evaluate_kernel
from windlass.loops.text import loop_text
from windlass.loops.verifier import find_loop_faults
from windlass.ops import Constant, Convert, Multiply
from windlass.parallel.nesting import flatten, nest

GOLDEN = Path(__file__).with_name("golden") / "nest.mlir"
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


def test_nesting_is_as_written_and_read_by_the_parser() -> None:
    flat = imported(REVERSED)
    nested = changed(flat, nest)
    found = f"// before: nest\n{loop_text(flat)}// after\n{loop_text(nested)}"
    if os.environ.get("WINDLASS_WRITE_GOLDEN"):
        GOLDEN.write_text(found)
    assert found == GOLDEN.read_text()
    with jax_mlir.make_ir_context():
        assert mlir.Module.parse(loop_text(nested)).operation.verify()


@pytest.mark.parametrize(("source", "block"), [(REVERSED, (4,)), (SHUFFLED, (2, 2))])
def test_nesting_and_flattening_keep_what_a_kernel_does(source: str, block: tuple[int, ...]) -> None:
    flat = imported(source)
    wanted = result_of(flat, block)
    assert wanted != list(range(3, 15))
    for form in (changed(flat, nest), changed(flat, nest, flatten), changed(flat, nest, nest), changed(flat, flatten)):
        assert result_of(form, block) == wanted
        assert all(result_of(form, block, order) == wanted for order in range(3))


def test_flattening_what_was_nested_gives_the_same_text_each_time() -> None:
    once = changed(imported(REVERSED), nest, flatten)
    assert loop_text(changed(once, nest, flatten)) == loop_text(once)


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
    for form in (flat, nested):
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
