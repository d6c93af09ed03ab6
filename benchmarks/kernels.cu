// The kernels that are timed. nvcc compiles the same file where there is a GPU.

extern "C" __global__ void heat(const float *now, float *next, int rows, int columns, float c) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && x < columns - 1 && y > 0 && y < rows - 1) {
        int i = y * columns + x;
        next[i] = now[i] + c * (now[i - 1] + now[i + 1] + now[i - columns] + now[i + columns] - 4.0f * now[i]);
    }
}

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

// -- tiled by hand, as kernels for GPUs are

template <int TILE>
__device__ void multiply_tiles(const float *a, const float *b, float *c, int n) {
    __shared__ float left[TILE][TILE + 1], right[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < (n + TILE - 1) / TILE; t++) {
        int i = t * TILE + threadIdx.x, j = t * TILE + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < n && i < n ? a[row * n + i] : 0.0f;
        right[threadIdx.y][threadIdx.x] = j < n && column < n ? b[j * n + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}
extern "C" __global__ void tiled_matmul_16(const float *a, const float *b, float *c, int n) {
    multiply_tiles<16>(a, b, c, n);
}
extern "C" __global__ void tiled_matmul_32(const float *a, const float *b, float *c, int n) {
    multiply_tiles<32>(a, b, c, n);
}

// Each thread computes a square of 4 by 4 elements of its block's 32 by 32.
extern "C" __global__ void register_tiled_matmul(const float *a, const float *b, float *c, int n) {
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

extern "C" __global__ void tiled_heat(const float *now, float *next, int rows, int columns, float c) {
    __shared__ float tile[18][18];
    int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    int i = threadIdx.y + 1, j = threadIdx.x + 1;
    if (row < rows && column < columns) {
        tile[i][j] = now[row * columns + column];
        if (threadIdx.x == 0 && column > 0) tile[i][0] = now[row * columns + column - 1];
        if (threadIdx.x == 15 && column + 1 < columns) tile[i][17] = now[row * columns + column + 1];
        if (threadIdx.y == 0 && row > 0) tile[0][j] = now[(row - 1) * columns + column];
        if (threadIdx.y == 15 && row + 1 < rows) tile[17][j] = now[(row + 1) * columns + column];
    }
    __syncthreads();
    if (row > 0 && column > 0 && row < rows - 1 && column < columns - 1)
        next[row * columns + column] = tile[i][j] + c * (tile[i][j - 1] + tile[i][j + 1] + tile[i - 1][j] +
                                                         tile[i + 1][j] - 4 * tile[i][j]);
}

extern "C" __global__ void tree_sum(const float *x, float *sums, int n) {
    __shared__ float partial[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    partial[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (threadIdx.x < s) partial[threadIdx.x] += partial[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

extern "C" __global__ void scan_in_steps(const float *x, float *y, int n) {
    __shared__ float s[2][256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t, in = 0;
    s[0][t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2, in = 1 - in) {
        s[1 - in][t] = t >= d ? s[in][t] + s[in][t - d] : s[in][t];
        __syncthreads();
    }
    if (i < n) y[i] = s[in][t];
}

extern "C" __global__ void scan_up_and_down(const float *x, float *y, int n) {
    __shared__ float s[512 + 16];
    int t = threadIdx.x, base = blockIdx.x * 512, offset = 1;
    int left = t + (t >> 5), right = t + 256 + ((t + 256) >> 5);
    s[left] = base + t < n ? x[base + t] : 0;
    s[right] = base + t + 256 < n ? x[base + t + 256] : 0;
    for (int d = 256; d > 0; d >>= 1, offset *= 2) {
        __syncthreads();
        if (t < d) {
            int i = offset * (2 * t + 1) - 1, j = offset * (2 * t + 2) - 1;
            s[j + (j >> 5)] += s[i + (i >> 5)];
        }
    }
    if (t == 0) s[511 + (511 >> 5)] = 0;
    for (int d = 1; d < 512; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int i = offset * (2 * t + 1) - 1, j = offset * (2 * t + 2) - 1;
            float kept = s[i + (i >> 5)];
            s[i + (i >> 5)] = s[j + (j >> 5)];
            s[j + (j >> 5)] += kept;
        }
    }
    __syncthreads();
    if (base + t < n) y[base + t] = s[left];
    if (base + t + 256 < n) y[base + t + 256] = s[right];
}

extern "C" __global__ void scan_of_warps(const float *x, float *y, int n) {
    __shared__ float totals[32];
    int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum = i < n ? x[i] : 0;
    for (int d = 1; d < 32; d *= 2) {
        float before = __shfl_up_sync(0xffffffff, sum, d);
        if (lane >= d) sum += before;
    }
    if (lane == 31) totals[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        float total = lane < 8 ? totals[lane] : 0;
        for (int d = 1; d < 8; d *= 2) {
            float before = __shfl_up_sync(0xffffffff, total, d);
            if (lane >= d) total += before;
        }
        totals[lane] = total;
    }
    __syncthreads();
    if (warp > 0) sum += totals[warp - 1];
    if (i < n) y[i] = sum;
}

extern "C" __global__ void tiled_transpose(const float *x, float *y, int rows, int columns) {
    __shared__ float tile[16][17];
    int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row < rows && column < columns) tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
    __syncthreads();
    column = blockIdx.y * 16 + threadIdx.x, row = blockIdx.x * 16 + threadIdx.y;
    if (column < rows && row < columns) y[row * rows + column] = tile[threadIdx.x][threadIdx.y];
}
