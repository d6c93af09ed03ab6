// Exponentials and logarithms, and what is made of them.
#pragma once
#include "base.h"
#include "coefficients.h"

template <class Real> struct Numbers;
template <> struct Numbers<float> {
    // Each constant as the sum of two; LN2 and LOG10_2 also with a first part whose products with exponents are exact.
    static constexpr float LN2[2] = {0x1.62e430p-1f, -0x1.05c610p-29f}, LN2_SHORT[2] = {0x1.62e4p-1f, 0x1.7f7d1cp-20f};
    static constexpr float LOG2E[2] = {0x1.715476p+0f, 0x1.4ae0c0p-26f}, LOG10E[2] = {0x1.bcb7b2p-2f, -0x1.5b235ep-27f};
    static constexpr float LN10[2] = {0x1.26bb1cp+1f, -0x1.12aabap-25f}, LOG2_10 = 0x1.a934f0p+1f;
    static constexpr float LOG10_2_SHORT[2] = {0x1.344p-2f, 0x1.3509f8p-18f};
    // Beyond these e^x is infinite, or less than half of the least number.
    static constexpr float MOST_EXP = 89, LEAST_EXP = -104.5f, MOST_EXP10 = 38.7f, LEAST_EXP10 = -45.5f;
    static constexpr float MOST_SINH = 89.5f, LEAST_EXPM1 = -18;
    static constexpr int MOST_EXP2 = 128, LEAST_EXP2 = -150, DIGITS = 24;
    static constexpr u32 TWO_THIRDS = 0x3f2aaaab;
};
template <> struct Numbers<double> {
    static constexpr double LN2[2] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
    static constexpr double LN2_SHORT[2] = {0x1.62e42ff000000p-1, -0x1.718432a1b0e26p-35};
    static constexpr double LOG2E[2] = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};
    static constexpr double LOG10E[2] = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};
    static constexpr double LN10[2] = {0x1.26bb1bbb55516p+1, -0x1.f48ad494ea3e9p-53}, LOG2_10 = 0x1.a934f0979a371p+1;
    static constexpr double LOG10_2_SHORT[2] = {0x1.3441350a00000p-2, -0x1.0c0219dc1da99p-39};
    static constexpr double MOST_EXP = 709.8, LEAST_EXP = -745.2, MOST_EXP10 = 308.3, LEAST_EXP10 = -323.7;
    static constexpr double MOST_SINH = 710.5, LEAST_EXPM1 = -38;
    static constexpr int MOST_EXP2 = 1024, LEAST_EXP2 = -1075, DIGITS = 53;
    static constexpr u64 TWO_THIRDS = 0x3fe5555555555555;
};
#define NUMBER(name) (Numbers<Real>::name)

// -- exponentials -----------------------------------------------------------------------------------------------------

// 2^n e^(high + low), where |high| <= ln2/2 and low is far less.
template <class Real>
INLINE Real exponential(Real high, Real low, int n) {
    Real rest = fused(high * high, polynomial(Coefficients<Real>::EXP, high), low);
    return scaled((Real)1 + (high + rest), n);
}

// e^x = 2^n e^r; gives r.
template <class Real>
INLINE Real split_exponent(Real x, Real &n) {
    n = nearest(x * NUMBER(LOG2E[0]));
    return fused(-n, NUMBER(LN2_SHORT[1]), fused(-n, NUMBER(LN2_SHORT[0]), x));
}

template <class Real>
INLINE Real exp_of(Real x) {
    if (!(x < NUMBER(MOST_EXP))) return x + infinity<Real>();
    if (x < NUMBER(LEAST_EXP)) return 0;
    Real n, rest = split_exponent(x, n);
    return exponential(rest, (Real)0, (int)n);
}

// Half of e^x, for x that are not small; e^x itself may be infinite.
template <class Real>
INLINE Real half_exp(Real x) {
    Real n, rest = split_exponent(x, n);
    return exponential(rest, (Real)0, (int)n - 1);
}

template <class Real>
INLINE Real exp2_of(Real x) {
    if (!(x < (Real)NUMBER(MOST_EXP2))) return x + infinity<Real>();
    if (x < (Real)NUMBER(LEAST_EXP2)) return 0;
    Real n = nearest(x), part = x - n, high = part * NUMBER(LN2[0]);
    return exponential(high, fused(part, NUMBER(LN2[1]), fused(part, NUMBER(LN2[0]), -high)), (int)n);
}

template <class Real>
INLINE Real exp10_of(Real x) {
    if (!(x < NUMBER(MOST_EXP10))) return x + infinity<Real>();
    if (x < NUMBER(LEAST_EXP10)) return 0;
    Real n = nearest(x * NUMBER(LOG2_10));
    Real most = fused(-n, NUMBER(LOG10_2_SHORT[0]), x), part = fused(-n, NUMBER(LOG10_2_SHORT[1]), most);
    Real part_rest = fused(-n, NUMBER(LOG10_2_SHORT[1]), most - part), high = part * NUMBER(LN10[0]);
    Real low = fused(part_rest, NUMBER(LN10[0]), fused(part, NUMBER(LN10[1]), fused(part, NUMBER(LN10[0]), -high)));
    return exponential(high, low, (int)n);
}

template <class Real>
INLINE Real expm1_of(Real x) {
    if (!(x < NUMBER(MOST_EXP))) return x + infinity<Real>();
    if (x < NUMBER(LEAST_EXPM1)) return -1;
    Real n, rest = split_exponent(x, n), lost = fused(-n, NUMBER(LN2_SHORT[0]), x) - rest;
    Real tail = fused(rest * rest, polynomial(Coefficients<Real>::EXP, rest), fused(-n, NUMBER(LN2_SHORT[1]), lost));
    if (n == 0) return magnitude(x) < power_of_two<Real>(-BIAS_OF(Real) / 2) ? x : rest + tail;
    if (n > (Real)(NUMBER(DIGITS) + 4)) return exponential(rest, (Real)0, (int)n);
    // 2^n (1 + rest + tail) - 1, its two large terms added without loss.
    Real scale = power_of_two<Real>((int)n), less = scale - 1, large = scale * rest, sum = less + large;
    return sum + ((large - (sum - less)) + scale * tail);
}

// -- logarithms -------------------------------------------------------------------------------------------------------

// x = 2^e (1 + f) with |f| <= 1/3, for x > 0 that are finite; gives f.
template <class Real>
INLINE Real split_number(Real x, Real &e) {
    int below = 0;
    if (x < power_of_two<Real>(1 - BIAS_OF(Real))) {
        x *= power_of_two<Real>(NUMBER(DIGITS));
        below = NUMBER(DIGITS);
    }
    INTEGER_OF(Real) bits = (INTEGER_OF(Real))bits_of(x);
    INTEGER_OF(Real) exponent = (bits - (INTEGER_OF(Real))NUMBER(TWO_THIRDS)) >> FRACTION_OF(Real);
    e = (Real)((int)exponent - below);
    return bits_as<Real>(bits - exponent * ((INTEGER_OF(Real))1 << FRACTION_OF(Real))) - 1;
}

// log(1 + f) - f, for |f| <= 1/3.
INLINE float log_tail(float f) {
    return fused(-0.5f * f, f, f * f * f * polynomial(Coefficients<float>::LOG_SERIES, f));
}
INLINE double log_tail(double f) {
    double s = f / (2 + f), square = s * s, half = 0.5 * f * f, lost = fused(0.5 * f, f, -half);
    return fused(s, fused(square, polynomial(Coefficients<double>::LOG_QUOTIENT, square), half), -lost) - half;
}

// log of 2^e (1 + f); the terms that don't get smaller are added without loss.
// `rest` is what f has been rounded by.
template <class Real>
INLINE Real log_of_parts(Real e, Real f, Real rest = 0) {
    Real whole = e * NUMBER(LN2_SHORT[0]), sum = whole + f;
    return sum + ((f - (sum - whole)) + fused(e, NUMBER(LN2_SHORT[1]), log_tail(f) + rest));
}

// Of numbers that have no logarithm, or no finite one.
template <class Real>
INLINE Real log_of_special(Real x) { return x == 0 ? -infinity<Real>() : x < 0 ? not_a_number<Real>() : x + x; }

template <class Real>
INLINE bool has_log(Real x) { return x > 0 && x < infinity<Real>(); }

template <class Real>
INLINE Real log_of(Real x) {
    if (!has_log(x)) return log_of_special(x);
    Real e, f = split_number(x, e);
    return log_of_parts(e, f);
}

// The same of another base, whose logarithm's inverse is `factor`, that of 2 `whole` + `part`.
template <class Real>
INLINE Real log_by_factor(Real x, const Real (&factor)[2], Real whole, Real part) {
    Real e, f = split_number(x, e), product = f * factor[0];
    Real rest = fused(f, factor[0], -product) + fused(f, factor[1], fused(log_tail(f), factor[0], e * part));
    Real multiple = e * whole, sum = multiple + product;
    return sum + ((product - (sum - multiple)) + rest);
}

template <class Real>
INLINE Real log2_of(Real x) {
    if (!has_log(x)) return log_of_special(x);
    return log_by_factor(x, Numbers<Real>::LOG2E, (Real)1, (Real)0);
}

template <class Real>
INLINE Real log10_of(Real x) {
    if (!has_log(x)) return log_of_special(x);
    return log_by_factor(x, Numbers<Real>::LOG10E, NUMBER(LOG10_2_SHORT[0]), NUMBER(LOG10_2_SHORT[1]));
}

template <class Real>
INLINE Real log1p_of(Real x) {
    if (!(x > -1)) return x == -1 ? -infinity<Real>() : is_nan(x) ? x : not_a_number<Real>();
    if (x == infinity<Real>() || magnitude(x) < power_of_two<Real>(-BIAS_OF(Real) / 2)) return x;
    Real third = (Real)1 / 3;
    if (x > -third && x < third) return x + log_tail(x);
    if (x > power_of_two<Real>(NUMBER(DIGITS) + 8)) return log_of(x);
    Real e;
    (void)split_number(1 + x, e);
    Real scale = power_of_two<Real>(-(int)e), f = fused(x, scale, scale - 1);
    return log_of_parts(e, f, fused(x, scale, (scale - 1) - f) / (1 + f));
}

// -- hyperbolic functions ---------------------------------------------------------------------------------------------

template <class Real>
INLINE Real sinh_of(Real x) {
    Real size = magnitude(x), square = x * x;
    if (size < 1) return fused(x * square, polynomial(Coefficients<Real>::SINH, square), x);
    if (!(size < NUMBER(MOST_SINH))) return x * infinity<Real>();
    Real half = half_exp(size);
    return with_sign(half - (Real)0.25 / half, x);
}

template <class Real>
INLINE Real cosh_of(Real x) {
    Real size = magnitude(x);
    if (!(size < NUMBER(MOST_SINH))) return size + infinity<Real>();
    Real half = half_exp(size);
    return half + (Real)0.25 / half;
}

template <class Real>
INLINE Real tanh_of(Real x) {
    Real size = magnitude(x), square = x * x;
    if (size < (Real)0.55) return with_sign(fused(x * square, polynomial(Coefficients<Real>::TANH, square), x), x);
    if (is_nan(x)) return x;
    return with_sign(size > 22 ? (Real)1 : 1 - 2 / (exp_of(2 * size) + 1), x);
}

INLINE double asinh_of(double x) {
    double size = magnitude(x), square = x * x;
    if (size < 0x1p-28 || !(size < infinity<double>())) return x;
    if (size > 0x1p28) return with_sign(log_of(size) + Numbers<double>::LN2[0], x);
    if (size > 2) return with_sign(log_of(2 * size + 1 / (root(square + 1) + size)), x);
    return with_sign(log1p_of(size + square / (1 + root(square + 1))), x);
}

INLINE double acosh_of(double x) {
    if (!(x >= 1)) return is_nan(x) ? x : not_a_number<double>();
    if (x > 0x1p28) return log_of(x) + Numbers<double>::LN2[0];
    if (x > 2) return log_of(2 * x - 1 / (x + root(x * x - 1)));
    double more = x - 1;
    return log1p_of(more + root(2 * more + more * more));
}

INLINE double atanh_of(double x) {
    double size = magnitude(x);
    if (!(size < 1)) return size == 1 ? with_sign(infinity<double>(), x) : is_nan(x) ? x : not_a_number<double>();
    if (size < 0x1p-28) return x;
    return with_sign(0.5 * log1p_of(size < 0.5 ? 2 * size + 2 * size * size / (1 - size) : 2 * size / (1 - size)), x);
}

// -- powers -----------------------------------------------------------------------------------------------------------

template <class Real>
INLINE bool is_integer(Real y) { return whole(y) == y; }

template <class Real>
INLINE bool is_odd(Real y) { return is_integer(y) && !is_infinite(y) && !is_integer(y * (Real)0.5); }

// x^y for x > 0 and finite: the logarithm and its product with y have twice the digits.
INLINE float power_of_positive(float x, float y) {
    typedef float Real;
    Real e, less = split_number(x, e), inverse = 1 / (less + 2);
    Real s = less * inverse, s_rest = inverse * fused(-s, less, fused(-2.0f, s, less));
    Real square = s * s, square_rest = fused(s, s, -square) + 2 * s * s_rest;
    Real cube = s * square, cube_rest = fused(s, square, -cube) + fused(s, square_rest, s_rest * square);
    const float (&series)[4] = Coefficients<float>::LOG_QUOTIENT;
    Real beyond = square * fused(square, fused(square, series[3], series[2]), series[1]);
    Real third = cube * 0x1.555556p-1f;
    Real third_rest = fused(cube, 0x1.555556p-1f, -third) + cube * -0x1.555556p-26f;
    third_rest += fused(cube_rest, 0x1.555556p-1f, cube * beyond);
    Real whole_part = e * NUMBER(LN2_SHORT[0]), sum = whole_part + 2 * s, rest = 2 * s - (sum - whole_part);
    Real most = sum + third, less_most = (third - (most - sum)) + rest;
    less_most += fused(e, NUMBER(LN2_SHORT[1]), third_rest) + 2 * s_rest;
    Real high = most + less_most, low = less_most - (high - most);
    Real exponent = y * high;
    if (!(exponent < NUMBER(MOST_EXP) + 1)) return exponent + infinity<Real>();
    if (exponent < NUMBER(LEAST_EXP) - 1) return 0;
    Real exponent_rest = fused(y, low, fused(y, high, -exponent));
    Real n, part = split_exponent(exponent, n);
    Real whole = part + exponent_rest;
    return exponential(whole, exponent_rest - (whole - part), (int)n);
}

extern "C" double pow(double x, double y);

INLINE float pow_of(float x, float y) {
    if (x == 1 || y == 0) return 1;
    if (is_nan(x) || is_nan(y)) return x + y;
    float size = magnitude(x);
    if (is_infinite(y)) return size == 1 ? 1 : (size > 1) == (y > 0) ? infinity<float>() : 0;
    float sign = is_negative(x) && is_odd(y) ? -1.0f : 1.0f;
    if (x == 0 || is_infinite(x)) return with_sign((x == 0) == (y > 0) ? 0.0f : infinity<float>(), sign);
    if (x < 0 && !is_integer(y)) return not_a_number<float>();
    return with_sign(power_of_positive(size, y), sign);
}

// By squaring, as often as n has bits.
template <class Real>
INLINE Real powi_of(Real x, i32 n) {
    Real product = 1;
    for (u32 rest = n < 0 ? 0u - (u32)n : (u32)n; rest; rest >>= 1, x *= x)
        if (rest & 1) product *= x;
    return n < 0 ? 1 / product : product;
}

// -- roots ------------------------------------------------------------------------------------------------------------

INLINE float third_of_exponent(float x) { return bits_as<float>(bits_of(x) / 3 + 0x2a514067u); }
INLINE double third_of_exponent(double x) { return bits_as<double>(bits_of(x) / 3 + 0x2a9f789300000000ull); }

template <class Real>
INLINE Real cbrt_of(Real x) {
    Real size = magnitude(x), after = 1;
    if (!(size < infinity<Real>()) || x == 0) return x + x;
    if (size < power_of_two<Real>(1 - BIAS_OF(Real))) {
        size *= power_of_two<Real>(54);
        after = power_of_two<Real>(-18);
    }
    if (size > power_of_two<Real>(BIAS_OF(Real) - 3)) {
        size *= power_of_two<Real>(-54);
        after = power_of_two<Real>(18);
    }
    Real y = third_of_exponent(size);
    for (int step = 0; step < (sizeof(Real) == 4 ? 2 : 3); step++) {
        Real cube = y * y * y;
        y = y * ((cube + 2 * size) / (2 * cube + size));
    }
    Real square = y * y, excess = fused(square, y, -size) + fused(y, y, -square) * y;
    return with_sign((y - excess / (3 * square)) * after, x);
}

template <class Real>
INLINE Real hypot_of(Real x, Real y) {
    x = magnitude(x), y = magnitude(y);
    if (x == infinity<Real>() || y == infinity<Real>()) return infinity<Real>();
    if (is_nan(x) || is_nan(y)) return x + y;
    Real high = x < y ? y : x, low = x < y ? x : y, before = 1, after = 1;
    if (high > power_of_two<Real>(BIAS_OF(Real) / 2 - 4))
        before = power_of_two<Real>(-BIAS_OF(Real) / 2 - 4), after = power_of_two<Real>(BIAS_OF(Real) / 2 + 4);
    if (high < power_of_two<Real>(-BIAS_OF(Real) / 2 + 4))
        before = power_of_two<Real>(BIAS_OF(Real) * 2 / 3), after = power_of_two<Real>(-BIAS_OF(Real) * 2 / 3);
    high *= before, low *= before;
    return root(fused(high, high, low * low)) * after;
}
