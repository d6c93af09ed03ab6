"""What is read of the integers of kernels: affine indices, ranges, at which points blocks run, bounds of accesses."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.frontends.llvm.running import imported

from windlass.affine.dimensions import Dimension
from windlass.facts.indices import IndexReader
from windlass.facts.threads import ThreadIds, thread_ids
from windlass.ir import Function, Op, Value
from windlass.loops import Access, For, Load, Parallel, Store
from windlass.loops.launch_specification import (
    KnownScalar,
    LaunchSpecification,
    MemorySpecification,
    PointerArgument,
    TracedScalar,
)
from windlass.ops.base import TensorOp
from windlass.parallel.specialization import specialize_for

GRID, BLOCK, LENGTH = 3, 8, 24


def read(source: str, *scalars: int | None) -> tuple[Function, IndexReader, ThreadIds]:
    """The kernel `kernel(float *x, int ...)` for a launch, and a reader of it; scalars that are None are not known."""
    given = tuple(TracedScalar("i32") if each is None else KnownScalar("i32", each) for each in scalars)
    memories = (MemorySpecification(4 * LENGTH, "f32"),)
    specification = LaunchSpecification((GRID, 1, 1), (BLOCK, 1, 1), 0, (PointerArgument(0), *given), memories)
    special = specialize_for(imported(source), specification)
    (parallel,) = (op for op in special.body if isinstance(op, Parallel))
    ids = thread_ids(special, parallel, specification)
    return special, IndexReader.of_launch(parallel, ids), ids


def accesses(kernel: Function, kind: type[Op] = Store) -> list[Access]:
    return [op for op in kernel.walk() if isinstance(op, kind) and isinstance(op, Load | Store)]


def kernel_of(body: str, parameters: str = "") -> str:
    return f"""__global__ void kernel(float *x{parameters}) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        {body}
    }}"""


@pytest.mark.parametrize(
    ("guard", "least", "most"),
    [("if (i > 0 && i < n - 1)", 1, LENGTH - 2), ("if (i < n / 2)", 0, LENGTH // 2 - 1), ("", 0, LENGTH - 1)],
)
def test_guards_prove_accesses_inside(guard: str, least: int, most: int) -> None:
    kernel, reader, _ = read(kernel_of(f"{guard} x[i] = 1;", ", int n"), LENGTH)
    (store,) = accesses(kernel)
    assert reader.range_of(store.offset, store.block) == (4 * least, 4 * most)
    assert reader.is_inside(store, 4 * (most + 1))
    assert not reader.is_inside(store, 4 * most)
    assert reader.is_inside(store, 4 * (most + 1 - least), begin=-4 * least)
    assert not reader.is_inside(store, 4 * LENGTH, begin=-4 * least - 4)


def test_the_length_of_an_inner_loop_may_depend_on_the_thread() -> None:
    kernel, reader, ids = read(kernel_of("for (int j = i; j < n; ++j) x[j] += i;", ", int n"), LENGTH)
    (store,) = accesses(kernel)
    (loop,) = (op for op in kernel.walk() if isinstance(op, For))
    counter = reader.dimension_of(loop)
    assert counter is not None and counter.size == LENGTH
    assert reader.domain_at(store.block).dimensions == (*ids.dimensions, counter)
    assert reader.is_inside(store, 4 * LENGTH)


def test_integers_that_are_loaded_or_not_known_have_bounds() -> None:
    kernel, reader, _ = read(kernel_of("x[i & 3] = x[((int)x[i] & 7) + 1] + x[n];", ", int n"), None)
    own, loaded, given = accesses(kernel, Load)
    assert reader.affine_index_of(own.offset) is not None
    assert reader.range_of(loaded.offset) == (4, 32)
    assert reader.affine_index_of(loaded.offset) is None
    # A parameter that is not known is the same number at all points.
    assert reader.affine_index_of(given.offset) == reader.index_of(kernel.arguments[1]).scale(4)
    (store,) = accesses(kernel)
    assert reader.range_of(store.offset) == (0, 12)


@pytest.mark.parametrize(
    "body",
    [
        "x[i % 5 * 3 + i / 7] = 1;",
        "x[(i * 13) % 24] = 1;",
        "x[(unsigned)(i - 3) < 10u ? i : 0] = 1;",
        "x[min(max(i - 2, 0), 20)] = 1;",
        "x[i ^ 1] = 1;",
        "x[(i << 2 | 3) & 15] = 1;",
        "for (int j = 0; j < 5; ++j) for (int k = j; k < 5; k += 2) x[(i + 3 * j - k) & 15] = 1;",
        "if (i % 2) { if (i < 9) x[i] = 1; else x[23 - i] = 2; }",
        "for (int j = 10; j >= 0; j -= 3) if (j != 4) x[j + (threadIdx.x > 3)] = 1;",
        "x[threadIdx.x * gridDim.x + blockIdx.x] = 1;",
        "short s = i * 3000; if (s >= 0 && s < 24) x[s] = 1;",
        "unsigned char c = i * 40; x[c % 24] = 1;",
    ],
)
def test_what_is_read_is_what_is_computed_at_each_point(body: str) -> None:
    kernel, reader, ids = read(kernel_of(body))
    points = 0
    for store in accesses(kernel):
        domain = reader.domain_at(store.block)
        index = reader.index_of(store.offset)
        for place in itertools.product(*(range(dimension.size) for dimension in domain.dimensions)):
            point = dict(zip(domain.dimensions, place, strict=True))
            numbers = known_numbers(kernel, reader, ids, point)
            runs = is_run(store, numbers)
            assert not runs or all(
                domain.box.lower(each) <= point[each] < domain.box.bounds(each)[1] for each in domain.dimensions
            )
            if not domain.mask.has_data and not domain.box.is_empty:
                inside = all(
                    domain.box.lower(each) <= point[each] < domain.box.bounds(each)[1] for each in domain.dimensions
                )
                assert runs == (inside and domain.mask.at(point))
            if runs:
                points += 1
                found = number_of(store.offset, numbers)
                lower, upper = index.value_range(domain.box)
                assert lower <= found <= upper
                assert index.has_data or index.at(point) == found
    assert points


def known_numbers(
    kernel: Function, reader: IndexReader, ids: ThreadIds, point: Mapping[Dimension, int]
) -> dict[Value, NDArray[Any]]:
    """The ids of threads and the counters of loops at a point."""
    (parallel,) = (op for op in kernel.body if isinstance(op, Parallel))
    numbers: dict[Value, NDArray[Any]] = {
        argument: np.asarray(item.at(point), np.int32)
        for argument, item in zip(parallel.body.block.arguments, ids.items, strict=True)
    }
    for loop in kernel.walk():
        dimension = reader.dimension_of(loop) if isinstance(loop, For) else None
        if isinstance(loop, For):
            numbers[loop.body.block.arguments[0]] = np.asarray(
                0 if dimension is None else point.get(dimension, 0), np.int64
            )
    return numbers


def number_of(value: Value, numbers: dict[Value, NDArray[Any]]) -> int:
    return int(evaluated(value, numbers))


def evaluated(value: Value, numbers: dict[Value, NDArray[Any]]) -> NDArray[Any]:
    if value not in numbers:
        assert isinstance(value, TensorOp)
        numbers[value] = np.asarray(value.evaluate(*(evaluated(operand, numbers) for operand in value.operands)))
    return numbers[value]


def is_run(op: Op, numbers: dict[Value, NDArray[Any]]) -> bool:
    """Whether the conditions and loops around an op let it run, at these ids and counters."""
    block = op.block
    assert block is not None and block.parent is not None
    around = block.parent.parent
    if around is None or isinstance(around, Parallel):
        return True
    if not is_run(around, numbers):
        return False
    if isinstance(around, For):
        return number_of(block.arguments[0], numbers) < number_of(around.trip_count, numbers)
    condition = bool(evaluated(around.operands[0], numbers))
    return condition == (block is around.regions[0].blocks[0])


def test_a_loop_of_any_length_has_a_counter_that_is_not_known() -> None:
    source = """__global__ void kernel(float *x, long long n) {
        for (long long j = 0; j < n; ++j) x[j & 7] += j;
    }"""
    specification = LaunchSpecification(
        (1, 1, 1), (1, 1, 1), 0, (PointerArgument(0), TracedScalar("i64")), (MemorySpecification(32, "f32"),)
    )
    special = specialize_for(imported(source), specification)
    (parallel,) = (op for op in special.body if isinstance(op, Parallel))
    reader = IndexReader.of_launch(parallel, thread_ids(special, parallel, specification))
    (store,) = accesses(special)
    assert reader.range_of(store.offset) == (0, 28)
    assert reader.is_inside(store, 32)
