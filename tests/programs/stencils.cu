// Neighbourhoods: interior, clamped, periodic and masked; in place and out of place; one to three dimensions.

__global__ void heat(const float *now, float *next, int rows, int columns, float c) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && x < columns - 1 && y > 0 && y < rows - 1) {
        int i = y * columns + x;
        next[i] = now[i] + c * (now[i - 1] + now[i + 1] + now[i - columns] + now[i + columns] - 4.0f * now[i]);
    }
}

__global__ void smooth_clamped(const float *source, float *target, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    int i = y * columns + x;
    float left = x > 0 ? source[i - 1] : source[i];
    float right = x < columns - 1 ? source[i + 1] : source[i];
    float up = y > 0 ? source[i - columns] : source[i];
    float down = y < rows - 1 ? source[i + columns] : source[i];
    target[i] = 0.2f * (source[i] + left + right + up + down);
}

__global__ void smooth_periodic(const float *source, float *target, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    int left = (x + columns - 1) % columns, right = (x + 1) % columns;
    int up = (y + rows - 1) % rows, down = (y + 1) % rows;
    target[y * columns + x] = 0.25f * (source[y * columns + left] + source[y * columns + right] +
                                       source[up * columns + x] + source[down * columns + x]);
}

__global__ void smooth_wrapped_by_if(const float *source, float *target, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int left = i == 0 ? n - 1 : i - 1;
    int right = i == n - 1 ? 0 : i + 1;
    target[i] = 0.5f * source[i] + 0.25f * (source[left] + source[right]);
}

__global__ void laplace_volume(const float *source, float *target, int depth, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 1 || y < 1 || z < 1 || x >= columns - 1 || y >= rows - 1 || z >= depth - 1) return;
    int plane = rows * columns, i = z * plane + y * columns + x;
    target[i] = source[i - 1] + source[i + 1] + source[i - columns] + source[i + columns] + source[i - plane] +
                source[i + plane] - 6.0f * source[i];
}

__global__ void laplace_layers(const float *source, float *target, int depth, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    for (int z = 1; z < depth - 1; z++) {
        int i = (z * rows + y) * columns + x;
        target[i] = source[i - rows * columns] - 2.0f * source[i] + source[i + rows * columns];
    }
}

__constant__ float weights[9];

__global__ void convolve(const float *source, float *target, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= columns - 1 || y >= rows - 1) return;
    float sum = 0.0f;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) sum += weights[(dy + 1) * 3 + dx + 1] * source[(y + dy) * columns + x + dx];
    target[y * columns + x] = sum;
}

__global__ void upwind(const float *velocity, const float *source, float *target, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 1 || i >= n - 1) return;
    float slope = velocity[i] > 0.0f ? source[i] - source[i - 1] : source[i + 1] - source[i];
    target[i] = source[i] - velocity[i] * slope;
}

__global__ void relax_color(float *u, const float *f, int rows, int columns, int color) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= columns - 1 || y >= rows - 1) return;
    if (((x + y) & 1) != color) return;
    int i = y * columns + x;
    u[i] = 0.25f * (u[i - 1] + u[i + 1] + u[i - columns] + u[i + columns] - f[i]);
}

__global__ void relax_color_strided(float *u, int rows, int columns, int color) {
    int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + 1 + ((y + color) & 1);
    if (y < rows - 1 && x < columns - 1) {
        int i = y * columns + x;
        u[i] = 0.25f * (u[i - 1] + u[i + 1] + u[i - columns] + u[i + columns]);
    }
}

__global__ void fill_ghost_columns(float *field, int rows, int columns) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y < rows) {
        field[y * columns] = field[y * columns + columns - 2];
        field[y * columns + columns - 1] = field[y * columns + 1];
    }
}

__global__ void fill_ghost_rows(float *field, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < columns) {
        field[x] = 0.0f;
        field[(rows - 1) * columns + x] = -field[(rows - 2) * columns + x];
    }
}

__global__ void divergence(const float *u, const float *v, float *out, int rows, int columns, float dx, float dy) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    out[y * columns + x] = (u[y * (columns + 1) + x + 1] - u[y * (columns + 1) + x]) / dx +
                           (v[(y + 1) * columns + x] - v[y * columns + x]) / dy;
}

__global__ void life(const unsigned char *now, unsigned char *next, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    int neighbors = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx != 0 || dy != 0)
                neighbors += now[((y + dy + rows) % rows) * columns + (x + dx + columns) % columns];
    next[y * columns + x] = neighbors == 3 || (neighbors == 2 && now[y * columns + x]);
}

__global__ void diffuse_at_sea(const float *now, const int *sea, float *next, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= columns - 1 || y >= rows - 1) return;
    int i = y * columns + x;
    if (!sea[i]) {
        next[i] = 0.0f;
        return;
    }
    float flux = 0.0f;
    if (sea[i - 1]) flux += now[i - 1] - now[i];
    if (sea[i + 1]) flux += now[i + 1] - now[i];
    if (sea[i - columns]) flux += now[i - columns] - now[i];
    if (sea[i + columns]) flux += now[i + columns] - now[i];
    next[i] = now[i] + 0.1f * flux;
}

__global__ void leapfrog(float *old, const float *now, int rows, int columns, float courant) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= columns - 1 || y >= rows - 1) return;
    int i = y * columns + x;
    float laplacian = now[i - 1] + now[i + 1] + now[i - columns] + now[i + columns] - 4.0f * now[i];
    old[i] = 2.0f * now[i] - old[i] + courant * laplacian;
}

__global__ void fourth_order(const double *source, double *target, int n, double scale) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 2 || i > n - 3) return;
    target[i] = scale * (-source[i - 2] + 16.0 * source[i - 1] - 30.0 * source[i] + 16.0 * source[i + 1] - source[i + 2]);
}
