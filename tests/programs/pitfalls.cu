// Small kernels of the shapes that other raising compilers are known to get wrong without a word.

// An accumulation at an index that depends on data must not become an overwrite.
__global__ void accumulate_by_class(const int *kind, const float *x, float *sums, int n, int width) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= n) return;
    for (int k = 0; k < width; k++) sums[y * 4 + kind[y * width + k]] += x[y * width + k];
}

// A constant that a condition overwrites later must not be propagated.
__global__ void constant_then_changed(const int *x, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int value = 5;
    for (int k = 0; k < 3; k++) {
        if (x[i] > k) value = 7 * k;
        out[i * 3 + k] = value;
    }
}

// A constant stored to memory and read after another store to the same place.
__global__ void constant_through_memory(int *scratch, int *out, int n, int place) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    scratch[2 * i] = 11;
    scratch[2 * i + 1] = 13;
    scratch[2 * i + place] = 17;
    out[i] = scratch[2 * i] * 100 + scratch[2 * i + 1];
}

// A gather of complex numbers.
__global__ void gather_products(const float2 *a, const int *index, float2 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 p = a[index[i]], q = a[index[n - 1 - i]];
    out[i] = make_float2(p.x * q.x - p.y * q.y, p.x * q.y + p.y * q.x);
}

// A serial integral down a column, read by a second column loop.
__global__ void hydrostatic(const float *density, float *pressure, float *gradient, int levels, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= columns) return;
    pressure[(levels - 1) * columns + x] = 0.5f * density[(levels - 1) * columns + x];
    for (int z = levels - 2; z >= 0; z--)
        pressure[z * columns + x] =
            pressure[(z + 1) * columns + x] + 0.5f * (density[z * columns + x] + density[(z + 1) * columns + x]);
    for (int z = 0; z < levels; z++) gradient[z * columns + x] = pressure[z * columns + x] - pressure[x];
}

// A stencil with an `if` for each boundary.
__global__ void stencil_with_ifs(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (i == 0) out[i] = x[1] - x[0];
    else if (i == n - 1) out[i] = x[n - 1] - x[n - 2];
    else out[i] = 0.5f * (x[i + 1] - x[i - 1]);
}

// A small array under a large block.
__global__ void small_under_large(const float *x, float *out) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < 4 && r < 4) out[r * 4 + c] = x[c * 4 + r] + 1.0f;
}

// Memory local to a thread, written in one loop and read in another.
__global__ void local_memory(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float kept[4];
    for (int k = 0; k < 4; k++) kept[k] = x[(i + k) % n];
    float sum = 0.0f;
    for (int k = 3; k >= 0; k--) sum = 2.0f * sum + kept[k];
    out[i] = sum;
}

// The smallest kernels.
__global__ void one_store(int *out) { out[0] = 42; }
__global__ void copy_scalar(const double *x, double *out) { *out = *x; }
__global__ void nothing(int *out) {}

// A sum that starts from c and adds the same x N times is N x + c.
__global__ void sum_of_same(const float *x, const float *c, float *out, int n, int times) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = c[i];
    for (int k = 0; k < times; k++) sum += x[i];
    out[i] = sum;
}

// A window written at a place given at launch and read back at another.
__global__ void write_then_read_window(float *x, const float *values, const int *place, float *out, int width) {
    int i = threadIdx.x;
    if (i >= width) return;
    x[place[0] + i] = values[i];
    out[i] = x[place[0] + i] + x[place[1] + i];
}

// Three parts of one array written by three branches.
__global__ void three_parts(const float *a, const float *b, const float *c, float *out, int na, int nb, int nc) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < na) out[i] = a[i];
    else if (i < na + nb) out[i] = b[i - na];
    else if (i < na + nb + nc) out[i] = c[i - na - nb];
}

// A value that is negated and transposed twice over.
__global__ void there_and_back(const float *x, float *between, float *out, int n) {
    int c = threadIdx.x, r = threadIdx.y;
    if (c >= n || r >= n) return;
    float value = -(-x[r * n + c]);
    between[c * n + r] = value;
    out[r * n + c] = between[c * n + r];
}

// Old values outside of the written part must survive.
__global__ void partial_cover(float *x, int first, int last, int step) {
    int i = first + step * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i < last) x[i] = -1.0f;
}

// Two stores to the same place: the second wins, but only where it happens.
__global__ void store_after_store(float *out, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = 1.0f;
    if (x[i] > 0.0f) out[i] = 2.0f;
    if (i % 5 == 0) out[i] = out[i] + 10.0f;
}

// A read before the write to the same array by the same thread.
__global__ void read_then_overwrite(float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float before = x[i];
    x[i] = 3.0f * before;
    out[i] = before + x[i];
    x[i] = out[i] * out[i];
}
