"""Kernels run as CUDA defines: indices, parameters, variables, arithmetic, output."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from windlass.emulator import Emulator

Emulate = Callable[[str], Emulator]


def test_every_thread_of_a_three_dimensional_grid_runs_once(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void visit(int *seen) {
            int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
            int z = blockIdx.z * blockDim.z + threadIdx.z, width = gridDim.x * blockDim.x;
            seen[(z * gridDim.y * blockDim.y + y) * width + x] += 1 + x + 100 * y + 10000 * z;
        }""")
    seen = np.zeros((3 * 2, 2 * 3, 4 * 5), np.int32)
    emulator.launch("visit", (4, 2, 3), (5, 3, 2), (seen,))
    z, y, x = np.indices(seen.shape)
    np.testing.assert_array_equal(seen, 1 + x + 100 * y + 10000 * z)


def test_a_block_may_have_1024_threads(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void reverse(int *x) {
            __shared__ int tile[1024];
            tile[threadIdx.x] = x[threadIdx.x];
            __syncthreads();
            x[threadIdx.x] = tile[1023 - threadIdx.x];
        }""")
    x = np.arange(1024, dtype=np.int32)
    emulator.launch("reverse", 1, 1024, (x,))
    np.testing.assert_array_equal(x, np.arange(1024)[::-1])


def test_tree_reduction_in_shared_memory(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void sum(const float *x, float *out, int n) {
            extern __shared__ float partial[];
            int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
            partial[t] = i < n ? x[i] : 0.0f;
            __syncthreads();
            for (int k = blockDim.x / 2; k > 0; k >>= 1) {
                if (t < k) partial[t] += partial[t + k];
                __syncthreads();
            }
            if (t == 0) out[blockIdx.x] = partial[0];
        }""")
    x = np.random.default_rng(1).random(1000, np.float32)
    out = np.zeros(8, np.float32)
    emulator.launch("sum", 8, 128, (x, out, 1000), shared_bytes=512)
    np.testing.assert_allclose(out, np.pad(x, (0, 24)).reshape(8, 128).sum(1), rtol=1e-5)


def test_tiled_matmul(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void multiply(const float *a, const float *b, float *c, int n) {
            __shared__ float left[8][8], right[8][8];
            int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 8 + ty, column = blockIdx.x * 8 + tx;
            float sum = 0;
            for (int k = 0; k < n; k += 8) {
                left[ty][tx] = a[row * n + k + tx];
                right[ty][tx] = b[(k + ty) * n + column];
                __syncthreads();
                for (int i = 0; i < 8; i++) sum += left[ty][i] * right[i][tx];
                __syncthreads();
            }
            c[row * n + column] = sum;
        }""")
    a, b = np.random.default_rng(2).random((2, 32, 32), np.float32)
    c = np.zeros((32, 32), np.float32)
    emulator.launch("multiply", (4, 4), (8, 8), (a, b, c, 32))
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_hillis_steele_scan(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void scan(int *x) {
            __shared__ int tile[64];
            int t = threadIdx.x;
            tile[t] = x[t];
            for (int step = 1; step < 64; step *= 2) {
                __syncthreads();
                int left = t >= step ? tile[t - step] : 0;
                __syncthreads();
                tile[t] += left;
            }
            x[t] = tile[t];
        }""")
    x = np.arange(64, dtype=np.int32)
    emulator.launch("scan", 1, 64, (x,))
    np.testing.assert_array_equal(x, np.cumsum(np.arange(64)))


def test_histogram_with_shared_and_global_atomics(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void count(const unsigned char *x, int n, unsigned *bins) {
            __shared__ unsigned own[16];
            if (threadIdx.x < 16) own[threadIdx.x] = 0;
            __syncthreads();
            for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
                atomicAdd(&own[x[i] % 16], 1u);
            __syncthreads();
            if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
        }""")
    x = np.random.default_rng(3).integers(0, 256, 5000).astype(np.uint8)
    bins = np.zeros(16, np.uint32)
    emulator.launch("count", 3, 64, (x, 5000, bins))
    np.testing.assert_array_equal(bins, np.bincount(x % 16, minlength=16))


@pytest.mark.parametrize(
    ("c_type", "dtype"),
    [
        ("bool", np.bool_),
        ("signed char", np.int8),
        ("unsigned char", np.uint8),
        ("short", np.int16),
        ("unsigned short", np.uint16),
        ("int", np.int32),
        ("unsigned", np.uint32),
        ("long long", np.int64),
        ("unsigned long long", np.uint64),
        ("float", np.float32),
        ("double", np.float64),
    ],
)
def test_scalar_parameters_of_every_type(emulate: Emulate, c_type: str, dtype: type) -> None:
    emulator = emulate(f"__global__ void put({c_type} value, {c_type} *out, int at) {{ out[at] = value; }}")
    info = np.iinfo(dtype) if np.issubdtype(dtype, np.integer) else None
    values = [True, False] if dtype is np.bool_ else [1, info.min, info.max] if info else [1.5, -2.25, 1e30]
    for value in values:
        out = np.zeros(3, dtype)
        emulator.launch("put", 1, 1, (value, out, 1))
        np.testing.assert_array_equal(out, np.array([0, value, 0], dtype))


@pytest.mark.parametrize(
    ("c_type", "header", "dtype"),
    [("__half", "cuda_fp16.h", np.dtype(np.float16)), ("__nv_bfloat16", "cuda_bf16.h", np.dtype(ml_dtypes.bfloat16))],
)
def test_sixteen_bit_floats(emulate: Emulate, c_type: str, header: str, dtype: np.dtype) -> None:
    emulator = emulate(f"""
        #include <{header}>
        __global__ void scale({c_type} a, const {c_type} *x, {c_type} *y) {{
            y[threadIdx.x] = a * x[threadIdx.x] + y[threadIdx.x];
        }}""")
    x = np.linspace(-3, 3, 32).astype(dtype)
    y = np.ones(32, dtype)
    emulator.launch("scale", 1, 32, (dtype.type(1.5), x, y))
    expected = ((dtype.type(1.5) * x).astype(dtype) + np.ones(32, dtype)).astype(dtype)
    np.testing.assert_array_equal(y.astype(np.float32), expected.astype(np.float32))


def test_structs_by_value_and_by_pointer(emulate: Emulate) -> None:
    emulator = emulate("""
        struct Body { double mass; float velocity[3]; short kind; };
        __device__ __noinline__ double energy(Body body) {
            body.velocity[0] *= 2;          // the callee's own copy
            return body.mass * body.velocity[0];
        }
        __global__ void run(Body one, Body *all, double *out) {
            int i = threadIdx.x;
            one.mass += i;                  // the thread's own copy
            out[i] = one.mass + energy(all[i]) + all[i].velocity[0] + one.kind;
            all[i].kind = (short)i;
        }""")
    body = emulator.code.kernels[0].parameters[0].dtype
    assert body is not None
    one = np.zeros((), body)
    one["mass"], one["kind"] = 10, 3
    all_bodies = np.zeros(8, body)
    all_bodies["mass"], all_bodies["velocity"] = np.arange(8), 0.5
    out = np.zeros(8)
    emulator.launch("run", 1, 8, (one[()], all_bodies, out))
    i = np.arange(8)
    np.testing.assert_allclose(out, 10 + i + i * 1.0 + 0.5 + 3)
    np.testing.assert_array_equal(all_bodies["kind"], i)


def test_device_variables_keep_their_values_between_launches(emulate: Emulate) -> None:
    emulator = emulate("""
        __device__ int counter = 5;
        __device__ float table[2][3] = {{1, 2, 3}, {4, 5, 6}};
        __constant__ float factor;
        __global__ void step(float *out) {
            atomicAdd(&counter, 1);
            if (threadIdx.x < 6) out[threadIdx.x] = table[threadIdx.x / 3][threadIdx.x % 3] * factor;
        }""")
    out = np.zeros(6, np.float32)
    emulator.set_variable("factor", 10)
    assert emulator.read_variable("counter") == 5
    emulator.launch("step", 2, 8, (out,))
    assert emulator.read_variable("counter") == 21
    emulator.set_variable("table", [[0, 1, 2], [3, 4, 5]])
    emulator.launch("step", 1, 8, (out,))
    assert emulator.read_variable("counter") == 29
    np.testing.assert_array_equal(out, np.arange(6) * 10)
    np.testing.assert_array_equal(emulator.read_variable("table"), np.arange(6).reshape(2, 3))


def test_overlapping_views_stay_aliases(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void shift(const int *from, int *to, int n) {
            if (threadIdx.x == 0) for (int i = 0; i < n; i++) to[i] = from[i] + 1;
        }""")
    buffer = np.zeros(10, np.int32)
    emulator.launch("shift", 1, 1, (buffer[:9], buffer[1:], 9))
    np.testing.assert_array_equal(buffer, np.arange(10))


def test_same_array_may_be_passed_twice(emulate: Emulate) -> None:
    emulator = emulate("__global__ void copy(const int *x, int *y) { y[threadIdx.x] = x[threadIdx.x] + 1; }")
    x = np.arange(4, dtype=np.int32)
    emulator.launch("copy", 1, 4, (x, x))
    np.testing.assert_array_equal(x, [1, 2, 3, 4])


def test_null_pointer_may_be_passed(emulate: Emulate) -> None:
    emulator = emulate("__global__ void maybe(int *x, const int *y) { x[0] = y ? y[0] : 7; }")
    x = np.zeros(1, np.int32)
    emulator.launch("maybe", 1, 1, (x, None))
    assert x[0] == 7


def test_local_arrays_and_device_functions(emulate: Emulate) -> None:
    emulator = emulate("""
        __device__ __noinline__ void sort(int *values, int n) {
            for (int i = 1; i < n; i++)
                for (int j = i; j > 0 && values[j - 1] > values[j]; j--) {
                    int held = values[j]; values[j] = values[j - 1]; values[j - 1] = held;
                }
        }
        __global__ void median(const int *x, int *out) {
            int window[5], i = threadIdx.x;
            for (int k = 0; k < 5; k++) window[k] = x[i + k];
            sort(window, 5);
            out[i] = window[2];
        }""")
    x = np.random.default_rng(4).integers(0, 100, 36).astype(np.int32)
    out = np.zeros(32, np.int32)
    emulator.launch("median", 1, 32, (x, out))
    np.testing.assert_array_equal(out, np.median(np.lib.stride_tricks.sliding_window_view(x, 5), axis=1))


def test_recursion_and_function_pointers(emulate: Emulate) -> None:
    emulator = emulate("""
        __device__ __noinline__ int add(int a, int b) { return a + b; }
        __device__ __noinline__ int multiply(int a, int b) { return a * b; }
        __device__ int (*operations[2])(int, int) = {add, multiply};
        __device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
        __global__ void run(int *out) {
            int i = threadIdx.x;
            out[i] = operations[i % 2](fibonacci(i), 3);
        }""")
    out = np.zeros(10, np.int32)
    emulator.launch("run", 1, 10, (out,))
    np.testing.assert_array_equal(out, [3, 3, 4, 6, 6, 15, 11, 39, 24, 102])


def test_shifts_by_the_width_or_more_leave_nothing(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void shift(const int *x, const int *by, unsigned *left, unsigned *right, int *sign, long *wide) {
            int i = threadIdx.x;
            left[i] = (unsigned)x[i] << by[i];
            right[i] = (unsigned)x[i] >> by[i];
            sign[i] = x[i] >> by[i];
            wide[i] = (long)x[i] << by[i];
        }""")
    x, by = np.array([5, -5, 5, -5], np.int32), np.array([1, 31, 32, 64], np.int32)
    left, right = np.zeros(4, np.uint32), np.zeros(4, np.uint32)
    sign, wide = np.zeros(4, np.int32), np.zeros(4, np.int64)
    emulator.launch("shift", 1, 4, (x, by, left, right, sign, wide))
    assert left.tolist() == [10, 1 << 31, 0, 0]
    assert right.tolist() == [2, 1, 0, 0]
    assert sign.tolist() == [2, -1, 0, -1]
    assert wide.tolist() == [10, -5 << 31, 5 << 32, 0]


def test_integer_arithmetic_never_stops_the_process(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void divide(const int *a, const int *b, int *quotient, int *rest, unsigned *large) {
            int i = threadIdx.x;
            quotient[i] = a[i] / b[i];
            rest[i] = a[i] % b[i];
            large[i] = (unsigned)a[i] / (unsigned)b[i];
        }""")
    a = np.array([7, -7, 7, -(2**31), 5], np.int32)
    b = np.array([2, 2, -2, -1, 0], np.int32)
    quotient, rest, large = np.zeros(5, np.int32), np.zeros(5, np.int32), np.zeros(5, np.uint32)
    emulator.launch("divide", 1, 5, (a, b, quotient, rest, large))
    np.testing.assert_array_equal(quotient[:4], [3, -3, -3, -(2**31)])
    np.testing.assert_array_equal(rest[:4], [1, -1, 1, 0])
    np.testing.assert_array_equal(large[:2], [3, (2**32 - 7) // 2])


def test_conversion_to_integer_saturates(emulate: Emulate) -> None:
    emulator = emulate("__global__ void convert(const float *x, int *y) { y[threadIdx.x] = (int)x[threadIdx.x]; }")
    x = np.array([1.9, -1.9, 1e20, -1e20, np.nan, np.inf], np.float32)
    y = np.zeros(6, np.int32)
    emulator.launch("convert", 1, 6, (x, y))
    np.testing.assert_array_equal(y, [1, -1, 2**31 - 1, -(2**31), 0, 2**31 - 1])


def test_mathematical_functions(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void run(const double *x, double *y, float *z) {
            int i = threadIdx.x;
            double s, c;
            sincos(x[i], &s, &c);
            y[i] = s + 2 * c + exp(x[i]) + pow(x[i], 1.5) + erf(x[i]) + tgamma(x[i] + 1) + erfinv(x[i] / 10);
            y[i] += rsqrt(x[i]);
            z[i] = sinf((float)x[i]) + __expf((float)x[i]) + fmaf(2.0f, (float)x[i], 1.0f) + hypotf(3.0f, (float)x[i]);
        }""")
    from scipy import special

    x = np.linspace(0.1, 5, 32)
    y, z = np.zeros(32), np.zeros(32, np.float32)
    emulator.launch("run", 1, 32, (x, y, z))
    sine_and_cosine = np.sin(x) + 2 * np.cos(x)
    other = special.erf(x) + special.gamma(x + 1) + special.erfinv(x / 10) + 1 / np.sqrt(x)
    np.testing.assert_allclose(y, sine_and_cosine + np.exp(x) + x**1.5 + other, rtol=1e-12)
    np.testing.assert_allclose(z, np.sin(x) + np.exp(x) + 2 * x + 1 + np.hypot(3, x), rtol=1e-5)


def test_atomics_of_every_kind(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void run(int *x, unsigned *u, float *f, double *d, unsigned long long *w) {
            int i = threadIdx.x;
            atomicAdd(&x[0], i); atomicSub(&x[1], i); atomicMin(&x[2], i - 5); atomicMax(&x[3], i);
            atomicAnd(&x[4], ~(1 << i % 8)); atomicOr(&x[5], 1 << i % 8); atomicXor(&x[6], i);
            atomicInc(&u[0], 6u); atomicDec(&u[1], 6u); atomicExch(&u[2], 9u); atomicCAS(&u[3], 0u, 4u);
            atomicAdd(&f[0], 0.5f); atomicAdd(&d[0], 0.25); atomicAdd(&w[0], 1ull << 33); atomicMax(&w[1], 1ull << 40);
        }""")
    x = np.array([0, 0, 0, 0, 255, 0, 0], np.int32)
    u = np.zeros(4, np.uint32)
    f, d, w = np.zeros(1, np.float32), np.zeros(1), np.zeros(2, np.uint64)
    emulator.launch("run", 1, 40, (x, u, f, d, w))
    total = sum(range(40))
    np.testing.assert_array_equal(x, [total, -total, -5, 39, 0, 255, np.bitwise_xor.reduce(np.arange(40))])
    np.testing.assert_array_equal(u, [40 % 7, 2, 9, 4])
    assert (f[0], d[0], w[0], w[1]) == (20, 10, 40 << 33, 1 << 40)


def test_zeros_are_ordered_as_by_the_device(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void run(const float *x, float *most, double *least) {
            int i = threadIdx.x;
            most[i] = fmaxf(x[i], x[i + 1]);
            least[i] = fmin((double)x[i], (double)x[i + 1]);
        }""")
    x = np.array([-0.0, 0.0, -0.0, np.nan, 1.0], np.float32)
    most, least = np.zeros(4, np.float32), np.zeros(4)
    emulator.launch("run", 1, 4, (x, most, least))
    assert str(most.tolist()) == "[0.0, 0.0, -0.0, 1.0]" and str(least.tolist()) == "[-0.0, -0.0, -0.0, 1.0]"


def test_printf_writes_to_standard_output(emulate: Emulate, capsys: pytest.CaptureFixture[str]) -> None:
    emulator = emulate(r"""
        #include <cstdio>
        __global__ void speak(const float *x, long long big) {
            printf("%d|%5.2f|%-6s|%c|%lld|%x|%%|%*d|%e|%llu|%s\n", threadIdx.x, x[threadIdx.x], "text", 'c', big, 255,
                   4, 7, 1e10, 18446744073709551615ull, "end");
            printf("plain\n");
        }""")
    emulator.launch("speak", 1, 2, (np.array([1.5, -2.25], np.float32), -(2**40)))
    tail = "|text  |c|-1099511627776|ff|%|   7|1.000000e+10|18446744073709551615|end\n"
    assert capsys.readouterr().out == f"0| 1.50{tail}plain\n1|-2.25{tail}plain\n"


def test_device_heap(emulate: Emulate) -> None:
    emulator = emulate("""
        #include <cstdlib>
        __global__ void sum_on_heap(int *out) {
            int n = threadIdx.x + 1, *own = (int *)malloc(n * sizeof(int)), sum = 0;
            for (int i = 0; i < n; i++) own[i] = i;
            for (int i = 0; i < n; i++) sum += own[i];
            out[threadIdx.x] = sum;
            free(own);
        }""")
    out = np.zeros(8, np.int32)
    emulator.launch("sum_on_heap", 1, 8, (out,))
    np.testing.assert_array_equal(out, np.cumsum(np.arange(8)))


def test_templates_and_mangled_names_find_kernels(emulate: Emulate) -> None:
    emulator = emulate("""
        template <class T> __global__ void fill(T *x, T value) { x[threadIdx.x] = value; }
        template __global__ void fill<float>(float *, float);
        template __global__ void fill<int>(int *, int);""")
    x, y = np.zeros(4, np.float32), np.zeros(4, np.int32)
    emulator.launch("fill<float>", 1, 4, (x, 2.5))
    integer = next(kernel for kernel in emulator.code.kernels if kernel.name == "fill<int>")
    emulator.launch(integer.mangled, 1, 4, (y, 3))
    emulator.launch(integer, 1, 2, (y, 4))
    assert (x.tolist(), y.tolist()) == ([2.5] * 4, [4, 4, 3, 3])


def test_arrays_are_untouched_after_an_error(emulate: Emulate) -> None:
    emulator = emulate("__global__ void run(int *x) { x[0] = 1; x[threadIdx.x + 4] = 1; }")
    x = np.zeros(4, np.int32)
    with pytest.raises(Exception, match="WL0602"):
        emulator.launch("run", 1, 1, (x,))
    assert not x.any()


def test_empty_arrays_and_one_thread(emulate: Emulate) -> None:
    emulator = emulate(
        "__global__ void run(const int *x, int n, int *out) { for (int i = 0; i < n; i++) out[i] = x[i]; }"
    )
    emulator.launch("run", 1, 1, (np.zeros(0, np.int32), 0, np.zeros(0, np.int32)))


def test_a_million_threads(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void axpy(float a, const float *x, float *y, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) y[i] = a * x[i] + y[i];
        }""")
    x, y = np.ones(1 << 20, np.float32), np.zeros(1 << 20, np.float32)
    emulator.launch("axpy", 1, 1, (2.0, x, y, 1))
    emulator.launch("axpy", 4096, 256, (2.0, x, y, 1 << 20))
    assert (y[1:] == 2).all()
