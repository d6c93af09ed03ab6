"""Pointers become buffers and offsets, through every way that C++ makes them."""

from __future__ import annotations

import numpy as np

from windlass import loops
from windlass.ir import BufferType
from windlass.loops import evaluate_kernel

from .running import compiled, imported, imported_ir, ops_of, run


def test_fields_of_nested_structs() -> None:
    source = """
        struct Inner { double d; short s[3]; };
        struct Outer { char c; Inner in[2]; float f; };
        __global__ void kernel(Outer *o, Outer v) {
            o[1].in[threadIdx.x].s[2] = o[0].in[1].s[1] + v.in[1].s[0];
            o[1].f = (float)o[0].in[0].d + v.f;
        }"""
    inner = np.dtype({"names": ["d", "s"], "formats": ["f8", ("i2", 3)], "offsets": [0, 8], "itemsize": 16})
    formats, offsets = ["i1", (inner, 2), "f4"], [0, 8, 40]
    outer = np.dtype({"names": ["c", "in", "f"], "formats": formats, "offsets": offsets, "itemsize": 48})
    o, v = np.zeros(2, outer), np.zeros((), outer)
    o[0]["in"]["s"][1, 1], o[0]["in"]["d"][0] = 7, 2.5
    v["in"]["s"][1, 0], v["f"] = 30, 1.25
    run(source, o, v, block=(2,))
    assert o[1]["in"]["s"][:, 2].tolist() == [37, 37]
    assert o[1]["f"] == 3.75


def test_a_choice_between_arrays_is_a_choice_of_buffers() -> None:
    source = """__global__ void kernel(const float *a, const float *b, float *out, int n) {
        const float *p = n & 1 ? a + 1 : b;
        out[0] = p[2];
        for (int i = 0; i < n; i++) out[1] += p[i];
    }"""
    a, b = np.arange(8, dtype=np.float32), np.arange(100, 108, dtype=np.float32)
    for n, row in ((3, a[1:]), (2, b)):
        out = np.zeros(2, np.float32)
        run(source, a, b, out, n)
        assert out.tolist() == [row[2], row[:n].sum()]


SWAPPED = """__global__ void kernel(float *a, float *b, int n) {
    float *from = a, *to = b;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 4; k++) to[k] = from[k] + 1;
        float *t = from; from = to; to = t;
    }
}"""


def test_pointers_that_swap_in_a_loop_are_carried_buffers() -> None:
    carried = [value.type for loop in ops_of(imported(SWAPPED), loops.For) for value in loop.operands]
    assert sum(isinstance(type_, BufferType) for type_ in carried) == 2
    a, b = np.zeros(4, np.float32), np.zeros(4, np.float32)
    run(SWAPPED, a, b, 3)
    assert a.tolist() == [2] * 4 and b.tolist() == [3] * 4


def test_differences_and_alignment_of_pointers() -> None:
    source = """__global__ void kernel(const double *x, long long *out, int n) {
        const double *end = x + n;
        out[0] = end - x;
        out[1] = ((size_t)end & 15) == 0;
        out[2] = *(const double *)((size_t)end - 16) == x[n - 2];
        out[3] = x == nullptr;
        out[4] = end > x;
    }"""
    for n, aligned in ((4, 1), (5, 0)):
        out = np.full(5, -1, np.int64)
        run(source, np.arange(1.0, 9.0), out, n)
        assert out.tolist() == [n, aligned, 1, 0, 1]


def test_equal_pointers_are_told_from_overlapping_ones() -> None:
    source = "__global__ void kernel(float *a, float *b, int *out) { out[0] = a == b; out[1] = a + 1 == b; }"
    memory, other, out = np.zeros(9, np.float32), np.zeros(9, np.float32), np.zeros(2, np.int32)
    for a, b, wanted in ((memory, memory, [1, 0]), (memory, memory[1:], [0, 1]), (memory, other, [0, 0])):
        run(source, a, b, out)
        assert out.tolist() == wanted


def test_null_is_a_buffer_of_its_own() -> None:
    source = "__global__ void kernel(const int *maybe, int *out) { out[0] = maybe ? maybe[1] : -1; }"
    out = np.zeros(1, np.int32)
    run(source, None, out)
    assert out[0] == -1
    run(source, np.array([4, 5], np.int32), out)
    assert out[0] == 5


def test_shared_dynamic_and_constant_memory() -> None:
    source = """
        __constant__ int weights[4] = {1, 10, 100, 1000};
        __device__ const short table[2][3] = {{1, 2, 3}, {4, 5, 6}};
        __device__ int total = 5;
        __global__ void kernel(int *out) {
            __shared__ int tile[8][9];
            extern __shared__ int dynamic[];
            int i = threadIdx.x;
            tile[i][i + 1] = weights[i & 3];
            dynamic[7 - i] = table[i & 1][i % 3];
            __syncthreads();
            out[i] = tile[7 - i][8 - i] + dynamic[i];
            atomicAdd(&total, i);
        }"""
    out = np.zeros(8, np.int32)
    state = run(source, out, block=(8,), shared_bytes=32)
    weights, table = [1, 10, 100, 1000], [[1, 2, 3], [4, 5, 6]]
    assert out.tolist() == [weights[(7 - i) & 3] + table[(7 - i) & 1][(7 - i) % 3] for i in range(8)]
    name = next(each.mangled for each in compiled(source).variables if each.name == "total")
    assert state.variables[name].view(np.int32)[0] == 5 + sum(range(8))
    sizes = {op.attributes["variable"]: op.attributes["size"] for op in ops_of(imported(source), loops.Allocate)}
    assert sorted(sizes.values()) == [-1, 288]


def test_local_arrays_and_copies_of_structs() -> None:
    source = """
        struct Big { int values[40]; float f; };
        __global__ void kernel(Big *b, int n, int *out) {
            int window[5];
            for (int i = 0; i < 5; i++) window[i] = i * n;
            Big copy = b[0];
            copy.values[n] = window[n];
            b[1] = copy;
            out[0] = window[(n + 1) % 5];
        }"""
    big = np.dtype([("values", "i4", 40), ("f", "f4")])
    b, out = np.zeros(2, big), np.zeros(1, np.int32)
    b[0]["values"], b[0]["f"] = np.arange(40), 9.5
    run(source, b, 3, out)
    wanted = np.arange(40)
    wanted[3] = 9
    assert b[1]["values"].tolist() == wanted.tolist() and b[1]["f"] == 9.5 and out[0] == 12


def test_vectors_are_scalars() -> None:
    source = """__global__ void kernel(const float4 *x, float4 *y, double2 *z) {
        float4 v = x[threadIdx.x];
        y[threadIdx.x] = make_float4(v.w, v.z, v.y * 2, v.x + 1);
        z->y = v.y;
    }"""
    x, y, z = np.arange(8, dtype=np.float32), np.zeros(8, np.float32), np.zeros(2)
    run(source, x, y, z, block=(2,))
    assert y.tolist() == [3, 2, 2, 1, 7, 6, 10, 5] and z.tolist() == [0, 5]
    function = imported_ir(
        """%v = load <4 x float>, ptr %x, align 16
           %s = fadd <4 x float> %v, <float 1.0, float 2.0, float 3.0, float 4.0>
           %t = shufflevector <4 x float> %s, <4 x float> %v, <4 x i32> <i32 3, i32 4, i32 poison, i32 0>
           %e = extractelement <4 x float> %t, i64 1
           %u = insertelement <4 x float> %t, float %e, i32 2
           store <4 x float> %u, ptr %y, align 16
           ret void""",
        "ptr %x, ptr %y",
    )

    y = np.zeros(4, np.float32)
    evaluate_kernel(function, (1,), (1,), [np.arange(4, dtype=np.float32), y])
    assert y.tolist() == [7, 0, 0, 1]


def test_printf_gets_its_format_and_arguments() -> None:
    source = r"""__global__ void kernel(int n, float f) { printf("%d of %s is %.2f%%\n", n, "it", f); }"""
    (printed,) = ops_of(imported(source), loops.Print)
    assert isinstance(printed, loops.Print)
    assert printed.format == "%d of %s is %.2f%%\n"
    assert [str(value.type) for value in printed.inputs][::2] == ["tensor<i32>", "tensor<f64>"]


def test_declared_element_types_reach_the_buffers() -> None:
    function = imported(
        "__global__ void kernel(const double *x, unsigned *y, float4 *z, void *w) { *y = (unsigned)*x; }"
    )
    dtypes = [argument.type.dtype for argument in function.arguments if isinstance(argument.type, BufferType)]
    assert dtypes == ["f64", "ui32", "f32", None]
