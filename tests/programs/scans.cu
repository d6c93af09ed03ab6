// Loops that carry a value from one element to the next: scans, recurrences, solvers along a column.

__global__ void row_prefix_sum(const int *matrix, int *sums, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    int sum = 0;
    for (int x = 0; x < columns; x++) {
        sum += matrix[y * columns + x];
        sums[y * columns + x] = sum;
    }
}

__global__ void column_integral(const float *density, const float *thickness, float *pressure, int levels, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= columns) return;
    float above = 0.0f;
    for (int z = 0; z < levels; z++) {
        float weight = density[z * columns + x] * thickness[z];
        pressure[z * columns + x] = above + 0.5f * weight;
        above += weight;
    }
}

__global__ void column_integral_upward(const float *source, float *at_faces, int levels, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= columns) return;
    at_faces[levels * columns + x] = 0.0f;
    for (int z = levels - 1; z >= 0; z--)
        at_faces[z * columns + x] = at_faces[(z + 1) * columns + x] + source[z * columns + x];
}

__global__ void running_greatest(const float *matrix, float *out, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    float best = -INFINITY;
    for (int x = 0; x < columns; x++) {
        best = fmaxf(best, matrix[y * columns + x]);
        out[y * columns + x] = best;
    }
}

__global__ void exponential_average(const float *x, float *out, int rows, int columns, float weight) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    float average = x[y * columns];
    for (int t = 0; t < columns; t++) {
        average = weight * x[y * columns + t] + (1.0f - weight) * average;
        out[y * columns + t] = average;
    }
}

__global__ void second_order_recurrence(float *x, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    for (int t = 2; t < columns; t++)
        x[y * columns + t] += 0.5f * x[y * columns + t - 1] - 0.25f * x[y * columns + t - 2];
}

__global__ void solve_tridiagonal(const double *lower, const double *diagonal, const double *upper, double *right,
                                  double *scratch, int levels, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= columns) return;
    double pivot = diagonal[x];
    right[x] /= pivot;
    for (int z = 1; z < levels; z++) {
        int i = z * columns + x;
        scratch[i] = upper[i - columns] / pivot;
        pivot = diagonal[i] - lower[i] * scratch[i];
        right[i] = (right[i] - lower[i] * right[i - columns]) / pivot;
    }
    for (int z = levels - 2; z >= 0; z--) {
        int i = z * columns + x;
        right[i] -= scratch[i + columns] * right[i + columns];
    }
}

__global__ void count_runs(const int *matrix, int *runs, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    int count = 0, last = -1;
    for (int x = 0; x < columns; x++) {
        int value = matrix[y * columns + x];
        if (value != last) count++;
        last = value;
    }
    runs[y] = count;
}

__global__ void longest_climb(const float *matrix, int *longest, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    int best = 1, current = 1;
    for (int x = 1; x < columns; x++) {
        current = matrix[y * columns + x] > matrix[y * columns + x - 1] ? current + 1 : 1;
        best = max(best, current);
    }
    longest[y] = best;
}
