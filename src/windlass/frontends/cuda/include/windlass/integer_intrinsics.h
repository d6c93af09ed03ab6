// Integer intrinsics: counting and moving bits, high halves of products, packed bytes and half-words.
#pragma once

__WINDLASS_BOTH int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned int)x); }
__WINDLASS_BOTH int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
__WINDLASS_BOTH int __ffs(int x) { return x == 0 ? 0 : __builtin_ctz((unsigned int)x) + 1; }
__WINDLASS_BOTH int __ffsll(long long x) { return x == 0 ? 0 : __builtin_ctzll((unsigned long long)x) + 1; }
__WINDLASS_BOTH int __popc(unsigned int x) { return __builtin_popcount(x); }
__WINDLASS_BOTH int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__WINDLASS_BOTH unsigned int __brev(unsigned int x) { return __builtin_bitreverse32(x); }
__WINDLASS_BOTH unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
// The position of the n-th set bit from bit `base` on, upward (n > 0) or downward (n < 0); all ones where there is none.
__WINDLASS_BOTH unsigned int __fns(unsigned int mask, unsigned int base, int n) {
    if (n == 0) return (mask >> (base & 31)) & 1 ? base : 0xffffffffu;
    int step = n > 0 ? 1 : -1, left = n > 0 ? n : -n;
    for (int bit = (int)base; bit >= 0 && bit < 32; bit += step)
        if ((mask >> bit) & 1 && --left == 0) return (unsigned int)bit;
    return 0xffffffffu;
}

__WINDLASS_BOTH int __mul24(int x, int y) {
    return (int)((unsigned int)((int)((unsigned int)x << 8) >> 8) * (unsigned int)((int)((unsigned int)y << 8) >> 8));
}
__WINDLASS_BOTH unsigned int __umul24(unsigned int x, unsigned int y) { return (x & 0xffffffu) * (y & 0xffffffu); }
__WINDLASS_BOTH int mul24(int x, int y) { return __mul24(x, y); }
__WINDLASS_BOTH unsigned int umul24(unsigned int x, unsigned int y) { return __umul24(x, y); }
__WINDLASS_BOTH int __mulhi(int x, int y) { return (int)(((long long)x * y) >> 32); }
__WINDLASS_BOTH unsigned int __umulhi(unsigned int x, unsigned int y) {
    return (unsigned int)(((unsigned long long)x * y) >> 32);
}
__WINDLASS_BOTH int mulhi(int x, int y) { return __mulhi(x, y); }
__WINDLASS_BOTH unsigned int umulhi(unsigned int x, unsigned int y) { return __umulhi(x, y); }
// By 32-bit digits: 128-bit products would ask too much of the later stages.
__WINDLASS_BOTH unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    unsigned long long x_low = (unsigned int)x, x_high = x >> 32, y_low = (unsigned int)y, y_high = y >> 32;
    unsigned long long low_high = x_low * y_high, high_low = x_high * y_low;
    unsigned long long carry = ((x_low * y_low) >> 32) + (unsigned int)low_high + (unsigned int)high_low;
    return x_high * y_high + (low_high >> 32) + (high_low >> 32) + (carry >> 32);
}
__WINDLASS_BOTH long long __mul64hi(long long x, long long y) {
    unsigned long long high = __umul64hi((unsigned long long)x, (unsigned long long)y);
    return (long long)(high - (x < 0 ? (unsigned long long)y : 0) - (y < 0 ? (unsigned long long)x : 0));
}
__WINDLASS_BOTH unsigned long long umul64hi(unsigned long long x, unsigned long long y) { return __umul64hi(x, y); }
__WINDLASS_BOTH long long mul64hi(long long x, long long y) { return __mul64hi(x, y); }

__WINDLASS_BOTH int __hadd(int x, int y) { return (int)(((long long)x + y) >> 1); }
__WINDLASS_BOTH int __rhadd(int x, int y) { return (int)(((long long)x + y + 1) >> 1); }
__WINDLASS_BOTH unsigned int __uhadd(unsigned int x, unsigned int y) { return (unsigned int)(((unsigned long long)x + y) >> 1); }
__WINDLASS_BOTH unsigned int __urhadd(unsigned int x, unsigned int y) {
    return (unsigned int)(((unsigned long long)x + y + 1) >> 1);
}
__WINDLASS_BOTH unsigned int __sad(int x, int y, unsigned int z) {
    return z + (x > y ? (unsigned int)x - (unsigned int)y : (unsigned int)y - (unsigned int)x);
}
__WINDLASS_BOTH unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) { return z + (x > y ? x - y : y - x); }

// Byte i of the result is byte (selector >> 4i) & 7 of the eight bytes y:x.
__WINDLASS_BOTH unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) {
    unsigned long long bytes = ((unsigned long long)y << 32) | x;
    unsigned int b0 = (unsigned int)(bytes >> (8 * (selector & 7))) & 0xff;
    unsigned int b1 = (unsigned int)(bytes >> (8 * ((selector >> 4) & 7))) & 0xff;
    unsigned int b2 = (unsigned int)(bytes >> (8 * ((selector >> 8) & 7))) & 0xff;
    unsigned int b3 = (unsigned int)(bytes >> (8 * ((selector >> 12) & 7))) & 0xff;
    return b0 | (b1 << 8) | (b2 << 16) | (b3 << 24);
}
__WINDLASS_BOTH unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift) {
    return (unsigned int)(((((unsigned long long)high << 32) | low) << (shift & 31)) >> 32);
}
__WINDLASS_BOTH unsigned int __funnelshift_lc(unsigned int low, unsigned int high, unsigned int shift) {
    return (unsigned int)(((((unsigned long long)high << 32) | low) << (shift < 32 ? shift : 32)) >> 32);
}
__WINDLASS_BOTH unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift) {
    return (unsigned int)((((unsigned long long)high << 32) | low) >> (shift & 31));
}
__WINDLASS_BOTH unsigned int __funnelshift_rc(unsigned int low, unsigned int high, unsigned int shift) {
    return (unsigned int)((((unsigned long long)high << 32) | low) >> (shift < 32 ? shift : 32));
}

// ---- dot products of packed bytes and half-words
#define __WINDLASS_DOT4(type, byte)                                                             \
    __WINDLASS_BOTH type __dp4a(type x, type y, type z) {                                       \
        for (int i = 0; i < 32; i += 8) z += (type)(byte)(x >> i) * (type)(byte)(y >> i);       \
        return z;                                                                               \
    }
__WINDLASS_DOT4(int, signed char)
__WINDLASS_DOT4(unsigned int, unsigned char)
#undef __WINDLASS_DOT4
__WINDLASS_BOTH int __dp4a(char4 x, char4 y, int z) { return z + x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w; }
__WINDLASS_BOTH unsigned int __dp4a(uchar4 x, uchar4 y, unsigned int z) {
    return z + x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
}
__WINDLASS_BOTH int __dp2a_lo(int x, int y, int z) {
    return z + (short)x * (signed char)y + (short)(x >> 16) * (signed char)(y >> 8);
}
__WINDLASS_BOTH int __dp2a_hi(int x, int y, int z) {
    return z + (short)x * (signed char)(y >> 16) + (short)(x >> 16) * (signed char)(y >> 24);
}

// ---- two half-words or four bytes in one word (__vadd4, __vmaxs2, __vcmpgtu4, ...)
template <class Lane, class F> __WINDLASS_BOTH unsigned int __windlass_by_lane(unsigned int x, unsigned int y, F f) {
    constexpr int bits = 8 * sizeof(Lane);
    constexpr unsigned int mask = (1u << bits) - 1;
    unsigned int result = 0;
    for (int i = 0; i < 32; i += bits) result |= ((unsigned int)f((int)(Lane)(x >> i), (int)(Lane)(y >> i)) & mask) << i;
    return result;
}
#define __WINDLASS_LANES(name, lane, expression)                                                                    \
    __WINDLASS_BOTH unsigned int name(unsigned int x, unsigned int y) {                                             \
        return __windlass_by_lane<lane>(x, y, [] __attribute__((host, device, always_inline))(int a, int b) {       \
            return expression;                                                                                      \
        });                                                                                                         \
    }
#define __WINDLASS_LANES_OF(count, signed_lane, unsigned_lane, smallest, largest, all_ones)                           \
    __WINDLASS_LANES(__vadd##count, unsigned_lane, a + b)                                                             \
    __WINDLASS_LANES(__vsub##count, unsigned_lane, a - b)                                                             \
    __WINDLASS_LANES(__vaddss##count, signed_lane, (a + b > largest ? largest : a + b < smallest ? smallest : a + b)) \
    __WINDLASS_LANES(__vsubss##count, signed_lane, (a - b > largest ? largest : a - b < smallest ? smallest : a - b)) \
    __WINDLASS_LANES(__vaddus##count, unsigned_lane, (a + b > all_ones ? all_ones : a + b))                           \
    __WINDLASS_LANES(__vsubus##count, unsigned_lane, (a - b < 0 ? 0 : a - b))                                         \
    __WINDLASS_LANES(__vabsdiffs##count, signed_lane, (a > b ? a - b : b - a))                                        \
    __WINDLASS_LANES(__vabsdiffu##count, unsigned_lane, (a > b ? a - b : b - a))                                      \
    __WINDLASS_LANES(__vavgs##count, signed_lane, ((a + b + (a + b >= 0)) >> 1))                                      \
    __WINDLASS_LANES(__vavgu##count, unsigned_lane, ((a + b + 1) >> 1))                                               \
    __WINDLASS_LANES(__vhaddu##count, unsigned_lane, ((a + b) >> 1))                                                  \
    __WINDLASS_LANES(__vmaxs##count, signed_lane, (a > b ? a : b))                                                    \
    __WINDLASS_LANES(__vmaxu##count, unsigned_lane, (a > b ? a : b))                                                  \
    __WINDLASS_LANES(__vmins##count, signed_lane, (a < b ? a : b))                                                    \
    __WINDLASS_LANES(__vminu##count, unsigned_lane, (a < b ? a : b))                                                  \
    __WINDLASS_LANES(__vcmpeq##count, unsigned_lane, (a == b ? all_ones : 0))                                         \
    __WINDLASS_LANES(__vcmpne##count, unsigned_lane, (a != b ? all_ones : 0))                                         \
    __WINDLASS_LANES(__vcmpgts##count, signed_lane, (a > b ? all_ones : 0))                                           \
    __WINDLASS_LANES(__vcmpgtu##count, unsigned_lane, (a > b ? all_ones : 0))                                         \
    __WINDLASS_LANES(__vcmpges##count, signed_lane, (a >= b ? all_ones : 0))                                          \
    __WINDLASS_LANES(__vcmpgeu##count, unsigned_lane, (a >= b ? all_ones : 0))                                        \
    __WINDLASS_LANES(__vcmplts##count, signed_lane, (a < b ? all_ones : 0))                                           \
    __WINDLASS_LANES(__vcmpltu##count, unsigned_lane, (a < b ? all_ones : 0))                                         \
    __WINDLASS_LANES(__vcmples##count, signed_lane, (a <= b ? all_ones : 0))                                          \
    __WINDLASS_LANES(__vcmpleu##count, unsigned_lane, (a <= b ? all_ones : 0))                                        \
    __WINDLASS_LANES(__vseteq##count, unsigned_lane, a == b)                                                          \
    __WINDLASS_LANES(__vsetne##count, unsigned_lane, a != b)                                                          \
    __WINDLASS_LANES(__vsetgts##count, signed_lane, a > b)                                                            \
    __WINDLASS_LANES(__vsetgtu##count, unsigned_lane, a > b)                                                          \
    __WINDLASS_LANES(__vsetlts##count, signed_lane, a < b)                                                            \
    __WINDLASS_LANES(__vsetltu##count, unsigned_lane, a < b)                                                          \
    __WINDLASS_LANES(__vsetges##count, signed_lane, a >= b)                                                           \
    __WINDLASS_LANES(__vsetgeu##count, unsigned_lane, a >= b)                                                         \
    __WINDLASS_LANES(__vsetles##count, signed_lane, a <= b)                                                           \
    __WINDLASS_LANES(__vsetleu##count, unsigned_lane, a <= b)                                                         \
    __WINDLASS_BOTH unsigned int __vneg##count(unsigned int x) { return __vsub##count(0, x); }                        \
    __WINDLASS_BOTH unsigned int __vnegss##count(unsigned int x) { return __vsubss##count(0, x); }                    \
    __WINDLASS_BOTH unsigned int __vabs##count(unsigned int x) { return __vabsdiffs##count(x, 0); }                   \
    __WINDLASS_BOTH unsigned int __vabsss##count(unsigned int x) { return __vmaxs##count(x, __vsubss##count(0, x)); }
__WINDLASS_LANES_OF(2, short, unsigned short, -32768, 32767, 65535)
__WINDLASS_LANES_OF(4, signed char, unsigned char, -128, 127, 255)
#undef __WINDLASS_LANES_OF
#undef __WINDLASS_LANES
__WINDLASS_BOTH unsigned int __vsads4(unsigned int x, unsigned int y) {
    unsigned int sum = 0, difference = __vabsdiffs4(x, y);
    for (int i = 0; i < 32; i += 8) sum += (difference >> i) & 0xff;
    return sum;
}
__WINDLASS_BOTH unsigned int __vsadu4(unsigned int x, unsigned int y) {
    unsigned int sum = 0, difference = __vabsdiffu4(x, y);
    for (int i = 0; i < 32; i += 8) sum += (difference >> i) & 0xff;
    return sum;
}

// ---- a sum, and the larger or smaller of it and a third number (dynamic programming); the sum wraps around
__WINDLASS_BOTH int __viaddmax_s32(int x, int y, int z) {
    int sum = (int)((unsigned int)x + (unsigned int)y);
    return sum > z ? sum : z;
}
__WINDLASS_BOTH int __viaddmin_s32(int x, int y, int z) {
    int sum = (int)((unsigned int)x + (unsigned int)y);
    return sum < z ? sum : z;
}
__WINDLASS_BOTH unsigned int __viaddmax_u32(unsigned int x, unsigned int y, unsigned int z) { return x + y > z ? x + y : z; }
__WINDLASS_BOTH unsigned int __viaddmin_u32(unsigned int x, unsigned int y, unsigned int z) { return x + y < z ? x + y : z; }
__WINDLASS_BOTH int __viaddmax_s32_relu(int x, int y, int z) {
    int most = __viaddmax_s32(x, y, z);
    return most > 0 ? most : 0;
}
__WINDLASS_BOTH int __viaddmin_s32_relu(int x, int y, int z) {
    int least = __viaddmin_s32(x, y, z);
    return least > 0 ? least : 0;
}
