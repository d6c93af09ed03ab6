// What threads of a warp do together: shuffles, votes, matches, reductions; and barriers that count.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}

__global__ void sums_of_warps(const float *x, float *sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = warp_sum(i < n ? x[i] : 0.0f);
    if (threadIdx.x % 32 == 0) sums[i / 32] = sum;
}

__global__ void sum_in_every_lane(const double *x, double *sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double sum = i < n ? x[i] : 0.0;
    for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
    if (i < n) sums[i] = sum;
}

__global__ void prefix_sums_of_warps(const int *x, int *sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    int sum = i < n ? x[i] : 0;
    for (int offset = 1; offset < 32; offset <<= 1) {
        int before = __shfl_up_sync(0xffffffff, sum, offset);
        if (lane >= offset) sum += before;
    }
    if (i < n) sums[i] = sum;
}

__global__ void sums_of_blocks(const float *x, float *sums, int n) {
    __shared__ float partial[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum = warp_sum(i < n ? x[i] : 0.0f);
    if (lane == 0) partial[warp] = sum;
    __syncthreads();
    sum = threadIdx.x < blockDim.x / 32 ? partial[lane] : 0.0f;
    if (warp == 0) sum = warp_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void neighbours_in_segments(const int *x, int *after, int *before, int *mirrored, int *leaders, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = i < n ? x[i] : 0;
    int next = __shfl_down_sync(0xffffffff, value, 3, 8), last = __shfl_up_sync(0xffffffff, value, 2, 16);
    int mirror = __shfl_xor_sync(0xffffffff, value, 7, 8), leader = __shfl_sync(0xffffffff, value, 1, 4);
    if (i < n) after[i] = next, before[i] = last, mirrored[i] = mirror, leaders[i] = leader;
}

__global__ void gather_within_warp(const float *x, const int *lanes, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i < n ? x[i] : 0.0f;
    int lane = i < n ? lanes[i] : 0;
    float found = __shfl_sync(0xffffffff, value, lane);
    if (i < n) out[i] = found;
}

__global__ void votes(const int *x, unsigned *ballots, int *any, int *all, int *ranks, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = i < n ? x[i] : 0;
    unsigned ballot = __ballot_sync(0xffffffff, value > 0);
    int some = __any_sync(0xffffffff, value > 90), every = __all_sync(0xffffffff, value > -90);
    if (i < n) {
        ballots[i] = ballot;
        any[i] = some;
        all[i] = every;
        ranks[i] = __popc(ballot & ((1u << (threadIdx.x & 31)) - 1));
    }
}

__global__ void compact_within_warps(const int *x, int *kept, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    int value = i < n ? x[i] : -1;
    unsigned ballot = __ballot_sync(0xffffffff, value >= 0);
    if (value >= 0) kept[i - lane + __popc(ballot & ((1u << lane) - 1))] = value;
}

__global__ void equal_lanes(const int *x, unsigned *same, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned found = __match_any_sync(0xffffffff, i < n ? x[i] & 3 : -1);
    if (i < n) same[i] = found;
}

__global__ void reduce_within_warps(const int *x, int *sums, int *greatest, unsigned *least, unsigned *bits, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = i < n ? x[i] : 0;
    int sum = __reduce_add_sync(0xffffffff, value), most = __reduce_max_sync(0xffffffff, value);
    unsigned few = __reduce_min_sync(0xffffffff, (unsigned)value), mixed = __reduce_xor_sync(0xffffffff, (unsigned)value);
    if (i < n) sums[i] = sum, greatest[i] = most, least[i] = few, bits[i] = mixed;
}

__global__ void active_lanes(const int *x, int *active, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) active[i] = __popc(__activemask());
}

__global__ void counts_at_barriers(const int *x, int *counts, int *all, int *any, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = i < n ? x[i] : 0;
    int count = __syncthreads_count(value > 0), every = __syncthreads_and(value > -90), some = __syncthreads_or(value > 90);
    if (threadIdx.x == 0) counts[blockIdx.x] = count, all[blockIdx.x] = every, any[blockIdx.x] = some;
}

__global__ void sums_of_tiles(const float *x, float *sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    float sum = cg::reduce(tile, i < n ? x[i] : 0.0f, cg::plus<float>());
    if (tile.thread_rank() == 0) sums[i / 8] = sum;
}

__global__ void rows_of_a_wide_block(const int *x, int *right, int n) {
    int i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    int value = i < n ? x[i] : 0;
    int next = __shfl_down_sync(0xffffffff, value, 1, 16);
    if (i < n) right[i] = next;
}

__global__ void dot_products_by_warps(const float *matrix, const float *x, float *y, int rows, int columns) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int column = lane; column < columns; column += 32) sum += matrix[row * columns + column] * x[column];
    sum = warp_sum(sum);
    if (lane == 0) y[row] = sum;
}

__global__ void walk_until_all_arrive(const int *steps, int *rounds, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int left = i < n ? steps[i] & 15 : 0, count = 0;
    while (__any_sync(0xffffffff, left > 0)) left--, count++;
    if (i < n) rounds[i] = count;
}

__global__ void sums_of_doubles(const double *x, double *sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double sum = i < n ? x[i] : 0.0;
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (threadIdx.x % 32 == 0) sums[i / 32] = sum;
}

__global__ void greatest_of_long_integers(const long long *x, unsigned long long *greatest, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long most = i < n ? x[i] : 0;
    for (int mask = 16; mask > 0; mask /= 2) most = max(most, __shfl_xor_sync(0xffffffff, most, mask));
    if (i < n) greatest[i] = most;
}

__global__ void long_neighbours(const long long *x, const int *lanes, long long *found, long long *before, double *after,
                                int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    long long value = i < n ? x[i] : 0;
    long long chosen = __shfl_sync(0xffffffff, value, i < n ? lanes[i] : 0, 16);
    long last = __shfl_up_sync(0xffffffff, (long)value, 3);
    double next = __shfl_down_sync(0xffffffff, (double)value, 2, 8);
    if (i < n) found[i] = chosen, before[i] = last, after[i] = next;
}

__global__ void equal_long_lanes(const long long *x, unsigned *same, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned found = __match_any_sync(0xffffffff, i < n ? x[i] & ~(-1ll << 33) : -1ll);
    if (i < n) same[i] = found;
}

__global__ void sums_of_few_lanes(const float *x, float *sums) {
    float sum = x[threadIdx.x];
    if (threadIdx.x < 8)
        for (int offset = 4; offset > 0; offset /= 2) sum += __shfl_down_sync(0xff, sum, offset);
    if (threadIdx.x == 0) sums[0] = sum;
}
