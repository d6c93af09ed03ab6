// Structs by value and by pointer, vector types, nested structs, structs with arrays and padding.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

struct Grid {
    int rows, columns;
    float dx;
    double origin;
};

__global__ void coordinates(Grid grid, float *x, double *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= grid.columns) return;
    x[i] = grid.dx * i + grid.rows;
    y[i] = grid.origin + i;
}

struct Particle {
    float x, y;
    float vx, vy;
    int id;
};

__global__ void move(Particle *particles, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle p = particles[i];
    p.x += dt * p.vx;
    p.y += dt * p.vy;
    if (p.x < 0.0f) {
        p.x = -p.x;
        p.vx = -p.vx;
        p.id++;
    }
    particles[i] = p;
}

__global__ void kick(Particle *particles, const float *force, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) particles[i].vy -= force[i];
}

struct Cell {
    char kind;
    double mass;
    short count;
};

__global__ void gather_mass(const Cell *cells, double *mass, int *code, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    mass[i] = cells[i].mass * cells[i].count;
    code[i] = cells[i].kind;
}

struct Bounds {
    float low[3], high[3];
};

struct Scene {
    Bounds bounds;
    int steps;
};

__global__ void count_inside(const float3 *points, Scene scene, int *inside, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float p[3] = {points[i].x, points[i].y, points[i].z};
    int is_inside = 1;
    for (int k = 0; k < 3; k++)
        if (p[k] < scene.bounds.low[k] || p[k] > scene.bounds.high[k]) is_inside = 0;
    inside[i] = is_inside * scene.steps;
}

__global__ void cross_product(const float3 *a, const float3 *b, float3 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = make_float3(a[i].y * b[i].z - a[i].z * b[i].y, a[i].z * b[i].x - a[i].x * b[i].z,
                         a[i].x * b[i].y - a[i].y * b[i].x);
}

__global__ void scale_four(const float4 *x, float4 *out, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = x[i];
    v.x *= factor;
    v.y += v.x;
    v.z = v.w;
    v.w = 0.0f;
    out[i] = v;
}

__global__ void rotate_points(double2 *points, double cosine, double sine, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double2 p = points[i];
    points[i] = make_double2(cosine * p.x - sine * p.y, sine * p.x + cosine * p.y);
}

__global__ void gray_levels(const uchar4 *image, unsigned char *gray, int rows, int columns) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    uchar4 color = image[y * columns + x];
    gray[y * columns + x] = (77 * color.x + 150 * color.y + 29 * color.z) >> 8;
}

__global__ void split_pairs(const int2 *pairs, int *first, int *second, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int2 pair = pairs[n - 1 - i];
    first[i] = pair.x;
    second[i] = pair.y;
}

struct Complex {
    float re, im;
    __device__ Complex(float r, float i) : re(r), im(i) {}
    __device__ Complex operator*(const Complex &other) const {
        return Complex(re * other.re - im * other.im, re * other.im + im * other.re);
    }
    __device__ Complex operator+(const Complex &other) const { return Complex(re + other.re, im + other.im); }
};

__global__ void julia(float *out, int n, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Complex z(-1.0f + 2.0f * i / n, 0.3f), c(-0.4f, 0.6f);
    for (int k = 0; k < rounds; k++) z = z * z + c;
    out[i] = z.re * z.re + z.im * z.im;
}

__global__ void scale_halves(__half factor, const __half *x, __half *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hmul(factor, x[i]);
}

__global__ void add_brain_float(float *x, __nv_bfloat16 by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += __bfloat162float(by);
}

struct Weight {
    __half value;
    __nv_bfloat16 bias;
};

struct Layer {
    int width;
    Weight weights[2];
    __half2 scale;
    float2 shift;
    uchar4 steps;
};

__global__ void apply_layer(Layer layer, float4 offset, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= layer.width) return;
    Weight weight = layer.weights[i % 2];
    float scaled = __half2float(weight.value) * x[i] + __bfloat162float(weight.bias);
    scaled *= __low2float(layer.scale) - __high2float(layer.scale);
    x[i] = scaled + layer.shift.y + offset.w * layer.steps.z;
}
