// Kernels whose threads meet, written as Rodinia and CUDA's samples write them.

__global__ void product(const float *a, const float *b, float *c, int n) {
    __shared__ float s[16][16], t[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        s[y][x] = a[row * n + k + x];
        t[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += s[y][i] * t[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

__global__ void transpose(const float *from, float *to, int n) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = from[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) to[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void histogram(const int *x, int *counts) {
    __shared__ int own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 4096 + threadIdx.x; i < (blockIdx.x + 1) * 4096; i += 256) atomicAdd(&own[x[i]], 1);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

__global__ void tree(const float *x, float *sums) {
    __shared__ float part[256];
    int t = threadIdx.x;
    part[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}

__global__ void warps(const float *x, float *sums) {
    __shared__ float part[8];
    int t = threadIdx.x;
    float v = x[blockIdx.x * 256 + t];
    for (int o = 16; o; o /= 2) v += __shfl_down_sync(~0u, v, o);
    if (t % 32 == 0) part[t / 32] = v;
    __syncthreads();
    if (t < 32) {
        v = t < 8 ? part[t] : 0;
        for (int o = 4; o; o /= 2) v += __shfl_down_sync(~0u, v, o);
        if (t == 0) sums[blockIdx.x] = v;
    }
}

__global__ void compact(const int *x, int *counts) {  // how many of each warp's are odd
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned odd = __ballot_sync(~0u, x[i] & 1);
    if (threadIdx.x % 32 == 0) counts[i / 32] = __popc(odd);
}

__global__ void hillis(const float *x, float *y) {
    __shared__ float part[2][256];
    int t = threadIdx.x, in = 0;
    part[0][t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        part[1 - in][t] = t >= d ? part[in][t] + part[in][t - d] : part[in][t];
        in = 1 - in;
        __syncthreads();
    }
    y[blockIdx.x * 256 + t] = part[in][t];
}

__global__ void blelloch(const float *x, float *y) {
    __shared__ float part[512];
    int t = threadIdx.x, base = blockIdx.x * 512, step = 1;
    part[2 * t] = x[base + 2 * t];
    part[2 * t + 1] = x[base + 2 * t + 1];
    for (int d = 256; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) part[step * (2 * t + 2) - 1] += part[step * (2 * t + 1) - 1];
        step *= 2;
    }
    if (t == 0) part[511] = 0;
    for (int d = 1; d < 512; d *= 2) {
        step >>= 1;
        __syncthreads();
        if (t < d) {
            int i = step * (2 * t + 1) - 1, j = step * (2 * t + 2) - 1;
            float left = part[i];
            part[i] = part[j];
            part[j] += left;
        }
    }
    __syncthreads();
    y[base + 2 * t] = part[2 * t];
    y[base + 2 * t + 1] = part[2 * t + 1];
}

// One anti-diagonal of tiles: columns first .. first + gridDim.x - 1, of a matrix of n + 1 columns.
__global__ void align(const int *reference, int *score, int n, int penalty, int first, int diagonal) {
    __shared__ int s[17][17], r[16][16];
    int t = threadIdx.x, bx = first + blockIdx.x, by = diagonal - bx, w = n + 1;
    int corner = w * 16 * by + 16 * bx;
    if (t == 0) s[0][0] = score[corner];
    for (int y = 0; y < 16; y++) r[y][t] = reference[corner + w * (y + 1) + t + 1];
    s[t + 1][0] = score[corner + w * (t + 1)];
    s[0][t + 1] = score[corner + t + 1];
    __syncthreads();
    for (int m = 0; m < 16; m++) {
        if (t <= m) {
            int x = t + 1, y = m - t + 1;
            s[y][x] = max(s[y - 1][x - 1] + r[y - 1][x - 1], max(s[y][x - 1], s[y - 1][x]) - penalty);
        }
        __syncthreads();
    }
    for (int m = 14; m >= 0; m--) {
        if (t <= m) {
            int x = t + 16 - m, y = 16 - t;
            s[y][x] = max(s[y - 1][x - 1] + r[y - 1][x - 1], max(s[y][x - 1], s[y - 1][x]) - penalty);
        }
        __syncthreads();
    }
    for (int y = 0; y < 16; y++) score[corner + w * (y + 1) + t + 1] = s[y + 1][t + 1];
}

__global__ void path(const int *wall, const int *from, int *to, int columns, int rows) {
    __shared__ int before[256], after[256];
    int t = threadIdx.x, x = blockIdx.x * 224 + t - 16;
    bool is_inside = x >= 0 && x < columns;
    before[t] = is_inside ? from[x] : 1 << 20;
    __syncthreads();
    for (int row = 0; row < rows; row++) {
        if (t > row && t < 255 - row && is_inside)
            after[t] = wall[row * columns + x] + min(before[t], min(before[t - 1], before[t + 1]));
        __syncthreads();
        if (t > row && t < 255 - row && is_inside) before[t] = after[t];
        __syncthreads();
    }
    if (t >= 16 && t < 240 && is_inside) to[x] = before[t];
}

// Two steps of heat at a time, in tiles that overlap.
__global__ void hotspot(const float *power, const float *from, float *to, int n, int steps, float cap, float rx,
                        float ry, float rz) {
    __shared__ float here[16][16], source[16][16], next[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, inner = 16 - 2 * steps;
    int x0 = inner * blockIdx.x - steps, y0 = inner * blockIdx.y - steps, x = x0 + tx, y = y0 + ty;
    if (x >= 0 && x < n && y >= 0 && y < n) {
        here[ty][tx] = from[y * n + x];
        source[ty][tx] = power[y * n + x];
    }
    __syncthreads();
    int low_y = y0 < 0 ? -y0 : 0, high_y = y0 + 15 > n - 1 ? 15 - (y0 + 15 - n + 1) : 15;
    int low_x = x0 < 0 ? -x0 : 0, high_x = x0 + 15 > n - 1 ? 15 - (x0 + 15 - n + 1) : 15;
    int up = max(ty - 1, low_y), down = min(ty + 1, high_y), left = max(tx - 1, low_x), right = min(tx + 1, high_x);
    bool is_done = false;
    for (int i = 0; i < steps; i++) {
        is_done = false;
        if (tx >= i + 1 && tx <= 14 - i && ty >= i + 1 && ty <= 14 - i && tx >= low_x && tx <= high_x && ty >= low_y
            && ty <= high_y) {
            is_done = true;
            float c = here[ty][tx];
            next[ty][tx] = c + cap * (source[ty][tx] + (here[down][tx] + here[up][tx] - 2 * c) * ry
                                      + (here[ty][right] + here[ty][left] - 2 * c) * rx + (80 - c) * rz);
        }
        __syncthreads();
        if (i == steps - 1) break;
        if (is_done) here[ty][tx] = next[ty][tx];
        __syncthreads();
    }
    if (is_done) to[y * n + x] = next[ty][tx];
}

__global__ void srad_coefficients(const float *image, float *north, float *south, float *west, float *east,
                                  float *c, int n, float q0) {
    __shared__ float tile[16][16], coefficient[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty, i = y * n + x;
    tile[ty][tx] = image[i];
    __syncthreads();
    float j = tile[ty][tx];
    float no = (ty > 0 ? tile[ty - 1][tx] : image[max(y - 1, 0) * n + x]) - j;
    float so = (ty < 15 ? tile[ty + 1][tx] : image[min(y + 1, n - 1) * n + x]) - j;
    float we = (tx > 0 ? tile[ty][tx - 1] : image[y * n + max(x - 1, 0)]) - j;
    float ea = (tx < 15 ? tile[ty][tx + 1] : image[y * n + min(x + 1, n - 1)]) - j;
    float g = (no * no + so * so + we * we + ea * ea) / (j * j), l = (no + so + we + ea) / j;
    float num = 0.5f * g - (1.0f / 16.0f) * (l * l), den = 1 + 0.25f * l, q = num / (den * den);
    den = (q - q0) / (q0 * (1 + q0));
    float value = 1.0f / (1.0f + den);
    coefficient[ty][tx] = value < 0 ? 0 : value > 1 ? 1 : value;
    __syncthreads();
    c[i] = coefficient[ty][tx];
    north[i] = no;
    south[i] = so;
    west[i] = we;
    east[i] = ea;
}

__global__ void lu_diagonal(float *m, int n, int offset) {
    __shared__ float s[16][16];
    int t = threadIdx.x, place = offset * n + offset;
    for (int i = 0; i < 16; i++) s[i][t] = m[place + i * n + t];
    __syncthreads();
    for (int i = 0; i < 15; i++) {
        if (t > i) {
            for (int j = 0; j < i; j++) s[t][i] -= s[t][j] * s[j][i];
            s[t][i] /= s[i][i];
        }
        __syncthreads();
        if (t > i)
            for (int j = 0; j < i + 1; j++) s[i + 1][t] -= s[i + 1][j] * s[j][t];
        __syncthreads();
    }
    for (int i = 1; i < 16; i++) m[place + i * n + t] = s[i][t];
}

__global__ void lu_perimeter(float *m, int n, int offset) {
    __shared__ float dia[16][16], row[16][16], col[16][16];
    int t = threadIdx.x % 16, is_row = threadIdx.x < 16, next = offset + 16 * (blockIdx.x + 1);
    if (is_row) {
        for (int i = 0; i < 16; i++) row[i][t] = m[(offset + i) * n + next + t];
        for (int i = 0; i < 8; i++) dia[i][t] = m[(offset + i) * n + offset + t];
    } else {
        for (int i = 0; i < 16; i++) col[i][t] = m[(next + i) * n + offset + t];
        for (int i = 8; i < 16; i++) dia[i][t] = m[(offset + i) * n + offset + t];
    }
    __syncthreads();
    if (is_row) {
        for (int i = 1; i < 16; i++)
            for (int j = 0; j < i; j++) row[i][t] -= dia[i][j] * row[j][t];
    } else {
        for (int i = 0; i < 16; i++) {
            for (int j = 0; j < i; j++) col[t][i] -= col[t][j] * dia[j][i];
            col[t][i] /= dia[i][i];
        }
    }
    __syncthreads();
    if (is_row)
        for (int i = 1; i < 16; i++) m[(offset + i) * n + next + t] = row[i][t];
    else
        for (int i = 0; i < 16; i++) m[(next + i) * n + offset + t] = col[i][t];
}

__global__ void lu_internal(float *m, int n, int offset) {
    __shared__ float row[16][16], col[16][16];
    int x = threadIdx.x, y = threadIdx.y, i = offset + (blockIdx.y + 1) * 16 + y, j = offset + (blockIdx.x + 1) * 16 + x;
    row[y][x] = m[(offset + y) * n + j];
    col[y][x] = m[i * n + offset + x];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 16; k++) sum += col[y][k] * row[k][x];
    m[i * n + j] -= sum;
}

// Each block divides its part by the sum of all, which each thread computes for itself.
__global__ void normalize(const float *x, float *y, int n) {
    __shared__ float scale;
    float sum = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    if (threadIdx.x == 0) scale = sum;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / scale;
}

__global__ void largest(const int *x, int *most, int n) {
    __shared__ int own;
    if (threadIdx.x == 0) own = -1;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicMax(&own, x[i]);
    __syncthreads();
    if (threadIdx.x == 0) atomicMax(most, own);
}
