// Scans and trees over blocks and warps, in shared memory and by shuffles, in the ways that they are spelled.

__global__ void ping_pong_scan(const float *x, float *y, int n) {
    __shared__ float buffer[2 * 128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t, out = 0, in = 1;
    buffer[t] = t > 0 && i - 1 < n ? x[i - 1] : 0;
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        out = 1 - out, in = 1 - out;
        if (t >= d) buffer[out * 128 + t] = buffer[in * 128 + t] + buffer[in * 128 + t - d];
        else buffer[out * 128 + t] = buffer[in * 128 + t];
        __syncthreads();
    }
    if (i < n) y[i] = buffer[out * 128 + t];
}

__global__ void scan_of_guarded_loads(const int *x, int *y, int n) {
    extern __shared__ int s[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = 0;
    if (i < n) s[t] = x[i];
    __syncthreads();
    for (unsigned d = 1; d < blockDim.x; d <<= 1) {
        int before = t >= d ? s[t - d] : 0;
        __syncthreads();
        if (t >= d) s[t] += before;
        __syncthreads();
    }
    if (i < n) y[i] = s[t];
}

__global__ void scan_from_the_end(const int *x, int *y, int n) {
    __shared__ int s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = i < n ? x[i] : 0;
    for (int d = 1; d < 64; d *= 2) {
        __syncthreads();
        int after = t + d < 64 ? s[t + d] : 0;
        __syncthreads();
        s[t] += after;
    }
    if (i < n) y[i] = s[t];
}

#define PADDED(i) ((i) + ((i) >> 5))

__global__ void padded_up_and_down(const float *x, float *y, float *sums, int n) {
    __shared__ float s[256 + 8];
    int t = threadIdx.x, base = blockIdx.x * 256, offset = 1;
    s[PADDED(t)] = base + t < n ? x[base + t] : 0;
    s[PADDED(t + 128)] = base + t + 128 < n ? x[base + t + 128] : 0;
    for (int d = 128; d > 0; d >>= 1, offset *= 2) {
        __syncthreads();
        if (t < d) s[PADDED(offset * (2 * t + 2) - 1)] += s[PADDED(offset * (2 * t + 1) - 1)];
    }
    if (t == 0) {
        sums[blockIdx.x] = s[PADDED(255)];
        s[PADDED(255)] = 0;
    }
    for (int d = 1; d < 256; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int left = PADDED(offset * (2 * t + 1) - 1), right = PADDED(offset * (2 * t + 2) - 1);
            float kept = s[left];
            s[left] = s[right];
            s[right] += kept;
        }
    }
    __syncthreads();
    if (base + t < n) y[base + t] = s[PADDED(t)];
    if (base + t + 128 < n) y[base + t + 128] = s[PADDED(t + 128)];
}

template <class T> __device__ T scan_of_warp(T value, int width) {
    int lane = threadIdx.x & (width - 1);
    for (int d = 1; d < width; d *= 2) {
        T before = __shfl_up_sync(0xffffffff, value, d, width);
        if (lane >= d) value += before;
    }
    return value;
}

__global__ void scans_of_warps(const int *x, int *inclusive, int *exclusive, int *halves, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, value = i < n ? x[i] : 0;
    int sum = scan_of_warp(value, 32), before = __shfl_up_sync(0xffffffff, sum, 1);
    int half = scan_of_warp(value, 16);
    if (i >= n) return;
    inclusive[i] = sum;
    exclusive[i] = (threadIdx.x & 31) == 0 ? 0 : before;
    halves[i] = half;
}

__global__ void scan_of_scans_of_warps(const float *x, float *y, float *sums, int n) {
    __shared__ float totals[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float own = i < n ? x[i] : 0, sum = scan_of_warp(own, 32);
    if (lane == 31) totals[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        float total = lane < blockDim.x / 32 ? totals[lane] : 0;
        totals[lane] = scan_of_warp(total, 32);
    }
    __syncthreads();
    float before = warp > 0 ? totals[warp - 1] : 0;
    if (i < n) y[i] = sum + before;
    if (threadIdx.x == blockDim.x - 1) sums[blockIdx.x] = sum + before;
}

__global__ void scans_of_bits(const int *x, int *all, int *any, int *odd, unsigned *greatest, int n) {
    __shared__ int a[64], b[64], c[64];
    __shared__ unsigned d[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    a[t] = b[t] = c[t] = d[t] = x[i];
    __syncthreads();
    for (int step = 1; step < 64; step *= 2) {
        int p = a[t], q = b[t], r = c[t];
        unsigned s = d[t];
        if (t >= step) p &= a[t - step], q |= b[t - step], r ^= c[t - step], s = max(s, d[t - step]);
        __syncthreads();
        a[t] = p, b[t] = q, c[t] = r, d[t] = s;
        __syncthreads();
    }
    if (i < n) all[i] = a[t], any[i] = b[t], odd[i] = c[t], greatest[i] = d[t];
}

__global__ void scans_of_extremes(const float *x, float *least, float *greatest, int n) {
    __shared__ float a[64], b[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    a[t] = b[t] = x[i];
    for (int d = 1; d < 64; d *= 2) {
        __syncthreads();
        float p = a[t], q = b[t];
        if (t >= d) p = fminf(a[t - d], p), q = fmaxf(q, b[t - d]);
        __syncthreads();
        a[t] = p, b[t] = q;
    }
    if (i < n) least[i] = a[t], greatest[i] = b[t];
}

__global__ void scans_of_columns(const float *x, float *y, int rows, int columns) {
    __shared__ float s[16][17];
    int c = threadIdx.x, r = threadIdx.y, column = blockIdx.x * 16 + c, row = blockIdx.y * 16 + r;
    bool is_inside = column < columns && row < rows;
    s[r][c] = is_inside ? x[row * columns + column] : 0;
    __syncthreads();
    for (int d = 1; d < 16; d *= 2) {
        float above = r >= d ? s[r - d][c] : 0;
        __syncthreads();
        s[r][c] += above;
        __syncthreads();
    }
    if (is_inside) y[row * columns + column] = s[r][c];
}

__global__ void scan_of_runs(const float *x, float *y) {
    __shared__ float s[256], totals[64];
    int t = threadIdx.x, base = blockIdx.x * 256;
    for (int k = 0; k < 4; k++) s[t + 64 * k] = x[base + t + 64 * k];
    __syncthreads();
    for (int k = 1; k < 4; k++) s[4 * t + k] += s[4 * t + k - 1];
    totals[t] = s[4 * t + 3];
    for (int d = 1; d < 64; d *= 2) {
        __syncthreads();
        float before = t >= d ? totals[t - d] : 0;
        __syncthreads();
        totals[t] += before;
    }
    __syncthreads();
    if (t > 0)
        for (int k = 0; k < 4; k++) s[4 * t + k] += totals[t - 1];
    __syncthreads();
    for (int k = 0; k < 4; k++) y[base + t + 64 * k] = s[t + 64 * k];
}

__global__ void scan_with_carry(const int *x, int *y, int n) {
    __shared__ int s[64];
    int t = threadIdx.x, carried = 0;
    for (int base = 0; base < n; base += 64) {
        s[t] = base + t < n ? x[base + t] : 0;
        __syncthreads();
        for (int d = 1; d < 64; d *= 2) {
            int before = t >= d ? s[t - d] : 0;
            __syncthreads();
            s[t] += before;
            __syncthreads();
        }
        if (base + t < n) y[base + t] = carried + s[t];
        carried += s[63];
        __syncthreads();
    }
}

__global__ void compaction(const int *x, int *y, int *counts, int n) {
    __shared__ int s[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t, value = i < n ? x[i] : -1, keeps = value > 0;
    s[t] = keeps;
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        int before = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += before;
        __syncthreads();
    }
    if (keeps) y[blockIdx.x * 128 + s[t] - 1] = value;
    if (t == 127) counts[blockIdx.x] = s[t];
}

__global__ void trees_of_extremes(const float *x, float *greatest, float *least, int n) {
    __shared__ float a[128], b[128];
    int t = threadIdx.x;
    a[t] = b[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (t < s) a[t] = fmaxf(a[t], a[t + s]), b[t] = fminf(b[t + s], b[t]);
        __syncthreads();
    }
    if (t == 0) greatest[blockIdx.x] = a[0], least[blockIdx.x] = b[0];
}

__global__ void trees_of_products(const float *x, const unsigned *k, float *product, unsigned *counts, int n) {
    __shared__ float a[64];
    __shared__ unsigned b[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    a[t] = i < n ? x[i] : 1;
    b[t] = i < n ? k[i] : 1;
    __syncthreads();
    for (int s = 1; s < 64; s *= 2) {
        if (t % (2 * s) == 0) a[t] *= a[t + s], b[t] *= b[t + s];
        __syncthreads();
    }
    if (t == 0) product[blockIdx.x] = a[0], counts[blockIdx.x] = b[0];
}

__global__ void butterfly_of_warp(const unsigned *x, unsigned *greatest, unsigned *odd, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned most = x[i], bits = most;
    for (int d = 16; d > 0; d /= 2) {
        most = max(most, __shfl_xor_sync(0xffffffff, most, d));
        bits ^= __shfl_down_sync(0xffffffff, bits, d);
    }
    greatest[i] = most;
    if ((threadIdx.x & 31) == 0) odd[i / 32] = bits;
}

__global__ void windows_are_no_scan(const int *x, int *y, int n) {
    __shared__ int s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int d = 1; d < 16; d *= 2) {
        int before = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += before;
        __syncthreads();
    }
    if (i < n) y[i] = s[t];
}

__global__ void twice_is_no_scan(const int *x, int *y, int n) {
    __shared__ int s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int d = 1; d < 64; d = d < 4 ? d + 1 : d * 2) {
        int before = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += before;
        __syncthreads();
    }
    if (i < n) y[i] = s[t];
}

__global__ void scan_where_data_say_so(const int *x, int *y, int n) {
    __shared__ int s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t, own = i < n ? x[i] : 0;
    s[t] = own;
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        int before = t >= d ? s[t - d] : 0;
        __syncthreads();
        if (own % 3 != 0) s[t] += before;
        __syncthreads();
    }
    if (i < n) y[i] = s[t];
}

__global__ void scan_after_a_change(const int *x, int *y, int *z, int n) {
    __shared__ int s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int round = 0; round < 2; round++) {
        for (int d = 1; d < 64; d *= 2) {
            int before = t >= d ? s[t - d] : 0;
            __syncthreads();
            s[t] += before;
            __syncthreads();
        }
        if (i < n) (round ? z : y)[i] = s[t];
        if (round == 0 && t % 2 && i < n) s[t] = x[i] * 3;
        __syncthreads();
    }
}

__global__ void places_of_bins(const int *x, int *starts, int n) {
    __shared__ int counts[64];
    int t = threadIdx.x;
    counts[t] = 0;
    __syncthreads();
    for (int i = t; i < n; i += 64) atomicAdd(&counts[x[blockIdx.x * n + i] & 63], 1);
    __syncthreads();
    int own = counts[t];
    for (int d = 1; d < 64; d *= 2) {
        int before = t >= d ? counts[t - d] : 0;
        __syncthreads();
        counts[t] += before;
        __syncthreads();
    }
    starts[blockIdx.x * 64 + t] = counts[t] - own;
}
