// Conversions between numbers with a chosen rounding, and reinterpretation of bits.
//
// Float to integer saturates and turns NaN to 0 (to the smallest value for 64-bit results), as the device does.
#pragma once

// `x` is a whole number already; `limit` is 2 to the power of the number of value bits.
template <class I, class F> __WINDLASS_BOTH I __windlass_saturate(F x, F limit, I for_nan) {
    if (x != x) return for_nan;
    if (x >= limit) return std::numeric_limits<I>::max();
    if (x <= (std::numeric_limits<I>::is_signed ? -limit : F(0))) return std::numeric_limits<I>::min();
    return (I)x;
}

#define __WINDLASS_TO_INTEGER(from, F, to, I, limit, nan_result, suffix, round)                 \
    __WINDLASS_DEVICE I __##from##2##to##_##suffix(F x) {                                       \
        return __windlass_saturate<I, F>(round(x), (F)limit, nan_result);                       \
    }
#define __WINDLASS_TO_INTEGERS(from, F, f, suffix, round)                                                               \
    __WINDLASS_TO_INTEGER(from, F, int, int, 0x1p31, 0, suffix, round##f)                                               \
    __WINDLASS_TO_INTEGER(from, F, uint, unsigned int, 0x1p32, 0, suffix, round##f)                                     \
    __WINDLASS_TO_INTEGER(from, F, ll, long long, 0x1p63, (long long)0x8000000000000000ull, suffix, round##f)           \
    __WINDLASS_TO_INTEGER(from, F, ull, unsigned long long, 0x1p64, 0x8000000000000000ull, suffix, round##f)
#define __WINDLASS_FROM_FLOATS(suffix, round)               \
    __WINDLASS_TO_INTEGERS(float, float, f, suffix, round)  \
    __WINDLASS_TO_INTEGERS(double, double, , suffix, round)
__WINDLASS_FROM_FLOATS(rn, __builtin_rint)
__WINDLASS_FROM_FLOATS(rz, __builtin_trunc)
__WINDLASS_FROM_FLOATS(ru, __builtin_ceil)
__WINDLASS_FROM_FLOATS(rd, __builtin_floor)
#undef __WINDLASS_FROM_FLOATS
#undef __WINDLASS_TO_INTEGERS
#undef __WINDLASS_TO_INTEGER

// ---- integer to float
__WINDLASS_DEVICE float __int2float_rn(int x) { return (float)x; }
__WINDLASS_DEVICE float __uint2float_rn(unsigned int x) { return (float)x; }
__WINDLASS_DEVICE float __ll2float_rn(long long x) { return (float)x; }
__WINDLASS_DEVICE float __ull2float_rn(unsigned long long x) { return (float)x; }
__WINDLASS_DEVICE double __int2double_rn(int x) { return (double)x; }
__WINDLASS_DEVICE double __uint2double_rn(unsigned int x) { return (double)x; }
__WINDLASS_DEVICE double __ll2double_rn(long long x) { return (double)x; }
__WINDLASS_DEVICE double __ull2double_rn(unsigned long long x) { return (double)x; }

// A 64-bit integer is its two halves in double, whose sum has an error that is known exactly.
__WINDLASS_DEVICE double __windlass_high_half(long long x) { return (double)(x >> 32) * 0x1p32; }
__WINDLASS_DEVICE double __windlass_high_half(unsigned long long x) { return (double)(x >> 32) * 0x1p32; }
#define __WINDLASS_FROM_INTEGER(suffix, mode)                                                                          \
    __WINDLASS_DEVICE float __int2float_##suffix(int x) { return __windlass_narrow((double)x, mode); }                 \
    __WINDLASS_DEVICE float __uint2float_##suffix(unsigned int x) { return __windlass_narrow((double)x, mode); }       \
    __WINDLASS_DEVICE double __ll2double_##suffix(long long x) {                                                       \
        double high = __windlass_high_half(x), low = (double)(unsigned int)x, sum = high + low;                        \
        return __windlass_round(sum, __windlass_sum_error(high, low, sum), mode);                                      \
    }                                                                                                                  \
    __WINDLASS_DEVICE double __ull2double_##suffix(unsigned long long x) {                                             \
        double high = __windlass_high_half(x), low = (double)(unsigned int)x, sum = high + low;                        \
        return __windlass_round(sum, __windlass_sum_error(high, low, sum), mode);                                      \
    }                                                                                                                  \
    __WINDLASS_DEVICE float __ll2float_##suffix(long long x) {                                                         \
        double high = __windlass_high_half(x), low = (double)(unsigned int)x, sum = high + low;                        \
        return __windlass_narrow(__windlass_round_to_odd(sum, __windlass_sum_error(high, low, sum)), mode);            \
    }                                                                                                                  \
    __WINDLASS_DEVICE float __ull2float_##suffix(unsigned long long x) {                                               \
        double high = __windlass_high_half(x), low = (double)(unsigned int)x, sum = high + low;                        \
        return __windlass_narrow(__windlass_round_to_odd(sum, __windlass_sum_error(high, low, sum)), mode);            \
    }                                                                                                                  \
    __WINDLASS_DEVICE float __double2float_##suffix(double x) { return __windlass_narrow(x, mode); }
__WINDLASS_FROM_INTEGER(rz, __windlass_to_zero)
__WINDLASS_FROM_INTEGER(ru, __windlass_upward)
__WINDLASS_FROM_INTEGER(rd, __windlass_downward)
#undef __WINDLASS_FROM_INTEGER
__WINDLASS_DEVICE float __double2float_rn(double x) { return (float)x; }

// ---- bits
__WINDLASS_DEVICE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__WINDLASS_DEVICE unsigned int __float_as_uint(float x) { return __builtin_bit_cast(unsigned int, x); }
__WINDLASS_DEVICE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__WINDLASS_DEVICE float __uint_as_float(unsigned int x) { return __builtin_bit_cast(float, x); }
__WINDLASS_DEVICE long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
__WINDLASS_DEVICE double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
__WINDLASS_DEVICE int __double2hiint(double x) { return (int)(__builtin_bit_cast(unsigned long long, x) >> 32); }
__WINDLASS_DEVICE int __double2loint(double x) { return (int)__builtin_bit_cast(unsigned long long, x); }
__WINDLASS_DEVICE double __hiloint2double(int high, int low) {
    return __builtin_bit_cast(double, ((unsigned long long)(unsigned int)high << 32) | (unsigned int)low);
}
