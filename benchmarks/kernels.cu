// The kernels that are timed. nvcc compiles the same file where there is a GPU.

extern "C" __global__ void heat(const float *now, float *next, int rows, int columns, float c) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && x < columns - 1 && y > 0 && y < rows - 1) {
        int i = y * columns + x;
        next[i] = now[i] + c * (now[i - 1] + now[i + 1] + now[i - columns] + now[i + columns] - 4.0f * now[i]);
    }
}

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
