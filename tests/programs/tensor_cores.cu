// Products of matrices by fragments that the threads of a warp hold together.
#include <mma.h>

using namespace nvcuda;
using wmma::fragment;

// A warp for each square of 16 by 16: c = alpha a b + beta c.
__global__ void half_product(const half *a, const half *b, float *c, int m, int n, int k, float alpha, float beta) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize * 16;
    int column = (blockIdx.y * blockDim.y + threadIdx.y) * 16;
    if (row >= m || column >= n) return;
    fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
    fragment<wmma::accumulator, 16, 16, 16, float> sum, old;
    wmma::fill_fragment(sum, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(left, a + row * k + i, k);
        wmma::load_matrix_sync(right, b + i * n + column, n);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::load_matrix_sync(old, c + row * n + column, n, wmma::mem_row_major);
    for (int i = 0; i < sum.num_elements; i++) sum.x[i] = alpha * sum.x[i] + beta * old.x[i];
    wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}

// The same with a guard in the loop, and columns first.
__global__ void guarded_product(const half *a, const half *b, float *c, int m, int n, int k, float alpha, float beta) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize * 16;
    int column = (blockIdx.y * blockDim.y + threadIdx.y) * 16;
    fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> left;
    fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    fragment<wmma::accumulator, 16, 16, 16, float> sum, old;
    wmma::fill_fragment(sum, 0.0f);
    for (int i = 0; i < k; i += 16)
        if (row < m && i < k && column < n) {
            wmma::load_matrix_sync(left, a + row + i * m, m);
            wmma::load_matrix_sync(right, b + i + column * k, k);
            wmma::mma_sync(sum, left, right, sum);
        }
    if (row < m && column < n) {
        wmma::load_matrix_sync(old, c + row + column * m, m, wmma::mem_col_major);
        for (int i = 0; i < old.num_elements; i++) old.x[i] = alpha * sum.x[i] + beta * old.x[i];
        wmma::store_matrix_sync(c + row + column * m, old, m, wmma::mem_col_major);
    }
}

// One warp in a block, nothing else: the shortest program that there is.
__global__ void plain_product(const half *a, const half *b, float *c, int n, int k) {
    fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(left, a + blockIdx.y * 16 * k + i, k);
        wmma::load_matrix_sync(right, b + blockIdx.x * 16 * k + i, k);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, wmma::mem_row_major);
}

// Sums in half precision, of small integers: columns first in all three matrices.
__global__ void half_sums(const half *a, const half *b, half *c, int m, int n, int k) {
    fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> left;
    fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    fragment<wmma::accumulator, 16, 16, 16, half> sum;
    wmma::fill_fragment(sum, __float2half(1.0f));
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(left, a + i * m + blockIdx.x * 16, m);
        wmma::load_matrix_sync(right, b + blockIdx.y * 16 * k + i, k);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + blockIdx.y * 16 * m + blockIdx.x * 16, sum, m, wmma::mem_col_major);
}

// 32 by 8 and 8 by 32.
template <int M, int N, class T> __device__ void product_of_one_warp(const T *a, const T *b, float *c, int n, int k) {
    fragment<wmma::matrix_a, M, N, 16, T, wmma::row_major> left;
    fragment<wmma::matrix_b, M, N, 16, T, wmma::row_major> right;
    fragment<wmma::accumulator, M, N, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(left, a + blockIdx.y * M * k + i, k);
        wmma::load_matrix_sync(right, b + i * n + blockIdx.x * N, n);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + blockIdx.y * M * n + blockIdx.x * N, sum, n, wmma::mem_row_major);
}
__global__ void tall_product(const half *a, const half *b, float *c, int n, int k) {
    product_of_one_warp<32, 8>(a, b, c, n, k);
}
__global__ void wide_product(const half *a, const half *b, float *c, int n, int k) {
    product_of_one_warp<8, 32>(a, b, c, n, k);
}

// Bfloat16, which NumPy has not: from floats, by way of shared memory.
__global__ void bfloat16_product(const float *a, const float *b, float *c, int n, int k) {
    __shared__ __nv_bfloat16 left_tile[16 * 16], right_tile[16 * 16];
    fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> left;
    fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> right;
    fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int i = 0; i < k; i += 16) {
        for (int j = threadIdx.x; j < 256; j += 32) {
            left_tile[j] = __float2bfloat16(a[(blockIdx.y * 16 + j / 16) * k + i + j % 16]);
            right_tile[j] = __float2bfloat16(b[(i + j / 16) * n + blockIdx.x * 16 + j % 16]);
        }
        __syncthreads();
        wmma::load_matrix_sync(left, left_tile, 16);
        wmma::load_matrix_sync(right, right_tile, 16);
        wmma::mma_sync(sum, left, right, sum);
        __syncthreads();
    }
    wmma::store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, wmma::mem_row_major);
}

// Floats that are rounded to 10 bits behind the point.
__global__ void short_float_product(const float *a, const float *b, float *c, int n, int k) {
    fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> left;
    fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> right;
    fragment<wmma::accumulator, 16, 16, 8, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int i = 0; i < k; i += 8) {
        wmma::load_matrix_sync(left, a + blockIdx.y * 16 * k + i, k);
        wmma::load_matrix_sync(right, b + i * n + blockIdx.x * 16, n);
        for (int j = 0; j < left.num_elements; j++) left.x[j] = wmma::__float_to_tf32(left.x[j]);
        for (int j = 0; j < right.num_elements; j++) right.x[j] = wmma::__float_to_tf32(right.x[j]);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, wmma::mem_row_major);
}

__global__ void double_product(const double *a, const double *b, double *c, int n, int k) {
    fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> left;
    fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> right;
    fragment<wmma::accumulator, 8, 8, 4, double> sum;
    wmma::fill_fragment(sum, 0.0);
    for (int i = 0; i < k; i += 4) {
        wmma::load_matrix_sync(left, a + blockIdx.y * 8 * k + i, k);
        wmma::load_matrix_sync(right, b + blockIdx.x * 8 * k + i, k);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + blockIdx.y * 8 * n + blockIdx.x * 8, sum, n, wmma::mem_row_major);
}

// Integers, added to what is there.
template <class T> __device__ void add_integer_product(const T *a, const T *b, int *c, int n, int k, bool saturate) {
    fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> left;
    fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major> right;
    fragment<wmma::accumulator, 16, 16, 16, int> sum;
    int *target = c + blockIdx.y * 16 * n + blockIdx.x * 16;
    wmma::load_matrix_sync(sum, target, n, wmma::mem_row_major);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(left, a + blockIdx.y * 16 * k + i, k);
        wmma::load_matrix_sync(right, b + blockIdx.x * 16 * k + i, k);
        wmma::mma_sync(sum, left, right, sum, saturate);
    }
    wmma::store_matrix_sync(target, sum, n, wmma::mem_row_major);
}
__global__ void signed_product(const signed char *a, const signed char *b, int *c, int n, int k) {
    add_integer_product(a, b, c, n, k, false);
}
__global__ void unsigned_product(const unsigned char *a, const unsigned char *b, int *c, int n, int k) {
    add_integer_product(a, b, c, n, k, false);
}
__global__ void saturated_product(const signed char *a, const signed char *b, int *c, int n, int k) {
    add_integer_product(a, b, c, n, k, true);
}

// Four warps in a block, each with two by two squares, from tiles in shared memory with a skew; sums go back through
// shared memory and are then rectified by single threads.
__global__ void staged_product(const half *a, const half *b, float *c, int n, int k) {
    __shared__ half left_tile[64][24], right_tile[16][72];
    __shared__ float sums[64][68];
    int thread = threadIdx.x, warp = thread / 32;
    fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) wmma::fill_fragment(sum[i][j], 0.0f);
    for (int t = 0; t < k; t += 16) {
        for (int i = thread; i < 64 * 16; i += 128) {
            left_tile[i / 16][i % 16] = a[(blockIdx.y * 64 + i / 16) * k + t + i % 16];
            right_tile[i / 64][i % 64] = b[(t + i / 64) * n + blockIdx.x * 64 + i % 64];
        }
        __syncthreads();
        fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left[2];
        fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right[2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            wmma::load_matrix_sync(left[i], &left_tile[warp / 2 * 32 + i * 16][0], 24);
            wmma::load_matrix_sync(right[i], &right_tile[0][warp % 2 * 32 + i * 16], 72);
        }
#pragma unroll
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++) wmma::mma_sync(sum[i][j], left[i], right[j], sum[i][j]);
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            wmma::store_matrix_sync(&sums[warp / 2 * 32 + i * 16][warp % 2 * 32 + j * 16], sum[i][j], 68,
                                    wmma::mem_row_major);
    __syncthreads();
    for (int i = thread; i < 64 * 64; i += 128)
        c[(blockIdx.y * 64 + i / 64) * n + blockIdx.x * 64 + i % 64] = fmaxf(sums[i / 64][i % 64], 0.0f);
}
