// Stores whose index comes from data.

__global__ void put(const float *values, const int *place, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[place[i]] = values[i];
}

__global__ void put_where_valid(const float *values, const int *place, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && place[i] >= 0) out[place[i]] = 2.0f * values[i];
}

__global__ void add_at(float *out, const int *place, const float *values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[place[i]] += values[i];
}

__global__ void mark(const int *place, int *marks, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) marks[place[i]] = 1;
}

__global__ void put_rows(const float *values, const int *place, float *table, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < columns && y < rows) table[place[y] * columns + x] = values[y * columns + x];
}

__global__ void row_histogram(const int *matrix, int *counts, int rows, int columns, int bins) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    for (int b = 0; b < bins; b++) counts[y * bins + b] = 0;
    for (int x = 0; x < columns; x++) counts[y * bins + matrix[y * columns + x]]++;
}

__global__ void counting_sort(const int *keys, int *offsets, int *sorted, int n, int range) {
    for (int k = 0; k <= range; k++) offsets[k] = 0;
    for (int i = 0; i < n; i++) offsets[keys[i] + 1]++;
    for (int k = 0; k < range; k++) offsets[k + 1] += offsets[k];
    for (int i = 0; i < n; i++) {
        int place = offsets[keys[i]]++;
        sorted[place] = keys[i];
    }
}

__global__ void compact(const float *values, const int *place, float *kept, int n, float bound) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && values[i] > bound) kept[place[i]] = values[i];
}

__global__ void swap_pairs(float *x, const int *left, const int *right, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float kept = x[left[i]];
    x[left[i]] = x[right[i]];
    x[right[i]] = kept;
}

__global__ void put_quadratic(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i * (i + 1) / 2] = x[i];
}
