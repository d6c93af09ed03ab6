// Products of matrices, vectors and filters, written naively.

__global__ void matmul(const float *a, const float *b, float *c, int rows, int columns, int inner) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    float sum = 0.0f;
    for (int k = 0; k < inner; k++) sum += a[y * inner + k] * b[k * columns + x];
    c[y * columns + x] = sum;
}

__global__ void matmul_transposed(const float *a, const float *b, float *c, int rows, int columns, int inner) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    float sum = 0.0f;
    for (int k = 0; k < inner; k++) sum += a[k * rows + y] * b[x * inner + k];
    c[y * columns + x] = sum;
}

__global__ void gemm(const double *a, const double *b, double *c, int rows, int columns, int inner, double alpha, double beta) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    double sum = 0.0;
    for (int k = 0; k < inner; k++) sum += a[y * inner + k] * b[k * columns + x];
    c[y * columns + x] = alpha * sum + beta * c[y * columns + x];
}

__global__ void matmul_integers(const int *a, const int *b, int *c, int rows, int columns, int inner) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    int sum = 0;
    for (int k = 0; k < inner; k++) sum += a[y * inner + k] * b[k * columns + x];
    c[y * columns + x] = sum;
}

__global__ void matmul_batched(const float *a, const float *b, float *c, int rows, int columns, int inner) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int batch = blockIdx.z;
    if (x >= columns || y >= rows) return;
    a += batch * rows * inner;
    b += batch * inner * columns;
    float sum = 0.0f;
    for (int k = 0; k < inner; k++) sum += a[y * inner + k] * b[k * columns + x];
    c[(batch * rows + y) * columns + x] = sum;
}

__global__ void matrix_times_vector(const float *matrix, const float *vector, float *out, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    float sum = 0.0f;
    for (int x = 0; x < columns; x++) sum += matrix[y * columns + x] * vector[x];
    out[y] = sum;
}

__global__ void lower_triangle_times_vector(const float *matrix, const float *vector, float *out, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    float sum = 0.0f;
    for (int x = 0; x <= y && x < columns; x++) sum += matrix[y * columns + x] * vector[x];
    out[y] = sum;
}

__global__ void outer_product(const float *a, const float *b, float *c, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < columns && y < rows) c[y * columns + x] = a[y] * b[x];
}

__global__ void row_dots(const float *a, const float *b, float *out, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    float sum = 0.0f;
    for (int x = 0; x < columns; x++) sum += a[y * columns + x] * b[y * columns + x];
    out[y] = sum;
}

__global__ void filter_line(const float *x, const float *taps, float *out, int n, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > n - width) return;
    float sum = 0.0f;
    for (int k = 0; k < width; k++) sum += taps[k] * x[i + k];
    out[i] = sum;
}

__global__ void filter_plane(const float *image, const float *taps, float *out, int rows, int columns, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    float sum = 0.0f;
    for (int ky = 0; ky < width; ky++)
        for (int kx = 0; kx < width; kx++)
            sum += taps[ky * width + kx] * image[(y + ky) * (columns + width - 1) + x + kx];
    out[y * columns + x] = sum;
}

__global__ void squared_distances(const float *points, const float *centres, float *out, int rows, int columns, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    float sum = 0.0f;
    for (int k = 0; k < width; k++) {
        float difference = points[y * width + k] - centres[x * width + k];
        sum += difference * difference;
    }
    out[y * columns + x] = sum;
}

__global__ void nearest_centre(const float *points, const float *centres, int *nearest, int n, int count, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int best = -1;
    float least = 3.0e38f;
    for (int c = 0; c < count; c++) {
        float sum = 0.0f;
        for (int k = 0; k < width; k++) {
            float difference = points[i * width + k] - centres[c * width + k];
            sum += difference * difference;
        }
        if (sum < least) {
            least = sum;
            best = c;
        }
    }
    nearest[i] = best;
}

__global__ void pairwise_forces(const float *position, float *force, int n, float softening) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float fx = 0.0f, fy = 0.0f;
    for (int j = 0; j < n; j++) {
        float dx = position[2 * j] - position[2 * i], dy = position[2 * j + 1] - position[2 * i + 1];
        float inverse = 1.0f / sqrtf(dx * dx + dy * dy + softening);
        fx += dx * inverse * inverse * inverse;
        fy += dy * inverse * inverse * inverse;
    }
    force[2 * i] = fx;
    force[2 * i + 1] = fy;
}
