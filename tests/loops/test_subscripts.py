"""Subscripts: bytes as the arithmetic gives them that they stand for, in text and as kernels run."""

from __future__ import annotations

from typing import Any

import jax._src.interpreters.mlir as jax_mlir
import numpy as np
import pytest
from jaxlib.mlir import ir as mlir
from tests.frontends.llvm.running import checked, imported

from windlass.facts.terms import evaluate_term
from windlass.ir import Argument, Block, BufferType, Builder, TypeFault, Value, tensor_type
from windlass.loops import Load, Store, Subscript, evaluate_kernel
from windlass.loops.text import loop_text
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Multiply, ShiftLeft, Subtract
from windlass.ops.regions import Return
from windlass.parallel.typed_subscripts import type_subscripts

EXTREMES = (0, 1, -1, 3, 2**31, -(2**63), 2**63 - 1, 2**62 + 5)


def draw_sum(draw: np.random.Generator, leaves: list[Argument], depth: int = 4) -> Value:
    """A random i64 of sums and products, as front ends make addresses of them."""
    if depth == 0 or draw.random() < 0.15:
        return leaves[int(draw.integers(len(leaves)))]
    inner = draw_sum(draw, leaves, depth - 1)
    match int(draw.integers(5)):
        case 0:
            return Add(inner, draw_sum(draw, leaves, depth - 1))
        case 1:
            return Subtract(inner, draw_sum(draw, leaves, depth - 1))
        case 2:
            factor = Constant.of(int(draw.choice([4, 8, 12, -4, 68, 1, 2**62])), "i64")
            return Multiply(*((inner, factor) if draw.random() < 0.5 else (factor, inner)))
        case 3:
            return ShiftLeft(inner, Constant.of(int(draw.choice([2, 3, 63])), "i64"))
        case _:
            return Multiply(inner, draw_sum(draw, leaves, depth - 1))


@pytest.mark.parametrize("dtype", ["i8", "f32", "f64"])
def test_subscripts_are_the_bytes_that_they_are_made_of(dtype: str) -> None:
    draw = np.random.default_rng(7)
    count = 0
    for _ in range(150):
        body = Block([tensor_type((), "i64")] * 3 + [BufferType.of("global")])
        leaves = body.arguments[:3]
        with Builder(body):
            offset = Add(draw_sum(draw, leaves), Constant.of(int(draw.choice([0, 4, 16, 2**63 - 8])), "i64"))
            load = Load(body.arguments[3], offset, dtype)
            Return(())
        type_subscripts(body)
        if isinstance(load.offset, Subscript):
            count += 1
            values: dict[Value, Any] = {leaf: np.asarray(draw.choice(EXTREMES), np.int64) for leaf in leaves}
            expected = evaluate_term(offset, dict(values))
            assert evaluate_term(load.offset, dict(values)) == expected
            assert evaluate_term(load.offset.expand(), dict(values)) == expected
    assert count > 20


def typed(offset: Value, *dtypes: str) -> list[Value]:
    """What becomes of an offset at which elements of these types are loaded."""
    body = Block([BufferType.of("global")])
    with Builder(body):
        found = [Load(body.arguments[0], offset, dtype) for dtype in dtypes]
    type_subscripts(body)
    return [load.offset for load in found]


def offset_of(*factors: int) -> tuple[Block, Value]:
    """A block with a sum of multiples of its arguments."""
    block = Block([tensor_type((), "i64")] * len(factors))
    with Builder(block):
        total: Value = Constant.of(0, "i64")
        for argument, factor in zip(block.arguments, factors, strict=True):
            total = Add(total, Multiply(argument, Constant.of(factor, "i64")))
        Return(())
    return block, total


def test_each_access_types_its_own_offset() -> None:
    _, offset = offset_of(4, 68)
    one, other, third = typed(offset, "f32", "f64", "i32")
    assert isinstance(one, Subscript) and one.strides == (4, 68) and third is one
    assert other is offset


def test_what_may_lie_within_an_element_stays_in_bytes() -> None:
    _, offset = offset_of(6)
    in_words, in_halves = typed(offset, "f32", "f16")
    assert in_words is offset and isinstance(in_halves, Subscript)


def test_an_offset_that_is_stored_too_stays_as_it_is() -> None:
    block, offset = offset_of(8)
    memory = block.add_argument(BufferType.of("global"))
    with Builder(block, before=block.terminator):
        store = Store(offset, memory, offset)
    type_subscripts(block)
    assert store.offset is offset


def test_a_pointer_that_walks_by_rows_counts_elements() -> None:
    block = Block([tensor_type((), "i64")] * 2)
    with Builder(block):
        row = Multiply(block.arguments[1], Constant.of(4, "i64"))
        offset = Multiply(block.arguments[0], row)
        Return(())
    (found,) = typed(offset, "f32")
    assert isinstance(found, Subscript) and found.strides == (4,)
    assert isinstance(found.indices[0], Multiply) and found.indices[0].operands == tuple(block.arguments)


def test_sums_of_very_many_parts_stay_in_bytes() -> None:
    block = Block([tensor_type((), "i64")] * 2)
    one, other = block.arguments
    with Builder(block):
        for _ in range(3000):  # each is the sum of the two before: 2**2000 ways lead to the first
            one, other = other, Add(one, other)
        Return(())
    assert typed(other, "i8") == [other]


def test_subscripts_need_a_stride_each() -> None:
    with pytest.raises(TypeFault, match="1 subscripts with 2 strides"):
        Subscript((Constant.of(1, "i64"),), (4, 8))
    with pytest.raises(TypeFault, match="i64"):
        Subscript((Constant.of(1, "i32"),), (4,))


MIXED = """__constant__ float table[8];
struct Pair { float a; int k; };
__global__ void kernel(float *x, Pair *pairs, const int *words, int n) {
    __shared__ float tile[4][5];
    float own[3] = {1, 2, 3};
    int t = threadIdx.x;
    tile[t % 4][n] = x[t] + table[t] + own[n % 3] + ((const float *)words)[t + 1];
    __syncthreads();
    pairs[t].k = n + words[t];
    pairs[t].a = tile[n][t % 4];
    atomicAdd(x + 3 * n + 1, 1.0f);
    atomicXor((int *)pairs + 1, 5);
}"""


def test_text_has_memory_of_elements_where_all_accesses_agree() -> None:
    function = imported(MIXED)
    text = loop_text(function)
    assert "%x: memref<?xf32>, %pairs: memref<?xi8>, %words: memref<?xi8>" in text
    assert "memref.alloca() : memref<20xf32, 3>" in text
    assert 'memref.global "private" @"table" : memref<8xf32, 4>' in text
    with jax_mlir.make_ir_context():
        assert mlir.Module.parse(text).operation.verify()


def test_a_kernel_does_the_same_with_subscripts_expanded() -> None:
    plain = imported(MIXED)
    for op in list(plain.walk()):
        if isinstance(op, Subscript):
            assert op.block is not None
            with Builder(op.block, before=op):
                op.replace_all_uses_with(op.expand())
            op.erase()
    results: list[list[Any]] = []
    for function in (imported(MIXED), checked(plain)):
        pairs = np.zeros(4, np.dtype([("a", "f4"), ("k", "i4")]))
        x, words = np.arange(9, dtype=np.float32), np.arange(6, dtype=np.int32)
        evaluate_kernel(function, (1,), (4,), [x, pairs, words, 2], {"table": bytes(32)})
        results.append([each.tobytes() for each in (x, pairs, words)])
    assert results[0] == results[1]


def test_an_argument_is_a_subscript_of_bytes() -> None:
    function = imported("__global__ void kernel(char *p, long long n) { p[n] = 7; p[n + 1] = 8; }")
    p = np.zeros(4, np.int8)
    evaluate_kernel(function, (1,), (1,), [p, 2])
    assert p.tolist() == [0, 0, 7, 8]
    with jax_mlir.make_ir_context():
        assert mlir.Module.parse(loop_text(function)).operation.verify()
