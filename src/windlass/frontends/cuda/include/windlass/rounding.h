// Arithmetic with a chosen rounding: __fadd_rz, __dmul_ru, __fmaf_rd, ... (_rn is the ordinary operation, never fused).
//
// Written in ordinary arithmetic, so that every later stage gets it right without knowing of it: the operation is done
// to nearest, the sign of its error is found exactly (Knuth's TwoSum; a wider type or a fused multiply-add for products,
// quotients and roots), and the result moves to its neighbour where that sign asks for it.
#pragma once

#include "exact_begin.h"

enum __windlass_rounding { __windlass_to_zero, __windlass_upward, __windlass_downward };

// The next number away from zero (step 1) or towards it (step -1); x is not zero, except upward from +0 and down from -0.
__WINDLASS_BOTH float __windlass_step(float x, int step) {
    return __builtin_bit_cast(float, __builtin_bit_cast(unsigned int, x) + (unsigned int)step);
}
__WINDLASS_BOTH double __windlass_step(double x, int step) {
    return __builtin_bit_cast(double, __builtin_bit_cast(unsigned long long, x) + (unsigned long long)(long long)step);
}

// `nearest` is the exact value rounded to nearest; `error` has the sign of (exact - nearest). NaN errors ask for nothing.
template <class T, class E> __WINDLASS_BOTH T __windlass_round(T nearest, E error, __windlass_rounding mode) {
    bool negative = __builtin_signbit(nearest);
    if (mode == __windlass_to_zero) mode = negative ? __windlass_upward : __windlass_downward;
    if (mode == __windlass_upward && error > 0) {
        if (nearest == 0) return std::numeric_limits<T>::denorm_min();
        return __windlass_step(nearest, negative ? -1 : 1);
    }
    if (mode == __windlass_downward && error < 0) {
        if (nearest == 0) return -std::numeric_limits<T>::denorm_min();
        return __windlass_step(nearest, negative ? 1 : -1);
    }
    return nearest;
}

// double to float. A finite double that is too large has nearest = infinity, and its error has the other sign.
__WINDLASS_BOTH float __windlass_narrow(double x, __windlass_rounding mode) {
    float nearest = (float)x;
    double back = nearest;
    return __windlass_round(nearest, x > back ? 1 : x < back ? -1 : 0, mode);
}

// The error of a + b to nearest (Knuth); where the sum overflows, the sign that leads back to the largest number.
template <class T> __WINDLASS_BOTH T __windlass_sum_error(T a, T b, T sum) {
    if (__builtin_isinf(sum)) return __builtin_isfinite(a) && __builtin_isfinite(b) ? -sum : T(0);
    T b_part = sum - a;
    return (a - (sum - b_part)) + (b - b_part);
}
// x + error with its last bit telling that something follows: what is then rounded to float is rounded right.
__WINDLASS_BOTH double __windlass_round_to_odd(double x, double error) {
    if (!(error > 0 || error < 0) || (__builtin_bit_cast(unsigned long long, x) & 1)) return x;
    return __windlass_step(x, (error > 0) == (x > 0) ? 1 : -1);
}

// ---- float, through double
__WINDLASS_BOTH float __windlass_add(float a, float b, __windlass_rounding mode) {
    float sum = a + b;
    float error = __windlass_sum_error(a, b, sum);
    // An exact zero sum of opposite operands is -0 when rounding down.
    if (mode == __windlass_downward && sum == 0 && !(a == 0 && b == 0)) return -0.0f;
    if (mode == __windlass_downward && a == 0 && b == 0 && (__builtin_signbit(a) || __builtin_signbit(b))) return -0.0f;
    return __windlass_round(sum, error, mode);
}
__WINDLASS_BOTH float __windlass_multiply(float a, float b, __windlass_rounding mode) {
    return __windlass_narrow((double)a * (double)b, mode);
}
__WINDLASS_BOTH float __windlass_divide(float a, float b, __windlass_rounding mode) {
    float quotient = a / b;
    if (!__builtin_isfinite(a) || !__builtin_isfinite(b) || b == 0) return quotient;
    if (__builtin_isinf(quotient)) return __windlass_round(quotient, -quotient, mode);
    double rest = __builtin_fma(-(double)quotient, (double)b, (double)a);
    return __windlass_round(quotient, b < 0 ? -rest : rest, mode);
}
__WINDLASS_BOTH float __windlass_root(float a, __windlass_rounding mode) {
    float root = __builtin_sqrtf(a);
    if (!(a > 0) || __builtin_isinf(a)) return root;
    return __windlass_round(root, __builtin_fma(-(double)root, (double)root, (double)a), mode);
}
__WINDLASS_BOTH float __windlass_fused(float a, float b, float c, __windlass_rounding mode) {
    double product = (double)a * (double)b;
    double sum = product + (double)c;
    double error = __windlass_sum_error(product, (double)c, sum);
    if (mode == __windlass_downward && sum == 0 && error == 0 && !(product == 0 && c == 0)) return -0.0f;
    return __windlass_narrow(__windlass_round_to_odd(sum, error), mode);
}

// ---- double. Products and quotients near the smallest numbers are scaled before their error is taken.
__WINDLASS_BOTH double __windlass_add(double a, double b, __windlass_rounding mode) {
    double sum = a + b;
    double error = __windlass_sum_error(a, b, sum);
    if (mode == __windlass_downward && sum == 0 && !(a == 0 && b == 0)) return -0.0;
    if (mode == __windlass_downward && a == 0 && b == 0 && (__builtin_signbit(a) || __builtin_signbit(b))) return -0.0;
    return __windlass_round(sum, error, mode);
}
__WINDLASS_BOTH double __windlass_multiply(double a, double b, __windlass_rounding mode) {
    double product = a * b;
    if (!__builtin_isfinite(a) || !__builtin_isfinite(b) || a == 0 || b == 0) return product;
    if (__builtin_isinf(product)) return __windlass_round(product, -product, mode);
    double error;
    if (__builtin_fabs(product) < 0x1p-900) {
        bool a_is_smaller = __builtin_fabs(a) < __builtin_fabs(b);
        double small = (a_is_smaller ? a : b) * 0x1p600, large = a_is_smaller ? b : a;
        error = product == 0 ? (__builtin_signbit(product) ? -1.0 : 1.0) : __builtin_fma(small, large, -(product * 0x1p600));
    } else {
        error = __builtin_fma(a, b, -product);
    }
    return __windlass_round(product, error, mode);
}
__WINDLASS_BOTH double __windlass_divide(double a, double b, __windlass_rounding mode) {
    double quotient = a / b;
    if (!__builtin_isfinite(a) || !__builtin_isfinite(b) || b == 0 || a == 0) return quotient;
    if (__builtin_isinf(quotient)) return __windlass_round(quotient, -quotient, mode);
    double rest;
    if (quotient == 0) rest = __builtin_signbit(quotient) != (b < 0) ? -1.0 : 1.0;
    else if (__builtin_fabs(a) < 0x1p-400 && __builtin_fabs(b) < 1) rest = __builtin_fma(-quotient, b * 0x1p600, a * 0x1p600);
    else if (__builtin_fabs(a) < 0x1p-400) rest = __builtin_fma(-(quotient * 0x1p600), b, a * 0x1p600);
    else if (__builtin_fabs(b) > 0x1p900) rest = __builtin_fma(-quotient, b * 0x1p-200, a * 0x1p-200);
    else rest = __builtin_fma(-quotient, b, a);
    return __windlass_round(quotient, b < 0 ? -rest : rest, mode);
}
__WINDLASS_BOTH double __windlass_root(double a, __windlass_rounding mode) {
    double root = __builtin_sqrt(a);
    if (!(a > 0) || __builtin_isinf(a)) return root;
    double error = a < 0x1p-800 ? __builtin_fma(-(root * 0x1p300), root * 0x1p300, a * 0x1p600)
                                : __builtin_fma(-root, root, a);
    return __windlass_round(root, error, mode);
}
// The error of a fused multiply-add (Boldo and Muller), exact unless the product leaves the range of double.
__WINDLASS_BOTH double __windlass_fused(double a, double b, double c, __windlass_rounding mode) {
    double result = __builtin_fma(a, b, c);
    if (!__builtin_isfinite(a) || !__builtin_isfinite(b) || !__builtin_isfinite(c)) return result;
    if (__builtin_isinf(result)) return __windlass_round(result, -result, mode);
    double product = a * b, product_error = __builtin_fma(a, b, -product);
    double low = c + product_error, low_error = __windlass_sum_error(c, product_error, low);
    double high = product + low, high_error = __windlass_sum_error(product, low, high);
    double error = ((high - result) + high_error) + low_error;
    if (mode == __windlass_downward && result == 0 && error == 0 && !(product == 0 && c == 0)) return -0.0;
    return __windlass_round(result, error, mode);
}

#define __WINDLASS_ROUNDED(suffix, mode)                                                                             \
    __WINDLASS_DEVICE float __fadd_##suffix(float a, float b) { return __windlass_add(a, b, mode); }                 \
    __WINDLASS_DEVICE float __fsub_##suffix(float a, float b) { return __windlass_add(a, -b, mode); }                \
    __WINDLASS_DEVICE float __fmul_##suffix(float a, float b) { return __windlass_multiply(a, b, mode); }            \
    __WINDLASS_DEVICE float __fdiv_##suffix(float a, float b) { return __windlass_divide(a, b, mode); }              \
    __WINDLASS_DEVICE float __frcp_##suffix(float a) { return __windlass_divide(1.0f, a, mode); }                    \
    __WINDLASS_DEVICE float __fsqrt_##suffix(float a) { return __windlass_root(a, mode); }                           \
    __WINDLASS_DEVICE float __fmaf_##suffix(float a, float b, float c) { return __windlass_fused(a, b, c, mode); }   \
    __WINDLASS_DEVICE double __dadd_##suffix(double a, double b) { return __windlass_add(a, b, mode); }              \
    __WINDLASS_DEVICE double __dsub_##suffix(double a, double b) { return __windlass_add(a, -b, mode); }             \
    __WINDLASS_DEVICE double __dmul_##suffix(double a, double b) { return __windlass_multiply(a, b, mode); }         \
    __WINDLASS_DEVICE double __ddiv_##suffix(double a, double b) { return __windlass_divide(a, b, mode); }           \
    __WINDLASS_DEVICE double __drcp_##suffix(double a) { return __windlass_divide(1.0, a, mode); }                   \
    __WINDLASS_DEVICE double __dsqrt_##suffix(double a) { return __windlass_root(a, mode); }                         \
    __WINDLASS_DEVICE double __fma_##suffix(double a, double b, double c) { return __windlass_fused(a, b, c, mode); }
__WINDLASS_ROUNDED(rz, __windlass_to_zero)
__WINDLASS_ROUNDED(ru, __windlass_upward)
__WINDLASS_ROUNDED(rd, __windlass_downward)
#undef __WINDLASS_ROUNDED

__WINDLASS_DEVICE float __fadd_rn(float a, float b) { return a + b; }
__WINDLASS_DEVICE float __fsub_rn(float a, float b) { return a - b; }
__WINDLASS_DEVICE float __fmul_rn(float a, float b) { return a * b; }
__WINDLASS_DEVICE float __fdiv_rn(float a, float b) { return a / b; }
__WINDLASS_DEVICE float __frcp_rn(float a) { return 1.0f / a; }
__WINDLASS_DEVICE float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
__WINDLASS_DEVICE float __frsqrt_rn(float a) { return (float)(1.0 / __builtin_sqrt((double)a)); }
__WINDLASS_DEVICE float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__WINDLASS_DEVICE float __fmaf_ieee_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__WINDLASS_DEVICE double __dadd_rn(double a, double b) { return a + b; }
__WINDLASS_DEVICE double __dsub_rn(double a, double b) { return a - b; }
__WINDLASS_DEVICE double __dmul_rn(double a, double b) { return a * b; }
__WINDLASS_DEVICE double __ddiv_rn(double a, double b) { return a / b; }
__WINDLASS_DEVICE double __drcp_rn(double a) { return 1.0 / a; }
__WINDLASS_DEVICE double __dsqrt_rn(double a) { return __builtin_sqrt(a); }
__WINDLASS_DEVICE double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }

#include "exact_end.h"
