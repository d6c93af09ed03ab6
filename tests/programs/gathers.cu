// Loads whose index comes from data.

__global__ void pick(const float *values, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = values[index[i]];
}

__global__ void pick_through_two(const float *values, const int *outer, const int *inner, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = values[inner[outer[i]]];
}

__global__ void pick_where_valid(const float *values, const int *index, float *out, int n, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int j = index[i];
    if (j >= 0 && j < count) out[i] = values[j];
    else out[i] = -1.0f;
}

__global__ void pick_rows(const float *table, const int *index, float *out, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < columns && y < rows) out[y * columns + x] = table[index[y] * columns + x];
}

__global__ void pick_complex(const float2 *values, const int *index, float2 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = values[index[i]];
}

__global__ void sparse_times_vector(const int *start, const int *column, const float *value, const float *x, float *y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = start[row]; k < start[row + 1]; k++) sum += value[k] * x[column[k]];
    y[row] = sum;
}

__global__ void padded_sparse_times_vector(const int *column, const float *value, const float *x, float *y, int rows, int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = 0; k < width; k++) {
        int c = column[k * rows + row];
        if (c >= 0) sum += value[k * rows + row] * x[c];
    }
    y[row] = sum;
}

__global__ void interpolate(const float *table, int size, const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float place = x[i] * (size - 1);
    int left = (int)place;
    if (left < 0) left = 0;
    if (left > size - 2) left = size - 2;
    float weight = place - left;
    out[i] = (1.0f - weight) * table[left] + weight * table[left + 1];
}

__global__ void edges_of_cells(const int *edge_of_cell, const float *flux, const float *area, float *out, int cells) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= cells) return;
    float sum = 0.0f;
    for (int k = 0; k < 3; k++) {
        int e = edge_of_cell[3 * c + k];
        sum += e >= 0 ? flux[e] : -flux[-e - 1];
    }
    out[c] = sum / area[c];
}

__global__ void warp_image(const float *image, const float *dx, const float *dy, float *out, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    int sx = min(max((int)floorf(x + dx[y * columns + x]), 0), columns - 1);
    int sy = min(max((int)floorf(y + dy[y * columns + x]), 0), rows - 1);
    out[y * columns + x] = image[sy * columns + sx];
}

__global__ void follow_links(const int *next, int *out, int n, int hops) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int place = i;
    for (int k = 0; k < hops; k++) place = next[place];
    out[i] = place;
}
