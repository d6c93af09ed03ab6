// Collectives of CUB: reductions, scans, sorts and exchanges of blocks and warps.
#include <cub/cub.cuh>

__global__ void cub_sums(const float *x, float *sums, int n) {
    using BlockReduce = cub::BlockReduce<float, 128>;
    __shared__ typename BlockReduce::TempStorage storage;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = BlockReduce(storage).Sum(i < n ? x[i] : 0.0f);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void cub_sums_of_valid(const int *x, int *sums, int n) {
    typedef cub::BlockReduce<int, 16, cub::BLOCK_REDUCE_RAKING, 6> BlockReduce;
    int thread = threadIdx.y * 16 + threadIdx.x, first = blockIdx.x * 96 * 3, values[3];
    for (int k = 0; k < 3; k++) values[k] = first + thread * 3 + k < n ? x[first + thread * 3 + k] : 0;
    int valid = (n - first + 2) / 3;
    int all = BlockReduce().Sum(values);
    __syncthreads();
    int some = BlockReduce().Sum(values[0] + values[1] + values[2], valid < 96 ? valid : 96);
    if (thread == 0) sums[2 * blockIdx.x] = all, sums[2 * blockIdx.x + 1] = some;
}

__global__ void cub_extremes(const float *x, float *extremes, int n) {
    using BlockReduce = cub::BlockReduce<float, 100>;
    __shared__ union {
        typename BlockReduce::TempStorage least, greatest;
    } storage;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i < n ? x[i] : 0.0f;
    float least = BlockReduce(storage.least).Reduce(value, cub::Min());
    __syncthreads();
    float greatest = BlockReduce(storage.greatest).Reduce(value, cub::Max());
    if (threadIdx.x == 0) extremes[2 * blockIdx.x] = least, extremes[2 * blockIdx.x + 1] = greatest;
}

__global__ void cub_places_of_extremes(const float *x, int *places, int n) {
    using Pair = cub::KeyValuePair<int, float>;
    using BlockReduce = cub::BlockReduce<Pair, 128>;
    __shared__ typename BlockReduce::TempStorage storage;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Pair own(i, i < n ? x[i] : 0.0f);
    Pair greatest = BlockReduce(storage).Reduce(own, cub::ArgMax());
    __syncthreads();
    Pair least = BlockReduce(storage).Reduce(own, cub::ArgMin());
    if (threadIdx.x == 0) places[2 * blockIdx.x] = greatest.key, places[2 * blockIdx.x + 1] = least.key;
}

// Functions x -> a x + b under composition: the order of the operands matters.
struct Line {
    unsigned int a, b;
};
struct Compose {
    __device__ Line operator()(const Line &f, const Line &g) const { return Line{f.a * g.a, f.b * g.a + g.b}; }
};
__global__ void cub_ordered_reduction(const unsigned int *x, unsigned int *results, int n) {
    using BlockReduce = cub::BlockReduce<Line, 67>;
    __shared__ typename BlockReduce::TempStorage storage;
    int i = blockIdx.x * blockDim.x + threadIdx.x, valid = n - (int)(blockIdx.x * blockDim.x);
    Line own = {i < n ? x[i] : 1, (unsigned int)i};
    Line whole = BlockReduce(storage).Reduce(own, Compose(), valid < 67 ? valid : 67);
    if (threadIdx.x == 0) results[2 * blockIdx.x] = whole.a, results[2 * blockIdx.x + 1] = whole.b;
}

__global__ void cub_prefix_sums(const int *x, int *inclusive, int *exclusive, int *totals, int n) {
    using BlockScan = cub::BlockScan<int, 128>;
    __shared__ typename BlockScan::TempStorage storage;
    int i = blockIdx.x * blockDim.x + threadIdx.x, value = i < n ? x[i] : 0, up_to, before, total;
    BlockScan(storage).InclusiveSum(value, up_to);
    __syncthreads();
    BlockScan(storage).ExclusiveSum(value, before, total);
    if (i < n) inclusive[i] = up_to, exclusive[i] = before;
    if (threadIdx.x == 0) totals[blockIdx.x] = total;
}

__global__ void cub_prefix_sums_of_items(const float *x, float *sums, int n) {
    using BlockLoad = cub::BlockLoad<float, 64, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using BlockScan = cub::BlockScan<float, 64, cub::BLOCK_SCAN_WARP_SCANS>;
    using BlockStore = cub::BlockStore<float, 64, 4, cub::BLOCK_STORE_TRANSPOSE>;
    __shared__ union {
        typename BlockLoad::TempStorage load;
        typename BlockScan::TempStorage scan;
        typename BlockStore::TempStorage store;
    } storage;
    int first = blockIdx.x * 256, valid = n - first;
    float items[4];
    BlockLoad(storage.load).Load(x + first, items, valid, 0.0f);
    __syncthreads();
    BlockScan(storage.scan).InclusiveSum(items, items);
    __syncthreads();
    BlockStore(storage.store).Store(sums + first, items, valid);
}

__global__ void cub_running_greatest(const int *x, int *greatest, int n, int initial) {
    using BlockScan = cub::BlockScan<int, 50>;
    __shared__ typename BlockScan::TempStorage storage;
    int i = blockIdx.x * blockDim.x + threadIdx.x, value = i < n ? x[i] : INT_MIN;
    BlockScan(storage).ExclusiveScan(value, value, initial, cub::Max());
    if (i < n) greatest[i] = value;
}

// What one block adds to the next of its tiles.
struct Running {
    int total;
    __device__ int operator()(int of_tile) {
        int before = total;
        total += of_tile;
        return before;
    }
};
__global__ void cub_scan_of_tiles(const int *x, int *sums, int n) {
    using BlockScan = cub::BlockScan<int, 64>;
    __shared__ typename BlockScan::TempStorage storage;
    Running running = {0};
    for (int first = 0; first < n; first += 64) {
        int i = first + threadIdx.x, value = i < n ? x[i] : 0;
        BlockScan(storage).ExclusiveSum(value, value, running);
        __syncthreads();
        if (i < n) sums[i] = value;
    }
}

__global__ void cub_radix_sort(const float *x, float *sorted) {
    using BlockRadixSort = cub::BlockRadixSort<float, 32, 3>;
    __shared__ typename BlockRadixSort::TempStorage storage;
    float keys[3];
    cub::LoadDirectStriped<32>(threadIdx.x, x + blockIdx.x * 96, keys);
    BlockRadixSort(storage).SortDescendingBlockedToStriped(keys);
    cub::StoreDirectStriped<32>(threadIdx.x, sorted + blockIdx.x * 96, keys);
}

__global__ void cub_radix_sort_of_pairs(const int *x, int *keys, int *places, int begin_bit, int end_bit) {
    using BlockRadixSort = cub::BlockRadixSort<int, 50, 1, int>;
    __shared__ typename BlockRadixSort::TempStorage storage;
    int key[1] = {x[blockIdx.x * 50 + threadIdx.x]}, place[1] = {(int)threadIdx.x};
    BlockRadixSort(storage).Sort(key, place, begin_bit, end_bit);
    keys[blockIdx.x * 50 + threadIdx.x] = key[0];
    places[blockIdx.x * 50 + threadIdx.x] = place[0];
}

struct ByLastDigit {
    __device__ bool operator()(int a, int b) const { return a % 10 < b % 10; }
};
__global__ void cub_merge_sort(const int *x, int *sorted, int n) {
    using BlockMergeSort = cub::BlockMergeSort<int, 32, 2>;
    __shared__ typename BlockMergeSort::TempStorage storage;
    int keys[2], first = blockIdx.x * 64, valid = n - first < 64 ? n - first : 64;
    for (int k = 0; k < 2; k++) keys[k] = first + threadIdx.x * 2 + k < n ? x[first + threadIdx.x * 2 + k] : 0;
    BlockMergeSort(storage).Sort(keys, ByLastDigit(), valid, 9);
    for (int k = 0; k < 2; k++)
        if (first + threadIdx.x * 2 + k < n) sorted[first + threadIdx.x * 2 + k] = keys[k];
}

__global__ void cub_exchanges(const int *x, int *blocked, int *striped, int *warp_striped) {
    using BlockExchange = cub::BlockExchange<int, 64, 3>;
    __shared__ typename BlockExchange::TempStorage storage;
    int first = blockIdx.x * 192 + threadIdx.x * 3, items[3], moved[3];
    for (int k = 0; k < 3; k++) items[k] = x[first + k];
    BlockExchange(storage).StripedToBlocked(items, moved);
    for (int k = 0; k < 3; k++) blocked[first + k] = moved[k];
    __syncthreads();
    BlockExchange(storage).BlockedToStriped(items, moved);
    for (int k = 0; k < 3; k++) striped[first + k] = moved[k];
    __syncthreads();
    BlockExchange(storage).BlockedToWarpStriped(items);
    for (int k = 0; k < 3; k++) warp_striped[first + k] = items[k];
}

__global__ void cub_scatter_by_rank(const int *x, const int *ranks, int *scattered) {
    using BlockExchange = cub::BlockExchange<int, 32, 2>;
    __shared__ typename BlockExchange::TempStorage storage;
    int items[2], places[2];
    cub::LoadDirectBlocked(threadIdx.x, x + blockIdx.x * 64, items);
    cub::LoadDirectBlocked(threadIdx.x, ranks, places);
    BlockExchange(storage).ScatterToBlocked(items, places);
    cub::StoreDirectBlocked(threadIdx.x, scattered + blockIdx.x * 64, items);
}

__global__ void cub_histogram(const unsigned char *x, unsigned int *counts, int n) {
    using BlockHistogram = cub::BlockHistogram<unsigned char, 64, 2, 16>;
    __shared__ typename BlockHistogram::TempStorage storage;
    __shared__ unsigned int histogram[16];
    unsigned char items[2];
    cub::LoadDirectBlocked(threadIdx.x, x + blockIdx.x * 128, items);
    BlockHistogram(storage).Histogram(items, histogram);
    __syncthreads();
    if (threadIdx.x < 16) counts[blockIdx.x * 16 + threadIdx.x] = histogram[threadIdx.x];
}

__global__ void cub_run_edges(const int *x, int *heads, int *tails, int before) {
    using BlockDiscontinuity = cub::BlockDiscontinuity<int, 64>;
    __shared__ typename BlockDiscontinuity::TempStorage storage;
    int items[2], is_head[2], is_tail[2], first = (blockIdx.x * 64 + threadIdx.x) * 2;
    for (int k = 0; k < 2; k++) items[k] = x[first + k];
    BlockDiscontinuity(storage).FlagHeadsAndTails(is_head, before, is_tail, items, cub::Inequality());
    for (int k = 0; k < 2; k++) heads[first + k] = is_head[k], tails[first + k] = is_tail[k];
}

__global__ void cub_differences(const int *x, int *left, int *right, int n) {
    using Differences = cub::BlockAdjacentDifference<int, 32>;
    __shared__ typename Differences::TempStorage storage;
    int items[2], result[2], first = threadIdx.x * 2;
    for (int k = 0; k < 2; k++) items[k] = x[first + k];
    Differences(storage).SubtractLeftPartialTile(items, result, cub::Difference(), n);
    for (int k = 0; k < 2; k++) left[first + k] = result[k];
    __syncthreads();
    Differences(storage).SubtractRight(items, result, cub::Difference(), 7);
    for (int k = 0; k < 2; k++) right[first + k] = result[k];
}

__global__ void cub_shuffles(const int *x, int *rotated, int *up, int distance) {
    using BlockShuffle = cub::BlockShuffle<int, 48>;
    __shared__ typename BlockShuffle::TempStorage storage;
    int i = blockIdx.x * 48 + threadIdx.x, value = x[i], moved[1] = {-1}, own[1] = {value};
    BlockShuffle(storage).Rotate(value, value, distance);
    rotated[i] = value;
    __syncthreads();
    BlockShuffle(storage).Up(own, moved);
    up[i] = moved[0];
}

__global__ void cub_warp_sums(const float *x, float *sums, double *of_eight, int n) {
    using WarpReduce = cub::WarpReduce<float>;
    using SmallReduce = cub::WarpReduce<double, 8>;
    __shared__ typename WarpReduce::TempStorage storage[4];
    __shared__ typename SmallReduce::TempStorage small_storage[16];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i < n ? x[i] : 0.0f;
    float sum = WarpReduce(storage[threadIdx.x / 32]).Sum(value);
    double small = SmallReduce(small_storage[threadIdx.x / 8]).Reduce((double)value, cub::Max(), 5);
    if (threadIdx.x % 32 == 0) sums[i / 32] = sum;
    if (threadIdx.x % 8 == 0) of_eight[i / 8] = small;
}

__global__ void cub_segmented_warp_sums(const int *x, const int *is_head, int *sums, int n) {
    using WarpReduce = cub::WarpReduce<int>;
    __shared__ typename WarpReduce::TempStorage storage;
    int i = blockIdx.x * 32 + threadIdx.x, head = i < n ? is_head[i] : 1;
    int sum = WarpReduce(storage).HeadSegmentedSum(i < n ? x[i] : 0, head);
    if (i < n) sums[i] = head || threadIdx.x == 0 ? sum : 0;
}

__global__ void cub_warp_scans(const int *x, int *inclusive, int *exclusive, int *totals, int n) {
    using WarpScan = cub::WarpScan<int>;
    __shared__ typename WarpScan::TempStorage storage[2];
    int i = blockIdx.x * blockDim.x + threadIdx.x, value = i < n ? x[i] : 0, up_to, before, total;
    WarpScan(storage[threadIdx.x / 32]).InclusiveSum(value, up_to, total);
    WarpScan(storage[threadIdx.x / 32]).ExclusiveScan(value, before, -5, cub::Max());
    if (i < n) inclusive[i] = up_to, exclusive[i] = before, totals[i] = total;
}

__global__ void cub_warp_exchange(const int *x, int *out) {
    using WarpExchange = cub::WarpExchange<int, 4, 16>;
    __shared__ typename WarpExchange::TempStorage storage[4];
    int items[4];
    cub::LoadDirectBlocked(threadIdx.x, x + blockIdx.x * 256, items);
    WarpExchange(storage[threadIdx.x / 16]).StripedToBlocked(items, items);
    cub::StoreDirectBlocked(threadIdx.x, out + blockIdx.x * 256, items);
}

struct Squared {
    __device__ float operator()(float x) const { return x * x; }
};
__global__ void cub_iterators(const float *x, float *out, int n) {
    cub::CacheModifiedInputIterator<cub::LOAD_LDG, float> cached(x);
    cub::TransformInputIterator<float, Squared, const float *> squares(x, Squared());
    cub::CountingInputIterator<int> count(10);
    cub::ConstantInputIterator<float> half(0.5f);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = cached[i] + squares[i] * half[i] + (float)count[i];
}

__global__ void cub_warps_of_twelve(const int *x, int *sums, int *running) {
    using WarpReduce = cub::WarpReduce<int, 12>;
    using WarpScan = cub::WarpScan<int, 12>;
    __shared__ typename WarpReduce::TempStorage storage[2];
    __shared__ typename WarpScan::TempStorage scan_storage[2];
    int i = blockIdx.x * 24 + threadIdx.x, up_to;
    int sum = WarpReduce(storage[threadIdx.x / 12]).Sum(x[i]);
    WarpScan(scan_storage[threadIdx.x / 12]).InclusiveSum(x[i], up_to);
    if (threadIdx.x % 12 == 0) sums[i / 12] = sum;
    running[i] = up_to;
}

__global__ void cub_warp_merge_sort(const int *x, int *keys, int *places) {
    using WarpMergeSort = cub::WarpMergeSort<int, 2, 16, int>;
    __shared__ typename WarpMergeSort::TempStorage storage[4];
    int items[2], own[2], first = (blockIdx.x * 64 + threadIdx.x) * 2;
    for (int k = 0; k < 2; k++) items[k] = x[first + k], own[k] = first + k;
    WarpMergeSort(storage[threadIdx.x / 16]).Sort(items, own, ByLastDigit());
    for (int k = 0; k < 2; k++) keys[first + k] = items[k], places[first + k] = own[k];
}
