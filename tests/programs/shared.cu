// Shared memory and barriers: tiles, halos, trees, scans, histograms, views of one buffer.
#define TILE 16

__global__ void tiled_product(const float *a, const float *b, float *c, int n) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n / TILE; t++) {
        left[threadIdx.y][threadIdx.x] = a[row * n + t * TILE + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(t * TILE + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

__global__ void tiled_product_of_any_size(const float *a, const float *b, float *c, int m, int k, int n) {
    __shared__ float left[TILE][TILE + 1], right[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < (k + TILE - 1) / TILE; t++) {
        int i = t * TILE + threadIdx.x, j = t * TILE + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < m && i < k ? a[row * k + i] : 0.0f;
        right[threadIdx.y][threadIdx.x] = j < k && column < n ? b[j * n + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

// Each thread computes a square of 4 by 4 elements of its block's 32 by 32.
__global__ void register_tiled_product(const float *a, const float *b, float *c, int n) {
    __shared__ float left[32][8], right[8][32];
    float sums[4][4] = {};
    int thread = threadIdx.y * 8 + threadIdx.x;
    for (int t = 0; t < n; t += 8) {
        for (int i = thread; i < 32 * 8; i += 64) {
            left[i / 8][i % 8] = a[(blockIdx.y * 32 + i / 8) * n + t + i % 8];
            right[i / 32][i % 32] = b[(t + i / 32) * n + blockIdx.x * 32 + i % 32];
        }
        __syncthreads();
        for (int k = 0; k < 8; k++) {
            float x[4], y[4];
            for (int i = 0; i < 4; i++) x[i] = left[threadIdx.y * 4 + i][k], y[i] = right[k][threadIdx.x * 4 + i];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) sums[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            c[(blockIdx.y * 32 + threadIdx.y * 4 + i) * n + blockIdx.x * 32 + threadIdx.x * 4 + j] = sums[i][j];
}

// The next tile is loaded while this one is used: two halves of one buffer.
__global__ void double_buffered_product(const float *a, const float *b, float *c, int n) {
    __shared__ float left[2][8][8], right[2][8][8];
    int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
    float sum = 0;
    left[0][threadIdx.y][threadIdx.x] = a[row * n + threadIdx.x];
    right[0][threadIdx.y][threadIdx.x] = b[threadIdx.y * n + column];
    __syncthreads();
    for (int t = 0; t < n / 8; t++) {
        int now = t % 2, next = 1 - now;
        if (t + 1 < n / 8) {
            left[next][threadIdx.y][threadIdx.x] = a[row * n + (t + 1) * 8 + threadIdx.x];
            right[next][threadIdx.y][threadIdx.x] = b[((t + 1) * 8 + threadIdx.y) * n + column];
        }
        for (int k = 0; k < 8; k++) sum += left[now][threadIdx.y][k] * right[now][k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

__global__ void transpose_through_tile(const float *x, float *y, int rows, int columns) {
    __shared__ float tile[TILE][TILE + 1];
    int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    if (row < rows && column < columns) tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
    __syncthreads();
    column = blockIdx.y * TILE + threadIdx.x, row = blockIdx.x * TILE + threadIdx.y;
    if (column < rows && row < columns) y[row * rows + column] = tile[threadIdx.x][threadIdx.y];
}

// A tile of 32 by 32 moved by a block of 32 by 8 threads.
__global__ void transpose_by_few_rows(const float *x, float *y, int n) {
    __shared__ float tile[32][33];
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = x[(row + j) * n + column];
    __syncthreads();
    column = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) y[(row + j) * n + column] = tile[threadIdx.x][threadIdx.y + j];
}

#define RADIUS 3
__global__ void stencil_with_halo(const float *x, float *y, int n) {
    __shared__ float tile[64 + 2 * RADIUS];
    int i = blockIdx.x * 64 + threadIdx.x, place = threadIdx.x + RADIUS;
    tile[place] = i < n ? x[i] : 0;
    if (threadIdx.x < RADIUS) {
        tile[place - RADIUS] = i >= RADIUS && i - RADIUS < n ? x[i - RADIUS] : 0;
        tile[place + 64] = i + 64 < n ? x[i + 64] : 0;
    }
    __syncthreads();
    float sum = 0;
    for (int offset = -RADIUS; offset <= RADIUS; offset++) sum += tile[place + offset];
    if (i < n) y[i] = sum;
}

__global__ void five_points_with_halo(const float *x, float *y, int rows, int columns) {
    __shared__ float tile[TILE + 2][TILE + 2];
    int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    int i = threadIdx.y + 1, j = threadIdx.x + 1;
    bool inside = row < rows && column < columns;
    if (inside) {
        tile[i][j] = x[row * columns + column];
        if (threadIdx.x == 0 && column > 0) tile[i][0] = x[row * columns + column - 1];
        if (threadIdx.x == TILE - 1 && column + 1 < columns) tile[i][TILE + 1] = x[row * columns + column + 1];
        if (threadIdx.y == 0 && row > 0) tile[0][j] = x[(row - 1) * columns + column];
        if (threadIdx.y == TILE - 1 && row + 1 < rows) tile[TILE + 1][j] = x[(row + 1) * columns + column];
    }
    __syncthreads();
    if (row > 0 && column > 0 && row < rows - 1 && column < columns - 1)
        y[row * columns + column] =
            0.25f * (tile[i - 1][j] + tile[i + 1][j] + tile[i][j - 1] + tile[i][j + 1]) - tile[i][j];
}

// Blocks overlap: threads at the edge of a block only load.
__global__ void overlapping_tiles(const float *x, float *y, int n) {
    __shared__ float tile[34];
    int i = blockIdx.x * 32 + (int)threadIdx.x - 1;
    tile[threadIdx.x] = i >= 0 && i < n ? x[i] : 0;
    __syncthreads();
    if (threadIdx.x > 0 && threadIdx.x < 33 && i < n)
        y[i] = (tile[threadIdx.x - 1] + tile[threadIdx.x] + tile[threadIdx.x + 1]) / 3;
}

__global__ void tree_sum(const float *x, float *sums, int n) {
    __shared__ float partial[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    partial[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (threadIdx.x < s) partial[threadIdx.x] += partial[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

__global__ void tree_sum_of_any_block(const float *x, float *sums, int n) {
    extern __shared__ float partial[];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) partial[threadIdx.x] += partial[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

// Neighbours first: the stride grows.
__global__ void interleaved_tree_sum(const int *x, int *sums, int n) {
    __shared__ int partial[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    partial[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        if (threadIdx.x % (2 * s) == 0) partial[threadIdx.x] += partial[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

__global__ void tree_sum_without_divergence(const int *x, int *sums, int n) {
    __shared__ int partial[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    partial[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        int place = 2 * s * threadIdx.x;
        if (place < blockDim.x) partial[place] += partial[place + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

// The last warp goes on without barriers, through volatile memory.
__device__ void add_last_warp(volatile float *partial, int thread) {
    partial[thread] += partial[thread + 32];
    partial[thread] += partial[thread + 16];
    partial[thread] += partial[thread + 8];
    partial[thread] += partial[thread + 4];
    partial[thread] += partial[thread + 2];
    partial[thread] += partial[thread + 1];
}
__global__ void tree_sum_with_unrolled_tail(const float *x, float *sums, int n) {
    __shared__ float partial[256];
    int thread = threadIdx.x, i = blockIdx.x * 512 + thread;
    partial[thread] = (i < n ? x[i] : 0) + (i + 256 < n ? x[i + 256] : 0);
    __syncthreads();
    for (int s = 128; s > 32; s >>= 1) {
        if (thread < s) partial[thread] += partial[thread + s];
        __syncthreads();
    }
    if (thread < 32) add_last_warp(partial, thread);
    if (thread == 0) sums[blockIdx.x] = partial[0];
}

__global__ void tree_sum_with_shuffled_tail(const float *x, float *sums, int n) {
    __shared__ float partial[128];
    int thread = threadIdx.x;
    float sum = 0;
    for (int i = blockIdx.x * 128 + thread; i < n; i += gridDim.x * 128) sum += x[i];
    partial[thread] = sum;
    __syncthreads();
    for (int s = 64; s >= 32; s >>= 1) {
        if (thread < s) partial[thread] = sum = sum + partial[thread + s];
        __syncthreads();
    }
    if (thread < 32) {
        for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
        if (thread == 0) sums[blockIdx.x] = sum;
    }
}

__global__ void tree_maximum_and_place(const float *x, float *greatest, int *place, int n) {
    __shared__ float value[64];
    __shared__ int index[64];
    int thread = threadIdx.x, i = blockIdx.x * 64 + thread;
    value[thread] = i < n ? x[i] : -1e30f;
    index[thread] = i;
    __syncthreads();
    for (int s = 32; s > 0; s >>= 1) {
        if (thread < s && (value[thread + s] > value[thread] ||
                           (value[thread + s] == value[thread] && index[thread + s] < index[thread]))) {
            value[thread] = value[thread + s];
            index[thread] = index[thread + s];
        }
        __syncthreads();
    }
    if (thread == 0) greatest[blockIdx.x] = value[0], place[blockIdx.x] = index[0];
}

__global__ void dot_of_blocks(const double *x, const double *y, double *sums, int n) {
    __shared__ double cache[64];
    double sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += x[i] * y[i];
    cache[threadIdx.x] = sum;
    __syncthreads();
    int s = blockDim.x / 2;
    while (s != 0) {
        if (threadIdx.x < s) cache[threadIdx.x] += cache[threadIdx.x + s];
        __syncthreads();
        s /= 2;
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = cache[0];
}

__global__ void softmax_of_rows(const float *x, float *y, int columns) {
    __shared__ float shared[64];
    int thread = threadIdx.x;
    const float *row = x + blockIdx.x * columns;
    float greatest = -1e30f;
    for (int j = thread; j < columns; j += 64) greatest = fmaxf(greatest, row[j]);
    shared[thread] = greatest;
    __syncthreads();
    for (int s = 32; s > 0; s >>= 1) {
        if (thread < s) shared[thread] = fmaxf(shared[thread], shared[thread + s]);
        __syncthreads();
    }
    greatest = shared[0];
    __syncthreads();
    float sum = 0;
    for (int j = thread; j < columns; j += 64) sum += expf(row[j] - greatest);
    shared[thread] = sum;
    __syncthreads();
    for (int s = 32; s > 0; s >>= 1) {
        if (thread < s) shared[thread] += shared[thread + s];
        __syncthreads();
    }
    for (int j = thread; j < columns; j += 64) y[blockIdx.x * columns + j] = expf(row[j] - greatest) / shared[0];
}

__global__ void scan_by_doubling(const int *x, int *y, int n) {
    __shared__ int values[2][64];
    int thread = threadIdx.x, i = blockIdx.x * 64 + thread, now = 0;
    values[0][thread] = i < n ? x[i] : 0;
    __syncthreads();
    for (int offset = 1; offset < 64; offset *= 2) {
        now = 1 - now;
        values[now][thread] =
            thread >= offset ? values[1 - now][thread] + values[1 - now][thread - offset] : values[1 - now][thread];
        __syncthreads();
    }
    if (i < n) y[i] = values[now][thread];
}

__global__ void scan_by_doubling_in_place(const float *x, float *y, int n) {
    __shared__ float values[64];
    int thread = threadIdx.x, i = blockIdx.x * 64 + thread;
    values[thread] = i < n ? x[i] : 0;
    for (int offset = 1; offset < 64; offset *= 2) {
        __syncthreads();
        float other = thread >= offset ? values[thread - offset] : 0;
        __syncthreads();
        values[thread] += other;
    }
    if (i < n) y[i] = values[thread];
}

__global__ void scan_up_and_down(const int *x, int *y, int n) {
    __shared__ int values[128];
    int thread = threadIdx.x, offset = 1, base = blockIdx.x * 128;
    values[2 * thread] = base + 2 * thread < n ? x[base + 2 * thread] : 0;
    values[2 * thread + 1] = base + 2 * thread + 1 < n ? x[base + 2 * thread + 1] : 0;
    for (int d = 64; d > 0; d >>= 1) {
        __syncthreads();
        if (thread < d) values[offset * (2 * thread + 2) - 1] += values[offset * (2 * thread + 1) - 1];
        offset *= 2;
    }
    if (thread == 0) values[127] = 0;
    for (int d = 1; d < 128; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (thread < d) {
            int left = offset * (2 * thread + 1) - 1, right = offset * (2 * thread + 2) - 1;
            int kept = values[left];
            values[left] = values[right];
            values[right] += kept;
        }
    }
    __syncthreads();
    if (base + 2 * thread < n) y[base + 2 * thread] = values[2 * thread];
    if (base + 2 * thread + 1 < n) y[base + 2 * thread + 1] = values[2 * thread + 1];
}

__global__ void histogram_of_blocks(const unsigned char *x, unsigned *counts, int n) {
    __shared__ unsigned mine[256];
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) mine[bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&mine[x[i]], 1u);
    __syncthreads();
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) atomicAdd(&counts[bin], mine[bin]);
}

__global__ void reversed_blocks(const int *x, int *y) {
    extern __shared__ int buffer[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    buffer[threadIdx.x] = x[i];
    __syncthreads();
    y[i] = buffer[blockDim.x - 1 - threadIdx.x];
}

// Arrays of three types lie one after another in the same buffer.
__global__ void views_of_one_buffer(const float *x, const int *k, float *y, int n) {
    extern __shared__ char bytes[];
    float *floats = (float *)bytes;
    int *integers = (int *)&floats[blockDim.x];
    char *flags = (char *)&integers[blockDim.x];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    floats[threadIdx.x] = i < n ? x[i] : 0;
    integers[threadIdx.x] = i < n ? k[i] : 0;
    flags[threadIdx.x] = i < n;
    __syncthreads();
    int other = (threadIdx.x + 1) % blockDim.x;
    if (i < n) y[i] = flags[other] ? floats[other] + integers[other] : -1;
}

struct Particle {
    float x, y, z, mass;
};
__global__ void attraction(const Particle *particles, float3 *force, int n) {
    __shared__ Particle tile[32];
    int i = blockIdx.x * 32 + threadIdx.x;
    Particle mine = particles[i < n ? i : 0];
    float3 sum = make_float3(0, 0, 0);
    for (int base = 0; base < n; base += 32) {
        if (base + threadIdx.x < n) tile[threadIdx.x] = particles[base + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 32 && base + j < n; j++) {
            float dx = tile[j].x - mine.x, dy = tile[j].y - mine.y, dz = tile[j].z - mine.z;
            float distance = dx * dx + dy * dy + dz * dz + 0.01f;
            float scale = tile[j].mass * rsqrtf(distance) / distance;
            sum.x += dx * scale, sum.y += dy * scale, sum.z += dz * scale;
        }
        __syncthreads();
    }
    if (i < n) force[i] = sum;
}

// Threads beyond the range leave before the barrier, whole blocks of them.
__global__ void whole_blocks_leave(const float *x, float *y, int blocks) {
    __shared__ float tile[32];
    if (blockIdx.x >= blocks) return;
    tile[threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    y[blockIdx.x * 32 + threadIdx.x] = tile[31 - threadIdx.x] - tile[threadIdx.x];
}

__global__ void one_value_for_the_block(const float *x, float *y, int n) {
    __shared__ float mean;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        float sum = 0;
        for (int j = 0; j < blockDim.x; j++) sum += x[blockIdx.x * blockDim.x + j];
        mean = sum / blockDim.x;
    }
    __syncthreads();
    if (i < n) y[i] = x[i] - mean;
}

// Several steps in time within a block, ping and pong.
__global__ void steps_within_a_block(const float *x, float *y, int steps) {
    __shared__ float halves[2][64];
    int thread = threadIdx.x, now = 0;
    halves[0][thread] = x[blockIdx.x * 64 + thread];
    __syncthreads();
    for (int step = 0; step < steps; step++) {
        int left = thread == 0 ? 0 : thread - 1, right = thread == 63 ? 63 : thread + 1;
        halves[1 - now][thread] = 0.5f * halves[now][thread] + 0.25f * (halves[now][left] + halves[now][right]);
        __syncthreads();
        now = 1 - now;
    }
    y[blockIdx.x * 64 + thread] = halves[now][thread];
}

__global__ void bitonic_sort_of_blocks(int *x) {
    __shared__ int keys[64];
    int thread = threadIdx.x;
    keys[thread] = x[blockIdx.x * 64 + thread];
    __syncthreads();
    for (int size = 2; size <= 64; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            int partner = thread ^ stride;
            if (partner > thread) {
                bool up = (thread & size) == 0;
                int a = keys[thread], b = keys[partner];
                if ((a > b) == up) keys[thread] = b, keys[partner] = a;
            }
            __syncthreads();
        }
    x[blockIdx.x * 64 + thread] = keys[thread];
}

__global__ void odd_even_sort_of_blocks(float *x) {
    __shared__ float keys[32];
    int thread = threadIdx.x;
    keys[thread] = x[blockIdx.x * 32 + thread];
    __syncthreads();
    for (int round = 0; round < 32; round++) {
        if (thread % 2 == round % 2 && thread + 1 < 32 && keys[thread] > keys[thread + 1]) {
            float kept = keys[thread];
            keys[thread] = keys[thread + 1];
            keys[thread + 1] = kept;
        }
        __syncthreads();
    }
    x[blockIdx.x * 32 + thread] = keys[thread];
}

__constant__ float weights[7];
__global__ void tiled_filter(const float *image, float *out, int rows, int columns) {
    __shared__ float tile[8][32 + 6];
    int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    for (int j = threadIdx.x; j < 38; j += 32) {
        int from = (int)(blockIdx.x * 32) + j - 3;
        from = from < 0 ? 0 : from >= columns ? columns - 1 : from;
        tile[threadIdx.y][j] = row < rows ? image[row * columns + from] : 0;
    }
    __syncthreads();
    if (row < rows && column < columns) {
        float sum = 0;
        for (int k = 0; k < 7; k++) sum += weights[k] * tile[threadIdx.y][threadIdx.x + k];
        out[row * columns + column] = sum;
    }
}

__global__ void shared_lookup(const int *x, const float *table, float *y, int n) {
    __shared__ float kept[64];
    if (threadIdx.x < 64) kept[threadIdx.x] = table[threadIdx.x];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = kept[x[i] & 63];
}

__global__ void rotated_shared_rows(const int *x, int *y, int shift) {
    __shared__ int row[64];
    row[(threadIdx.x + shift) % 64] = x[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    y[blockIdx.x * 64 + threadIdx.x] = row[threadIdx.x];
}
