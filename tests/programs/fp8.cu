// 8-bit floats: widened, narrowed with and without saturation, by ones, twos and fours.
#include <cuda_fp8.h>

__global__ void widen_e4m3(const __nv_fp8_e4m3 *x, float *wide, __half *half, __nv_bfloat16 *brain, double *longest, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) wide[i] = (float)x[i], half[i] = (__half)x[i], brain[i] = (__nv_bfloat16)x[i], longest[i] = (double)x[i];
}

__global__ void widen_e5m2(const __nv_fp8_e5m2 *x, float *wide, __half *half, int *whole, unsigned char *byte, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) wide[i] = (float)x[i], half[i] = (__half)x[i], whole[i] = (int)x[i], byte[i] = (unsigned char)x[i];
}

__global__ void narrow_floats(const float *x, __nv_fp8_e4m3 *a, __nv_fp8_e5m2 *b, __nv_fp8_storage_t *c,
                              __nv_fp8_storage_t *d, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    a[i] = __nv_fp8_e4m3(x[i]), b[i] = __nv_fp8_e5m2(x[i]);
    c[i] = __nv_cvt_float_to_fp8(x[i], __NV_NOSAT, __NV_E4M3), d[i] = __nv_cvt_float_to_fp8(x[i], __NV_NOSAT, __NV_E5M2);
}

__global__ void narrow_doubles(const double *x, __nv_fp8_e4m3 *a, __nv_fp8_e5m2 *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = __nv_fp8_e4m3(x[i]), b[i] = __nv_fp8_e5m2(x[i]);
}

__global__ void narrow_other_types(const __half *x, const __nv_bfloat16 *y, const int *z, __nv_fp8_e4m3 *a,
                                   __nv_fp8_e5m2 *b, __nv_fp8_e5m2 *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = __nv_fp8_e4m3(x[i]), b[i] = __nv_fp8_e5m2(y[i]), c[i] = __nv_fp8_e5m2(z[i]);
}

__global__ void scale_by_twos_and_fours(const __nv_fp8x2_e4m3 *x, __nv_fp8x2_e5m2 *pairs, __nv_fp8x4_e4m3 *fours,
                                        float scale, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 low = (float2)x[2 * i], high = (float2)x[2 * i + 1];
    pairs[2 * i] = __nv_fp8x2_e5m2(make_float2(low.x * scale, low.y * scale));
    pairs[2 * i + 1] = __nv_fp8x2_e5m2(__half2(x[2 * i + 1]));
    fours[i] = __nv_fp8x4_e4m3(make_float4(high.y * scale, high.x * scale, low.y * scale, low.x * scale));
}

__global__ void product_of_fp8(const __nv_fp8_e4m3 *a, const __nv_fp8_e4m3 *b, float *c, int n) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || j >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; k++) sum += (float)a[i * n + k] * (float)b[k * n + j];
    c[i * n + j] = sum;
}
