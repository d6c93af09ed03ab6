// Constant memory, device globals, tables.

__constant__ float coefficients[4];
__constant__ int shift_of[2][3];
__device__ float total_heat[8];
__device__ int calls;
__device__ const double table[5] = {1.0, 0.1, 0.01, 0.001, 0.0001};
__device__ float4 corner;

__global__ void cubic(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = ((coefficients[3] * x[i] + coefficients[2]) * x[i] + coefficients[1]) * x[i] + coefficients[0];
}

__global__ void shift_by_table(const int *kind, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = shift_of[kind[i] & 1][kind[i] % 3] + i;
}

__global__ void accumulate_globally(const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) total_heat[i] += x[i];
    if (i == 0) calls = calls + 1;
}

__global__ void powers_of_ten(const int *place, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[place[i]];
}

__global__ void from_corner(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (x[i] - corner.x) * corner.w + corner.z;
}
