// Loops of compare-and-swaps: atomic operations that CUDA has no function for.

#include <cuda_fp16.h>

#define HERE (blockIdx.x * blockDim.x + threadIdx.x)

// -- as in the programming guide --------------------------------------------------------------------------------------

__device__ double add_double(double *address, double value) {
    unsigned long long *bits = (unsigned long long *)address, old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}

__global__ void add_doubles(const int *place, const double *x, double *sums, int n) {
    int i = HERE;
    if (i < n) add_double(&sums[place[i]], x[i]);
}

__global__ void add_doubles_in_strides(const double *x, double *sums, int n) {
    for (int i = HERE; i < n; i += gridDim.x * blockDim.x) add_double(&sums[i % 3], x[i]);
}

__global__ void multiply(const int *place, const int *x, int *products, int n) {
    int i = HERE;
    if (i >= n) return;
    int *product = &products[place[i]], old = *product, assumed;
    do {
        assumed = old;
        old = atomicCAS(product, assumed, assumed * x[i]);
    } while (assumed != old);
}

__global__ void multiply_floats(const int *place, const float *x, float *products, int n) {
    int i = HERE;
    if (i >= n) return;
    int *bits = (int *)&products[place[i]], assumed, old = 0;
    while (true) {
        assumed = old;
        old = atomicCAS(bits, assumed, __float_as_int(__int_as_float(assumed) * x[i]));
        if (old == assumed) break;
    }
}

__global__ void subtract_reloading(const int *place, const float *x, float *sums, int n) {
    int i = HERE;
    if (i >= n) return;
    volatile unsigned int *bits = (unsigned int *)&sums[place[i]];
    unsigned int assumed;
    do {
        assumed = *bits;
    } while (atomicCAS((unsigned int *)bits, assumed, __float_as_uint(__uint_as_float(assumed) - x[i])) != assumed);
}

__global__ void subtract_both(const int *place, const double *x, const double *y, double *sums, int n) {
    int i = HERE;
    if (i >= n) return;
    unsigned long long *bits = (unsigned long long *)&sums[place[i]], old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __double_as_longlong(__longlong_as_double(assumed) - x[i] - y[i]));
    } while (assumed != old);
}

// -- least and greatest -----------------------------------------------------------------------------------------------

__device__ float keep_greater(float *address, float value) {
    unsigned int *bits = (unsigned int *)address;
    unsigned int seen = *bits;
    while (value > __uint_as_float(seen)) {
        unsigned int old = seen;
        if ((seen = atomicCAS(bits, old, __float_as_uint(value))) == old) break;
    }
    return __uint_as_float(seen);
}

__global__ void greatest_by_test(const int *place, const float *x, float *most, int n) {
    int i = HERE;
    if (i < n) keep_greater(&most[place[i]], x[i]);
}

__global__ void greatest_in_strides(const float *x, float *most, int n) {
    for (int i = HERE; i < n; i += gridDim.x * blockDim.x) keep_greater(most, x[i]);
}

__global__ void least_by_test(const int *place, const double *x, double *least, int n) {
    int i = HERE;
    if (i >= n) return;
    double value = x[i];
    unsigned long long *bits = (unsigned long long *)&least[place[i]], old = *bits;
    if (__longlong_as_double(old) <= value) return;
    unsigned long long assumed;
    do {
        assumed = old;
        if (__longlong_as_double(assumed) <= value) break;
        old = atomicCAS(bits, assumed, __double_as_longlong(value));
    } while (assumed != old);
}

__global__ void greatest_numbers(const int *place, const float *x, float *most, int n) {
    int i = HERE;
    if (i >= n) return;
    int *bits = (int *)&most[place[i]], old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __float_as_int(fmaxf(x[i], __int_as_float(assumed))));
    } while (assumed != old);
}

__global__ void least_kept(const int *place, const float *x, float *least, int n) {
    int i = HERE;
    if (i >= n) return;
    int *bits = (int *)&least[place[i]], old = *bits, assumed;
    do {
        assumed = old;
        float now = __int_as_float(assumed);
        old = atomicCAS(bits, assumed, __float_as_int(now < x[i] ? now : x[i]));
    } while (assumed != old);
}

__global__ void greatest_of_shorts(const int *place, const unsigned short *x, unsigned short *most, int n) {
    int i = HERE;
    if (i >= n) return;
    unsigned short *word = &most[place[i]], old = *word, assumed;
    do {
        assumed = old;
        if (assumed >= x[i]) break;
        old = atomicCAS(word, assumed, x[i]);
    } while (assumed != old);
}

// -- other types ------------------------------------------------------------------------------------------------------

__global__ void add_halves(const int *place, const __half *x, __half *sums, int n) {
    int i = HERE;
    if (i >= n) return;
    unsigned short *bits = (unsigned short *)&sums[place[i]], old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __half_as_ushort(__hadd(__ushort_as_half(assumed), x[i])));
    } while (assumed != old);
}

__global__ void add_halves_in_words(const int *place, const __half *x, __half *sums, int n) {
    int i = HERE;
    if (i >= n) return;
    size_t which = place[i];
    unsigned int *word = (unsigned int *)((char *)sums + (which & ~(size_t)1) * 2);
    unsigned int old = *word, assumed;
    do {
        assumed = old;
        unsigned short part = which & 1 ? old >> 16 : old & 0xffff;
        unsigned int sum = __half_as_ushort(__hadd(__ushort_as_half(part), x[i]));
        unsigned int whole = which & 1 ? (old & 0xffff) | (sum << 16) : (old & 0xffff0000) | sum;
        old = atomicCAS(word, assumed, whole);
    } while (assumed != old);
}

__device__ void add_half(__half *address, __half value) {
    unsigned int *word = (unsigned int *)((char *)address - ((size_t)address & 2));
    unsigned int old = *word, assumed;
    do {
        assumed = old;
        __half_raw sum;
        sum.x = (size_t)address & 2 ? (old >> 16) : (old & 0xffff);
        sum = __hadd(__half(sum), value);
        old = (size_t)address & 2 ? (old & 0xffff) | (sum.x << 16) : (old & 0xffff0000) | sum.x;
        old = atomicCAS(word, assumed, old);
    } while (assumed != old);
}

__global__ void add_halves_by_address(const int *place, const __half *x, __half *sums, int n) {
    int i = HERE;
    if (i < n) add_half(&sums[place[i]], x[i]);
}

__global__ void greatest_bytes_in_words(const int *place, const unsigned char *x, unsigned int *words, int n) {
    int i = HERE;
    if (i >= n) return;
    unsigned int which = place[i], shift = (which & 3) * 8;
    unsigned int *word = words + which / 4, old = *word, assumed;
    do {
        assumed = old;
        unsigned int now = (assumed >> shift) & 0xff, next = max(now, (unsigned int)x[i]);
        old = atomicCAS(word, assumed, (assumed & ~(0xffu << shift)) | (next << shift));
    } while (assumed != old);
}

__global__ void add_bytes_in_words(const int *place, const unsigned char *x, unsigned int *words, int n) {
    int i = HERE;
    if (i >= n) return;
    unsigned int which = place[i], shift = (which % 4) * 8;
    unsigned int *word = words + which / 4, old = *word, assumed;
    do {
        assumed = old;
        unsigned char sum = assumed >> shift;
        sum += x[i];
        old = atomicCAS(word, assumed, (assumed & ~(0xffu << shift)) | ((unsigned int)sum << shift));
    } while (assumed != old);
}

__global__ void flip_bits(const int *place, const unsigned int *x, unsigned int *words, int n) {
    int i = HERE;
    if (i >= n) return;
    unsigned int *word = &words[place[i]], old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed, (assumed & ~x[i]) | (~assumed & x[i]));
    } while (assumed != old);
}

// -- bounded ----------------------------------------------------------------------------------------------------------

__global__ void count_up_to(const int *place, unsigned int *counts, int n, unsigned int most) {
    int i = HERE;
    if (i >= n) return;
    unsigned int *count = &counts[place[i]], old = *count, assumed;
    do {
        assumed = old;
        if (assumed >= most) break;
        old = atomicCAS(count, assumed, assumed + 1);
    } while (assumed != old);
}

__global__ void add_with_cap(const int *place, int *sums, int n, int step, int cap) {
    int i = HERE;
    if (i >= n) return;
    int *sum = &sums[place[i]], old = *sum, assumed;
    do {
        assumed = old;
        old = atomicCAS(sum, assumed, min(assumed + step, cap));
    } while (assumed != old);
}

__global__ void shuffle_states(const int *place, unsigned int *states, int n) {
    int i = HERE;
    if (i >= n) return;
    unsigned int *word = &states[place[i]], old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed, assumed * 1664525u + 1013904223u);
    } while (assumed != old);
}

// -- each thread for itself -------------------------------------------------------------------------------------------

__global__ void relax_own(const float *x, float *y, float *before, int n) {
    int i = HERE;
    if (i >= n) return;
    int *bits = (int *)&y[i], old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __float_as_int(0.5f * __int_as_float(assumed) + x[i]));
    } while (assumed != old);
    before[i] = __int_as_float(old);
}

__global__ void halve_own_if_even(int *y, int n) {
    int i = HERE;
    if (i >= n) return;
    int old = y[i];
    while (old % 2 == 0 && old != 0) {
        int assumed = old;
        old = atomicCAS(&y[i], assumed, assumed / 2);
        if (old == assumed) break;
    }
}

// -- once -------------------------------------------------------------------------------------------------------------

__global__ void raise_flags(const int *place, int *flags, int n) {
    int i = HERE;
    if (i < n) atomicCAS(&flags[place[i]], 0, 1);
}

__global__ void replace_matching(const int *place, const int *wanted, int *values, int n) {
    int i = HERE;
    if (i < n) atomicCAS(&values[place[i]], wanted[i], 1000 + place[i]);
}

__global__ void swap_own(const int *expected, const int *fresh, int *values, int *old, int n) {
    int i = HERE;
    if (i < n) old[i] = atomicCAS(&values[i], expected[i], fresh[i]);
}
