// Atomics on global memory.

__global__ void histogram(const int *keys, int *counts, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counts[keys[i]], 1);
}

__global__ void weighted_histogram(const int *keys, const float *weights, float *sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&sums[keys[i]], weights[i]);
}

__global__ void add_all(const double *x, double *sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, x[i]);
}

__global__ void add_all_in_strides(const float *x, float *sum, int n) {
    float mine = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i] * x[i];
    atomicAdd(sum, mine);
}

__global__ void extremes(const int *x, int *least, int *greatest, unsigned int *greatest_unsigned, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicMin(least, x[i]);
    atomicMax(greatest, x[i]);
    atomicMax(greatest_unsigned, (unsigned int)x[i]);
}

__global__ void combine_bits(const unsigned int *x, const int *place, unsigned int *all, unsigned int *any, unsigned int *odd, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAnd(&all[place[i]], x[i]);
    atomicOr(&any[place[i]], x[i]);
    atomicXor(&odd[place[i]], x[i]);
}

__global__ void subtract(const int *x, const int *place, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicSub(&out[place[i]], x[i]);
}

__global__ void exchange_own(int *slots, const int *fresh, int *old, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) old[i] = atomicExch(&slots[i], fresh[i]);
}

__global__ void add_to_own(int *slots, int *old, int n, int amount) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) old[i] = atomicAdd(&slots[i], amount);
}

__global__ void count_around(unsigned int *up, unsigned int *down, int n, unsigned int limit) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicInc(up, limit);
    atomicDec(down, limit);
}

__global__ void greatest_float(const float *x, int *bits, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __float_as_int(fmaxf(x[i], __int_as_float(assumed))));
    } while (assumed != old);
}

__global__ void add_all_by_exchange(const double *x, unsigned long long *bits, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __double_as_longlong(x[i] + __longlong_as_double(assumed)));
    } while (assumed != old);
}

__global__ void add_wide(const unsigned long long *x, unsigned long long *sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, x[i]);
}

__global__ void spread_to_nodes(const int *left, const int *right, const float *flux, float *balance, int edges) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= edges) return;
    atomicAdd(&balance[left[e]], -flux[e]);
    atomicAdd(&balance[right[e]], flux[e]);
}

__global__ void count_in_rows(const float *matrix, int *counts, int rows, int columns, float bound) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < columns && y < rows && matrix[y * columns + x] > bound) atomicAdd(&counts[y], 1);
}

// Queues: each thread gets a place of its own, in the order of threads.

__global__ void compact(const float *x, float *out, int *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0.0f) out[atomicAdd(count, 1)] = x[i];
}

__global__ void compact_by_block(const int *x, int *out, int *counts, int *total, int n) {
    __shared__ int count, first;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    int place = -1;
    if (i < n && x[i] % 3 == 0) place = atomicAdd(&count, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        counts[blockIdx.x] = count;
        first = atomicAdd(total, count);
    }
    __syncthreads();
    if (place >= 0) out[first + place] = x[i];
}

__global__ void compact_by_warp(const int *x, int *out, unsigned int *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    bool takes = i < n && x[i] % 2 == 0;
    unsigned int all = __ballot_sync(0xffffffffu, takes), first = 0;
    int leader = all ? __ffs(all) - 1 : 0;
    if (takes && lane == leader) first = atomicAdd(count, __popc(all));
    first = __shfl_sync(0xffffffffu, first, leader);
    if (takes) out[first + __popc(all & ((1u << lane) - 1))] = x[i];
}

__global__ void hand_out(const int *wanted, int *first, int *next, int *left, int rows, int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    __syncthreads();
    if (row >= rows || column >= columns) return;
    int i = row * columns + column;
    first[i] = atomicAdd(next, wanted[i]) - atomicSub(left, wanted[i]);
}
