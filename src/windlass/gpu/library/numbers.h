// Functions of the parts of floats: exact ones.
#pragma once
#include "base.h"

// |x| modulo |y| for finite x and y != 0, and the last bits of the whole number of times, by long division.
template <class Real>
INLINE Real long_remainder(Real x, Real y, u32 &quotient) {
    typedef BITS_OF(Real) Bits;
    constexpr int FRACTION = FRACTION_OF(Real);
    constexpr Bits ONE = (Bits)1 << FRACTION;
    Bits a = bits_of(magnitude(x)), b = bits_of(magnitude(y));
    quotient = 0;
    if (a < b) return magnitude(x);
    int of_a = (int)(a >> FRACTION), of_b = (int)(b >> FRACTION);
    u64 rest = of_a ? (a & (ONE - 1)) | ONE : a, divisor = of_b ? (b & (ONE - 1)) | ONE : b;
    of_a += !of_a, of_b += !of_b;
    int more = of_a - of_b;
    quotient = (u32)(rest / divisor);
    rest %= divisor;
    constexpr int STEP = 63 - FRACTION;  // so many bits at once
    while (more > 0 && rest) {
        int bits = more < STEP ? more : STEP;
        rest <<= bits;
        quotient = (bits < 32 ? quotient << bits : 0) + (u32)(rest / divisor);
        rest %= divisor;
        more -= bits;
    }
    if (more > 0) quotient = more < 32 ? quotient << more : 0;
    if (rest == 0) return 0;
    int up = FRACTION - (63 - __builtin_clzll(rest));
    if (up >= of_b) return bits_as<Real>((Bits)(rest << (of_b - 1)));
    return bits_as<Real>((Bits)((rest << up) & (ONE - 1)) | (Bits)(of_b - up) << FRACTION);
}

template <class Real>
INLINE bool has_no_remainder(Real x, Real y) { return is_nan(x) || is_nan(y) || is_infinite(x) || y == 0; }

template <class Real>
INLINE Real fmod_of(Real x, Real y) {
    if (has_no_remainder(x, y)) return is_nan(x) || is_nan(y) ? x + y : not_a_number<Real>();
    if (is_infinite(y)) return x;
    u32 quotient;
    return with_sign(long_remainder(x, y, quotient), x);
}

template <class Real>
INLINE Real remquo_of(Real x, Real y, i32 &quotient) {
    quotient = 0;
    if (has_no_remainder(x, y)) return is_nan(x) || is_nan(y) ? x + y : not_a_number<Real>();
    if (is_infinite(y)) return x;
    u32 count;
    Real rest = long_remainder(x, y, count), size = magnitude(y), other = size - rest;
    // Where twice the divisor is beyond all numbers halves are compared: their last bits don't matter there.
    if (rest > other || (rest == other && (count & 1))) {
        rest = -other;
        count++;
    }
    quotient = (i32)(count & 0x7fffffff);
    if (is_negative(x) != is_negative(y)) quotient = -quotient;
    if (rest == 0) return with_sign(rest, x);
    return is_negative(x) ? -rest : rest;
}

// x 2^n, rounded once.
template <class Real>
INLINE Real ldexp_of(Real x, i64 n) {
    typedef BITS_OF(Real) Bits;
    constexpr int FRACTION = FRACTION_OF(Real), BIAS = BIAS_OF(Real);
    if (x == 0 || is_nan(x) || is_infinite(x)) return x + x;
    n = n > 5000 ? 5000 : n < -5000 ? -5000 : n;
    Bits bits = bits_of(x);
    int exponent = (int)(bits >> FRACTION & (2 * BIAS + 1));
    if (exponent == 0) {
        bits = bits_of(x * power_of_two<Real>(FRACTION + 1));
        exponent = (int)(bits >> FRACTION & (2 * BIAS + 1)) - FRACTION - 1;
    }
    Real one = bits_as<Real>((bits & ~((Bits)(2 * BIAS + 1) << FRACTION)) | (Bits)BIAS << FRACTION);
    int sum = exponent - BIAS + (int)n;
    if (sum > BIAS) return with_sign(infinity<Real>(), x);
    if (sum < -BIAS - FRACTION - 1) return with_sign((Real)0, x);
    if (sum >= 1 - BIAS) return one * power_of_two<Real>(sum);
    return one * power_of_two<Real>(1 - BIAS) * power_of_two<Real>(sum - (1 - BIAS));
}

// x = fraction 2^exponent with 0.5 <= |fraction| < 1.
template <class Real>
INLINE Real frexp_of(Real x, i32 &exponent) {
    typedef BITS_OF(Real) Bits;
    constexpr int FRACTION = FRACTION_OF(Real), BIAS = BIAS_OF(Real);
    exponent = 0;
    if (x == 0 || is_nan(x) || is_infinite(x)) return x + x;
    Bits bits = bits_of(x);
    if (!(bits >> FRACTION & (2 * BIAS + 1))) {
        bits = bits_of(x * power_of_two<Real>(FRACTION + 1));
        exponent = -FRACTION - 1;
    }
    exponent += (int)(bits >> FRACTION & (2 * BIAS + 1)) - BIAS + 1;
    return bits_as<Real>((bits & ~((Bits)(2 * BIAS + 1) << FRACTION)) | (Bits)(BIAS - 1) << FRACTION);
}

template <class Real>
INLINE Real nextafter_of(Real x, Real y) {
    typedef BITS_OF(Real) Bits;
    if (is_nan(x) || is_nan(y)) return x + y;
    if (x == y) return y;
    if (x == 0) return with_sign(bits_as<Real>((Bits)1), y);
    return bits_as<Real>((Bits)(bits_of(x) + ((x < y) == (x > 0) ? (Bits)1 : ~(Bits)0)));
}

template <class Real>
INLINE i32 ilogb_of(Real x) {
    if (x == 0 || is_nan(x)) return -2147483647 - 1;
    if (is_infinite(x)) return 2147483647;
    i32 exponent;
    (void)frexp_of(x, exponent);
    return exponent - 1;
}

template <class Real>
INLINE Real logb_of(Real x) {
    if (x == 0) return -infinity<Real>();
    if (is_nan(x) || is_infinite(x)) return x * x;
    return (Real)ilogb_of(x);
}

template <class Real>
INLINE Real modf_of(Real x, Real *integer) {
    *integer = whole(x);
    return with_sign(is_infinite(x) ? (Real)0 : x - *integer, x);
}
