// Kernels that only move data: what a load and a store become when the index is affine, reversed, rotated or clamped.

__global__ void fill(float *x, int n, float value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = value;
}

__global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void reverse(const float *source, float *target, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) target[n - 1 - i] = source[i];
}

__global__ void deinterleave(const float *pairs, float *even, float *odd, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    even[i] = pairs[2 * i];
    odd[i] = pairs[2 * i + 1];
}

__global__ void interleave(const float *even, const float *odd, float *pairs, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        pairs[2 * i] = even[i];
        pairs[2 * i + 1] = odd[i];
    }
}

__global__ void every_other(const float *source, float *target, int n) {
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) target[i] = -source[i];
}

__global__ void transpose(const float *matrix, float *transposed, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < columns && y < rows) transposed[x * rows + y] = matrix[y * columns + x];
}

__global__ void rotate(const float *source, float *target, int n, int shift) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) target[i] = source[(i + shift) % n];
}

__global__ void rotate_down(const float *source, float *target, int n, int shift) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) target[(i + n - shift) % n] = source[i];
}

__global__ void clamped_shift(const float *source, float *target, int n, int shift) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) target[i] = source[min(max(i + shift, 0), n - 1)];
}

__global__ void mirrored_shift(const float *source, float *target, int n, int shift) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int j = i + shift;
    if (j < 0) j = -j;
    if (j >= n) j = 2 * n - 2 - j;
    target[i] = source[j];
}

__global__ void add_to_rows(const float *row, float *matrix, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < columns && y < rows) matrix[y * columns + x] += row[x];
}

__global__ void add_to_columns(const float *column, float *matrix, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < columns && y < rows) matrix[y * columns + x] += column[y];
}

__global__ void copy_block(const float *source, int source_pitch, int top, int left, float *target, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < columns && y < rows) target[y * columns + x] = source[(top + y) * source_pitch + left + x];
}

__global__ void paste_block(float *target, int target_pitch, int top, int left, const float *source, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < columns && y < rows) target[(top + y) * target_pitch + left + x] = source[y * columns + x];
}

__global__ void lower_triangle(const float *matrix, float *triangle, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < columns && y < rows && x <= y) triangle[y * columns + x] = matrix[y * columns + x];
}

__global__ void enlarge(const float *small, float *large, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < columns && y < rows) large[y * columns + x] = small[(y / 2) * ((columns + 1) / 2) + x / 2];
}

__global__ void set_diagonal(float *matrix, const float *values, int n, int pitch) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) matrix[i * pitch + i] = values[i];
}

__global__ void permute_axes(const float *volume, float *permuted, int depth, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < columns && y < rows && z < depth)
        permuted[(x * depth + z) * rows + y] = volume[(z * rows + y) * columns + x];
}

__global__ void split_index(const float *flat, float *transposed, int rows, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * columns) return;
    int y = i / columns, x = i % columns;
    transposed[x * rows + y] = flat[i];
}

__global__ void swap_halves(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2) {
        float kept = x[i];
        x[i] = x[n / 2 + i];
        x[n / 2 + i] = kept;
    }
}
