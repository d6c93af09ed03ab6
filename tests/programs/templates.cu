// Templates, device functions, references, lambdas, overloads.

template <typename T>
__global__ void axpy(T a, const T *x, T *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
template __global__ void axpy<float>(float, const float *, float *, int);
template __global__ void axpy<double>(double, const double *, double *, int);
template __global__ void axpy<int>(int, const int *, int *, int);

template <int Width>
__global__ void windowed(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < Width; k++) sum += x[i + k];
    out[i] = sum / Width;
}
template __global__ void windowed<4>(const float *, float *, int);

struct Square {
    __device__ float operator()(float x) const { return x * x; }
};

struct Affine {
    float scale, offset;
    __device__ float operator()(float x) const { return scale * x + offset; }
};

template <typename F>
__global__ void map(F function, const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = function(x[i]);
}
template __global__ void map<Affine>(Affine, const float *, float *, int);

template <typename T, bool Negate>
__device__ T maybe_negate(T value) {
    if constexpr (Negate) return -value;
    else return value;
}

__global__ void both_signs(const int *x, int *same, int *negated, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    same[i] = maybe_negate<int, false>(x[i]);
    negated[i] = maybe_negate<int, true>(x[i]);
}

__device__ void sort_two(float &a, float &b) {
    if (a > b) {
        float kept = a;
        a = b;
        b = kept;
    }
}

__global__ void sort_three(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2];
    sort_two(a, b);
    sort_two(b, c);
    sort_two(a, b);
    x[3 * i] = a;
    x[3 * i + 1] = b;
    x[3 * i + 2] = c;
}

template <int N>
struct Factorial {
    static constexpr int value = N * Factorial<N - 1>::value;
};
template <>
struct Factorial<0> {
    static constexpr int value = 1;
};

__device__ int twice(int x) { return 2 * x; }
__device__ float twice(float x) { return 2.0f * x + 0.5f; }

__global__ void overloads(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    auto blend = [&](float weight) { return weight * x[i] + (1.0f - weight) * out[i]; };
    out[i] = blend(0.25f) + twice(x[i]) + twice(3) + Factorial<5>::value;
}

__device__ __noinline__ float far_function(const float *x, int i, int depth) {
    float sum = 0.0f;
    for (int k = 0; k <= depth; k++) sum += x[i] * k;
    return sum;
}

__global__ void calls_far_function(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = far_function(x, i, 3) - far_function(x, i, 1);
}

namespace physics {
namespace detail {
__device__ inline float drag(float speed) { return 0.5f * speed * fabsf(speed); }
}
__global__ void slow_down(float *speed, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) speed[i] -= dt * detail::drag(speed[i]);
}
}
