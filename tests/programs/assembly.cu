// Inline PTX, as it stands in real code.

#define THREAD int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return
#define UNARY(place, text) asm(text " %0, %1;" : "=r"(out[i * 16 + place]) : "r"(x[i]))
#define BINARY(place, text) asm(text " %0, %1, %2;" : "=r"(out[i * 16 + place]) : "r"(x[i]), "r"(y[i]))
#define TERNARY(place, text) asm(text " %0, %1, %2, %3;" : "=r"(out[i * 16 + place]) : "r"(x[i]), "r"(y[i]), "r"(z[i]))

__global__ void words(const unsigned *x, const unsigned *y, const unsigned *z, unsigned *out, int n) {
    THREAD;
    BINARY(0, "add.u32");
    BINARY(1, "sub.s32");
    BINARY(2, "mul.lo.s32");
    BINARY(3, "mul.hi.u32");
    BINARY(4, "mul.hi.s32");
    TERNARY(5, "mad.lo.u32");
    BINARY(6, "min.s32");
    BINARY(7, "max.u32");
    UNARY(8, "abs.s32");
    TERNARY(9, "sad.u32");
    TERNARY(10, "dp4a.s32.s32");
    BINARY(11, "add.sat.s32");
    BINARY(12, "mul24.lo.u32");
    UNARY(13, "neg.s32");
    BINARY(14, "div.u32");
    BINARY(15, "rem.s32");
}

__global__ void bits(const unsigned *x, const unsigned *y, const unsigned *z, unsigned *out, int n) {
    THREAD;
    BINARY(0, "and.b32");
    BINARY(1, "xor.b32");
    UNARY(2, "not.b32");
    BINARY(3, "shl.b32");
    BINARY(4, "shr.s32");
    BINARY(5, "shr.u32");
    UNARY(6, "popc.b32");
    UNARY(7, "clz.b32");
    UNARY(8, "brev.b32");
    UNARY(9, "bfind.s32");
    TERNARY(10, "prmt.b32");
    TERNARY(11, "bfe.u32");
    TERNARY(12, "bfe.s32");
    asm("bfi.b32 %0, %1, %2, %3, 7;" : "=r"(out[i * 16 + 13]) : "r"(x[i]), "r"(z[i]), "r"(y[i]));
    asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(out[i * 16 + 14]) : "r"(x[i]), "r"(y[i]), "r"(z[i]));
    TERNARY(15, "shf.l.clamp.b32");
}

// x and y are numbers of 128 bits in four words each, the lowest first.
__global__ void wide_sums(const unsigned *x, const unsigned *y, unsigned *sum, unsigned *difference, int n) {
    THREAD;
    const unsigned *a = x + 4 * i, *b = y + 4 * i;
    asm("add.cc.u32 %0, %4, %8;\n\t"
        "addc.cc.u32 %1, %5, %9;\n\t"
        "addc.cc.u32 %2, %6, %10;\n\t"
        "addc.u32 %3, %7, %11;\n\t"
        : "=r"(sum[4 * i]), "=r"(sum[4 * i + 1]), "=r"(sum[4 * i + 2]), "=r"(sum[4 * i + 3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
    asm("sub.cc.u32 %0, %4, %8;\n\t"
        "subc.cc.u32 %1, %5, %9;\n\t"
        "subc.cc.u32 %2, %6, %10;\n\t"
        "subc.u32 %3, %7, %11;\n\t"
        : "=r"(difference[4 * i]), "=r"(difference[4 * i + 1]), "=r"(difference[4 * i + 2]), "=r"(difference[4 * i + 3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
}

__global__ void floats_in_ptx(const float *x, const float *y, float *out, int n) {
    THREAD;
    float *o = out + 8 * i;
    asm("fma.rn.f32 %0, %1, %2, 0f3F800000;" : "=f"(o[0]) : "f"(x[i]), "f"(y[i]));
    asm("add.rn.sat.f32 %0, %1, %2;" : "=f"(o[1]) : "f"(x[i]), "f"(y[i]));
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(o[2]) : "f"(x[i]));
    asm("sqrt.rn.f32 %0, %1;" : "=f"(o[3]) : "f"(y[i]));
    asm("rcp.approx.f32 %0, %1;" : "=f"(o[4]) : "f"(y[i]));
    asm("{.reg .pred p; setp.gt.f32 p, %1, %2; selp.f32 %0, %1, %2, p;}" : "=f"(o[5]) : "f"(x[i]), "f"(y[i]));
    asm("cvt.rni.f32.f32 %0, %1;" : "=f"(o[6]) : "f"(x[i]));
    int whole;
    asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(whole) : "f"(x[i] * 10));
    asm("cvt.rn.f32.s32 %0, %1;" : "=f"(o[7]) : "r"(whole));
}

// The number of steps of the 3x + 1 game, by labels, predicates and registers of its own.
__global__ void steps_to_one(const int *start, int *steps, int n) {
    THREAD;
    int count = 0;
    asm volatile("{\n\t"
                 ".reg .pred is_one, is_odd;\n\t"
                 ".reg .u32 value, bit;\n\t"
                 "mov.u32 value, %1;\n\t"
                 "AGAIN_%=:\n\t"
                 "setp.le.u32 is_one, value, 1;  // done\n\t"
                 "@is_one bra DONE_%=;\n\t"
                 "and.b32 bit, value, 1;\n\t"
                 "setp.ne.u32 is_odd, bit, 0;\n\t"
                 "@is_odd mad.lo.u32 value, value, 3, 1;\n\t"
                 "@!is_odd shr.u32 value, value, 1;\n\t"
                 "add.s32 %0, %0, 1;\n\t"
                 "bra AGAIN_%=;\n\t"
                 "DONE_%=:\n\t"
                 "}"
                 : "+r"(count)
                 : "r"(start[i]));
    steps[i] = count;
}

__global__ void vector_copies(const float *x, float *out, int *total, int n) {
    THREAD;
    float a, b, c, d;
    asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(x + 4 * i));
    asm volatile("st.global.cs.v2.f32 [%0], {%1, %2};" ::"l"(out + 4 * i), "f"(d), "f"(c) : "memory");
    asm volatile("st.global.v2.f32 [%0 + 8], {%1, %2};" ::"l"(out + 4 * i), "f"(b), "f"(a) : "memory");
    asm volatile("red.global.add.s32 [%0], %1;" ::"l"(total), "r"(i) : "memory");
    asm volatile("red.relaxed.gpu.global.max.s32 [%0 + 4], %1;" ::"l"(total), "r"(i) : "memory");
}

// Addresses of shared memory have 32 bits; copies into it that don't wait are done at once.
__global__ void reverse_through_ptx(const int *x, int *out, int n) {
    __shared__ int unused[3];
    __shared__ int tile[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    unused[t % 3] = t;
    unsigned base = (unsigned)__cvta_generic_to_shared(tile);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(base + 4 * t), "l"(x + (i < n ? i : 0)), "r"(i < n ? 4 : 0));
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    asm volatile("bar.sync 0;");
    int value;
    asm volatile("ld.shared.s32 %0, [%1 + %2];" : "=r"(value) : "r"(base - 4 * t), "n"(63 * 4));
    if (i < n) out[i] = value;
}

__global__ void lanes_in_ptx(const int *x, int *sum, unsigned *votes, unsigned long long *packed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned lane;
    int value = i < n ? x[i] : 0, other;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    for (int distance = 16; distance > 0; distance /= 2) {
        asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(other) : "r"(value), "r"(distance));
        value += other;
    }
    unsigned vote;
    asm volatile("{.reg .pred p; setp.lt.s32 p, %1, %2; vote.sync.ballot.b32 %0, p, 0xffffffff;}" : "=r"(vote) : "r"(i), "r"(n));
    if (i < n) {
        sum[i] = value;
        votes[i] = vote;
        asm("mov.b64 %0, {%1, %2};" : "=l"(packed[i]) : "r"(lane), "r"(i));
    }
}

__global__ void scan_in_ptx(const int *x, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = i < n ? x[i] : 0;
    for (int distance = 1; distance < 32; distance *= 2)
        asm volatile("{  .reg .s32 r0;  .reg .pred p;"
                     "  shfl.sync.up.b32 r0|p, %1, %2, 0, 0xffffffff;"
                     "  @p add.s32 r0, r0, %3;"
                     "  @!p mov.b32 r0, %3;"
                     "  mov.s32 %0, r0;}"
                     : "=r"(sum)
                     : "r"(sum), "r"(distance), "r"(sum));
    if (i < n) out[i] = sum;
}
