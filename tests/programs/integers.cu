// Integer arithmetic as C has it: wrap-around, signs, shifts, division, widths.

__global__ void wrap_around(const int *a, const int *b, int *sum, int *difference, int *product, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    sum[i] = (int)((unsigned)a[i] + (unsigned)b[i]);
    difference[i] = (int)((unsigned)a[i] - (unsigned)b[i]);
    product[i] = (int)((unsigned)a[i] * (unsigned)b[i]);
}

__global__ void divide(const int *a, const int *b, int *quotient, int *rest, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    quotient[i] = a[i] / b[i];
    rest[i] = a[i] % b[i];
}

__global__ void divide_unsigned(const unsigned int *a, const unsigned int *b, unsigned int *quotient, unsigned int *rest, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    quotient[i] = a[i] / b[i];
    rest[i] = a[i] % b[i];
}

__global__ void divide_by_constants(const int *a, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[4 * i] = a[i] / 8;
    out[4 * i + 1] = a[i] % 8;
    out[4 * i + 2] = a[i] / -7;
    out[4 * i + 3] = (int)((unsigned)a[i] / 10u + (unsigned)a[i] % 10u);
}

__global__ void shift(const int *a, const unsigned int *b, const int *count, int *left, int *right, unsigned int *logical, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    left[i] = a[i] << count[i];
    right[i] = a[i] >> count[i];
    logical[i] = b[i] >> count[i];
}

__global__ void compare_signs(const int *a, const unsigned int *b, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int bits = 0;
    if (a[i] < (int)b[i]) bits |= 1;
    if ((unsigned)a[i] < b[i]) bits |= 2;
    if (a[i] > -1) bits |= 4;
    if ((long long)a[i] < (long long)b[i]) bits |= 8;
    out[i] = bits;
}

__global__ void wide_arithmetic(const long long *a, const long long *b, long long *sum, long long *product, long long *quotient,
                                unsigned long long *mixed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    sum[i] = (long long)((unsigned long long)a[i] + (unsigned long long)b[i]);
    product[i] = (long long)((unsigned long long)a[i] * (unsigned long long)b[i]);
    quotient[i] = b[i] > 1 ? a[i] / b[i] : a[i] % 1000003;
    unsigned long long x = (unsigned long long)a[i] + 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    mixed[i] = x ^ (x >> 31);
}

__global__ void high_halves(const int *a, const int *b, int *high, unsigned int *high_unsigned, long long *full, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    high[i] = __mulhi(a[i], b[i]);
    high_unsigned[i] = __umulhi((unsigned)a[i], (unsigned)b[i]);
    full[i] = (long long)a[i] * b[i];
}

__global__ void narrow(const signed char *a, const unsigned char *b, short *sum, unsigned char *wrapped, signed char *product, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    sum[i] = a[i] + b[i];
    wrapped[i] = b[i] + 200;
    product[i] = a[i] * a[i];
}

__global__ void widen(const short *a, const unsigned short *b, int *signed_out, unsigned int *unsigned_out, long long *wide, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    signed_out[i] = a[i];
    unsigned_out[i] = b[i];
    wide[i] = (long long)a[i] * b[i] << 20;
}

__global__ void count_bits(const unsigned int *x, const unsigned long long *wide, int *out, unsigned int *turned, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = __popc(x[i]) + 100 * __clz(x[i]) + 10000 * __ffs(x[i]) + 1000000 * __popcll(wide[i]);
    turned[i] = __brev(x[i]);
}

__global__ void rotate_bits(const unsigned int *x, const int *count, unsigned int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int c = count[i] & 31;
    out[i] = (x[i] << c) | (x[i] >> ((32 - c) & 31));
}

__global__ void random_numbers(unsigned int *state, float *uniform, int n, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned int x = state[i];
    for (int k = 0; k < rounds; k++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    state[i] = x;
    uniform[i] = x * 2.3283064365386963e-10f;
}

__global__ void congruential(unsigned long long *state, unsigned int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long x = state[i] * 6364136223846793005ull + 1442695040888963407ull;
    state[i] = x;
    unsigned int mixed = (unsigned int)(((x >> 18) ^ x) >> 27), turn = (unsigned int)(x >> 59);
    out[i] = (mixed >> turn) | (mixed << ((32 - turn) & 31));
}

__global__ void hash_of_index(unsigned int *out, int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned int x = i * 2654435761u;
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    out[i] = x ^ (x >> 13);
}

__global__ void fields_of_word(const unsigned int *x, unsigned char *red, unsigned char *green, unsigned int *packed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    red[i] = (x[i] >> 16) & 0xff;
    green[i] = (x[i] >> 8) & 0xff;
    packed[i] = ((x[i] & 0xff) << 24) | (x[i] >> 8);
}

__global__ void least_and_greatest(const int *a, const int *b, const unsigned int *c, int *out, unsigned int *out_unsigned, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[3 * i] = min(a[i], b[i]);
    out[3 * i + 1] = max(a[i], b[i]);
    out[3 * i + 2] = abs(a[i] / 2);
    out_unsigned[i] = max(c[i], (unsigned)a[i]);
}

__global__ void to_float_and_back(const int *a, const unsigned int *b, const float *x, float *from_signed, float *from_unsigned,
                                  int *truncated, long long *wide, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    from_signed[i] = a[i];
    from_unsigned[i] = b[i];
    truncated[i] = (int)x[i];
    wide[i] = (long long)(x[i] * 1.0e10f);
}

__global__ void flags(const bool *a, const bool *b, bool *out, int *code, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = (a[i] && !b[i]) || (!a[i] && b[i]);
    code[i] = a[i] + 2 * b[i];
}

__global__ void wide_index(const double *x, double *out, long long n, size_t stride) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < (size_t)n) out[i] = x[i * stride] * 1e300;
}

__global__ void sums_beside_a_third(const int *a, const int *b, const int *c, int *out, unsigned int *out_unsigned, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[4 * i] = __viaddmax_s32(a[i], b[i], c[i]);
    out[4 * i + 1] = __viaddmin_s32(a[i], b[i], c[i]);
    out[4 * i + 2] = __viaddmax_s32_relu(a[i], b[i], c[i]);
    out[4 * i + 3] = __viaddmin_s32_relu(a[i], b[i], c[i]);
    out_unsigned[2 * i] = __viaddmax_u32(a[i], b[i], c[i]);
    out_unsigned[2 * i + 1] = __viaddmin_u32(a[i], b[i], c[i]);
}

__global__ void lanes_in_order(const unsigned int *a, const unsigned int *b, unsigned int *halves, unsigned int *bytes, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned int x = a[i], y = i % 2 ? b[i] : (b[i] & 0xff00u) | (a[i] & 0xffff00ffu);
    halves[4 * i] = __vsetges2(x, y);
    halves[4 * i + 1] = __vsetgeu2(x, y);
    halves[4 * i + 2] = __vsetles2(x, y);
    halves[4 * i + 3] = __vsetleu2(x, y);
    bytes[4 * i] = __vsetges4(x, y);
    bytes[4 * i + 1] = __vsetgeu4(x, y);
    bytes[4 * i + 2] = __vsetles4(x, y);
    bytes[4 * i + 3] = __vsetleu4(x, y);
}
