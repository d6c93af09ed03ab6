// Groups of threads: reductions, scans, partitions; barriers as objects; copies that are waited for.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void group_reductions(const int *x, int *sums, int *maxima, int *bits) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    int i = cg::this_grid().thread_rank();
    sums[i] = cg::reduce(tile, x[i], cg::plus<int>());
    maxima[i] = cg::reduce(cg::tiled_partition<32>(block), x[i], cg::greater<int>());
    bits[i] = cg::reduce(tile, x[i], cg::bit_xor<>());
}

__global__ void group_scans(const int *x, int *inclusive, int *exclusive, int *maxima) {
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int i = cg::this_grid().thread_rank();
    inclusive[i] = cg::inclusive_scan(tile, x[i]);
    exclusive[i] = cg::exclusive_scan(tile, x[i], cg::plus<int>());
    maxima[i] = cg::inclusive_scan(tile, x[i], [](int a, int b) { return a > b ? a : b; });
}

__global__ void nested_tiles(int *ranks) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto tile = cg::tiled_partition<4>(warp);
    int i = cg::this_grid().thread_rank();
    ranks[i] = tile.thread_rank() + 10 * tile.meta_group_rank() + 1000 * tile.meta_group_size() +
               10000 * warp.meta_group_rank() + 100000 * warp.meta_group_size();
}

__global__ void partitions(const int *x, int *ranks, int *groups, int *sums) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int i = cg::this_grid().thread_rank();
    auto half = cg::binary_partition(warp, x[i] % 2 == 1);
    auto label = cg::labeled_partition(warp, x[i] % 4);
    ranks[i] = half.thread_rank() + 100 * half.size() + 10000 * half.meta_group_rank();
    groups[i] = label.thread_rank() + 100 * label.meta_group_rank() + 10000 * label.meta_group_size();
    sums[i] = cg::reduce(label, x[i], cg::plus<int>());
}

__global__ void one_of_a_group(const int *x, int *y) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int i = cg::this_grid().thread_rank();
    y[i] = cg::invoke_one_broadcast(warp, [&] { return 2 * x[i]; });
}

__global__ void copied_by_a_group(const float *x, float *y, int n) {
    extern __shared__ float tile[];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile, x + blockIdx.x * n, sizeof(float) * n);
    cg::wait(block);
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = tile[n - 1 - i];
}

// Between arriving and waiting each thread does something of its own.
__global__ void arrive_then_wait(const float *x, float *y) {
    __shared__ block_barrier barrier;
    __shared__ float tile[64];
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&barrier, block.size());
    block.sync();
    int i = blockIdx.x * 64 + threadIdx.x;
    for (int round = 0; round < 3; round++) {
        cuda::memcpy_async(tile + threadIdx.x, x + i, sizeof(float), barrier);
        auto token = barrier.arrive();
        float own = x[i] * round;
        barrier.wait(std::move(token));
        y[i] += own * tile[63 - threadIdx.x];
        barrier.arrive_and_wait();
    }
}

__global__ void barrier_of_functions(const int *x, int *y) {
    __shared__ __mbarrier_t barrier;
    __shared__ int tile[64];
    if (threadIdx.x == 0) __mbarrier_init(&barrier, 64);
    __syncthreads();
    tile[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
    auto token = __mbarrier_arrive(&barrier);
    while (!__mbarrier_test_wait(&barrier, token)) __nanosleep(20);
    y[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x ^ 5];
}

// The tile after next is on its way while this one is used.
__global__ void pipeline_of_a_block(const int *x, int *y, int n) {
    constexpr int stages = 2;
    extern __shared__ int tiles[];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    auto block = cg::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    int size = block.size(), next = 0;
    for (int t = 0; t < n; t++) {
        for (; next < n && next < t + stages; next++) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, tiles + next % stages * size, x + next * size, sizeof(int) * size, pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        y[t * size + threadIdx.x] = tiles[t % stages * size + size - 1 - threadIdx.x];
        pipeline.consumer_release();
    }
}

// A product by two tiles of which one is filled while the other is used, by copies of single threads.
__global__ void pipelined_product(const float *a, const float *b, float *c, int n) {
    __shared__ float left[2][8][8], right[2][8][8];
    int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
    auto pipeline = cuda::make_pipeline();
    auto fetch = [&](int t) {
        pipeline.producer_acquire();
        cuda::memcpy_async(&left[t % 2][threadIdx.y][threadIdx.x], &a[row * n + t * 8 + threadIdx.x],
                           cuda::aligned_size_t<4>(sizeof(float)), pipeline);
        cuda::memcpy_async(&right[t % 2][threadIdx.y][threadIdx.x], &b[(t * 8 + threadIdx.y) * n + column],
                           cuda::aligned_size_t<4>(sizeof(float)), pipeline);
        pipeline.producer_commit();
    };
    float sum = 0;
    fetch(0);
    for (int t = 0; t < n / 8; t++) {
        if (t + 1 < n / 8) fetch(t + 1);
        pipeline.consumer_wait();
        __syncthreads();
        for (int k = 0; k < 8; k++) sum += left[t % 2][threadIdx.y][k] * right[t % 2][k][threadIdx.x];
        __syncthreads();
        pipeline.consumer_release();
    }
    c[row * n + column] = sum;
}

// Copies of 16 bytes, of which the last may be short.
__global__ void copies_by_function(const float4 *x, float4 *y) {
    __shared__ float4 tile[32];
    int last = threadIdx.x == 31 ? 8 : 0;
    __pipeline_memcpy_async(&tile[threadIdx.x], &x[threadIdx.x], sizeof(float4), last);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    y[threadIdx.x] = tile[31 - threadIdx.x];
}
