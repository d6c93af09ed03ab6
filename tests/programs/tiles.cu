// Tiles that can't be taken away, or only in part: what an earlier round left, what was changed meanwhile, what is shared.
__global__ void keeps_what_was_left(const float *x, float *y, int n) {
    __shared__ float tile[32];
    float sum = 0;
    tile[threadIdx.x] = 0;
    __syncthreads();
    for (int t = 0; t < n / 32; t++) {
        float v = x[t * 32 + threadIdx.x];
        if (v > 0) tile[threadIdx.x] = v;
        __syncthreads();
        for (int k = 0; k < 32; k++) sum += tile[k] * (k + 1);
        __syncthreads();
    }
    y[threadIdx.x] = sum + tile[31 - threadIdx.x];
}

// The last round fills a part of the tile only; the rest is as the round before left it.
__global__ void last_round_is_short(const float *x, float *y, int n) {
    __shared__ float tile[32];
    float sum = 0;
    for (int base = 0; base < n; base += 32) {
        if (base + threadIdx.x < n) tile[threadIdx.x] = x[base + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 32; k++) sum += tile[k] * (k + 1);
        __syncthreads();
    }
    y[threadIdx.x] = sum;
}

__global__ void reads_before_it_writes(const float *x, float *y, int n) {
    __shared__ float tile[32];
    float sum = 0;
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    for (int t = 0; t < n / 32; t++) {
        for (int k = 0; k < 32; k++) sum += tile[k] * (k + 1);
        __syncthreads();
        tile[threadIdx.x] = x[t * 32 + threadIdx.x];
        __syncthreads();
    }
    y[threadIdx.x] = sum;
}

__global__ void used_after_the_loop(const float *x, float *y, int n) {
    __shared__ float tile[32];
    float sum = 0;
    for (int t = 0; t < n / 32; t++) {
        tile[threadIdx.x] = x[t * 32 + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 32; k++) sum += tile[k] * (k + 1);
        __syncthreads();
    }
    y[threadIdx.x] = sum + 100 * tile[(threadIdx.x + 7) % 32];
}

__global__ void moves_round_by_round(const float *x, float *y, int n) {
    __shared__ float tile[32];
    float sum = 0;
    for (int t = 0; t < n / 32; t++) {
        tile[(threadIdx.x + t) % 32] = x[t * 32 + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 32; k++) sum += tile[k] * (k + 1);
        __syncthreads();
    }
    y[threadIdx.x] = sum;
}

// Half of the threads fill the tile; the other half was filled in the round before.
__global__ void halves_in_turn(const float *x, float *y, int n) {
    __shared__ float tile[32];
    float sum = 0;
    tile[threadIdx.x] = 0;
    __syncthreads();
    for (int t = 0; t < n / 32; t++) {
        if (threadIdx.x / 16 == t % 2) tile[threadIdx.x] = x[t * 32 + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 32; k++) sum += tile[k] * (k + 1);
        __syncthreads();
    }
    y[threadIdx.x] = sum;
}

// What a thread reads of y another thread has written in the round before.
__global__ void through_global_memory(const float *x, float *y, int rounds) {
    __shared__ float tile[32];
    for (int t = 1; t < rounds; t++) {
        tile[threadIdx.x] = y[(t - 1) * 32 + threadIdx.x];
        __syncthreads();
        y[t * 32 + threadIdx.x] = 0.5f * tile[(threadIdx.x + 1) % 32] + x[t * 32 + threadIdx.x];
        __syncthreads();
    }
}

// The array that the tile is a copy of is changed while the tile is still read.
__global__ void source_is_changed(float *x, float *y, int n) {
    __shared__ float tile[34];
    int i = blockIdx.x * 32 + threadIdx.x;
    tile[threadIdx.x + 1] = x[i + 1];
    if (threadIdx.x == 0) tile[0] = x[i];
    if (threadIdx.x == 31) tile[33] = x[i + 2];
    __syncthreads();
    float left = tile[threadIdx.x];
    y[i] = left;
    x[i + 1] = 2 * left;
    __syncthreads();
    y[n + i] = tile[threadIdx.x] + 10 * tile[threadIdx.x + 2];
}

// The halo on the left is filled in other blocks than the one on the right.
__global__ void halos_of_some_blocks(const float *x, float *y, int n) {
    __shared__ float tile[34];
    int i = blockIdx.x * 32 + threadIdx.x;
    tile[threadIdx.x + 1] = x[i];
    if (threadIdx.x == 0) tile[0] = -1, tile[33] = -2;
    __syncthreads();
    if (threadIdx.x == 0 && blockIdx.x > 0) tile[0] = x[i - 1];
    if (threadIdx.x == 31 && i + 1 < n) tile[33] = x[i + 1];
    __syncthreads();
    y[i] = tile[threadIdx.x] + 10 * tile[threadIdx.x + 2];
}

__global__ void halo_of_another_array(const float *x, const float *edge, float *y) {
    __shared__ float tile[34];
    int i = blockIdx.x * 32 + threadIdx.x;
    tile[threadIdx.x + 1] = x[i];
    if (threadIdx.x == 0) tile[0] = edge[2 * blockIdx.x];
    if (threadIdx.x == 31) tile[33] = edge[2 * blockIdx.x + 1];
    __syncthreads();
    y[i] = tile[threadIdx.x] + 10 * tile[threadIdx.x + 2];
}

// A halo that does not follow on from the tile: it wraps around.
__global__ void halo_around(const float *x, float *y, int n) {
    __shared__ float tile[34];
    int i = blockIdx.x * 32 + threadIdx.x;
    tile[threadIdx.x + 1] = x[i];
    if (threadIdx.x == 0) tile[0] = x[(i + n - 1) % n];
    if (threadIdx.x == 31) tile[33] = x[(i + 1) % n];
    __syncthreads();
    y[i] = tile[threadIdx.x] + 10 * tile[threadIdx.x + 2];
}

__global__ void backwards_with_gaps(const float *x, float *y) {
    __shared__ float tile[64];
    tile[threadIdx.x] = 1, tile[threadIdx.x + 32] = 2;
    __syncthreads();
    tile[62 - 2 * threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    y[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x];
    y[blockIdx.x * 64 + 32 + threadIdx.x] = tile[63 - threadIdx.x];
}

__global__ void counts_in_rounds(const int *x, int *y, int rounds) {
    __shared__ int counts[8];
    for (int t = 0; t < rounds; t++) {
        if (threadIdx.x < 8) counts[threadIdx.x] = 0;
        __syncthreads();
        atomicAdd(&counts[x[t * 32 + threadIdx.x]], 1);
        __syncthreads();
        if (threadIdx.x < 8) y[t * 8 + threadIdx.x] = counts[threadIdx.x];
        __syncthreads();
    }
}

__global__ void trees_in_rounds(const float *x, float *y, int rounds) {
    __shared__ float partial[64];
    for (int t = 0; t < rounds; t++) {
        partial[threadIdx.x] = x[t * 64 + threadIdx.x];
        __syncthreads();
        for (int s = 32; s > 0; s /= 2) {
            if (threadIdx.x < s) partial[threadIdx.x] += partial[threadIdx.x + s];
            __syncthreads();
        }
        if (threadIdx.x == 0) y[t] = partial[0];
        __syncthreads();
    }
}

// Two tiles in one buffer, which overlap.
__global__ void overlapping_views(const float *x, float *y) {
    __shared__ float buffer[48];
    float *first = buffer, *second = buffer + 16;
    int i = blockIdx.x * 32 + threadIdx.x;
    first[threadIdx.x] = x[i];
    __syncthreads();
    second[threadIdx.x] = 2 * x[i];
    __syncthreads();
    y[i] = first[31 - threadIdx.x];
}

// A tile whose blocks differ in what they load.
__global__ void tile_of_every_other_block(const float *x, float *y) {
    __shared__ float tile[32];
    int i = blockIdx.x * 32 + threadIdx.x;
    tile[threadIdx.x] = -1;
    __syncthreads();
    if (blockIdx.x % 2 == 0) tile[threadIdx.x] = x[i];
    if (blockIdx.x == 3) tile[threadIdx.x] = 2 * x[i];
    __syncthreads();
    y[i] = tile[31 - threadIdx.x];
}

// Block 0 has no halo on the left: there is still what was there before the rounds.
__global__ void halos_in_rounds(const float *x, float *y, int n, int rounds) {
    __shared__ float tile[33];
    int i = blockIdx.x * 32 + threadIdx.x;
    if (threadIdx.x == 0) tile[0] = -1;
    __syncthreads();
    for (int t = 0; t < rounds; t++) {
        tile[threadIdx.x + 1] = x[t * n + i];
        if (threadIdx.x == 0 && blockIdx.x > 0) tile[0] = x[t * n + i - 1];
        __syncthreads();
        y[t * n + i] = tile[threadIdx.x] + 10 * tile[threadIdx.x + 1];
        __syncthreads();
    }
}

// Each thread goes on with what its neighbour has stored in the round before.
__global__ void neighbours_in_rounds(const float *x, float *y, int rounds) {
    for (int t = 0; t < rounds; t++) {
        float v = y[t * 64 + threadIdx.x + 1];
        y[(t + 1) * 64 + threadIdx.x] = 0.5f * v + x[t * 32 + threadIdx.x];
        __syncthreads();
    }
}
