// Launches that nobody looked at when the estimates of forms were fitted (benchmarks/choosing.py --unseen).
__global__ void nearest(const float2 *places, float *distances, float x, float y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) distances[i] = sqrtf((places[i].x - x) * (places[i].x - x) + (places[i].y - y) * (places[i].y - y));
}
__global__ void assign(const float *points, const float *centres, int *nearest, int n, int k, int d) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float least = 3.4e38f;
    int best = 0;
    for (int c = 0; c < k; c++) {
        float sum = 0;
        for (int j = 0; j < d; j++) {
            float difference = points[j * n + i] - centres[c * d + j];
            sum += difference * difference;
        }
        if (sum < least) least = sum, best = c;
    }
    nearest[i] = best;
}
__global__ void live(const unsigned char *now, unsigned char *next, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int count = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx || dy) count += now[(y + dy + n) % n * n + (x + dx + n) % n];
    next[y * n + x] = count == 3 || (count == 2 && now[y * n + x]);
}
__global__ void running(const float *x, float *y, int rows, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= columns) return;
    float sum = 0;
    for (int j = 0; j < rows; j++) y[j * columns + i] = sum += x[j * columns + i];
}
__global__ void sort(int *x) {
    __shared__ int part[256];
    int t = threadIdx.x;
    part[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int k = 2; k <= 256; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            int other = t ^ j;
            if (other > t && (part[t] > part[other]) == ((t & k) == 0)) {
                int kept = part[t];
                part[t] = part[other];
                part[other] = kept;
            }
            __syncthreads();
        }
    x[blockIdx.x * 256 + t] = part[t];
}
__global__ void sobel(const unsigned char *image, unsigned char *edges, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int l = max(x - 1, 0), r = min(x + 1, width - 1), u = max(y - 1, 0) * width, d = min(y + 1, height - 1) * width;
    int m = y * width;
    int h = image[u + r] + 2 * image[m + r] + image[d + r] - image[u + l] - 2 * image[m + l] - image[d + l];
    int v = image[d + l] + 2 * image[d + x] + image[d + r] - image[u + l] - 2 * image[u + x] - image[u + r];
    edges[m + x] = min(255, abs(h) + abs(v));
}
__global__ void hits(unsigned *counts, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state = 747796405u * i + 2891336453u, hit = 0;
    for (int k = 0; k < rounds; k++) {
        state = state * 1664525u + 1013904223u;
        float x = (state >> 8) * (1.0f / 16777216);
        state = state * 1664525u + 1013904223u;
        float y = (state >> 8) * (1.0f / 16777216);
        hit += x * x + y * y < 1.0f;
    }
    counts[i] = hit;
}
__global__ void dot(const double *x, const double *y, double *sums, int n) {
    __shared__ double part[128];
    double sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i] * y[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}
__global__ void rows(const float *a, const float *x, float *y, int n) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float sum = 0;
    for (int k = lane; k < n; k += 32) sum += a[row * n + k] * x[k];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) y[row] = sum;
}
__constant__ float mask[9] = {1, 2, 3, 4, 5, 4, 3, 2, 1};
__global__ void convolve(const float *x, float *y, int n) {
    __shared__ float tile[136];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    tile[t + 4] = i < n ? x[i] : 0;
    if (t < 4) tile[t] = i >= 4 ? x[i - 4] : 0;
    if (t >= 124) tile[t + 8] = i + 4 < n ? x[i + 4] : 0;
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 9; k++) sum += mask[k] * tile[t + k];
    if (i < n) y[i] = sum;
}
__global__ void interleave(const float *x, const float *y, float *z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[2 * i] = x[i], z[2 * i + 1] = y[i];
}
__global__ void relax(const double *a, double *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1, j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i >= n - 1 || j >= n - 1) return;
    for (int k = 1; k < n - 1; k++) {
        int c = (k * n + j) * n + i;
        b[c] = (a[c - 1] + a[c + 1] + a[c - n] + a[c + n] + a[c - n * n] + a[c + n * n]) / 6;
    }
}
