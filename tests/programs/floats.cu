// Floats: special values, rounding, doubles, halves, the mathematics library.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void special_values(const float *a, const float *b, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[8 * i] = a[i] + b[i];
    out[8 * i + 1] = a[i] * b[i];
    out[8 * i + 2] = a[i] / b[i];
    out[8 * i + 3] = fminf(a[i], b[i]);
    out[8 * i + 4] = fmaxf(a[i], b[i]);
    out[8 * i + 5] = copysignf(a[i], b[i]);
    out[8 * i + 6] = fabsf(a[i]);
    out[8 * i + 7] = -a[i];
}

__global__ void classify(const float *a, const float *b, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int bits = 0;
    if (isnan(a[i])) bits |= 1;
    if (isinf(a[i])) bits |= 2;
    if (signbit(a[i])) bits |= 4;
    if (a[i] < b[i]) bits |= 8;
    if (!(a[i] >= b[i])) bits |= 16;
    if (a[i] == b[i]) bits |= 32;
    if (a[i] != b[i]) bits |= 64;
    if (isfinite(a[i])) bits |= 128;
    out[i] = bits;
}

__global__ void round_all_ways(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[5 * i] = floorf(x[i]);
    out[5 * i + 1] = ceilf(x[i]);
    out[5 * i + 2] = truncf(x[i]);
    out[5 * i + 3] = rintf(x[i]);
    out[5 * i + 4] = roundf(x[i]);
}

__global__ void round_to_integers(const float *x, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[4 * i] = __float2int_rn(x[i]);
    out[4 * i + 1] = __float2int_rz(x[i]);
    out[4 * i + 2] = __float2int_rd(x[i]);
    out[4 * i + 3] = __float2int_ru(x[i]);
}

__global__ void remainders(const double *a, const double *b, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = fmod(a[i], b[i]);
}

__global__ void roots(const float *x, const double *y, float *root, double *wide_root, float *hypotenuse, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    root[i] = sqrtf(x[i]);
    wide_root[i] = sqrt(y[i]);
    hypotenuse[i] = sqrtf(x[i] * x[i] + 1.0f);
}

__global__ void double_arithmetic(const double *a, const double *b, double *out, float *rounded, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = a[i] + 1.0e-12 * b[i];
    out[i] = (sum - a[i]) * 1.0e12 + a[i] / b[i];
    rounded[i] = (float)sum;
}

__global__ void through_single(const double *a, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (double)(float)a[i] - a[i];
}

__global__ void mixed_widths(const float *a, const float *b, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] * 0.1 + b[i] / 3.0;
}

__global__ void no_contraction(const float *a, const float *b, const float *c, float *separate, float *fused, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    separate[i] = a[i] * b[i] + c[i];
    fused[i] = fmaf(a[i], b[i], c[i]);
}

__global__ void no_reassociation(const float *a, const float *b, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = ((a[i] + 1.0e8f) - 1.0e8f) + (b[i] * 3.0f) / 3.0f;
}

__global__ void subnormals(const float *a, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] * 1.0e-30f * 1.0e-10f;
}

__global__ void exponentials(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[8 * i] = expf(x[i]);
    out[8 * i + 1] = logf(fabsf(x[i]) + 0.1f);
    out[8 * i + 2] = exp2f(x[i]);
    out[8 * i + 3] = log10f(fabsf(x[i]) + 0.1f);
    out[8 * i + 4] = powf(fabsf(x[i]), 1.7f);
    out[8 * i + 5] = expm1f(x[i]);
    out[8 * i + 6] = log1pf(fabsf(x[i]));
    out[8 * i + 7] = rsqrtf(fabsf(x[i]) + 0.1f);
}

__global__ void circular(const double *x, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[8 * i] = sin(x[i]);
    out[8 * i + 1] = cos(x[i]);
    out[8 * i + 2] = tan(x[i]);
    out[8 * i + 3] = atan(x[i]);
    out[8 * i + 4] = atan2(x[i], 0.7);
    out[8 * i + 5] = asin(0.5 * x[i]);
    out[8 * i + 6] = acos(0.5 * x[i]);
    out[8 * i + 7] = hypot(x[i], 2.0);
}

__global__ void hyperbolic(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[6 * i] = sinhf(x[i]);
    out[6 * i + 1] = coshf(x[i]);
    out[6 * i + 2] = tanhf(x[i]);
    out[6 * i + 3] = erff(x[i]);
    out[6 * i + 4] = erfcf(x[i]);
    out[6 * i + 5] = cbrtf(x[i]);
}

__global__ void fast_math(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[5 * i] = __expf(x[i]);
    out[5 * i + 1] = __sinf(x[i]);
    out[5 * i + 2] = __fdividef(x[i], 3.0f);
    out[5 * i + 3] = __saturatef(x[i]);
    out[5 * i + 4] = __powf(fabsf(x[i]) + 0.1f, 2.5f);
}

__global__ void sine_and_cosine(const float *x, float *s, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sine, cosine;
    sincosf(x[i], &sine, &cosine);
    s[i] = sine;
    c[i] = cosine;
}

__global__ void bits_of_floats(const float *x, int *bits, float *flipped, unsigned long long *wide, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    bits[i] = __float_as_int(x[i]);
    flipped[i] = __int_as_float(__float_as_int(x[i]) ^ 0x80000000);
    wide[i] = (unsigned long long)__double_as_longlong((double)x[i]);
}

__global__ void halves(const __half *a, const __half *b, __half *sum, float *wide, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    sum[i] = __hadd(a[i], b[i]);
    wide[i] = __half2float(a[i]) * __half2float(b[i]);
}

__global__ void to_half(const float *x, __half *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __float2half(x[i] * 1000.0f);
}

__global__ void brain_floats(const __nv_bfloat16 *a, const float *x, __nv_bfloat16 *out, float *wide, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = __bfloat162float(a[i]);
    wide[i] = value * x[i];
    out[i] = __float2bfloat16(value + x[i]);
}

__global__ void through_brain_float(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __bfloat162float(__float2bfloat16(x[i]));
}
