// Products of matrices of which each thread makes several elements, kept in registers.

// Sums in one flat array, fragments in registers, loads in strides over the tile.
template <int M, int N, int K, int TM, int TN>
__device__ void product_by_threads(const float *a, const float *b, float *c, int n) {
    __shared__ float left[M * K], right[K * N];
    const int threads = (M / TM) * (N / TN);
    int row = threadIdx.x / (N / TN), column = threadIdx.x % (N / TN);
    a += blockIdx.y * M * n;
    b += blockIdx.x * N;
    c += blockIdx.y * M * n + blockIdx.x * N;
    float sums[TM * TN] = {0.0f}, down[TM] = {0.0f}, across[TN] = {0.0f};
    for (int t = 0; t < n; t += K) {
        for (int i = 0; i < M; i += threads / K)
            left[(i + threadIdx.x / K) * K + threadIdx.x % K] = a[(i + threadIdx.x / K) * n + threadIdx.x % K];
        for (int i = 0; i < K; i += threads / N)
            right[(i + threadIdx.x / N) * N + threadIdx.x % N] = b[(i + threadIdx.x / N) * n + threadIdx.x % N];
        __syncthreads();
        a += K;
        b += K * n;
        for (int k = 0; k < K; ++k) {
            for (int i = 0; i < TM; ++i) down[i] = left[(row * TM + i) * K + k];
            for (int i = 0; i < TN; ++i) across[i] = right[k * N + column * TN + i];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i * TN + j] += down[i] * across[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) c[(row * TM + i) * n + column * TN + j] = sums[i * TN + j];
}
__global__ void squares_of_4(const float *a, const float *b, float *c, int n) {
    product_by_threads<64, 64, 8, 4, 4>(a, b, c, n);
}
__global__ void squares_of_8(const float *a, const float *b, float *c, int n) {
    product_by_threads<64, 64, 8, 8, 8>(a, b, c, n);
}

// A column of sums for each thread; one element of each tile per thread.
__global__ void columns_of_8(int m, int n, int k, float alpha, const float *a, const float *b, float beta, float *c) {
    __shared__ float left[64 * 8];
    __shared__ float right[8 * 64];
    const int column = threadIdx.x % 64, row = threadIdx.x / 64;
    a += blockIdx.y * 64 * k;
    b += blockIdx.x * 64;
    c += blockIdx.y * 64 * n + blockIdx.x * 64;
    float sums[8] = {0.0};
    for (int t = 0; t < k; t += 8) {
        left[threadIdx.x / 8 * 8 + threadIdx.x % 8] = a[threadIdx.x / 8 * k + threadIdx.x % 8];
        right[threadIdx.x / 64 * 64 + threadIdx.x % 64] = b[threadIdx.x / 64 * n + threadIdx.x % 64];
        __syncthreads();
        a += 8;
        b += 8 * n;
        for (int i = 0; i < 8; ++i) {
            float one = right[i * 64 + column];
            for (int j = 0; j < 8; ++j) sums[j] += left[(row * 8 + j) * 8 + i] * one;
        }
        __syncthreads();
    }
    for (int j = 0; j < 8; ++j)
        c[(row * 8 + j) * n + column] = alpha * sums[j] + beta * c[(row * 8 + j) * n + column];
}

// Loads of four at once; the left tile is kept transposed.
__global__ void fours_at_once(int n, float alpha, const float *a, const float *b, float beta, float *c) {
    __shared__ float left[8 * 64], right[8 * 64];
    const int row = threadIdx.x / 8, column = threadIdx.x % 8;
    float sums[64] = {0.0f}, down[8], across[8];
    a += blockIdx.y * 64 * n;
    b += blockIdx.x * 64;
    c += blockIdx.y * 64 * n + blockIdx.x * 64;
    for (int t = 0; t < n; t += 8) {
        for (int half = 0; half < 64; half += 32) {
            int i = threadIdx.x / 2 + half, j = threadIdx.x % 2;
            float4 v = *reinterpret_cast<const float4 *>(&a[i * n + j * 4]);
            left[(j * 4 + 0) * 64 + i] = v.x;
            left[(j * 4 + 1) * 64 + i] = v.y;
            left[(j * 4 + 2) * 64 + i] = v.z;
            left[(j * 4 + 3) * 64 + i] = v.w;
        }
        for (int half = 0; half < 8; half += 4) {
            int i = threadIdx.x / 16 + half, j = threadIdx.x % 16;
            reinterpret_cast<float4 *>(&right[i * 64 + j * 4])[0] =
                reinterpret_cast<const float4 *>(&b[i * n + j * 4])[0];
        }
        __syncthreads();
        a += 8;
        b += 8 * n;
        for (int k = 0; k < 8; k++) {
            for (int i = 0; i < 8; i++) down[i] = left[k * 64 + row * 8 + i];
            for (int i = 0; i < 8; i++) across[i] = right[k * 64 + column * 8 + i];
            for (int i = 0; i < 8; i++)
                for (int j = 0; j < 8; j++) sums[i * 8 + j] += down[i] * across[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j += 4) {
            float4 v = reinterpret_cast<float4 *>(&c[(row * 8 + i) * n + column * 8 + j])[0];
            v.x = alpha * sums[i * 8 + j] + beta * v.x;
            v.y = alpha * sums[i * 8 + j + 1] + beta * v.y;
            v.z = alpha * sums[i * 8 + j + 2] + beta * v.z;
            v.w = alpha * sums[i * 8 + j + 3] + beta * v.w;
            reinterpret_cast<float4 *>(&c[(row * 8 + i) * n + column * 8 + j])[0] = v;
        }
}

// Warps have tiles of their own, which their threads go over in steps.
template <int BM, int BN, int BK, int WM, int WN, int WMITER, int WNITER, int TM, int TN>
__device__ void product_by_warps(int m, int n, int k, const float *a, const float *b, float *c) {
    __shared__ float left[BM * BK], right[BK * BN];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / (BN / WN), warp_column = warp % (BN / WN);
    const int WSUBM = WM / WMITER, WSUBN = WN / WNITER;
    const int row = lane / (WSUBN / TN), column = lane % (WSUBN / TN);
    const int threads = (BM / WM) * (BN / WN) * 32;
    a += blockIdx.y * BM * k;
    b += blockIdx.x * BN;
    c += (blockIdx.y * BM + warp_row * WM) * n + blockIdx.x * BN + warp_column * WN;
    float sums[WMITER * TM * WNITER * TN] = {0.0}, down[WMITER * TM] = {0.0}, across[WNITER * TN] = {0.0};
    for (int t = 0; t < k; t += BK) {
        for (int o = 0; o + (threads * 4) / BK <= BM; o += (threads * 4) / BK) {
            int i = threadIdx.x / (BK / 4) + o, j = threadIdx.x % (BK / 4);
            const float4 v = reinterpret_cast<const float4 *>(&a[i * k + j * 4])[0];
            left[(j * 4 + 0) * BM + i] = v.x;
            left[(j * 4 + 1) * BM + i] = v.y;
            left[(j * 4 + 2) * BM + i] = v.z;
            left[(j * 4 + 3) * BM + i] = v.w;
        }
        for (int o = 0; o + threads / (BN / 4) <= BK; o += threads / (BN / 4)) {
            int i = threadIdx.x / (BN / 4) + o, j = threadIdx.x % (BN / 4);
            reinterpret_cast<float4 *>(&right[i * BN + j * 4])[0] = reinterpret_cast<const float4 *>(&b[i * n + j * 4])[0];
        }
        __syncthreads();
        for (int l = 0; l < BK; ++l) {
            for (int u = 0; u < WMITER; ++u)
                for (int i = 0; i < TM; ++i) down[u * TM + i] = left[l * BM + warp_row * WM + u * WSUBM + row * TM + i];
            for (int u = 0; u < WNITER; ++u)
                for (int i = 0; i < TN; ++i)
                    across[u * TN + i] = right[l * BN + warp_column * WN + u * WSUBN + column * TN + i];
            for (int u = 0; u < WMITER; ++u)
                for (int v = 0; v < WNITER; ++v)
                    for (int i = 0; i < TM; ++i)
                        for (int j = 0; j < TN; ++j)
                            sums[(u * TM + i) * (WNITER * TN) + v * TN + j] += down[u * TM + i] * across[v * TN + j];
        }
        a += BK;
        b += BK * n;
        __syncthreads();
    }
    for (int u = 0; u < WMITER; ++u)
        for (int v = 0; v < WNITER; ++v) {
            float *out = c + (u * WSUBM) * n + v * WSUBN;
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; j += 4) {
                    float4 w;
                    const int place = (u * TM + i) * (WNITER * TN) + v * TN + j;
                    w.x = sums[place + 0];
                    w.y = sums[place + 1];
                    w.z = sums[place + 2];
                    w.w = sums[place + 3];
                    reinterpret_cast<float4 *>(&out[(row * TM + i) * n + column * TN + j])[0] = w;
                }
        }
}
__global__ void tiles_of_warps(int m, int n, int k, const float *a, const float *b, float *c) {
    product_by_warps<64, 64, 8, 32, 32, 2, 1, 4, 4>(m, n, k, a, b, c);
}

// Fragments are read in fours; 128 by 128.
__global__ void fragments_of_fours(const float *a, const float *b, float *c, int n) {
    __shared__ float left[8][128], right[8][128];
    float sums[8][8] = {}, down[8], across[8];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    for (int t = 0; t < n; t += 8) {
        float4 v = *(const float4 *)&a[(blockIdx.y * 128 + threadIdx.x / 2) * n + t + threadIdx.x % 2 * 4];
        left[threadIdx.x % 2 * 4][threadIdx.x / 2] = v.x;
        left[threadIdx.x % 2 * 4 + 1][threadIdx.x / 2] = v.y;
        left[threadIdx.x % 2 * 4 + 2][threadIdx.x / 2] = v.z;
        left[threadIdx.x % 2 * 4 + 3][threadIdx.x / 2] = v.w;
        *(float4 *)&right[threadIdx.x / 32][threadIdx.x % 32 * 4] =
            *(const float4 *)&b[(t + threadIdx.x / 32) * n + blockIdx.x * 128 + threadIdx.x % 32 * 4];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 8; k++) {
            *(float4 *)&down[0] = *(float4 *)&left[k][ty * 4];
            *(float4 *)&down[4] = *(float4 *)&left[k][ty * 4 + 64];
            *(float4 *)&across[0] = *(float4 *)&right[k][tx * 4];
            *(float4 *)&across[4] = *(float4 *)&right[k][tx * 4 + 64];
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) sums[i][j] += down[i] * across[j];
        }
        __syncthreads();
    }
    c += (blockIdx.y * 128 + ty * 4) * n + blockIdx.x * 128 + tx * 4;
    for (int i = 0; i < 4; i++) {
        *(float4 *)&c[i * n] = *(float4 *)&sums[i][0];
        *(float4 *)&c[i * n + 64] = *(float4 *)&sums[i][4];
    }
    for (int i = 0; i < 4; i++) {
        *(float4 *)&c[(i + 64) * n] = *(float4 *)&sums[i + 4][0];
        *(float4 *)&c[(i + 64) * n + 64] = *(float4 *)&sums[i + 4][4];
    }
}

// One element after the other, each by a loop of its own over the tile.
__global__ void elements_in_turn(const float *a, const float *b, float *c, int n) {
    __shared__ float left[32][8], right[8][32];
    float sums[4][2] = {};
    int x = threadIdx.x, y = threadIdx.y;
    for (int t = 0; t < n; t += 8) {
        for (int i = y; i < 32; i += 8)
            if (x < 8) left[i][x] = a[(blockIdx.y * 32 + i) * n + t + x];
        right[y][x] = b[(t + y) * n + blockIdx.x * 32 + x];
        right[y][x + 16] = b[(t + y) * n + blockIdx.x * 32 + x + 16];
        __syncthreads();
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 2; j++)
                for (int k = 0; k < 8; k++) sums[i][j] += left[y * 4 + i][k] * right[k][x * 2 + j];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 2; j++) c[(blockIdx.y * 32 + y * 4 + i) * n + blockIdx.x * 32 + x * 2 + j] = sums[i][j];
}
__global__ void elements_without_tiles(const float *a, const float *b, float *c, int n) {
    float sums[2][4] = {};
    int y = (blockIdx.y * 4 + threadIdx.y) * 2, x = (blockIdx.x * 4 + threadIdx.x) * 4;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < n; k++) sums[i][j] += a[(y + i) * n + k] * b[k * n + x + j];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++) c[(y + i) * n + x + j] = sums[i][j];
}

// Any size, with guards; no fragments; every 16th row and column for each thread.
__global__ void guarded_squares(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float left[64][16], right[16][64];
    float sums[4][4];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) sums[i][j] = 0;
    int thread = threadIdx.y * 16 + threadIdx.x;
    for (int t = 0; t < k; t += 16) {
#pragma unroll
        for (int e = 0; e < 4; e++) {
            int place = thread + e * 256, i = place / 16, j = place % 16, row = blockIdx.y * 64 + i;
            left[i][j] = row < m && t + j < k ? a[row * k + t + j] : 0.0f;
        }
#pragma unroll
        for (int e = 0; e < 4; e++) {
            int place = thread + e * 256, i = place / 64, j = place % 64, column = blockIdx.x * 64 + j;
            right[i][j] = t + i < k && column < n ? b[(t + i) * n + column] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int l = 0; l < 16; l++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) sums[i][j] += left[threadIdx.y + 16 * i][l] * right[l][threadIdx.x + 16 * j];
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int row = blockIdx.y * 64 + threadIdx.y + 16 * i, column = blockIdx.x * 64 + threadIdx.x + 16 * j;
            if (row < m && column < n) c[row * n + column] = sums[i][j];
        }
}

// -- what else is done with elements in registers

// Bytes times bytes; the loop over rows is the inner one, and what is written is transposed.
__global__ void products_of_bytes(const signed char *a, const signed char *b, int *c, int n) {
    int sums[4][2];
    int row = (blockIdx.y * blockDim.y + threadIdx.y) * 4, column = (blockIdx.x * blockDim.x + threadIdx.x) * 2;
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 4; i++) sums[i][j] = column + j;
    for (int k = 0; k < n; k++)
        for (int j = 0; j < 2; j++)
            for (int i = 0; i < 4; i++) sums[i][j] += a[(row + i) * n + k] * b[k * n + column + j];
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 4; i++) c[(column + j) * n + row + i] = sums[i][j];
}

// Each element is added to under a condition of its own, and in two statements.
__global__ void sums_under_conditions(const float *x, const float *w, double *y, int n, int count) {
    double sums[4] = {};
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    for (int k = 0; k < count; k++) {
        for (int i = 0; i < 4; i++)
            if (first + i < n && (i + k) % 3 != 1) sums[i] += x[(first + i) * count + k] * w[k];
        for (int i = 0; i < 4; i++)
            if (first + i < n && w[k] > 0.5f) sums[i] -= w[k];
    }
    for (int i = 0; i < 4; i++)
        if (first + i < n) y[first + i] = sums[i];
}

// Sums that begin anew for each batch, and are added up.
__global__ void sums_of_batches(const float *x, float *y, float *totals, int batches, int n) {
    float sums[3];
    int t = threadIdx.x;
    float total = 0;
    for (int batch = 0; batch < batches; batch++) {
        for (int i = 0; i < 3; i++) sums[i] = 0;
        for (int k = 0; k < n; k++)
            for (int i = 0; i < 3; i++) sums[i] += x[(batch * n + k) * 24 + t * 3 + i];
        for (int i = 0; i < 3; i++) y[(batch * 8 + t) * 3 + i] = sums[i];
        for (int i = 0; i < 3; i++) total += sums[i] * (i + 1);
    }
    totals[t] = total;
}

// Elements move to their neighbours while others are added to.
__global__ void moving_window(const float *x, float *y, int n) {
    float window[5] = {}, sums[4] = {};
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < n; k++) {
        window[4] = x[k * 16 + t];
        for (int i = 0; i < 4; i++) {
            sums[i] += window[i] * window[4];
            window[i] = window[i + 1];
        }
    }
    for (int i = 0; i < 4; i++) y[t * 4 + i] = sums[i];
}

// Elements that are added to their neighbours after the sum.
__global__ void running_sums(const float *x, float *y, int n) {
    float sums[4] = {};
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 4; i++) sums[i] += x[(k * 8 + t) * 4 + i];
    for (int i = 1; i < 4; i++) sums[i] += sums[i - 1];
    for (int i = 0; i < 4; i++) y[t * 4 + i] = sums[3 - i];
}

// How many rows there are to add up is known as the kernel runs.
__global__ void sums_of_some_rows(const int *counts, const float *x, float *y) {
    float sums[2][2] = {};
    int t = threadIdx.x, count = counts[t];
    for (int k = 0; k < count; k++)
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++) sums[i][j] += x[k * 2 + i] * x[k * 2 + j] + t;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) y[t * 4 + i * 2 + j] = sums[j][i] + sums[i][j] * 2;
}

// A softmax that goes on as it sees more: maxima, sums that are scaled down, weighted sums.
__global__ void attention_in_one_pass(const float *q, const float *k, const float *v, float *out, int n) {
    float most[2], total[2] = {}, sums[2][4] = {};
    int row = (blockIdx.x * blockDim.x + threadIdx.x) * 2;
    for (int i = 0; i < 2; i++) most[i] = -INFINITY;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < 2; i++) {
            float score = 0;
            for (int d = 0; d < 4; d++) score += q[(row + i) * 4 + d] * k[j * 4 + d];
            float before = most[i];
            most[i] = fmaxf(before, score);
            float scale = expf(before - most[i]), weight = expf(score - most[i]);
            total[i] = total[i] * scale + weight;
            for (int d = 0; d < 4; d++) sums[i][d] = sums[i][d] * scale + weight * v[j * 4 + d];
        }
    for (int i = 0; i < 2; i++)
        for (int d = 0; d < 4; d++) out[(row + i) * 4 + d] = sums[i][d] / total[i];
}

// Copies of one statement, written out: loads that may be of what an earlier copy stores are loaded before it.
__global__ void overlapping_copies(float *x, const float *w, int n) {
    float sums[4] = {};
    int t = threadIdx.x;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 4; i++) sums[i] += w[k * 4 + i];
    float *row = x + t * 8;
    float a = row[1], b = row[2], c = row[3], d = row[0];
    row[0] = a + sums[0];
    row[1] = b + sums[1];
    row[2] = c + sums[2];
    row[3] = d + sums[3];
    row[4] = row[3] * 2;
    row[5] = row[4] * 2;
    row[6] = row[5] * 2;
}

// One of the sums begins anew in each round, with what the others began with.
__global__ void one_sum_begins_anew(const float *x, float *y, int n) {
    float sums[4] = {};
    int t = threadIdx.x;
    for (int k = 0; k < n; k++) {
        sums[1] = 0;
        for (int i = 0; i < 4; i++) sums[i] += x[(k * 8 + t) * 4 + i];
    }
    for (int i = 0; i < 4; i++) y[t * 4 + i] = sums[i];
}

// Of rows that are filled anew in each round, the element that the round counts.
__global__ void diagonals_of_rows(const float *x, float *out, float *sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float row[4], sum[4];
    for (int k = 0; k < 4; k++) sum[k] = 0;
    for (int a = 0; a < 4; a++) {
        for (int k = 0; k < 4; k++) {
            row[k] = x[i * 16 + a * 4 + k];
            sum[k] += row[k];
        }
        out[i * 4 + a] = row[a] * x[i];
    }
    for (int k = 0; k < 4; k++) sums[i * 4 + k] = sum[k];
}
