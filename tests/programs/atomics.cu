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
