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
