// The same in C with OpenMP, as one writes it for a CPU: no tiles but where the order of the work asks for them.
#include <stdlib.h>
#include <string.h>

static int least(int a, int b) { return a < b ? a : b; }
static int most_of(int a, int b) { return a > b ? a : b; }

void product(const float *restrict a, const float *restrict b, float *restrict c, int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) c[i * n + j] = 0;
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
}

void transpose(const float *restrict from, float *restrict to, int n) {
#pragma omp parallel for collapse(2)
    for (int y = 0; y < n; y += 32)
        for (int x = 0; x < n; x += 32)
            for (int j = 0; j < 32; j++)
                for (int i = 0; i < 32; i++) to[(x + j) * n + y + i] = from[(y + i) * n + x + j];
}

void histogram(const int *restrict x, int *restrict counts, int n) {
#pragma omp parallel
    {
        int own[256] = {0};
#pragma omp for
        for (int i = 0; i < n; i++) own[x[i]]++;
#pragma omp critical
        for (int i = 0; i < 256; i++) counts[i] += own[i];
    }
}

void sums(const float *restrict x, float *restrict sums, int rows) {
#pragma omp parallel for
    for (int i = 0; i < rows; i++) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int j = 0; j < 256; j++) sum += x[i * 256 + j];
        sums[i] = sum;
    }
}

void compact(const int *restrict x, int *restrict counts, int rows) {
#pragma omp parallel for
    for (int i = 0; i < rows; i++) {
        int count = 0;
        for (int j = 0; j < 32; j++) count += x[i * 32 + j] & 1;
        counts[i] = count;
    }
}

void scan(const float *restrict x, float *restrict y, int rows, int length, int is_exclusive) {
#pragma omp parallel for
    for (int i = 0; i < rows; i++) {
        float sum = 0;
        for (int j = 0; j < length; j++) {
            if (is_exclusive) y[i * length + j] = sum;
            sum += x[i * length + j];
            if (!is_exclusive) y[i * length + j] = sum;
        }
    }
}

static void align_tile(const int *restrict reference, int *restrict score, int n, int penalty, int bx, int by) {
    int w = n + 1;
    for (int y = 16 * by + 1; y <= 16 * by + 16; y++)
        for (int x = 16 * bx + 1; x <= 16 * bx + 16; x++) {
            int match = score[(y - 1) * w + x - 1] + reference[y * w + x];
            int gap = most_of(score[y * w + x - 1], score[(y - 1) * w + x]) - penalty;
            score[y * w + x] = most_of(match, gap);
        }
}

void align(const int *restrict reference, int *restrict score, int n, int penalty) {
    int tiles = n / 16;
    for (int d = 0; d < 2 * tiles - 1; d++)
#pragma omp parallel for
        for (int bx = most_of(0, d - tiles + 1); bx <= least(d, tiles - 1); bx++)
            align_tile(reference, score, n, penalty, bx, d - bx);
}

void path(const int *restrict wall, const int *restrict from, int *restrict to, int columns, int rows) {
    int *one = malloc(columns * sizeof(int)), *other = malloc(columns * sizeof(int));
    memcpy(one, from, columns * sizeof(int));
    for (int row = 0; row < rows; row++) {
#pragma omp parallel for
        for (int x = 0; x < columns; x++) {
            int found = one[x];
            if (x > 0) found = least(found, one[x - 1]);
            if (x < columns - 1) found = least(found, one[x + 1]);
            other[x] = wall[row * columns + x] + found;
        }
        int *held = one;
        one = other;
        other = held;
    }
    memcpy(to, one, columns * sizeof(int));
    free(one);
    free(other);
}

void hotspot(const float *restrict power, const float *restrict from, float *restrict to, int n, int steps, float cap,
             float rx, float ry, float rz) {
    float *between = malloc(sizeof(float) * n * n);
    const float *source = from;
    for (int step = 0; step < steps; step++) {
        float *target = step == steps - 1 ? to : between;
#pragma omp parallel for
        for (int y = 0; y < n; y++) {
            const float *up = source + (y ? y - 1 : 0) * n, *down = source + (y < n - 1 ? y + 1 : y) * n;
            const float *row = source + y * n;
            for (int x = 1; x < n - 1; x++)
                target[y * n + x] = row[x] + cap * (power[y * n + x] + (down[x] + up[x] - 2 * row[x]) * ry
                    + (row[x + 1] + row[x - 1] - 2 * row[x]) * rx + (80 - row[x]) * rz);
            for (int x = 0; x < n; x += n - 1)
                target[y * n + x] = row[x] + cap * (power[y * n + x] + (down[x] + up[x] - 2 * row[x]) * ry
                    + (row[x < n - 1 ? x + 1 : x] + row[x ? x - 1 : 0] - 2 * row[x]) * rx + (80 - row[x]) * rz);
        }
        source = target;
    }
    free(between);
}

void srad(const float *restrict image, float *restrict north, float *restrict south, float *restrict west,
          float *restrict east, float *restrict c, int n, float q0) {
#pragma omp parallel for
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            int i = y * n + x;
            float j = image[i];
            float no = image[(y ? y - 1 : 0) * n + x] - j, so = image[(y < n - 1 ? y + 1 : y) * n + x] - j;
            float we = image[y * n + (x ? x - 1 : 0)] - j, ea = image[y * n + (x < n - 1 ? x + 1 : x)] - j;
            float g = (no * no + so * so + we * we + ea * ea) / (j * j), l = (no + so + we + ea) / j;
            float num = 0.5f * g - (1.0f / 16.0f) * (l * l), den = 1 + 0.25f * l, q = num / (den * den);
            den = (q - q0) / (q0 * (1 + q0));
            float value = 1.0f / (1.0f + den);
            c[i] = value < 0 ? 0 : value > 1 ? 1 : value;
            north[i] = no;
            south[i] = so;
            west[i] = we;
            east[i] = ea;
        }
}

void lu(float *restrict m, int n) {
    for (int k = 0; k < n; k++) {
#pragma omp parallel for
        for (int i = k + 1; i < n; i++) {
            float factor = m[i * n + k] /= m[k * n + k];
            for (int j = k + 1; j < n; j++) m[i * n + j] -= factor * m[k * n + j];
        }
    }
}

void normalize(const float *restrict x, float *restrict y, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += x[i];
#pragma omp parallel for
    for (int i = 0; i < n; i++) y[i] = x[i] / sum;
}

void largest(const int *restrict x, int *restrict most, int n) {
    int found = *most;
#pragma omp parallel for reduction(max : found)
    for (int i = 0; i < n; i++) found = most_of(found, x[i]);
    *most = found;
}
