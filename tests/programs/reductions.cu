// Reductions along rows, columns and windows, one thread for each result.

__global__ void row_sum(const float *matrix, float *sums, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    float sum = 0.0f;
    for (int x = 0; x < columns; x++) sum += matrix[y * columns + x];
    sums[y] = sum;
}

__global__ void column_sum(const float *matrix, float *sums, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= columns) return;
    float sum = 0.0f;
    for (int y = 0; y < rows; y++) sum += matrix[y * columns + x];
    sums[x] = sum;
}

__global__ void add_row_sum_in_memory(const float *matrix, float *sums, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y < rows)
        for (int x = 0; x < columns; x++) sums[y] += matrix[y * columns + x];
}

__global__ void row_extremes(const float *matrix, float *least, float *greatest, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    float low = matrix[y * columns], high = low;
    for (int x = 1; x < columns; x++) {
        low = fminf(low, matrix[y * columns + x]);
        high = fmaxf(high, matrix[y * columns + x]);
    }
    least[y] = low;
    greatest[y] = high;
}

__global__ void row_place_of_greatest(const float *matrix, int *place, float *greatest, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    int best = 0;
    float value = matrix[y * columns];
    for (int x = 1; x < columns; x++)
        if (matrix[y * columns + x] > value) {
            value = matrix[y * columns + x];
            best = x;
        }
    place[y] = best;
    greatest[y] = value;
}

__global__ void row_products(const double *matrix, double *products, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    double product = 1.0;
    for (int x = 0; x < columns; x++) product *= matrix[y * columns + x];
    products[y] = product;
}

__global__ void row_softmax(const float *matrix, float *out, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    float highest = -INFINITY, total = 0.0f;
    for (int x = 0; x < columns; x++) highest = fmaxf(highest, matrix[y * columns + x]);
    for (int x = 0; x < columns; x++) total += expf(matrix[y * columns + x] - highest);
    for (int x = 0; x < columns; x++) out[y * columns + x] = expf(matrix[y * columns + x] - highest) / total;
}

__global__ void row_moments(const double *matrix, double *mean, double *variance, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    double sum = 0.0, squares = 0.0;
    for (int x = 0; x < columns; x++) sum += matrix[y * columns + x];
    double average = sum / columns;
    for (int x = 0; x < columns; x++) {
        double difference = matrix[y * columns + x] - average;
        squares += difference * difference;
    }
    mean[y] = average;
    variance[y] = squares / columns;
}

__global__ void row_counts(const int *matrix, int *above, int *any, int *all, int rows, int columns, int bound) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    int count = 0;
    bool some = false, every = true;
    for (int x = 0; x < columns; x++) {
        bool is_above = matrix[y * columns + x] > bound;
        if (is_above) count++;
        some = some || is_above;
        every = every && is_above;
    }
    above[y] = count;
    any[y] = some;
    all[y] = every;
}

__global__ void wrapping_sum(const int *matrix, int *sums, unsigned int *mixed, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    int sum = 0;
    unsigned int mix = 0;
    for (int x = 0; x < columns; x++) {
        sum += matrix[y * columns + x];
        mix ^= (unsigned int)matrix[y * columns + x] * 3u;
    }
    sums[y] = sum;
    mixed[y] = mix;
}

__global__ void total(const double *x, double *sum, int n) {
    double value = 0.0;
    for (int i = 0; i < n; i++) value += x[i];
    *sum = value;
}

__global__ void window_sum(const float *x, float *out, int n, int radius) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int j = max(i - radius, 0); j <= min(i + radius, n - 1); j++) sum += x[j];
    out[i] = sum;
}

__global__ void pool(const float *source, float *target, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    float best = -INFINITY;
    for (int dy = 0; dy < 2; dy++)
        for (int dx = 0; dx < 2; dx++) best = fmaxf(best, source[(2 * y + dy) * 2 * columns + 2 * x + dx]);
    target[y * columns + x] = best;
}

__global__ void volume_sum(const float *volume, float *sums, int depth, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    float sum = 0.0f;
    for (int z = 0; z < depth; z++)
        for (int x = 0; x < columns; x++) sum += volume[(z * rows + y) * columns + x];
    sums[y] = sum;
}
