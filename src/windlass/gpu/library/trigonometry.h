// Trigonometric functions and their inverses.
#pragma once
#include "base.h"
#include "coefficients.h"

template <class Real> struct Circle;
template <> struct Circle<float> {
    static constexpr float HALF[3] = {0x1.921fb6p+0f, -0x1.777a5cp-25f, -0x1.ee59dap-50f};
    static constexpr float WHOLE[2] = {0x1.921fb6p+1f, -0x1.777a5cp-24f}, TWO_OVER = 0x1.45f306p-1f;
};
template <> struct Circle<double> {
    static constexpr double HALF[2] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
    static constexpr double WHOLE[2] = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
};

// -- sines ------------------------------------------------------------------------------------------------------------

// 2/pi in words, two zero bits first.
static constexpr u32 TWO_OVER_PI[6] = {0x28be60db, 0x9391054a, 0x7f09d5f4, 0x7d4d3770, 0x36d8a566, 0x4f10e410};

INLINE u32 word_of_two_over_pi(u32 place) {
    u32 found = 0;
    for (u32 i = 0; i < 6; i++) found = i == place ? TWO_OVER_PI[i] : found;
    return found;
}

// x = quadrant pi/2 + rest with |rest| <= pi/4, by as many words of 2/pi as matter (Payne and Hanek).
static __attribute__((noinline)) float reduce_large(float x, int &quadrant) {
    u32 bits = bits_of(x), fraction = (bits & 0x7fffff) << 8 | 0x80000000;
    u32 exponent = ((bits >> 23) & 0xff) - 126, place = exponent >> 5, shift = exponent & 31;
    u32 high = place ? word_of_two_over_pi(place - 1) : 0, middle = word_of_two_over_pi(place);
    u32 low = word_of_two_over_pi(place + 1), beyond = word_of_two_over_pi(place + 2);
    if (shift) {
        high = high << shift | middle >> (32 - shift);
        middle = middle << shift | low >> (32 - shift);
        low = low << shift | beyond >> (32 - shift);
    }
    u64 product = (u64)fraction * low;
    product = (u64)fraction * middle + (product >> 32);
    product += (u64)(fraction * high) << 32;
    int quarter = (int)(product >> 62);
    product &= 0x3fffffffffffffffull;
    if (product & 0x2000000000000000ull) {
        product -= 0x4000000000000000ull;
        quarter++;
    }
    float rest = (float)((double)(i64)product * 0x1.921fb54442d18p-62);
    quadrant = x < 0 ? -quarter : quarter;
    return x < 0 ? -rest : rest;
}

INLINE float reduce(float x, int &quadrant) {
    quadrant = 0;
    if (magnitude(x) <= 0x1.921fb6p-1f) return x;
    if (magnitude(x) > 71476.0f) return is_infinite(x) || is_nan(x) ? x - x : reduce_large(x, quadrant);
    float n = nearest(x * Circle<float>::TWO_OVER);
    quadrant = (int)n;
    return fused(-n, Circle<float>::HALF[2], fused(-n, Circle<float>::HALF[1], fused(-n, Circle<float>::HALF[0], x)));
}

INLINE float sine(float r) {
    float square = r * r;
    return fused(r * square, polynomial(Coefficients<float>::SIN, square), r);
}

INLINE float cosine(float r) {
    float square = r * r, half = 0.5f * square, most = 1 - half;
    return most + ((1 - most - half) + square * square * polynomial(Coefficients<float>::COS, square));
}

INLINE float sine_of_quadrant(float r, int quadrant) {
    float value = quadrant & 1 ? cosine(r) : sine(r);
    return quadrant & 2 ? -value : value;
}

INLINE float sin_of(float x) {
    int quadrant;
    float r = reduce(x, quadrant);
    return x == 0 ? x : sine_of_quadrant(r, quadrant);
}

INLINE float cos_of(float x) {
    int quadrant;
    float r = reduce(x, quadrant);
    return sine_of_quadrant(r, quadrant + 1);
}

INLINE float tan_of(float x) {
    int quadrant;
    float r = reduce(x, quadrant), s = sine(r), c = cosine(r);
    return x == 0 ? x : quadrant & 1 ? -c / s : s / c;
}

// The same of doubles: the reduction and the polynomials are the C library's (library.py: LIBC).
extern "C" int __rem_pio2(double x, double *rest);
extern "C" double __sin(double x, double rest, int has_rest);
extern "C" double __cos(double x, double rest);
extern "C" double __tan(double x, double rest, int is_odd);

INLINE int reduce(double x, double &high, double &low) {
    high = x, low = 0;
    if (magnitude(x) <= 0x1.921fb54442d18p-1) return 0;
    if (is_infinite(x) || is_nan(x)) {
        high = x - x;
        return 0;
    }
    double rest[2];
    int quadrant = __rem_pio2(x, rest);
    high = rest[0], low = rest[1];
    return quadrant;
}

INLINE double sine_of_quadrant(double high, double low, int quadrant) {
    double value = quadrant & 1 ? __cos(high, low) : __sin(high, low, 1);
    return quadrant & 2 ? -value : value;
}

INLINE double sin_of(double x) {
    double high, low;
    int quadrant = reduce(x, high, low);
    return x == 0 ? x : sine_of_quadrant(high, low, quadrant);
}

INLINE double cos_of(double x) {
    double high, low;
    int quadrant = reduce(x, high, low);
    return sine_of_quadrant(high, low, quadrant + 1);
}

INLINE double tan_of(double x) {
    double high, low;
    int quadrant = reduce(x, high, low);
    return x == 0 ? x : __tan(high, low, quadrant & 1);
}

// -- inverses ---------------------------------------------------------------------------------------------------------

// atan(x) - x, for |x| <= 1.
template <class Real>
INLINE Real atan_tail(Real x) { return x * (x * x) * polynomial(Coefficients<Real>::ATAN, x * x); }

template <class Real>
INLINE Real atan_of(Real x) {
    Real size = magnitude(x);
    if (is_nan(x)) return x;
    if (size <= 1) return with_sign(x + atan_tail(x), x);
    Real inverse = -1 / size;
    return with_sign(Circle<Real>::HALF[0] + (inverse + (atan_tail(inverse) + Circle<Real>::HALF[1])), x);
}

template <class Real>
INLINE Real atan2_of(Real y, Real x) {
    if (is_nan(x) || is_nan(y)) return x + y;
    Real across = magnitude(x), up = magnitude(y);
    bool is_steep = up > across;
    Real high = is_steep ? up : across, low = is_steep ? across : up;
    Real ratio = high == 0 ? (Real)0 : is_infinite(high) ? (is_infinite(low) ? (Real)1 : (Real)0) : low / high;
    Real angle = ratio + atan_tail(ratio);
    if (is_steep) angle = Circle<Real>::HALF[0] - (angle - Circle<Real>::HALF[1]);
    if (is_negative(x)) angle = Circle<Real>::WHOLE[0] - (angle - Circle<Real>::WHOLE[1]);
    return with_sign(angle, y);
}

// asin(x) - x, for |x| <= 0.5625, of x and its square.
template <class Real>
INLINE Real asin_tail(Real x, Real square) { return x * square * polynomial(Coefficients<Real>::ASIN, square); }

// Half of acos(x), for 0.5 <= x <= 1: asin of the root of (1 - x) / 2.
template <class Real>
INLINE Real half_acos(Real x) {
    Real square = (1 - x) * (Real)0.5, y = root(square);
    Real rest = y == 0 ? (Real)0 : fused(-y, y, square) / (2 * y);
    return y + (rest + asin_tail(y, square));
}

template <class Real>
INLINE Real asin_of(Real x) {
    Real size = magnitude(x);
    if (!(size <= 1)) return is_nan(x) ? x : not_a_number<Real>();
    if (size <= (Real)0.5625) return x + asin_tail(x, x * x);
    return with_sign(Circle<Real>::HALF[0] - (2 * half_acos(size) - Circle<Real>::HALF[1]), x);
}

template <class Real>
INLINE Real acos_of(Real x) {
    Real size = magnitude(x);
    if (!(size <= 1)) return is_nan(x) ? x : not_a_number<Real>();
    if (size <= (Real)0.5625) return Circle<Real>::HALF[0] - (x + (asin_tail(x, x * x) - Circle<Real>::HALF[1]));
    Real angle = 2 * half_acos(size);
    return x > 0 ? angle : Circle<Real>::WHOLE[0] - (angle - Circle<Real>::WHOLE[1]);
}
