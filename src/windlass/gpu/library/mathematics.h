// The C library's mathematical functions by their names, which library.py gives a prefix.
#pragma once
#include "exponentials.h"
#include "numbers.h"
#include "trigonometry.h"

#define OF_ONE(name)                                                    \
    EXPORT float name##f(float x) { return name##_of(x); }              \
    EXPORT double name(double x) { return name##_of(x); }
#define OF_TWO(name)                                                    \
    EXPORT float name##f(float x, float y) { return name##_of(x, y); }  \
    EXPORT double name(double x, double y) { return name##_of(x, y); }
// Those of float by way of double: they are right to the last digit but one, and not the fastest.
#define BY_DOUBLE(name)                                                 \
    EXPORT float name##f(float x) { return (float)name((double)x); }
#define OF_ONE_BY_DOUBLE(name)                                          \
    EXPORT double name(double x) { return name##_of(x); }               \
    BY_DOUBLE(name)

OF_ONE(exp) OF_ONE(exp2) OF_ONE(exp10) OF_ONE(expm1)
OF_ONE(log) OF_ONE(log2) OF_ONE(log10) OF_ONE(log1p)
OF_ONE(sin) OF_ONE(cos) OF_ONE(tan)
OF_ONE(asin) OF_ONE(acos) OF_ONE(atan) OF_TWO(atan2)
OF_ONE(sinh) OF_ONE(cosh) OF_ONE(tanh)
OF_ONE_BY_DOUBLE(asinh) OF_ONE_BY_DOUBLE(acosh) OF_ONE_BY_DOUBLE(atanh)
OF_ONE(cbrt) OF_TWO(hypot) OF_ONE(logb) OF_TWO(fmod) OF_TWO(nextafter)
EXPORT float powf(float x, float y) { return pow_of(x, y); }  // pow is of the C library

EXPORT float sqrtf(float x) { return root(x); }
EXPORT double sqrt(double x) { return root(x); }
EXPORT float fabsf(float x) { return magnitude(x); }
EXPORT double fabs(double x) { return magnitude(x); }
EXPORT float rintf(float x) { return nearest(x); }
EXPORT double rint(double x) { return nearest(x); }
EXPORT float truncf(float x) { return whole(x); }
EXPORT double trunc(double x) { return whole(x); }
EXPORT float copysignf(float x, float y) { return with_sign(x, y); }
EXPORT double copysign(double x, double y) { return with_sign(x, y); }
EXPORT double floor(double x) { return __builtin_elementwise_floor(x); }
EXPORT float floorf(float x) { return __builtin_elementwise_floor(x); }
EXPORT double ceil(double x) { return __builtin_elementwise_ceil(x); }
EXPORT float ceilf(float x) { return __builtin_elementwise_ceil(x); }
EXPORT double round(double x) { return __builtin_elementwise_round(x); }
EXPORT float roundf(float x) { return __builtin_elementwise_round(x); }
EXPORT double roundeven(double x) { return __builtin_elementwise_roundeven(x); }
EXPORT float roundevenf(float x) { return __builtin_elementwise_roundeven(x); }
EXPORT double nearbyint(double x) { return nearest(x); }
EXPORT float nearbyintf(float x) { return nearest(x); }
EXPORT double fma(double x, double y, double z) { return fused(x, y, z); }
EXPORT float fmaf(float x, float y, float z) { return fused(x, y, z); }
EXPORT double fmax(double x, double y) { return __builtin_elementwise_maximumnum(x, y); }
EXPORT float fmaxf(float x, float y) { return __builtin_elementwise_maximumnum(x, y); }
EXPORT double fmin(double x, double y) { return __builtin_elementwise_minimumnum(x, y); }
EXPORT float fminf(float x, float y) { return __builtin_elementwise_minimumnum(x, y); }

#define OF_PARTS(Real, f)                                                                                    \
    EXPORT Real remainder##f(Real x, Real y) { i32 quotient; return remquo_of(x, y, quotient); }             \
    EXPORT Real drem##f(Real x, Real y) { i32 quotient; return remquo_of(x, y, quotient); }                  \
    EXPORT Real remquo##f(Real x, Real y, i32 *quotient) { return remquo_of(x, y, *quotient); }              \
    EXPORT Real ldexp##f(Real x, i32 n) { return ldexp_of(x, n); }                                           \
    EXPORT Real scalbn##f(Real x, i32 n) { return ldexp_of(x, n); }                                          \
    EXPORT Real scalbln##f(Real x, i64 n) { return ldexp_of(x, n); }                                         \
    EXPORT Real frexp##f(Real x, i32 *exponent) { return frexp_of(x, *exponent); }                           \
    EXPORT Real modf##f(Real x, Real *integer) { return modf_of(x, integer); }                               \
    EXPORT Real powi##f(Real x, i32 n) { return powi_of(x, n); }                                             \
    EXPORT Real fdim##f(Real x, Real y) { return x <= y ? (Real)0 : x - y; }                                 \
    EXPORT i32 ilogb##f(Real x) { return ilogb_of(x); }                                                      \
    EXPORT i32 isnan##f(Real x) { return is_nan(x); }                                                        \
    EXPORT i32 isinf##f(Real x) { return is_infinite(x); }                                                   \
    EXPORT i32 finite##f(Real x) { return !is_nan(x) && !is_infinite(x); }                                   \
    EXPORT i64 lround##f(Real x) { return (i64)__builtin_elementwise_round(x); }                             \
    EXPORT i64 llround##f(Real x) { return (i64)__builtin_elementwise_round(x); }                            \
    EXPORT i64 lrint##f(Real x) { return (i64)nearest(x); }                                                  \
    EXPORT i64 llrint##f(Real x) { return (i64)nearest(x); }                                                 \
    EXPORT void sincos##f(Real x, Real *s, Real *c) { *s = sin_of(x); *c = cos_of(x); }
OF_PARTS(float, f)
OF_PARTS(double, )

// -- functions whose doubles are the C library's, or the emulator's ----------------------------------------------------

extern "C" double __lgamma_r(double x, int *sign);
extern "C" double tgamma(double x);
extern "C" double j0(double x);
extern "C" double j1(double x);
extern "C" double y0(double x);
extern "C" double y1(double x);
extern "C" double jn(int n, double x);
extern "C" double yn(int n, double x);

EXPORT double lgamma(double x) { int sign; return __lgamma_r(x, &sign); }
BY_DOUBLE(lgamma) BY_DOUBLE(tgamma) BY_DOUBLE(j0) BY_DOUBLE(j1) BY_DOUBLE(y0) BY_DOUBLE(y1)
EXPORT float jnf(i32 n, float x) { return (float)jn(n, (double)x); }
EXPORT float ynf(i32 n, float x) { return (float)yn(n, (double)x); }

EXPORT float erff(float x) {
    float size = magnitude(x);
    if (size < 1) return fused(x, polynomial(Coefficients<float>::ERF, x * x), x);
    if (is_nan(x)) return x;
    return with_sign(size < 4 ? 1 - exp_of(-polynomial(Coefficients<float>::ERF_TAIL, size)) : 1.0f, x);
}
