"""One module of small kernels for all tests of launches."""

from __future__ import annotations

import pytest

import windlass as wl

SOURCE = """
struct Wave { float speed; int count; double phase; };
__constant__ float weights[3] = {1.0f, 2.0f, 3.0f};
__device__ int visits;

__global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void heat(float *out, const float *in, int nx, int ny, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1) {
        int c = j * nx + i;
        out[c] = in[c] + dt * (in[c - 1] + in[c + 1] + in[c - nx] + in[c + nx] - 4 * in[c]);
    }
}
__global__ void shift(float *to, const float *from, int n) {
    int i = threadIdx.x;
    if (i < n) to[i] = 2 * from[i];
}
__global__ void scale_double(double *x, double by, long long n) {
    long long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}
__global__ void third(float *x, double by, int n) {
    int i = threadIdx.x;
    if (i < n) x[i] = (float)(by * x[i] / 3);
}
__global__ void weigh(float *x, int n) {
    int i = threadIdx.x;
    if (i < n) x[i] *= weights[i % 3];
}
__global__ void visit(int n) {
    int i = threadIdx.x;
    if (i < n) atomicAdd(&visits, 1);
}
__global__ void ripple(float *x, Wave wave) {
    int i = threadIdx.x;
    if (i < wave.count) x[i] = (float)(wave.speed * x[i] + wave.phase);
}
__global__ void two(float *a, const float *b, int *c, int n) {
    int i = threadIdx.x;
    if (i < n) { a[i] = b[i] + 1; c[i] = (int)b[i]; }
}
__global__ void flip(bool *x, unsigned *y, int n) {
    int i = threadIdx.x;
    if (i < n) { x[i] = !x[i]; y[i] = y[i] - 1u; }
}
__global__ void turn(float2 *x, int n) {
    int i = threadIdx.x;
    if (i < n) { float2 v = x[i]; x[i] = make_float2(-v.y, v.x); }
}
__global__ void maybe(float *x, const float *extra, int n) {
    int i = threadIdx.x;
    if (i < n) { if (extra) x[i] += extra[i]; else x[i] += 100; }
}
__global__ void tickets(int *next, int *taken, int n) {
    int ticket;
    if (threadIdx.x >= n) return;
    while ((ticket = atomicExch(next, -1)) < 0) {}
    taken[ticket] = 1;
    atomicExch(next, ticket + 1);
}
__global__ void __launch_bounds__(64) small_blocks(float *x) { x[threadIdx.x] = 1; }
template <class T> __global__ void axpy(T a, T *x, int n) {
    int i = threadIdx.x;
    if (i < n) x[i] *= a;
}
"""


@pytest.fixture(scope="session")
def module() -> wl.cuda.Module:
    return wl.cuda.compile(SOURCE)
