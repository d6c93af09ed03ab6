// Textures and surfaces: fetches with all address modes and filters, and surfaces in place.

__global__ void fetch_line(cudaTextureObject_t line, int shift, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<float>(line, i + shift);
}

__global__ void difference_of_lines(cudaTextureObject_t a, cudaTextureObject_t b, bool swapped, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int2 p = tex1Dfetch<int2>(swapped ? b : a, i), q = tex1Dfetch<int2>(swapped ? a : b, n - 1 - i);
    out[i] = p.x - q.y;
}

__global__ void sample_line(cudaTextureObject_t line, const float *at, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1D<float>(line, at[i]);
}

__global__ void sample_plane(cudaTextureObject_t plane, const float2 *at, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2D<float>(plane, at[i].x, at[i].y);
}

__global__ void sample_volume(cudaTextureObject_t volume, const float *at, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex3D<float>(volume, at[3 * i], at[3 * i + 1], at[3 * i + 2]);
}

__global__ void sample_colours(cudaTextureObject_t plane, const float2 *at, float4 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2D<float4>(plane, at[i].x, at[i].y);
}

__global__ void copy_pairs(cudaTextureObject_t plane, short2 *out, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < columns && y < rows) out[y * columns + x] = tex2D<short2>(plane, columns - 1 - x, y);
}

__global__ void blur(cudaTextureObject_t plane, float *out, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    float sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) sum += tex2D<float>(plane, x + dx + 0.5f, y + dy + 0.5f);
    out[y * columns + x] = sum;
}

__global__ void pick_layers(cudaTextureObject_t planes, cudaTextureObject_t lines, const int *layer, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2DLayered<float>(planes, i * 0.25f, i % 5, layer[i]) - tex1DLayered<float>(lines, i, layer[i]);
}

__global__ void gather_neighbours(cudaTextureObject_t plane, int4 *out, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < columns && y < rows) out[y * columns + x] = tex2Dgather<int4>(plane, x + 1.0f, y + 1.0f, 1);
}

__global__ void invert_in_place(cudaSurfaceObject_t plane, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    uchar4 colour = surf2Dread<uchar4>(plane, x * 4, y);
    colour.x = 255 - colour.x;
    colour.w = colour.y + colour.z;
    surf2Dwrite(colour, plane, x * 4, y);
}

__global__ void shift_into(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int dx, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    float value = surf2Dread<float>(from, (x + dx) * 4, y - 1, cudaBoundaryModeZero);
    value += 100 * surf2Dread<float>(from, (x - dx) * 4, y + 1, cudaBoundaryModeClamp);
    surf2Dwrite(value, to, (x - 1) * 4, y, cudaBoundaryModeZero);
}

__global__ void scale_volume(cudaSurfaceObject_t volume, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * n * n) return;
    int x = i % n, y = i / n % n, z = i / (n * n);
    surf3Dwrite(surf3Dread<float>(volume, x * 4, y, z) * by, volume, x * 4, y, z);
}
