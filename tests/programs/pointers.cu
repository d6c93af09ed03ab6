// Pointers: offsets, increments, selection, swapping, aliasing, reinterpretation.

__global__ void row_by_pointer(const float *matrix, float *out, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    const float *row = matrix + y * columns;
    out += y;
    *out = row[0] - row[columns - 1];
}

__global__ void walk(const float *matrix, float *sums, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= rows) return;
    const float *p = matrix + y * columns, *end = p + columns;
    float sum = 0.0f;
    while (p != end) sum += *p++;
    sums[y] = sum;
}

__global__ void choose_source(const float *a, const float *b, float *out, int n, int flag) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float *source = flag ? a : b;
    if (i < n) out[i] = source[i];
}

__global__ void choose_source_by_thread(const float *a, const float *b, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float *source = i % 3 == 0 ? a : b;
    out[i] = source[i] + 1.0f;
}

__global__ void ping_pong(float *a, float *b, int n, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float *from = a, *to = b;
    for (int k = 0; k < rounds; k++) {
        to[i] = 0.5f * from[i] + 1.0f;
        float *kept = from;
        from = to;
        to = kept;
    }
}

__global__ void middle_pointer(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float *middle = x + n / 2;
    if (i < n) out[i] = middle[i - n / 2] * 2.0f;
}

__global__ void add_into(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + y[i];
}

__global__ void shift_by_one(const float *source, float *target, int n) {
    for (int i = 0; i < n; i++) target[i] = source[i] + 1.0f;
}

__global__ void copy_far(const float *source, float *target, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) target[i] = source[i];
}

__global__ void tensor_of_arrays(double (*tensor)[2][3], const double *values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 3; b++) tensor[i][a][b] = values[i] * (a + 1) - b;
}

__global__ void four_at_once(const float *x, float *out, int quads) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= quads) return;
    float4 v = reinterpret_cast<const float4 *>(x)[i];
    reinterpret_cast<float4 *>(out)[i] = make_float4(v.w, v.z, v.y, v.x);
}

__global__ void bytes_of_words(const unsigned int *words, unsigned char *bytes, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned char *p = reinterpret_cast<const unsigned char *>(words + i);
    for (int k = 0; k < 4; k++) bytes[4 * i + k] = p[3 - k];
}

__global__ void optional_mask(const float *x, const int *mask, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (mask == nullptr || mask[i]) out[i] = x[i];
}

__global__ void difference_of_pointers(const float *begin, const float *end_marker, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (int)(&begin[i] - begin) * 2 + (begin + n - &begin[i] > 2);
}
