"""Indices of all widths, negative, huge, wrapped around, in and out of bounds: what NumPy or the emulator says, raised.

Where an index that the data give leads out of bounds, a launch that is checked reports what the emulator reports, and
leaves the arrays as the emulator leaves them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import jax
import numpy as np
import pytest
from numpy.typing import NDArray

import windlass as wl

Array: TypeAlias = NDArray[Any]

KERNELS: list[Kernel] = []
OUTSIDE: list[Kernel] = []

HUGE = 2**32
"""Numbers that differ by it are the same in 32 bits."""


@dataclass(frozen=True)
class Kernel:
    """A kernel, its launch, its arguments, and what it does: `expected` gives the arrays that it changes, in order.

    Without it the kernel goes out of bounds.
    """

    what: str
    text: str
    arguments: Callable[[], list[Any]] = field(repr=False)
    expected: Callable[[], list[Array]] | None = field(default=None, repr=False)
    grid: Any = 1
    block: Any = 4
    shared_bytes: int = 0

    def __post_init__(self) -> None:
        (OUTSIDE if self.expected is None else KERNELS).append(self)

    def compile(self) -> Any:
        """The kernel."""
        return wl.cuda.compile(self.text)["k"]

    @property
    def launch(self) -> tuple[Any, ...]:
        """What stands in the launch's brackets."""
        return self.grid, self.block, self.shared_bytes


def ints(*numbers: int) -> Array:
    return np.array(numbers, np.int32)


def longs(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def zeros(count: int, dtype: Any = np.int32) -> Array:
    return np.zeros(count, dtype)


def counting(count: int, dtype: Any = np.int32) -> Array:
    return np.arange(10, 10 + count).astype(dtype)


# -- numbers of 64 bits that the data give ----------------------------------------------------------------------------

Kernel(
    "a store at a long",
    "__global__ void k(int *x, const long *y) { x[y[threadIdx.x]] = threadIdx.x + 1; }",
    lambda: [zeros(4), longs(3, 0, 2, 1)],
    lambda: [ints(2, 4, 3, 1)],
)
Kernel(
    "a load at a long",
    "__global__ void k(int *x, const int *z, const long *y) { x[threadIdx.x] = z[y[threadIdx.x]]; }",
    lambda: [zeros(4), counting(4), longs(3, 0, 2, 1)],
    lambda: [ints(13, 10, 12, 11)],
)
Kernel(
    "a huge number and its difference from another",
    """__global__ void k(int *x, const int *z, const long *y) {
        x[threadIdx.x] = z[y[threadIdx.x] - y[0]]; }""",
    lambda: [zeros(4), counting(4), longs(HUGE * 3, HUGE * 3 + 1, HUGE * 3 + 3, HUGE * 3 + 2)],
    lambda: [ints(10, 11, 13, 12)],
)
Kernel(
    "a product beyond 32 bits that is divided again",
    """__global__ void k(int *x, const int *z, const long *y, long n) {
        x[threadIdx.x] = z[y[threadIdx.x] * n / 4294967296l]; }""",
    lambda: [zeros(4), counting(4), longs(3, 1, 0, 2), np.int64(HUGE)],
    lambda: [ints(13, 11, 10, 12)],
)
Kernel(
    "the high half of a long",
    "__global__ void k(int *x, const int *z, const long *y) { x[threadIdx.x] = z[y[threadIdx.x] >> 32]; }",
    lambda: [zeros(4), counting(4), longs(HUGE * 2 + 1, 5, HUGE * 3 + 9, HUGE)],
    lambda: [ints(12, 10, 13, 11)],
)
Kernel(
    "the low half of a long",
    "__global__ void k(int *x, const int *z, const long *y) { x[threadIdx.x] = z[(int)y[threadIdx.x]]; }",
    lambda: [zeros(4), counting(4), longs(HUGE * 2 + 1, 0, HUGE * 3 + 3, HUGE + 2)],
    lambda: [ints(11, 10, 13, 12)],
)
Kernel(
    "a long modulo a number",
    "__global__ void k(int *x, const int *z, const long *y) { x[threadIdx.x] = z[y[threadIdx.x] % 5]; }",
    lambda: [zeros(4), counting(5), longs(HUGE, HUGE + 1, 2**62, 7)],
    lambda: [np.array([10 + n % 5 for n in (HUGE, HUGE + 1, 2**62, 7)], np.int32)],
)
Kernel(
    "a huge long beside a guard",
    """__global__ void k(int *x, const int *z, const long *y, long n) {
        long i = y[threadIdx.x]; x[threadIdx.x] = i >= 0 && i < n ? z[i] : -1; }""",
    lambda: [zeros(4), counting(4), longs(HUGE + 1, 2, -HUGE, 3), np.int64(4)],
    lambda: [ints(-1, 12, -1, 13)],
)
Kernel(
    "a guard of the low half only, in bounds",
    """__global__ void k(int *x, const unsigned long *y) {
        unsigned long i = y[threadIdx.x]; if (i < 4) x[i] = 7; }""",
    lambda: [zeros(4), np.array([2**63 + 1, 2, HUGE + 3, 2**64 - 1], np.uint64)],
    lambda: [ints(0, 0, 7, 0)],
)
Kernel(
    "an atomic addition at a long",
    "__global__ void k(int *x, const long *y) { atomicAdd(x + y[threadIdx.x], 1); }",
    lambda: [zeros(4), longs(3, 3, 0, 3)],
    lambda: [ints(1, 0, 0, 3)],
)
Kernel(
    "doubles at a long",
    "__global__ void k(double *x, const double *z, const long *y) { x[threadIdx.x] = z[y[threadIdx.x] + 1]; }",
    lambda: [zeros(4, np.float64), counting(6, np.float64), longs(-1, 4, 0, 2)],
    lambda: [np.array([10.0, 15, 11, 13])],
)
Kernel(
    "the index wraps around as bytes: 2^62 + 1 ints are one int",
    "__global__ void k(int *x, const int *z, const long *y) { x[threadIdx.x] = ((const int *)((const char *)z + "
    "y[threadIdx.x] * 4))[0]; }",
    lambda: [zeros(4), counting(4), longs(2**62 + 1, 0, -(2**62) + 3, 2)],
    lambda: [ints(11, 10, 13, 12)],
)
Kernel(
    "rows at a long",
    """__global__ void k(int *x, const int *z, const long *y) {
        x[blockIdx.x * 4 + threadIdx.x] = z[y[blockIdx.x] * 4 + threadIdx.x]; }""",
    lambda: [zeros(12), counting(16), longs(3, 0, 2)],
    lambda: [np.concatenate([counting(16)[4 * n : 4 * n + 4] for n in (3, 0, 2)])],
    grid=3,
)
Kernel(
    "rows are written at a long",
    """__global__ void k(int *x, const int *z, const long *y) {
        x[y[blockIdx.x] * 4 + threadIdx.x] = z[blockIdx.x * 4 + threadIdx.x]; }""",
    lambda: [zeros(16), counting(12), longs(3, 0, 2)],
    lambda: [np.concatenate([counting(12)[4:8], zeros(4), counting(12)[8:12], counting(12)[:4]])],
    grid=3,
)
Kernel(
    "one long for all threads",
    "__global__ void k(int *x, const int *z, const long *y) { x[threadIdx.x] = z[y[0] + threadIdx.x]; }",
    lambda: [zeros(4), counting(9), longs(5)],
    lambda: [ints(15, 16, 17, 18)],
)
Kernel(
    "a member of a struct at a long",
    """struct P { float a; int b; double c; };
    __global__ void k(int *x, const P *p, const long *y) { x[threadIdx.x] = p[y[threadIdx.x]].b; }""",
    lambda: [
        zeros(4),
        np.array([(1, 5, 2), (1, 6, 2), (1, 7, 2)], np.dtype([("a", "f4"), ("b", "i4"), ("c", "f8")])),
        longs(2, 1, 0, 2),
    ],
    lambda: [ints(7, 6, 5, 7)],
)
Kernel(
    "a long in shared memory",
    """__global__ void k(int *x, const long *y) {
        __shared__ int s[4]; s[threadIdx.x] = 10 + threadIdx.x; __syncthreads();
        x[threadIdx.x] = s[y[threadIdx.x]]; }""",
    lambda: [zeros(4), longs(3, 0, 2, 1)],
    lambda: [ints(13, 10, 12, 11)],
)
Kernel(
    "a long in a local array",
    """__global__ void k(int *x, const long *y) {
        int s[4]; for (int i = 0; i < 4; i++) s[i] = 10 * i + threadIdx.x;
        x[threadIdx.x] = s[y[threadIdx.x]]; }""",
    lambda: [zeros(4), longs(3, 0, 2, 1)],
    lambda: [ints(30, 1, 22, 13)],
)
Kernel(
    "a counter of 64 bits",
    """__global__ void k(int *x, long long n) {
        int sum = 0; for (long long i = 4294967296ll; i < 4294967296ll + n; i++) sum += x[i - 4294967296ll];
        if (threadIdx.x == 0) x[n] = sum; }""",
    lambda: [ints(1, 2, 3, 0), np.int64(3)],
    lambda: [ints(1, 2, 3, 6)],
)
Kernel(
    "a grid-stride loop counted in 64 bits",
    """__global__ void k(int *x, const int *z, long n) {
        for (long i = (long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long)gridDim.x * blockDim.x)
            x[i] = z[n - 1 - i]; }""",
    lambda: [zeros(11), counting(11), np.int64(11)],
    lambda: [counting(11)[::-1]],
    grid=2,
)
Kernel(
    "a grid-stride loop over what a long says",
    """__global__ void k(int *x, const long *y, size_t n) {
        for (size_t i = threadIdx.x; i < n; i += blockDim.x) x[y[i]] = i; }""",
    lambda: [zeros(7), longs(6, 5, 4, 3, 2, 1, 0), np.uint64(7)],
    lambda: [np.arange(7)[::-1].astype(np.int32)],
)

# -- signs, widths ----------------------------------------------------------------------------------------------------

Kernel(
    "negative offsets from a pointer that was moved",
    "__global__ void k(int *x, const int *y) { x += 4; x[y[threadIdx.x]] = threadIdx.x; }",
    lambda: [zeros(5), ints(-4, 0, -2, -1)],
    lambda: [ints(0, 0, 2, 3, 1)],
)
Kernel(
    "negative offsets of 8 bits",
    "__global__ void k(int *x, const signed char *y) { x += 4; x[y[threadIdx.x]] = threadIdx.x; }",
    lambda: [zeros(5), np.array([-4, 0, -2, -1], np.int8)],
    lambda: [ints(0, 0, 2, 3, 1)],
)
Kernel(
    "indices of 8 bits without a sign",
    "__global__ void k(int *x, const unsigned char *y) { x[y[threadIdx.x]] = threadIdx.x; }",
    lambda: [zeros(256), np.array([255, 128, 127, 0], np.uint8)],
    lambda: [np.array([{255: 0, 128: 1, 127: 2, 0: 3}.get(n, 0) for n in range(256)], np.int32)],
)
Kernel(
    "indices of 16 bits, negative and not",
    "__global__ void k(int *x, const int *z, const short *y) { x[threadIdx.x] = z[y[threadIdx.x] + 32768]; }",
    lambda: [zeros(4), np.arange(65536, dtype=np.int32), np.array([-32768, 32767, 0, -1], np.int16)],
    lambda: [ints(0, 65535, 32768, 32767)],
)
Kernel(
    "indices of 16 bits without a sign wrap around in 16 bits",
    """__global__ void k(int *x, const int *z, const unsigned short *y) {
        x[threadIdx.x] = z[(unsigned short)(y[threadIdx.x] + 65535)]; }""",
    lambda: [zeros(4), counting(8), np.array([1, 8, 3, 5], np.uint16)],
    lambda: [ints(10, 17, 12, 14)],
)
Kernel(
    "an unsigned number underflows and comes back in 32 bits",
    "__global__ void k(int *x, const int *z, const unsigned *y) { x[threadIdx.x] = z[y[threadIdx.x] - 5 + 6]; }",
    lambda: [zeros(4), counting(8), np.array([0, 1, 6, 4294967295], np.uint32)],
    lambda: [ints(11, 12, 17, 10)],
)
Kernel(
    "a size_t underflows and comes back in 64 bits",
    """__global__ void k(int *x, const int *z, const size_t *y, size_t n) {
        x[threadIdx.x] = z[y[threadIdx.x] - n + 6]; }""",
    lambda: [zeros(4), counting(8), np.array([0, 1, 6, 7], np.uint64), np.uint64(6)],
    lambda: [ints(10, 11, 16, 17)],
)
Kernel(
    "a size_t of -1 moves a pointer back",
    "__global__ void k(int *x, const size_t *y) { (x + 2)[y[threadIdx.x]] = threadIdx.x; }",
    lambda: [zeros(4), np.array([2**64 - 1, 0, 1, 2**64 - 2], np.uint64)],
    lambda: [ints(3, 0, 1, 2)],
)
Kernel(
    "an unsigned product overflows, as it may",
    "__global__ void k(int *x, const int *z, const unsigned *y) { x[threadIdx.x] = z[y[threadIdx.x] * 3u >> 29]; }",
    lambda: [zeros(4), counting(8), np.array([2**31, 2**30, 2**29 + 5, 4294967295], np.uint32)],
    lambda: [np.array([10 + (n * 3 % HUGE >> 29) for n in (2**31, 2**30, 2**29 + 5, 4294967295)], np.int32)],
)
Kernel(
    "a hash of 32 bits",
    """__global__ void k(int *x, const unsigned *y) {
        unsigned h = y[threadIdx.x] * 2654435761u; h ^= h >> 16; atomicAdd(x + h % 7, 1); }""",
    lambda: [zeros(7), np.array([1, 2, 3, 4000000000], np.uint32)],
    lambda: [hashed()],
)
Kernel(
    "a hash of 64 bits",
    """__global__ void k(int *x, const unsigned long long *y) {
        unsigned long long h = y[threadIdx.x] * 0x9E3779B97F4A7C15ull; x[h >> 61] = threadIdx.x + 1; }""",
    lambda: [zeros(8), np.array([1, 2, 3, 5], np.uint64)],
    lambda: [hashed_widely()],
)
Kernel(
    "a product that overflows int in one place, and long in none",
    """__global__ void k(int *x, const int *z, const int *y, int n) {
        long i = (long)y[threadIdx.x] * n; x[threadIdx.x] = z[i / 65536]; }""",
    lambda: [zeros(4), np.arange(70000, dtype=np.int32), ints(65536, 65535, 1, 65000), np.int32(65536)],
    lambda: [ints(65536, 65535, 1, 65000)],
)
Kernel(
    "an unsigned int is extended without its sign",
    """__global__ void k(int *x, const int *z, const unsigned *y) {
        long i = y[threadIdx.x]; x[threadIdx.x] = i > 2147483647l ? z[i - 4294967292l] : z[i]; }""",
    lambda: [zeros(4), counting(4), np.array([4294967292, 1, 4294967295, 2], np.uint32)],
    lambda: [ints(10, 11, 13, 12)],
)
Kernel(
    "an int is extended with its sign",
    "__global__ void k(int *x, const int *z, const int *y) { x[threadIdx.x] = z[(long)y[threadIdx.x] + 2147483648l]; }",
    lambda: [zeros(4), counting(4), ints(-(2**31), -(2**31) + 3, -(2**31) + 1, -(2**31) + 2)],
    lambda: [ints(10, 13, 11, 12)],
)
Kernel(
    "a pointer difference",
    """__global__ void k(int *x, const int *z, const int *y) {
        const int *p = z + y[threadIdx.x]; const int *q = z + 5; x[threadIdx.x] = q - p; x[4 + (q - p)] = 9; }""",
    lambda: [zeros(10), zeros(6), ints(5, 1, 0, 2)],
    lambda: [ints(0, 4, 5, 3, 9, 0, 0, 9, 9, 9)],
)
Kernel(
    "bytes between members",
    """__global__ void k(char *x, const long *y) { *(int *)(x + y[threadIdx.x] * 4) = threadIdx.x + 1; }""",
    lambda: [zeros(16, np.int8), longs(3, 0, 2, 1)],
    lambda: [ints(2, 4, 3, 1).view(np.int8)],
)
Kernel(
    "the boundary of an int in a sum",
    """__global__ void k(int *x, const int *z, const int *y) {
        unsigned i = (unsigned)y[threadIdx.x] + 2147483647u; x[threadIdx.x] = z[i - 2147483647u]; }""",
    lambda: [zeros(4), counting(4), ints(3, 0, 2, 1)],
    lambda: [ints(13, 10, 12, 11)],
)
Kernel(
    "negative quotients and remainders",
    """__global__ void k(int *x, const int *z, const long *y) {
        x[threadIdx.x] = z[y[threadIdx.x] / 3 + 2] * 100 + z[y[threadIdx.x] % 3 + 2]; }""",
    lambda: [zeros(4), counting(5), longs(-5, -6, 5, 7)],
    lambda: [ints(1110, 1012, 1314, 1413)],
)
Kernel(
    "a reversed range by a negative step",
    "__global__ void k(int *x, const int *z, long step) { x[threadIdx.x] = z[3 + (long)threadIdx.x * step]; }",
    lambda: [zeros(4), counting(4), np.int64(-1)],
    lambda: [ints(13, 12, 11, 10)],
)

# -- what is no error -------------------------------------------------------------------------------------------------

Kernel(
    "threads that take no part hold any index",
    """__global__ void k(int *x, const int *z, const int *y) {
        if (y[threadIdx.x] > 0) x[threadIdx.x] = z[y[threadIdx.x]]; }""",
    lambda: [zeros(4), counting(4), ints(-(2**31), 3, -1, 1)],
    lambda: [ints(0, 13, 0, 11)],
)
Kernel(
    "an index that is only good where another array says so",
    "__global__ void k(int *x, const int *y, const int *flag) { if (flag[threadIdx.x]) x[y[threadIdx.x]] = 5; }",
    lambda: [zeros(4), ints(900, 3, -7, 1), ints(0, 1, 0, 1)],
    lambda: [ints(0, 5, 0, 5)],
)
Kernel(
    "a neighbour that the last thread does not look at",
    "__global__ void k(int *x, const int *flag) { if (flag[threadIdx.x]) x[threadIdx.x] = x[threadIdx.x + 1] + 1; }",
    lambda: [ints(1, 2, 3, 4), ints(1, 0, 0, 0)],
    lambda: [ints(3, 2, 3, 4)],
)
Kernel(
    "a loop that ends where the data says, at the array's end",
    """__global__ void k(int *x, const int *row, const int *z) {
        int sum = 0; for (int j = row[threadIdx.x]; j < row[threadIdx.x + 1]; j++) sum += z[j];
        x[threadIdx.x] = sum; }""",
    lambda: [zeros(4), ints(0, 2, 2, 5, 6), counting(6)],
    lambda: [ints(21, 0, 39, 15)],
)
Kernel(
    "a list that ends at -1",
    """__global__ void k(int *x, const int *next) {
        int count = 0; for (int i = threadIdx.x; i != -1; i = next[i]) count++; x[threadIdx.x] = count; }""",
    lambda: [zeros(4), ints(2, 0, -1, 1)],
    lambda: [ints(2, 3, 1, 4)],
)
Kernel(
    "clamped indices",
    "__global__ void k(int *x, const int *z, const int *y) { x[threadIdx.x] = z[min(max(y[threadIdx.x], 0), 3)]; }",
    lambda: [zeros(4), counting(4), ints(-5, 2, 2**31 - 1, -(2**31))],
    lambda: [ints(10, 12, 13, 10)],
)
Kernel(
    "a histogram whose guard leaves some out",
    """__global__ void k(int *x, const int *y, int n) {
        int b = y[threadIdx.x]; if (b >= 0 && b < n) atomicAdd(x + b, 1); }""",
    lambda: [zeros(4), ints(3, -1, 4, 3), np.int32(4)],
    lambda: [ints(0, 0, 0, 2)],
)

# -- out of bounds, one for each kind of access -----------------------------------------------------------------------

Kernel(
    "a store at 2^32 + 2",
    "__global__ void k(int *x, const long *y) { x[y[threadIdx.x]] = 5; }",
    lambda: [zeros(4), np.full(4, HUGE + 2)],
)
Kernel(
    "a load at 2^32 + 2",
    "__global__ void k(int *x, const int *z, const long *y) { x[threadIdx.x] = z[y[threadIdx.x]]; }",
    lambda: [zeros(4), counting(4), longs(0, 1, HUGE + 2, 3)],
)
Kernel(
    "a store just beyond the end",
    "__global__ void k(int *x, const int *y) { x[y[threadIdx.x]] = threadIdx.x; }",
    lambda: [zeros(4), ints(0, 1, 2, 4)],
)
Kernel(
    "a store before the beginning",
    "__global__ void k(int *x, const int *y) { x[y[threadIdx.x]] = threadIdx.x; }",
    lambda: [zeros(4), ints(0, 1, 2, -1)],
)
Kernel(
    "a load of a byte before the beginning",
    "__global__ void k(char *x, const char *z, const int *y) { x[threadIdx.x] = z[y[threadIdx.x]]; }",
    lambda: [zeros(4, np.int8), zeros(9, np.int8), ints(0, -1, 2, 4)],
)
Kernel(
    "an atomic addition beyond the end",
    "__global__ void k(int *x, const int *y) { atomicAdd(x + y[threadIdx.x], 1); }",
    lambda: [zeros(4), ints(0, 1, 2, 4)],
)
Kernel(
    "an atomic maximum before the beginning",
    "__global__ void k(int *x, const int *y) { atomicMax(x + y[threadIdx.x], 1); }",
    lambda: [zeros(4), ints(0, 1, -3, 3)],
)
Kernel(
    "a compare and swap beyond the end",
    "__global__ void k(int *x, const int *y) { atomicCAS(x + y[threadIdx.x], 0, 7); }",
    lambda: [zeros(4), ints(0, 1, 2, 4)],
)
Kernel(
    "an element of a local array",
    """__global__ void k(int *x, const int *y) {
        int s[4]; for (int i = 0; i < 4; i++) s[i] = x[i]; x[threadIdx.x] = s[y[threadIdx.x]]; }""",
    lambda: [zeros(4), ints(0, 1, 2, 4)],
)
Kernel(
    "an element of a shared array, which the next block has",
    """__global__ void k(int *x, const int *y) {
        __shared__ int s[4]; s[threadIdx.x] = 1; __syncthreads();
        x[blockIdx.x * 4 + threadIdx.x] = s[y[threadIdx.x]]; }""",
    lambda: [zeros(8), ints(0, 1, 2, 4)],
    grid=2,
)
Kernel(
    "a store to dynamic shared memory",
    """__global__ void k(int *x, const int *y) {
        extern __shared__ int s[]; s[threadIdx.x] = 0; __syncthreads(); s[y[threadIdx.x]] = 1; __syncthreads();
        x[threadIdx.x] = s[threadIdx.x]; }""",
    lambda: [zeros(4), ints(0, 1, 2, -1)],
    shared_bytes=16,
)
Kernel(
    "one number for all threads moves a row out of the array",
    "__global__ void k(int *x, const int *z, const long *y) { x[threadIdx.x] = z[y[0] + threadIdx.x]; }",
    lambda: [zeros(4), counting(9), longs(6)],
)
Kernel(
    "one huge number for all threads",
    "__global__ void k(int *x, const long *y) { x[y[0] + threadIdx.x] = 1; }",
    lambda: [zeros(4), longs(HUGE)],
)
Kernel(
    "a row at a long",
    """__global__ void k(int *x, const int *z, const long *y) {
        x[blockIdx.x * 4 + threadIdx.x] = z[y[blockIdx.x] * 4 + threadIdx.x]; }""",
    lambda: [zeros(12), counting(16), longs(3, HUGE, 2)],
    grid=3,
)
Kernel(
    "a row is written before the array",
    """__global__ void k(int *x, const int *z, const int *y) {
        x[y[blockIdx.x] * 4 + threadIdx.x] = z[blockIdx.x * 4 + threadIdx.x]; }""",
    lambda: [zeros(16), counting(12), ints(3, -1, 2)],
    grid=3,
)
Kernel(
    "a member of a struct beyond the end",
    """struct P { float a; int b; double c; };
    __global__ void k(P *p, const int *y) { p[y[threadIdx.x]].b = 3; }""",
    lambda: [zeros(3, np.dtype([("a", "f4"), ("b", "i4"), ("c", "f8")])), ints(2, 1, 0, 3)],
)
Kernel(
    "a vector half of which is beyond the end",
    "__global__ void k(int4 *x, const float4 *z, const int *y) { x[threadIdx.x].x = z[y[threadIdx.x]].w; }",
    lambda: [zeros(16), zeros(18, np.float32), ints(0, 1, 2, 4)],
)
Kernel(
    "a row pointer beyond the values",
    """__global__ void k(int *x, const int *row, const int *z) {
        int sum = 0; for (int j = row[threadIdx.x]; j < row[threadIdx.x + 1]; j++) sum += z[j];
        x[threadIdx.x] = sum; }""",
    lambda: [zeros(4), ints(0, 2, 2, 5, 7), counting(6)],
)
Kernel(
    "a list that leads away",
    """__global__ void k(int *x, const int *next) {
        int count = 0; for (int i = threadIdx.x; i != -1; i = next[i]) count++; x[threadIdx.x] = count; }""",
    lambda: [zeros(4), ints(2, 0, 77, 1)],
)
Kernel(
    "a device variable",
    """__device__ int table[4];
    __global__ void k(int *x, const int *y) { x[threadIdx.x] = table[y[threadIdx.x]]; }""",
    lambda: [zeros(4), ints(2, 0, 4, 1)],
)
Kernel(
    "a neighbour that the last thread looks at, as the data says",
    "__global__ void k(int *x, const int *flag) { if (flag[threadIdx.x]) x[threadIdx.x] = x[threadIdx.x + 1] + 1; }",
    lambda: [ints(1, 2, 3, 4), ints(0, 0, 0, 1)],
)


def hashed() -> Array:
    counts = np.zeros(7, np.int32)
    for number in (1, 2, 3, 4000000000):
        h = number * 2654435761 % HUGE
        counts[(h ^ h >> 16) % 7] += 1
    return counts


def hashed_widely() -> Array:
    found = np.zeros(8, np.int32)
    for place, number in enumerate((1, 2, 3, 5)):
        found[(number * 0x9E3779B97F4A7C15 % 2**64) >> 61] = place + 1
    return found


def changed(before: list[Any], after: list[Any]) -> list[Array]:
    """The arrays that differ."""
    return [
        new
        for old, new in zip(before, after, strict=True)
        if isinstance(new, np.ndarray) and new.tobytes() != old.tobytes()
    ]


@pytest.mark.one_in(8)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.what)
def test_index_in_bounds_finds_its_place(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kernel.expected is not None
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    compiled = kernel.compile()
    for launch in (compiled[kernel.launch], wl.emulate(compiled)[kernel.launch]):
        arguments = kernel.arguments()
        launch(*arguments)
        found = changed(kernel.arguments(), arguments)
        expected = kernel.expected()
        assert [each.tolist() for each in found] == [each.tolist() for each in expected]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("kernel", OUTSIDE, ids=lambda kernel: kernel.what)
@pytest.mark.filterwarnings("error")
def test_index_out_of_bounds_is_reported_as_by_the_emulator(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_CHECK", "1")
    compiled = kernel.compile()
    results: list[list[Any]] = []
    lines: list[Any] = []
    for launch in (compiled[kernel.launch], wl.emulate(compiled)[kernel.launch]):
        arguments = kernel.arguments()
        with pytest.raises(wl.EmulationError) as caught:
            launch(*arguments)
        assert caught.value.diagnostics[0].code == "WL0602"
        results.append([each.tolist() for each in arguments])
        lines.append(caught.value.diagnostics[0].position)
    assert results[0] == results[1]
    assert lines[0] == lines[1]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "text",
    [
        "__global__ void k(int *x, const long *y) { x[y[threadIdx.x]] = 5; }",
        "__global__ void k(int *x, const long *y) { atomicAdd(x + y[threadIdx.x], 5); }",
        "__global__ void k(int *x, const long *y) { x[y[blockIdx.x] * 4 + threadIdx.x] = 5; }",
    ],
)
def test_huge_index_changes_no_other_element(text: str) -> None:
    with jax.enable_x64(True):
        places = np.full(4, HUGE + 2)
        assert wl.cuda.compile(text)["k"].jax(1, 4)(zeros(16), places).tolist() == [0] * 16
