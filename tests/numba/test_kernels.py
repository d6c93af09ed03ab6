# pyright: basic
"""Kernels as tutorials of numba.cuda have them: raised, emulated and NumPy have to agree."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.numba.running import both_ways
from windlass.numba import cuda, float32, float64, int32, int64

pytestmark = pytest.mark.one_in(2)

RNG = np.random.default_rng(7)


@cuda.jit
def add_vectors(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


def test_vector_addition():
    a, b = RNG.random(100, np.float32), RNG.random(100, np.float32)
    *_, c = both_ways(add_vectors, 4, 32, a, b, np.zeros(100, np.float32))
    np.testing.assert_array_equal(c, a + b)


@cuda.jit
def add_with_stride(x, y, out):
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, x.shape[0], stride):
        out[i] = x[i] + y[i]


def test_loop_with_the_grids_stride():
    x, y = np.arange(1000.0), np.ones(1000)
    *_, out = both_ways(add_with_stride, 4, 64, x, y, np.zeros(1000))
    np.testing.assert_array_equal(out, x + y)


@cuda.jit
def add_while(x, out):
    i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    while i < len(x):
        out[i] = 2 * x[i]
        i += cuda.blockDim.x * cuda.gridDim.x


def test_while_loop_with_the_grids_stride():
    x = np.arange(300, dtype=np.int32)
    *_, out = both_ways(add_while, 2, 32, x, np.zeros(300, np.int32))
    np.testing.assert_array_equal(out, 2 * x)


@cuda.jit
def increment_a_2d_array(an_array):
    x, y = cuda.grid(2)
    if x < an_array.shape[0] and y < an_array.shape[1]:
        an_array[x, y] += 1


def test_2d_increment():
    array = np.arange(60, dtype=np.float64).reshape(6, 10)
    (got,) = both_ways(increment_a_2d_array, (1, 1), (16, 16), array.copy())
    np.testing.assert_array_equal(got, array + 1)


@cuda.jit
def matmul(A, B, C):
    i, j = cuda.grid(2)
    if i < C.shape[0] and j < C.shape[1]:
        tmp = 0.0
        for k in range(A.shape[1]):
            tmp += A[i, k] * B[k, j]
        C[i, j] = tmp


def test_naive_matrix_product():
    a, b = RNG.random((20, 30)), RNG.random((30, 10))
    *_, c = both_ways(matmul, (2, 1), (16, 16), a, b, np.zeros((20, 10)))
    np.testing.assert_allclose(c, a @ b)
    assert matmul.last_report is not None and "dot_general" in str(matmul.last_report)


TPB = 8


@cuda.jit
def fast_matmul(A, B, C):
    sA = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    sB = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    bpg = cuda.gridDim.x
    tmp = float32(0.0)
    for i in range(bpg):
        sA[ty, tx] = 0
        sB[ty, tx] = 0
        if y < A.shape[0] and (tx + i * TPB) < A.shape[1]:
            sA[ty, tx] = A[y, tx + i * TPB]
        if x < B.shape[1] and (ty + i * TPB) < B.shape[0]:
            sB[ty, tx] = B[ty + i * TPB, x]
        cuda.syncthreads()
        for j in range(TPB):
            tmp += sA[ty, j] * sB[j, tx]
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = tmp


def test_tiled_matrix_product():
    a, b = RNG.random((20, 24), np.float32), RNG.random((24, 17), np.float32)
    *_, c = both_ways(fast_matmul, (3, 3), (TPB, TPB), a, b, np.zeros((20, 17), np.float32))
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


@cuda.jit
def reduce_blocks(array, partial):
    i = cuda.grid(1)
    tid = cuda.threadIdx.x
    shared = cuda.shared.array(32, float64)
    shared[tid] = array[i] if i < array.size else 0.0
    cuda.syncthreads()
    s = cuda.blockDim.x // 2
    while s > 0:
        if tid < s:
            shared[tid] += shared[tid + s]
        cuda.syncthreads()
        s //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = shared[0]


def test_tree_reduction():
    array = RNG.random(100)
    _, partial = both_ways(reduce_blocks, 4, 32, array, np.zeros(4))
    np.testing.assert_allclose(partial.sum(), array.sum())


@cuda.jit
def sum_atomically(values, total):
    i = cuda.grid(1)
    if i < values.shape[0]:
        cuda.atomic.add(total, 0, values[i])


def test_atomic_sum():
    values = np.arange(77, dtype=np.int64)
    _, total = both_ways(sum_atomically, 3, 32, values, np.zeros(1, np.int64))
    assert total[0] == values.sum()


@cuda.jit
def histogram(data, low, high, bins):
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    width = (high - low) / bins.shape[0]
    for i in range(start, data.shape[0], stride):
        number = int((data[i] - low) / width)
        if number >= 0 and number < bins.shape[0]:
            cuda.atomic.add(bins, number, 1)


def test_histogram():
    data = RNG.normal(size=500)
    *_, bins = both_ways(histogram, 4, 32, data, -4.0, 4.0, np.zeros(16, np.int32))
    expected, _ = np.histogram(data, 16, (-4.0, 4.0))
    np.testing.assert_array_equal(bins, expected)


@cuda.jit
def extremes(values, least, greatest):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.min(least, 0, values[i])
        cuda.atomic.max(greatest, 0, values[i])


def test_atomic_extremes():
    values = RNG.random(50)
    _, least, greatest = both_ways(extremes, 2, 32, values, np.full(1, np.inf), np.full(1, -np.inf))
    assert (least[0], greatest[0]) == (values.min(), values.max())


@cuda.jit
def extremes_at(values, places, extremes):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.max(extremes[0], places[i], values[i])
        cuda.atomic.min(extremes[1], places[i], values[i])
        cuda.atomic.nanmax(extremes[2], places[i], values[i])
        cuda.atomic.nanmin(extremes[3], places[i], values[i])


def test_atomic_extremes_leave_nan_as_numba_does():
    values, places = RNG.standard_normal(50), RNG.integers(0, 4, 50)
    values[::5] = np.nan
    starts = np.array([-9, 9, np.nan, 0])
    *_, found = both_ways(extremes_at, 2, 32, values, places, np.tile(starts, (4, 1)))
    for place, start in enumerate(starts):
        here = values[(places == place) & ~np.isnan(values)]
        # A number gives way to no NaN, and a NaN gives way to numbers where that is asked for.
        of_numbers = [np.fmax(start, here.max()), np.fmin(start, here.min())]
        plain = [start, start] if np.isnan(start) else of_numbers
        np.testing.assert_array_equal(found[:, place], plain + of_numbers)


@cuda.jit(device=True)
def mandel(x, y, max_iters):
    c = complex(x, y)
    z = 0.0j
    for i in range(max_iters):
        z = z * z + c
        if (z.real * z.real + z.imag * z.imag) >= 4:
            return i
    return max_iters


@cuda.jit
def mandel_kernel(min_x, max_x, min_y, max_y, image, iters):
    height = image.shape[0]
    width = image.shape[1]
    pixel_size_x = (max_x - min_x) / width
    pixel_size_y = (max_y - min_y) / height
    startX, startY = cuda.grid(2)
    gridX = cuda.gridDim.x * cuda.blockDim.x
    gridY = cuda.gridDim.y * cuda.blockDim.y
    for x in range(startX, width, gridX):
        real = min_x + x * pixel_size_x
        for y in range(startY, height, gridY):
            imag = min_y + y * pixel_size_y
            image[y, x] = mandel(real, imag, iters)


def test_mandelbrot():
    image = np.zeros((12, 20), np.uint8)
    *_, got, _ = both_ways(mandel_kernel, (2, 1), (8, 8), -2.0, 1.0, -1.0, 1.0, image, 20)
    expected = np.zeros_like(image)
    for y in range(12):
        for x in range(20):
            c, z = complex(-2.0 + x * (3.0 / 20), -1.0 + y * (2.0 / 12)), 0j
            expected[y, x] = 20
            for i in range(20):
                z = z * z + c
                if z.real * z.real + z.imag * z.imag >= 4:
                    expected[y, x] = i
                    break
    np.testing.assert_array_equal(got, expected)


SOFTENING = 1e-3


@cuda.jit(fastmath=True)
def body_forces(positions, forces):
    i = cuda.grid(1)
    n = positions.shape[0]
    if i >= n:
        return
    fx = fy = fz = 0.0
    for j in range(n):
        dx = positions[j, 0] - positions[i, 0]
        dy = positions[j, 1] - positions[i, 1]
        dz = positions[j, 2] - positions[i, 2]
        distance = dx**2 + dy**2 + dz**2 + SOFTENING
        inverse = 1.0 / math.sqrt(distance)
        cubed = inverse**3
        fx += dx * cubed
        fy += dy * cubed
        fz += dz * cubed
    forces[i, 0] = fx
    forces[i, 1] = fy
    forces[i, 2] = fz


def test_n_bodies():
    positions = RNG.random((40, 3))
    _, forces = both_ways(body_forces, 2, 32, positions, np.zeros((40, 3)))
    d = positions[None] - positions[:, None]
    expected = (d / (np.sum(d**2, -1, keepdims=True) + SOFTENING) ** 1.5).sum(1)
    np.testing.assert_allclose(forces, expected)


@cuda.jit
def life(world, after):
    i, j = cuda.grid(2)
    rows, columns = world.shape
    if i < rows and j < columns:
        count = 0
        for di in range(-1, 2):
            for dj in range(-1, 2):
                if di != 0 or dj != 0:
                    count += world[(i + di) % rows, (j + dj) % columns]
        after[i, j] = 1 if count == 3 or (count == 2 and world[i, j] == 1) else 0


def test_game_of_life():
    world = RNG.integers(0, 2, (10, 12)).astype(np.uint8)
    _, after = both_ways(life, (1, 1), (16, 16), world, np.zeros_like(world))
    count = sum(np.roll(world, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b)
    np.testing.assert_array_equal(after, (count == 3) | ((count == 2) & (world == 1)))


@cuda.jit
def scan_block(values, out):
    temp = cuda.shared.array(64, int32)
    tid = cuda.threadIdx.x
    temp[tid] = values[tid]
    cuda.syncthreads()
    offset = 1
    while offset < cuda.blockDim.x:
        value = temp[tid]
        if tid >= offset:
            value += temp[tid - offset]
        cuda.syncthreads()
        temp[tid] = value
        cuda.syncthreads()
        offset *= 2
    out[tid] = temp[tid]


def test_inclusive_scan():
    values = RNG.integers(0, 9, 64).astype(np.int32)
    _, out = both_ways(scan_block, 1, 64, values, np.zeros(64, np.int32))
    np.testing.assert_array_equal(out, np.cumsum(values))


@cuda.jit
def transpose_tile(a, b):
    tile = cuda.shared.array((8, 9), float32)
    x = cuda.blockIdx.x * 8 + cuda.threadIdx.x
    y = cuda.blockIdx.y * 8 + cuda.threadIdx.y
    if y < a.shape[0] and x < a.shape[1]:
        tile[cuda.threadIdx.y, cuda.threadIdx.x] = a[y, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * 8 + cuda.threadIdx.x
    y = cuda.blockIdx.x * 8 + cuda.threadIdx.y
    if y < b.shape[0] and x < b.shape[1]:
        b[y, x] = tile[cuda.threadIdx.x, cuda.threadIdx.y]


def test_transpose_through_a_tile():
    a = RNG.random((16, 24), np.float32)
    _, b = both_ways(transpose_tile, (3, 2), (8, 8), a, np.zeros((24, 16), np.float32))
    np.testing.assert_array_equal(b, a.T)


@cuda.jit
def solve_heat_equation(buf_0, buf_1, timesteps, k):
    i = cuda.grid(1)
    if i >= len(buf_0):
        return
    grid = cuda.cg.this_grid()
    for step in range(timesteps):
        if (step % 2) == 0:
            data = buf_0
            next_data = buf_1
        else:
            data = buf_1
            next_data = buf_0
        curr_temp = data[i]
        if i == 0:
            next_temp = curr_temp + k * (data[i + 1] - (2 * curr_temp))
        elif i == len(data) - 1:
            next_temp = curr_temp + k * (data[i - 1] - (2 * curr_temp))
        else:
            next_temp = curr_temp + k * (data[i - 1] - (2 * curr_temp) + data[i + 1])
        next_data[i] = next_temp
        grid.sync()


def heat(values: np.ndarray, steps: int, k: float) -> np.ndarray:
    for _ in range(steps):
        padded = np.pad(values, 1)
        values = values + k * (padded[:-2] - 2 * values + padded[2:])
    return values


def test_heat_equation_with_grid_sync():
    start = RNG.random(32)
    first, second, *_ = start.copy(), np.zeros(32)
    solve_heat_equation[1, 32](first, second, 4, 0.25)
    np.testing.assert_allclose(first, heat(start, 4, 0.25))


@cuda.jit
def laplace_step(a, new):
    i, j = cuda.grid(2)
    n, m = a.shape
    if 0 < i < n - 1 and 0 < j < m - 1:
        new[j, i] = 0.25 * (a[j, i + 1] + a[j, i - 1] + a[j - 1, i] + a[j + 1, i])


def test_stencil_with_chained_comparisons():
    a = RNG.random((12, 12))
    _, new = both_ways(laplace_step, (1, 1), (16, 16), a, np.zeros((12, 12)))
    expected = np.zeros_like(a)
    expected[1:-1, 1:-1] = 0.25 * (a[1:-1, 2:] + a[1:-1, :-2] + a[:-2, 1:-1] + a[2:, 1:-1])
    np.testing.assert_allclose(new, expected)


@cuda.jit
def filter_with_halo(x, weights, out):
    shared = cuda.shared.array(0, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    radius = weights.size // 2
    if i < x.size:
        shared[t + radius] = x[i]
    if t < radius:
        shared[t] = x[i - radius] if i >= radius else float32(0)
        right = i + cuda.blockDim.x
        shared[t + cuda.blockDim.x + radius] = x[right] if right < x.size else float32(0)
    cuda.syncthreads()
    if i < x.size:
        total = float32(0)
        for k in range(weights.size):
            total += shared[t + k] * weights[k]
        out[i] = total


def test_dynamic_shared_memory_with_a_halo():
    x, weights = RNG.random(64, np.float32), np.array([1, 2, 3, 2, 1], np.float32)
    *_, out = both_ways(filter_with_halo, 4, 16, x, weights, np.zeros(64, np.float32), shared=4 * 20)
    np.testing.assert_allclose(out, np.convolve(x, weights, "same"), rtol=1e-5)


@cuda.jit
def sum_of_warps(values, sums):
    i = cuda.grid(1)
    value = values[i]
    offset = 16
    while offset > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
        offset //= 2
    if cuda.laneid == 0:
        sums[i // cuda.warpsize] = value


def test_shuffles():
    values = np.arange(96, dtype=np.int32)
    _, sums = both_ways(sum_of_warps, 1, 96, values, np.zeros(3, np.int32))
    np.testing.assert_array_equal(sums, values.reshape(3, 32).sum(1))


@cuda.jit
def votes(values, out):
    i = cuda.grid(1)
    mask = cuda.ballot_sync(0xFFFFFFFF, values[i] > 0)
    out[i, 0] = cuda.popc(mask)
    out[i, 1] = cuda.any_sync(0xFFFFFFFF, values[i] > 8)
    out[i, 2] = cuda.all_sync(0xFFFFFFFF, values[i] >= 0)
    out[i, 3] = cuda.clz(mask)
    out[i, 4] = cuda.ffs(mask)
    out[i, 5] = cuda.popc(cuda.lanemask_lt())


def test_votes_and_bits():
    values = RNG.integers(0, 9, 32).astype(np.int32)
    _, out = both_ways(votes, 1, 32, values, np.zeros((32, 6), np.int32))
    positive = np.flatnonzero(values > 0)
    expected = [len(positive), 0, 1, 31 - positive[-1], positive[0] + 1]
    np.testing.assert_array_equal(out[:, :5], np.tile(expected, (32, 1)))
    np.testing.assert_array_equal(out[:, 5], np.arange(32))


@cuda.jit
def counted(values, out):
    t = cuda.threadIdx.x
    out[t, 0] = cuda.syncthreads_count(values[t] > 3)
    out[t, 1] = cuda.syncthreads_and(values[t] < 100)
    out[t, 2] = cuda.syncthreads_or(values[t] == 7)


def test_counting_barriers():
    values = np.arange(48, dtype=np.int64)
    _, out = both_ways(counted, 1, 48, values, np.zeros((48, 3), np.int32))
    np.testing.assert_array_equal(out, np.tile([44, 1, 1], (48, 1)))


@cuda.jit
def local_sort(rows):
    i = cuda.grid(1)
    if i < rows.shape[0]:
        mine = cuda.local.array(6, int64)
        for k in range(6):
            mine[k] = rows[i, k]
        for a in range(5):
            for b in range(5 - a):
                if mine[b] > mine[b + 1]:
                    mine[b], mine[b + 1] = mine[b + 1], mine[b]
        for k in range(6):
            rows[i, k] = mine[k]


def test_local_arrays():
    rows = RNG.integers(0, 99, (10, 6))
    (got,) = both_ways(local_sort, 1, 32, rows.copy())
    np.testing.assert_array_equal(got, np.sort(rows, 1))
