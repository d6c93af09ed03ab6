"""Each error names the source line, the thread and the memory; word for word."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from windlass.diagnostics import EmulationError
from windlass.emulator import Emulator

Emulate = Callable[[str], Emulator]


def message_of(
    emulator: Emulator, arguments: Sequence[object], block: int = 32, grid: int = 1, **options: object
) -> str:
    with pytest.raises(EmulationError) as caught:
        emulator.launch(emulator.code.kernels[0], grid, block, arguments, **options)  # pyright: ignore[reportArgumentType]
    return str(caught.value)


def test_read_out_of_bounds(emulate: Emulate) -> None:
    emulator = emulate("""__global__ void copy(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i + 1];
}""")
    assert message_of(emulator, (np.zeros(64, np.float32), np.zeros(64, np.float32)), grid=2) == (
        "error[WL0602]: read of 4 bytes out of bounds\n"
        " --> kernel.cu:3:12\n"
        "   |\n"
        " 3 |     y[i] = x[i + 1];\n"
        "   |            ^\n"
        "  note: in kernel copy, block (1, 0, 0), thread (31, 0, 0)\n"
        "  note: element 64 of 'x', which has 64 elements of float32"
    )


def test_write_before_the_beginning_in_a_called_function(emulate: Emulate) -> None:
    emulator = emulate("""__device__ void put(double *to, int at) {
    to[at] = 1;
}
__global__ void run(double *out) {
    put(out, -3);
}""")
    assert message_of(emulator, (np.zeros(4),), block=1) == (
        "error[WL0602]: write of 8 bytes out of bounds\n"
        " --> kernel.cu:2:12\n"
        "   |\n"
        " 2 |     to[at] = 1;\n"
        "   |            ^\n"
        "  note: in kernel run, block (0, 0, 0), thread (0, 0, 0)\n"
        "  note: called from kernel.cu:5:5\n"
        "  note: element -3 of 'out', which has 4 elements of float64"
    )


def test_shared_array_out_of_bounds(emulate: Emulate) -> None:
    emulator = emulate("""__global__ void run(int *x) {
    __shared__ int tile[32];
    tile[threadIdx.x + x[0]] = 1;
    __syncthreads();
    x[threadIdx.x] = tile[threadIdx.x];
}""")
    message = message_of(emulator, (np.ones(32, np.int32),))
    assert "write of 4 bytes out of bounds" in message
    assert "thread (31, 0, 0)\n  note: byte 128 of 'tile', which has 128 bytes" in message


def test_dynamic_shared_memory_is_as_large_as_the_launch_says(emulate: Emulate) -> None:
    emulator = emulate("""__global__ void run(int *x) {
    extern __shared__ int tile[];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[threadIdx.x] + 1;
}""")
    emulator.launch("run", 1, 32, (np.ones(32, np.int32),), shared_bytes=128)
    message = message_of(emulator, (np.ones(32, np.int32),), shared_bytes=124)
    assert "byte 124 of 'tile', which has 124 bytes" in message


def test_local_array_out_of_bounds(emulate: Emulate) -> None:
    emulator = emulate("""__global__ void run(const int *x, int *y) {
    int own[4] = {1, 2, 3, 4}, other[4] = {5, 6, 7, 8};
    own[x[0]] = x[1];
    other[x[1]] = 0;
    y[0] = own[x[2]] + other[x[2]];
}""")
    x = np.array([4, 1, 2], np.int32)
    assert message_of(emulator, (x, np.zeros(1, np.int32)), block=1) == (
        "error[WL0602]: write of 4 bytes out of bounds\n"
        " --> kernel.cu:3:15\n"
        "   |\n"
        " 3 |     own[x[0]] = x[1];\n"
        "   |               ^\n"
        "  note: in kernel run, block (0, 0, 0), thread (0, 0, 0)\n"
        "  note: byte 16 of local variable 'own', which has 16 bytes"
    )


def test_null_and_wild_pointers(emulate: Emulate) -> None:
    emulator = emulate("__global__ void run(int *x, long long offset) { *(int *)((char *)x + offset) = 1; }")
    assert "write of 4 bytes through a null pointer" in message_of(emulator, (None, 0), block=1)
    wild = message_of(emulator, (None, 0x123456789000), block=1)
    assert "write of 4 bytes out of bounds" in wild and "address 0x123456789000 is in no array" in wild
    assert "WL0602" in message_of(emulator, (np.zeros(4, np.int32), -(1 << 62)), block=1)


def test_pointer_to_another_threads_local_memory(emulate: Emulate) -> None:
    emulator = emulate("""__global__ void run(int *out) {
    __shared__ int *published;
    int own[4] = {1, 2, 3, (int)threadIdx.x};
    if (threadIdx.x == 0) published = own;
    __syncthreads();
    out[threadIdx.x] = published[out[threadIdx.x]];
}""")
    assert message_of(emulator, (np.zeros(2, np.int32),), block=2) == (
        "error[WL0602]: read of 4 bytes in another thread's local memory\n"
        " --> kernel.cu:6:24\n"
        "   |\n"
        " 6 |     out[threadIdx.x] = published[out[threadIdx.x]];\n"
        "   |                        ^\n"
        "  note: in kernel run, block (0, 0, 0), thread (1, 0, 0)\n"
        "  help: a pointer to a local variable means something to its own thread only"
    )


def test_race_names_both_lines(emulate: Emulate) -> None:
    emulator = emulate("""__global__ void run(int *x) {
    __shared__ int tile[32];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[threadIdx.x / 2];
}""")
    assert message_of(emulator, (np.arange(32, dtype=np.int32),)) == (
        "error[WL0603]: data race: a read and a write with nothing to order them\n"
        " --> kernel.cu:4:22\n"
        "   |\n"
        " 4 |     x[threadIdx.x] = tile[threadIdx.x / 2];\n"
        "   |                      ^\n"
        "  note: in kernel run, block (0, 0, 0), thread (1, 0, 0)\n"
        "  note: byte 0 of 'tile', which has 128 bytes\n"
        "  note: a write by block (0, 0, 0), thread (0, 0, 0) at kernel.cu:3:23: tile[threadIdx.x] = x[threadIdx.x];\n"
        "  help: put a __syncthreads() between them"
    )


def test_race_between_blocks(emulate: Emulate) -> None:
    emulator = emulate("__global__ void run(float *x) { x[0] += 1; }")
    assert message_of(emulator, (np.zeros(3, np.float32),), grid=3, block=1) == (
        "error[WL0603]: data race: a read and a write with nothing to order them\n"
        " --> kernel.cu:1:38\n"
        "   |\n"
        " 1 | __global__ void run(float *x) { x[0] += 1; }\n"
        "   |                                      ^\n"
        "  note: in kernel run, block (1, 0, 0), thread (0, 0, 0)\n"
        "  note: element 0 of 'x', which has 3 elements of float32\n"
        "  note: a write by block (0, 0, 0), thread (0, 0, 0) at kernel.cu:1:38: "
        "__global__ void run(float *x) { x[0] += 1; }\n"
        "  help: blocks run in any order: use an atomic, or a launch of its own for the second part"
    )


def test_divergent_barrier(emulate: Emulate) -> None:
    emulator = emulate("""__global__ void run(int *x) {
    if (threadIdx.x < 16) {
        x[threadIdx.x] = 1;
        __syncthreads();
    } else {
        __syncthreads();
        x[threadIdx.x] = 2;
    }
}""")
    assert message_of(emulator, (np.zeros(32, np.int32),)) == (
        "error[WL0604]: threads of one block wait at different barriers\n"
        " --> kernel.cu:4:9\n"
        "   |\n"
        " 4 |         __syncthreads();\n"
        "   |         ^\n"
        "  note: in kernel run, block (0, 0, 0), thread (0, 0, 0)\n"
        "  note: block (0, 0, 0), thread (16, 0, 0) waits at kernel.cu:6:9: __syncthreads();\n"
        "  help: every thread of the block that has not exited must come to the same __syncthreads()"
    )


def test_barrier_passes_when_the_others_have_exited(emulate: Emulate) -> None:
    emulator = emulate("""__global__ void run(int *x, int n) {
    if (threadIdx.x >= n) return;
    x[threadIdx.x] = __syncthreads_count(threadIdx.x % 2) + 100 * __syncthreads_and(threadIdx.x < 12)
                     + 1000 * __syncthreads_or(threadIdx.x == 3) + 10000 * __syncthreads_or(threadIdx.x == 30);
}""")
    x = np.zeros(32, np.int32)
    emulator.launch("run", 1, 32, (x, 12))
    assert x.tolist() == [1106] * 12 + [0] * 20


def test_barrier_in_an_unrolled_loop_is_one_barrier(emulate: Emulate) -> None:
    emulator = emulate("""__global__ void run(int *x, int n) {
    #pragma unroll 4
    for (int i = 0; i < n; i++) { x[threadIdx.x] += i; __syncthreads(); }
}""")
    emulator.launch("run", 1, 64, (np.zeros(64, np.int32), 9))


def test_warp_intrinsic_that_some_lanes_never_reach(emulate: Emulate) -> None:
    emulator = emulate("""__global__ void run(int *x) {
    int v = threadIdx.x;
    if (v < 16) v = __shfl_down_sync(0xffffffff, v, 8);
    __syncthreads();
    x[threadIdx.x] = v;
}""")
    assert message_of(emulator, (np.zeros(32, np.int32),)) == (
        "error[WL0605]: deadlock: shfl.sync.down.i32 waits for lanes of its mask that do not come\n"
        " --> kernel.cu:3:21\n"
        "   |\n"
        " 3 |     if (v < 16) v = __shfl_down_sync(0xffffffff, v, 8);\n"
        "   |                     ^\n"
        "  note: in kernel run, block (0, 0, 0), thread (0, 0, 0)\n"
        "  note: block (0, 0, 0), thread (16, 0, 0) waits at kernel.cu:4:5: __syncthreads();\n"
        "  help: the mask must name exactly the lanes that take part"
    )


def test_lane_outside_of_its_mask(emulate: Emulate) -> None:
    emulator = emulate("__global__ void run(int *x) { x[threadIdx.x] = __ballot_sync(0x0000ffff, 1); }")
    message = message_of(emulator, (np.zeros(32, np.int32),))
    assert "error[WL0605]: a lane calls vote.ballot.sync with a mask that does not name it" in message
    assert "thread (16, 0, 0)" in message


def test_shuffle_from_a_lane_that_has_left(emulate: Emulate) -> None:
    emulator = emulate("""__global__ void run(double *x) {
    if (threadIdx.x >= 8) return;
    x[threadIdx.x] += __shfl_down_sync(0xffffffff, x[threadIdx.x], 4);
}""")
    assert message_of(emulator, (np.zeros(32),)) == (
        "error[WL0618]: shfl.sync.down.f64 reads from a lane that takes no part, and the result depends on it\n"
        " --> kernel.cu:3:23\n"
        "   |\n"
        " 3 |     x[threadIdx.x] += __shfl_down_sync(0xffffffff, x[threadIdx.x], 4);\n"
        "   |                       ^\n"
        "  note: in kernel run, block (0, 0, 0), thread (4, 0, 0)\n"
        "  note: lane 8 of the warp has left, waits elsewhere or is not named\n"
        "  help: what such a lane gives is undefined: let all lanes that are read take part"
    )
    # Otherwise it is the reader's own value.
    x = np.arange(32.0)
    emulator.launch("run", 1, 32, (x,), detect_uninitialized=False)
    np.testing.assert_array_equal(x, [4, 6, 8, 10, 8, 10, 12, 14, *range(8, 32)])


def test_shuffle_from_a_lane_beyond_the_block(emulate: Emulate) -> None:
    emulator = emulate(
        "__global__ void run(int *x) { x[threadIdx.x] = __shfl_xor_sync(0xffffffff, x[threadIdx.x], 8); }"
    )
    message = message_of(emulator, (np.zeros(40, np.int32),), block=40)
    assert "error[WL0618]: shfl.sync.bfly.i32 reads from a lane that takes no part, and the result" in message
    assert "thread (32, 0, 0)\n  note: lane 8 of the warp is beyond the block's 40 threads" in message


def test_shuffle_whose_undefined_results_are_dropped_is_no_error(
    emulate: Emulate, capsys: pytest.CaptureFixture[str]
) -> None:
    emulator = emulate("""#include <cstdio>
__device__ int launches = 0;
__global__ void run(float *x) {
    float sum = x[threadIdx.x];
    if (threadIdx.x < 8)
        for (int k = 4; k > 0; k /= 2) sum += __shfl_down_sync(0xff, sum, k);
    if (threadIdx.x == 0) x[32] = sum, launches++, printf("done");
}""")
    x = np.arange(33, dtype=np.float32)
    emulator.launch("run", 1, 32, (x,))
    assert x[32] == 28 and emulator.read_variable("launches") == 1
    assert capsys.readouterr().out == "done"


def test_uninitialized_shared_memory(emulate: Emulate) -> None:
    emulator = emulate("""__global__ void run(float *x) {
    __shared__ float tile[33];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[threadIdx.x + 1];
}""")
    x = np.zeros(32, np.float32)
    assert message_of(emulator, (x,)) == (
        "error[WL0606]: read of 4 bytes of shared memory that nothing has written\n"
        " --> kernel.cu:5:22\n"
        "   |\n"
        " 5 |     x[threadIdx.x] = tile[threadIdx.x + 1];\n"
        "   |                      ^\n"
        "  note: in kernel run, block (0, 0, 0), thread (31, 0, 0)\n"
        "  note: byte 128 of 'tile', which has 132 bytes"
    )
    assert "WL0606" in message_of(emulator, (x,), detect_races=False)
    emulator.launch("run", 1, 32, (x,), detect_uninitialized=False)


def test_each_block_begins_with_shared_memory_of_its_own(emulate: Emulate) -> None:
    emulator = emulate("""__global__ void run(float *x) {
    __shared__ float kept;
    if (blockIdx.x == 0) kept = 1;
    x[blockIdx.x] = kept;
}""")
    assert "block (1, 0, 0)" in message_of(emulator, (np.zeros(2, np.float32),), grid=2, block=1)


def test_uninitialized_local_array(emulate: Emulate) -> None:
    emulator = emulate("""__global__ void run(const int *x, int *y) {
    int own[4];
    own[x[0]] = 1;
    y[0] = own[x[1]];
}""")
    emulator.launch("run", 1, 1, (np.array([2, 2], np.int32), np.zeros(1, np.int32)))
    message = message_of(emulator, (np.array([2, 3], np.int32), np.zeros(1, np.int32)), block=1)
    assert "error[WL0606]: read of 4 bytes of local memory that nothing has written" in message
    assert "byte 12 of local variable 'own', which has 16 bytes" in message


def test_assertion(emulate: Emulate) -> None:
    emulator = emulate("""#include <cassert>
__global__ void run(const int *x) {
    assert(x[threadIdx.x] > 0 && "positive");
}""")
    emulator.launch("run", 1, 3, (np.ones(3, np.int32),))
    message = message_of(emulator, (np.array([1, 1, 0], np.int32),), block=3)
    assert message.startswith(
        'error[WL0607]: assertion failed: x[threadIdx.x] > 0 && "positive"\n'
        " --> kernel.cu:3:5\n"
        "   |\n"
        ' 3 |     assert(x[threadIdx.x] > 0 && "positive");\n'
        "   |     ^\n"
        "  note: in kernel run, block (0, 0, 0), thread (2, 0, 0)"
    )


def test_trap(emulate: Emulate) -> None:
    emulator = emulate("__global__ void run(int *x) { if (x[0] == 0) __trap(); x[0] = 2; }")
    message = message_of(emulator, (np.zeros(1, np.int32),), block=1)
    assert message.startswith("error[WL0608]: the kernel trapped\n --> kernel.cu:1:46")


def test_misaligned_vector(emulate: Emulate) -> None:
    emulator = emulate("__global__ void run(float *x, int at) { *(float4 *)(x + at) = make_float4(1, 2, 3, 4); }")
    x = np.zeros(16, np.float32)
    emulator.launch("run", 1, 1, (x, 4))
    message = message_of(emulator, (x, 5), block=1)
    assert message.startswith("error[WL0609]: write of 4 bytes at an address that is no multiple of 16\n")
    assert "element 5 of 'x', which has 16 elements of float32" in message
    assert "WL0609" in message_of(emulator, (x[1:], 4), block=1)


@pytest.mark.parametrize("waits", ["", "__syncthreads();"])
def test_endless_loop(emulate: Emulate, waits: str) -> None:
    emulator = emulate(
        """__global__ void run(volatile int *x) {
    while (x[0] == 0) ;
    WAITS
    x[1] = 1;
}""".replace("WAITS", waits)
    )
    assert message_of(emulator, (np.zeros(2, np.int32),), seconds=0.2) == (
        "error[WL0610]: kernel run is still running after 0.2 seconds\n"
        " --> kernel.cu:1:17\n"
        "   |\n"
        " 1 | __global__ void run(volatile int *x) {\n"
        "   |                 ^\n"
        "  help: does it loop for ever, or wait for a block that runs later? Else give it more `seconds`"
    )


def test_inline_ptx_is_refused_where_control_comes_to_it(emulate: Emulate) -> None:
    emulator = emulate("""__global__ void run(int *x) {
    int r = 3;
    if (x[0]) asm("vadd4.u32.u32.u32 %0, %1, %1, %1;" : "=r"(r) : "r"(x[0]));
    x[1] = r;
}""")
    emulator.launch("run", 1, 1, (np.zeros(2, np.int32),))
    message = message_of(emulator, (np.ones(2, np.int32),), block=1)
    assert message.startswith("error[WL0611]: the emulator can't carry out inline PTX: vadd4.u32")


def test_function_without_a_definition(emulate: Emulate) -> None:
    emulator = emulate("""extern __device__ int elsewhere(int);
__global__ void run(int *x) { x[0] = elsewhere(x[0]); }""")
    message = message_of(emulator, (np.zeros(1, np.int32),), block=1)
    assert message.startswith(
        "error[WL0611]: the emulator can't carry out a call of `_Z9elsewherei`, which has no definition here\n"
        " --> kernel.cu:2:38"
    )


def test_endless_recursion(emulate: Emulate) -> None:
    emulator = emulate("""__device__ __noinline__ int deeper(int *x, int n) {
    return x[0] == n ? 0 : deeper(x, n + 1) * 3 + x[0] / (n + 1);
}
__global__ void run(int *x) { x[1] = deeper(x, 1); }""")
    message = message_of(emulator, (np.zeros(2, np.int32),), block=1)
    assert message.startswith("error[WL0612]: stack overflow in _Z6deeperPii\n --> kernel.cu:1")


def test_too_much_local_memory(emulate: Emulate) -> None:
    emulator = emulate("""__device__ __noinline__ int use(int *values, int at) { return values[at]; }
__global__ void run(int *x) {
    int own[200000];
    for (int i = 0; i < x[1] + 2; i++) own[i * 7] = i;
    x[0] = use(own, x[0]);
}""")
    assert message_of(emulator, (np.zeros(2, np.int32),), block=1).startswith(
        "error[WL0612]: more local memory than the 512 KiB that a thread may have\n"
    )


def test_write_to_constant_memory(emulate: Emulate) -> None:
    emulator = emulate("""__constant__ int limit[2] = {3, 4};
__device__ int *pointer = limit;
__global__ void run(int *x) { pointer[x[0]] = 1; }""")
    message = message_of(emulator, (np.ones(2, np.int32),), block=1)
    assert message.startswith("error[WL0613]: write to constant memory\n --> kernel.cu:3")
    assert "byte 4 of 'limit', which has 8 bytes" in message


def test_call_through_a_bad_pointer(emulate: Emulate) -> None:
    emulator = emulate("""__device__ int (*operation)(int);
__global__ void run(int *x) { x[0] = operation(x[0]); }""")
    message = message_of(emulator, (np.ones(2, np.int32),), block=1)
    assert message.startswith("error[WL0614]: call through a pointer that is no function\n --> kernel.cu:2:38")


def test_free_of_a_wrong_pointer(emulate: Emulate) -> None:
    emulator = emulate("""#include <cstdlib>
__global__ void run(int *x) { free(x); }""")
    message = message_of(emulator, (np.ones(2, np.int32),), block=1)
    assert message.startswith("error[WL0616]: free of a pointer that malloc did not give\n --> kernel.cu:2:31")


AXPY = """__global__ void axpy(float a, const float *x, float *y, int n) {
    if (threadIdx.x < n) y[threadIdx.x] += a * x[threadIdx.x];
}"""


@pytest.mark.parametrize(
    ("grid", "block", "arguments", "headline"),
    [
        (1, 2048, "good", "a block of (2048,): extents go from 1 to (1024, 1024, 64)"),
        (1, (64, 32), "good", "a block of 64×32×1 has more than 1024 threads"),
        (0, 32, "good", "a grid of (0,): extents go from 1 to (2147483647, 65535, 65535)"),
        ((1, 1, 1, 1), 32, "good", "a grid is one to three integers, not (1, 1, 1, 1)"),
        (1, 32, "short", "axpy takes 4 arguments, 2 were given"),
        (1, 32, "number", "parameter 'x' of axpy is a pointer: it takes a NumPy array or None"),
        (1, 32, "strided", "the array for parameter 'y' of axpy is not contiguous"),
        (1, 32, "array", "parameter 'n' of axpy is passed by value: it takes no array"),
        (1, 32, "text", "the value for parameter 'n' of axpy is no int"),
        (1, 32, "large", "the value for parameter 'n' of axpy is no int"),
    ],
)
def test_launch_that_does_not_fit(
    emulate: Emulate, grid: int | tuple[int, ...], block: int | tuple[int, ...], arguments: str, headline: str
) -> None:
    x = np.zeros(64, np.float32)
    given: dict[str, tuple[object, ...]] = {
        "good": (1.0, x, x, 4),
        "short": (1.0, x),
        "number": (1.0, 5, x, 4),
        "strided": (1.0, x, x[::2], 4),
        "array": (1.0, x, x, x),
        "text": (1.0, x, x, "four"),
        "large": (1.0, x, x, 2**40),
    }
    with pytest.raises(EmulationError) as caught:
        emulate(AXPY).launch("axpy", grid, block, given[arguments])
    assert str(caught.value).startswith(f"error[WL0601]: {headline}\n")


def test_unknown_kernel_and_variable(emulate: Emulate) -> None:
    emulator = emulate(AXPY)
    with pytest.raises(EmulationError) as caught:
        emulator.launch("axpi", 1, 1, ())
    assert str(caught.value) == "error[WL0601]: there is no kernel 'axpi'\n  note: kernels: axpy"
    with pytest.raises(EmulationError) as caught:
        emulator.read_variable("scale")
    assert str(caught.value) == "error[WL0601]: there is no device variable 'scale'\n  note: variables: none"


def test_barrier_across_the_grid(emulate: Emulate) -> None:
    emulator = emulate("""#include <cooperative_groups.h>
__global__ void run(int *x) {
    x[threadIdx.x] = threadIdx.x;
    cooperative_groups::this_grid().sync();
    x[threadIdx.x + 32] = x[31 - threadIdx.x];
}""")
    x = np.zeros(64, np.int32)
    emulator.launch("run", 1, 32, (x,))
    assert x[32:].tolist() == list(range(31, -1, -1))
    message = message_of(emulator, (x,), grid=2)
    assert message.startswith("error[WL0611]: the emulator runs blocks one after another")
    assert "kernel.cu:4" in message
