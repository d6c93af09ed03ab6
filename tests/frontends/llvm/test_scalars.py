"""Arithmetic of every width and sign, comparisons, conversions, atomics."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from windlass import loops
from windlass.loops import evaluate_kernel

from .running import imported, imported_ir, ops_of, run

TYPES = {
    "signed char": np.int8, "unsigned char": np.uint8, "short": np.int16, "unsigned short": np.uint16, "int": np.int32,
    "unsigned": np.uint32, "long long": np.int64, "unsigned long long": np.uint64,
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", TYPES)
def test_integer_arithmetic_is_that_of_c(name: str) -> None:
    dtype: Any = np.dtype(TYPES[name])
    source = f"""__global__ void kernel(const {name} *a, const {name} *b, {name} *o, double *f) {{
        int i = threadIdx.x;
        {name} x = a[i], y = b[i] ? b[i] : 1;
        {name} r[12] = {{({name})(x + y), ({name})(x * y), ({name})(x / y), ({name})(x % y), ({name})(x >> (y & 7)),
                        ({name})(x << (y & 7)), ({name})(x < y), ({name})(x <= y), ({name})(x == y), ({name})-x,
                        ({name})(x ^ y), ({name})(float)(x / 2)}};
        for (int k = 0; k < 12; k++) o[i * 12 + k] = r[k];
        f[i] = (double)x + (float)(short)y;
    }}"""
    limits, random = np.iinfo(dtype), np.random.default_rng(4)
    a, b = (random.integers(limits.min, limits.max, 24, dtype, endpoint=True) for _ in range(2))
    a[:3], b[:3] = [limits.min, limits.max, limits.max // 2], [3, limits.max, limits.min]
    found, floats = np.zeros((24, 12), dtype), np.zeros(24)
    run(source, a, b, found, floats, block=(24,))

    def wrap(number: int) -> int:
        number %= 1 << limits.bits
        return number - (1 << limits.bits) if limits.min < 0 and number > limits.max else number

    for index, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        y = y or 1
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        half = -(-x // 2) if x < 0 else x // 2
        shift = y & 7
        back = min(max(int(np.float32(half)), limits.min), limits.max)
        wanted = [
            x + y,
            x * y,
            quotient,
            x - quotient * y,
            x >> shift,
            x << shift,
            x < y,
            x <= y,
            x == y,
            -x,
            x ^ y,
            back,
        ]
        assert found[index].tolist() == [wrap(int(each)) for each in wanted], (x, y)
        assert floats[index] == float(x) + ((y + (1 << 15)) % (1 << 16) - (1 << 15))


PREDICATES = ("oeq", "one", "olt", "ole", "ogt", "oge", "ord", "ueq", "une", "ult", "ule", "ugt", "uge", "uno")


def test_float_comparisons_know_nan() -> None:
    lines = [f"%{name} = fcmp {name} float %a, %b\n%z{name} = zext i1 %{name} to i32" for name in PREDICATES]
    lines += [
        f"%p{name} = getelementptr i32, ptr %o, i64 {index}\nstore i32 %z{name}, ptr %p{name}"
        for index, name in enumerate(PREDICATES)
    ]
    function = imported_ir("\n".join([*lines, "ret void"]), "float %a, float %b, ptr %o")
    for a in (1.0, 2.0, np.nan):
        for b in (1.0, np.nan):
            found = np.zeros(len(PREDICATES), np.int32)
            evaluate_kernel(function, (1,), (1,), [a, b, found])
            unordered = bool(np.isnan(a) or np.isnan(b))
            ordered = [a == b, a < b or a > b, a < b, a <= b, a > b, a >= b, not unordered]
            rest = [a == b or unordered, a != b, *(each or unordered for each in ordered[2:6]), unordered]
            assert found.tolist() == [int(each) for each in ordered + rest]


def test_integers_of_odd_width() -> None:
    function = imported_ir(
        """%a = trunc i32 %x to i24
           %b = trunc i32 %y to i24
           %s = add i24 %a, %b
           %m = mul i24 %a, %b
           %d = sdiv i24 %a, %b
           %c = icmp slt i24 %a, %b
           %h = ashr i24 %a, 3
           %w0 = sext i24 %s to i32
           %w1 = zext i24 %m to i32
           %w2 = sext i24 %d to i32
           %w3 = zext i1 %c to i32
           %w4 = sext i24 %h to i32
           %p1 = getelementptr i32, ptr %o, i64 1
           %p2 = getelementptr i32, ptr %o, i64 2
           %p3 = getelementptr i32, ptr %o, i64 3
           %p4 = getelementptr i32, ptr %o, i64 4
           store i32 %w0, ptr %o
           store i32 %w1, ptr %p1
           store i32 %w2, ptr %p2
           store i32 %w3, ptr %p3
           store i32 %w4, ptr %p4
           ret void""",
        "i32 %x, i32 %y, ptr %o",
    )

    def signed(value: int) -> int:
        value %= 1 << 24
        return value - (1 << 24) if value >> 23 else value

    for x, y in ((5, -3), (-8000000, 900000), (0x7FFFFF, 1), (-1, 7)):
        found = np.zeros(5, np.int32)
        evaluate_kernel(function, (1,), (1,), [x, y, found])
        quotient = int(signed(x) / signed(y))
        assert found.tolist() == [
            signed(x + y),
            x * y % (1 << 24),
            quotient,
            int(signed(x) < signed(y)),
            signed(x) >> 3,
        ]


def test_half_and_bfloat16() -> None:
    source = """
        #include <cuda_fp16.h>
        #include <cuda_bf16.h>
        __global__ void kernel(const __half *a, __half *b, const __nv_bfloat16 *c, float *d) {
            int i = threadIdx.x;
            b[i] = __hadd(__hmul(a[i], a[i]), __float2half(0.1f));
            d[i] = __bfloat162float(__hmul(c[i], c[i])) + __half2float(a[i]);
        }"""
    a = np.linspace(-3, 3, 8).astype(np.float16)
    c = np.linspace(-3, 3, 8).astype(ml_dtypes.bfloat16)
    b, d = np.zeros(8, np.float16), np.zeros(8, np.float32)
    run(source, a, b, c, d, block=(8,))
    squares: Any = np.multiply(c, c)
    assert np.array_equal(b, a * a + np.float16(0.1))
    assert np.array_equal(d, squares.astype(np.float32) + a.astype(np.float32))


def test_conversions_saturate() -> None:
    source = """__global__ void kernel(const float *x, int *s, unsigned *u, long long *l) {
        int i = threadIdx.x; s[i] = (int)x[i]; u[i] = (unsigned)x[i]; l[i] = (long long)x[i];
    }"""
    x = np.array([1.9, -1.9, 3e9, -3e9, 1e20, np.nan], np.float32)
    s, u, wide = np.zeros(6, np.int32), np.zeros(6, np.uint32), np.zeros(6, np.int64)
    run(source, x, s, u, wide, block=(6,))
    assert s.tolist() == [1, -1, 2**31 - 1, -(2**31), 2**31 - 1, 0]
    assert u.tolist() == [1, 0, 3000000000, 0, 2**32 - 1, 0]
    assert wide.tolist() == [1, -1, 3000000000, -3000000000, 2**63 - 1, 0]


IDIOMS = {
    "fadd": ("double", "__double_as_longlong(v + __longlong_as_double(assumed))", "unsigned long long"),
    "fmax": ("float", "__float_as_uint(fmaxf(__uint_as_float(assumed), v))", "unsigned"),
    "fmin": ("float", "__float_as_uint(fminf(v, __uint_as_float(assumed)))", "unsigned"),
    "xor": ("unsigned", "assumed ^ v", "unsigned"),
    "umax": ("unsigned", "assumed > v ? assumed : v", "unsigned"),
    "exchange": ("unsigned", "v", "unsigned"),
}


@pytest.mark.parametrize("kind", IDIOMS)
def test_compare_and_swap_loops_become_atomics(kind: str) -> None:
    type_, expression, word = IDIOMS[kind]
    source = f"""__global__ void kernel({type_} *place, const {type_} *x) {{
        {type_} v = x[threadIdx.x];
        {word} *bits = ({word} *)place, old = *bits, assumed;
        do {{ assumed = old; old = atomicCAS(bits, assumed, ({word})({expression})); }} while (assumed != old);
    }}"""
    function = imported(source)
    (atomic,) = ops_of(function, loops.Atomic)
    assert atomic.attributes["kind"] == kind
    assert not ops_of(function, loops.DoWhile, loops.CompareExchange)
    dtype = {"double": np.float64, "float": np.float32, "unsigned": np.uint32}[type_]
    x, place = np.array([3, 9, 4], dtype), np.array([5], dtype)
    run(source, place, x, block=(3,))
    assert place[0] == {"fadd": 21, "fmax": 9, "fmin": 3, "xor": 5 ^ 3 ^ 9 ^ 4, "umax": 9, "exchange": 4}[kind]


def test_a_compare_and_swap_loop_that_does_more_stays_one() -> None:
    source = """__global__ void kernel(int *lock, int *count) {
        int old = *lock, assumed;
        do { assumed = old; count[1]++; old = atomicCAS(lock, assumed, assumed + count[0]); } while (assumed != old);
    }"""
    assert len(ops_of(imported(source), loops.CompareExchange)) == 1


def test_every_op_has_the_users_position() -> None:
    source = """__device__ inline float helper(float x) {
    return x * x;
}
__global__ void kernel(float *x, int n) {
    for (int i = 0; i < n; i++)
        x[i] = helper(x[i]) + atomicAdd(x + 9, 1.0f);
}"""
    function = imported(source)
    lines = {type(op).__name__: op.source.line for op in function.walk() if op.source is not None}
    assert (lines["Atomic"], lines["For"], lines["Store"]) == (6, 5, 6)
    multiplication = next(op for op in function.walk() if type(op).__name__ == "Multiply" and op.tensor.is_float)
    assert multiplication.source is not None and (multiplication.source.file, multiplication.source.line) == (
        "test.cu",
        2,
    )
