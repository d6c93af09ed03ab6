// Shapes of launches: strides over the grid, one block for each row, odd ways to number threads.

__global__ void grid_stride(float a, const float *x, float *y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

__global__ void grid_stride_plane(const float *x, float *y, int rows, int columns) {
    for (int r = blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += gridDim.y * blockDim.y)
        for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < columns; c += gridDim.x * blockDim.x)
            y[r * columns + c] = x[r * columns + c] * (r + 1) - c;
}

__global__ void block_for_row(const float *x, float *y, int columns) {
    int r = blockIdx.x;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) y[r * columns + c] = 2.0f * x[r * columns + c];
}

__global__ void several_each(const int *x, int *y, int n) {
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    for (int k = 0; k < 4; k++)
        if (first + k < n) y[first + k] = x[first + k] * 3;
}

__global__ void blocked_each(const int *x, int *y, int n, int share) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int begin = thread * share, end = min(begin + share, n);
    for (int i = begin; i < end; i++) y[i] = x[i] - 7;
}

__global__ void flattened_plane_of_blocks(const int *x, int *y, int n) {
    int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + blockIdx.y;
}

__global__ void flattened_block(const int *x, int *y, int n) {
    int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    int i = blockIdx.x * blockDim.x * blockDim.y * blockDim.z + thread;
    if (i < n) y[i] = x[i] * thread;
}

__global__ void identify(int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = threadIdx.x + 1000 * blockIdx.x + 100000 * blockDim.x + gridDim.x;
}

__global__ void batch_in_z(const float *x, const float *scale, float *y, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int b = blockIdx.z;
    if (r < rows && c < columns) y[(b * rows + r) * columns + c] = scale[b] * x[(b * rows + r) * columns + c];
}

__global__ void rows_on_x(const float *x, float *y, int rows, int columns) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    int c = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < columns) y[r * columns + c] = -x[r * columns + c];
}

__global__ void lane_numbers(int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (threadIdx.x & 31) + 100 * (threadIdx.x >> 5) + 1000 * warpSize;
}
