// Serial loops inside a thread: short, long, counted down, geometric, with breaks, with trip counts that data decide.

__global__ void polynomial(const float *coefficients, int degree, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = coefficients[degree];
    for (int k = degree - 1; k >= 0; k--) value = value * x[i] + coefficients[k];
    y[i] = value;
}

__global__ void logistic_map(float *x, int n, float rate, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = x[i];
    for (int k = 0; k < steps; k++) value = rate * value * (1.0f - value);
    x[i] = value;
}

__global__ void fibonacci(unsigned int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned int a = 0, b = 1;
    for (int k = 0; k < i; k++) {
        unsigned int sum = a + b;
        a = b;
        b = sum;
    }
    x[i] = a;
}

__global__ void collatz(const int *start, int *steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int value = start[i], count = 0;
    while (value != 1) {
        value = value % 2 == 0 ? value / 2 : 3 * value + 1;
        count++;
    }
    steps[i] = count;
}

__global__ void square_root(const double *x, double *root, int *rounds, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double guess = x[i] > 1.0 ? x[i] : 1.0;
    int k = 0;
    for (; k < 100; k++) {
        double better = 0.5 * (guess + x[i] / guess);
        if (better >= guess) break;
        guess = better;
    }
    root[i] = guess;
    rounds[i] = k;
}

__global__ void lower_bound(const int *sorted, int count, const int *wanted, int *place, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < wanted[i]) low = middle + 1;
        else high = middle;
    }
    place[i] = low;
}

__global__ void greatest_divisor(const int *a, const int *b, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int p = a[i], q = b[i];
    while (q) {
        int rest = p % q;
        p = q;
        q = rest;
    }
    out[i] = p;
}

__global__ void mandelbrot(int *iterations, int rows, int columns, int limit) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    float cr = -2.0f + 3.0f * x / columns, ci = -1.5f + 3.0f * y / rows, zr = 0.0f, zi = 0.0f;
    int k = 0;
    while (k < limit && zr * zr + zi * zi < 4.0f) {
        float next = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = next;
        k++;
    }
    iterations[y * columns + x] = k;
}

__global__ void reverse_bits(const unsigned int *x, unsigned int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned int result = 0;
    for (unsigned int low = 1, high = 1u << 31; low; low <<= 1, high >>= 1)
        if (x[i] & low) result |= high;
    out[i] = result;
}

__global__ void sum_of_earlier(const int *x, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = 0;
    for (int j = 0; j <= i; j++) sum += x[j];
    out[i] = sum;
}

__global__ void strided_sum(const int *x, int *partial, int n, int lanes) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= lanes) return;
    int sum = 0;
    for (int j = i; j < n; j += lanes) sum += x[j];
    partial[i] = sum;
}

__global__ void doubling(const int *x, int *out, int n, int limit) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int value = x[i], rounds = 0;
    do {
        value *= 2;
        rounds++;
    } while (value < limit && rounds < 20);
    out[i] = value + rounds;
}

__global__ void sum_positive_until_zero(const int *x, int *out, int n, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = 0;
    for (int j = 0; j < width; j++) {
        int value = x[i * width + j];
        if (value < 0) continue;
        if (value == 0) break;
        sum += value;
    }
    out[i] = sum;
}

__global__ void count_pairs(const int *x, int *out, int n, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int count = 0;
    for (int a = 0; a < width; a++)
        for (int b = a + 1; b < width; b++)
            if (x[i * width + a] + x[i * width + b] == 0) count++;
    out[i] = count;
}

__global__ void iterate_in_memory(float *x, int n, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int k = 0; k < steps; k++) x[i] = 0.5f * x[i] + 1.0f;
}

__global__ void halve_until_small(const float *x, float *out, int *rounds, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float value = x[i];
        int k = 0;
        while (fabsf(value) > 0.01f) {
            value *= 0.5f;
            k++;
        }
        out[i] = value;
        rounds[i] = k;
    }
}

__global__ void count_blocks(const unsigned *lengths, unsigned *blocks, unsigned *left, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned length = lengths[i], count = 0;
    while (length > 12) {
        count += length & 7;
        length -= 12;
    }
    blocks[i] = count;
    left[i] = length;
}
