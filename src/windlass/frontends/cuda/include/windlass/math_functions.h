// CUDA's math functions beyond <cmath>, for float and double.
//
// What <cmath> has becomes an LLVM intrinsic (llvm.exp, llvm.pow, llvm.fma, ...) or stays a call by its libm name:
//   erf erfc tgamma lgamma cbrt expm1 log1p acosh asinh atanh hypot nextafter remainder remquo logb ilogb j0 j1 jn y0 y1
//   yn, each also with the suffix f. The same goes for the functions declared here without a body:
//   erfinv erfcinv erfcx cyl_bessel_i0 cyl_bessel_i1, each also with f.
// Everything else is written in terms of these.
#pragma once

__WINDLASS_PURE double erfinv(double);
__WINDLASS_PURE float erfinvf(float);
__WINDLASS_PURE double erfcinv(double);
__WINDLASS_PURE float erfcinvf(float);
__WINDLASS_PURE double erfcx(double);
__WINDLASS_PURE float erfcxf(float);
__WINDLASS_PURE double cyl_bessel_i0(double);
__WINDLASS_PURE float cyl_bessel_i0f(float);
__WINDLASS_PURE double cyl_bessel_i1(double);
__WINDLASS_PURE float cyl_bessel_i1f(float);

// ---- NaN with a payload, which is a number in C's notation; anything else is payload 0
#ifdef __CUDA_ARCH__
__WINDLASS_BOTH unsigned long long __windlass_payload(const char *tag) {
    unsigned long long payload = 0, base = 10;
    if (!*tag) return 0;
    if (*tag == '0') {
        base = 8;
        if (tag[1] == 'x' || tag[1] == 'X') { base = 16; tag += 2; }
    }
    for (; *tag; ++tag) {
        unsigned long long digit = *tag >= '0' && *tag <= '9' ? *tag - '0' : ((*tag | 32) >= 'a' && (*tag | 32) <= 'f') ? (*tag | 32) - 'a' + 10 : 16;
        if (digit >= base) return 0;
        payload = payload * base + digit;
    }
    return payload;
}
extern "C" {
__attribute__((host, device, always_inline)) inline double nan(const char *tag) throw() {
    return __builtin_bit_cast(double, 0x7FF8000000000000ull | (__windlass_payload(tag) & 0x7FFFFFFFFFFFFull));
}
__attribute__((host, device, always_inline)) inline float nanf(const char *tag) throw() {
    return __builtin_bit_cast(float, 0x7FC00000u | ((unsigned)__windlass_payload(tag) & 0x3FFFFFu));
}
__attribute__((host, device, always_inline)) inline double __nan(const char *tag) throw() { return nan(tag); }
__attribute__((host, device, always_inline)) inline float __nanf(const char *tag) throw() { return nanf(tag); }
}
#endif

// ---- roots, quotients, lengths
__WINDLASS_BOTH double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
__WINDLASS_BOTH float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
__WINDLASS_BOTH double rcbrt(double x) { return 1.0 / __builtin_cbrt(x); }
__WINDLASS_BOTH float rcbrtf(float x) { return 1.0f / __builtin_cbrtf(x); }
__WINDLASS_BOTH float fdividef(float x, float y) { return x / y; }
__WINDLASS_BOTH double rhypot(double x, double y) { return 1.0 / __builtin_hypot(x, y); }
__WINDLASS_BOTH float rhypotf(float x, float y) { return 1.0f / __builtin_hypotf(x, y); }

// The length of a vector without overflow or underflow on the way: an infinite component gives infinity, even beside NaN.
template <class T> __WINDLASS_BOTH T __windlass_length(const T *components, int count) {
    T largest = 0;
    bool has_nan = false;
    for (int i = 0; i < count; ++i) {
        T magnitude = components[i] < 0 ? -components[i] : components[i];
        if (magnitude != magnitude) has_nan = true;
        else if (magnitude > largest) largest = magnitude;
    }
    if (largest > std::numeric_limits<T>::max()) return largest;
    if (has_nan) return std::numeric_limits<T>::quiet_NaN();
    if (largest == 0) return 0;
    T sum = 0;
    for (int i = 0; i < count; ++i) sum += (components[i] / largest) * (components[i] / largest);
    if constexpr (sizeof(T) == 4) return largest * __builtin_sqrtf(sum);
    else return largest * __builtin_sqrt(sum);
}
// In float the squares are exact in double, so plain double arithmetic can neither overflow nor underflow.
__WINDLASS_BOTH float norm3df(float x, float y, float z) {
    return (float)__builtin_sqrt((double)x * x + (double)y * y + (double)z * z);
}
__WINDLASS_BOTH float norm4df(float x, float y, float z, float w) {
    return (float)__builtin_sqrt((double)x * x + (double)y * y + (double)z * z + (double)w * w);
}
__WINDLASS_BOTH float rnorm3df(float x, float y, float z) {
    return (float)(1.0 / __builtin_sqrt((double)x * x + (double)y * y + (double)z * z));
}
__WINDLASS_BOTH float rnorm4df(float x, float y, float z, float w) {
    return (float)(1.0 / __builtin_sqrt((double)x * x + (double)y * y + (double)z * z + (double)w * w));
}
__WINDLASS_BOTH double norm3d(double x, double y, double z) {
    double v[3] = {x, y, z};
    return __windlass_length(v, 3);
}
__WINDLASS_BOTH double norm4d(double x, double y, double z, double w) {
    double v[4] = {x, y, z, w};
    return __windlass_length(v, 4);
}
__WINDLASS_BOTH double rnorm3d(double x, double y, double z) { return 1.0 / norm3d(x, y, z); }
__WINDLASS_BOTH double rnorm4d(double x, double y, double z, double w) { return 1.0 / norm4d(x, y, z, w); }
__WINDLASS_BOTH double norm(int count, const double *v) { return __windlass_length(v, count); }
__WINDLASS_BOTH float normf(int count, const float *v) {
    double sum = 0;
    for (int i = 0; i < count; ++i) sum += (double)v[i] * v[i];
    return (float)__builtin_sqrt(sum);
}
__WINDLASS_BOTH double rnorm(int count, const double *v) { return 1.0 / norm(count, v); }
__WINDLASS_BOTH float rnormf(int count, const float *v) { return 1.0f / normf(count, v); }

// ---- trigonometry in units of pi: the argument is reduced exactly first, so that sinpi(1e10 + 0.5) is right
__WINDLASS_BOTH double __windlass_half_turns(double x) { return x - 2.0 * __builtin_rint(0.5 * x); }
// Each piece has the derivative of the whole at its ends, and signs are chosen, not copied bit by bit.
__WINDLASS_BOTH double sinpi(double x) {
    double r = __windlass_half_turns(x < 0 ? -x : x);  // -1 <= r <= 1
    double folded = r > 0.5 ? 1.0 - r : r < -0.5 ? -1.0 - r : r;
    double sine = __builtin_sin(folded * 3.14159265358979323846);
    return x == 0 ? x * 3.14159265358979323846 : x < 0 ? -sine : sine;
}
__WINDLASS_BOTH double cospi(double x) {
    double r = __builtin_fabs(__windlass_half_turns(x));
    return r <= 0.25  ? __builtin_cos(r * 3.14159265358979323846)
           : r < 0.75 ? __builtin_sin((0.5 - r) * 3.14159265358979323846)
                      : -__builtin_cos((1.0 - r) * 3.14159265358979323846);
}
__WINDLASS_BOTH float sinpif(float x) { return (float)sinpi((double)x); }
__WINDLASS_BOTH float cospif(float x) { return (float)cospi((double)x); }
__WINDLASS_BOTH void sincospi(double x, double *sine, double *cosine) {
    *sine = sinpi(x);
    *cosine = cospi(x);
}
__WINDLASS_BOTH void sincospif(float x, float *sine, float *cosine) {
    *sine = sinpif(x);
    *cosine = cospif(x);
}
__WINDLASS_BOTH void sincos(double x, double *sine, double *cosine) {
    *sine = __builtin_sin(x);
    *cosine = __builtin_cos(x);
}
__WINDLASS_BOTH void sincosf(float x, float *sine, float *cosine) {
    *sine = __builtin_sinf(x);
    *cosine = __builtin_cosf(x);
}
__WINDLASS_BOTH void sincos(float x, float *sine, float *cosine) { sincosf(x, sine, cosine); }

// ---- the normal distribution
__WINDLASS_BOTH double normcdf(double x) { return 0.5 * __builtin_erfc(-0.70710678118654752440 * x); }
__WINDLASS_BOTH float normcdff(float x) { return 0.5f * __builtin_erfcf(-0.70710678118654752440f * x); }
__WINDLASS_BOTH double normcdfinv(double p) { return -1.41421356237309504880 * erfcinv(2.0 * p); }
__WINDLASS_BOTH float normcdfinvf(float p) { return -1.41421356237309504880f * erfcinvf(2.0f * p); }

// ---- overloads for float, as <cmath> has them for its own
__WINDLASS_BOTH float rsqrt(float x) { return rsqrtf(x); }
__WINDLASS_BOTH float rcbrt(float x) { return rcbrtf(x); }
__WINDLASS_BOTH float rhypot(float x, float y) { return rhypotf(x, y); }
__WINDLASS_BOTH float norm3d(float x, float y, float z) { return norm3df(x, y, z); }
__WINDLASS_BOTH float norm4d(float x, float y, float z, float w) { return norm4df(x, y, z, w); }
__WINDLASS_BOTH float rnorm3d(float x, float y, float z) { return rnorm3df(x, y, z); }
__WINDLASS_BOTH float rnorm4d(float x, float y, float z, float w) { return rnorm4df(x, y, z, w); }
__WINDLASS_BOTH float norm(int count, const float *v) { return normf(count, v); }
__WINDLASS_BOTH float rnorm(int count, const float *v) { return rnormf(count, v); }
__WINDLASS_BOTH float sinpi(float x) { return sinpif(x); }
__WINDLASS_BOTH float cospi(float x) { return cospif(x); }
__WINDLASS_BOTH void sincospi(float x, float *sine, float *cosine) { sincospif(x, sine, cosine); }
__WINDLASS_BOTH float normcdf(float x) { return normcdff(x); }
__WINDLASS_BOTH float normcdfinv(float x) { return normcdfinvf(x); }
__WINDLASS_BOTH float erfinv(float x) { return erfinvf(x); }
__WINDLASS_BOTH float erfcinv(float x) { return erfcinvf(x); }
__WINDLASS_BOTH float erfcx(float x) { return erfcxf(x); }
__WINDLASS_BOTH float cyl_bessel_i0(float x) { return cyl_bessel_i0f(x); }
__WINDLASS_BOTH float cyl_bessel_i1(float x) { return cyl_bessel_i1f(x); }
__WINDLASS_BOTH float exp10(float x) { return __builtin_exp10f(x); }

// ---- min and max: of floats, the other operand where one is NaN; of mixed signedness, as unsigned
#define __WINDLASS_EXTREMES(result, first, second)                                                              \
    __WINDLASS_BOTH constexpr result min(first x, second y) { return (result)x < (result)y ? (result)x : (result)y; } \
    __WINDLASS_BOTH constexpr result max(first x, second y) { return (result)x > (result)y ? (result)x : (result)y; }
__WINDLASS_EXTREMES(int, int, int)
__WINDLASS_EXTREMES(unsigned int, unsigned int, unsigned int)
__WINDLASS_EXTREMES(unsigned int, int, unsigned int)
__WINDLASS_EXTREMES(unsigned int, unsigned int, int)
__WINDLASS_EXTREMES(long, long, long)
__WINDLASS_EXTREMES(unsigned long, unsigned long, unsigned long)
__WINDLASS_EXTREMES(unsigned long, long, unsigned long)
__WINDLASS_EXTREMES(unsigned long, unsigned long, long)
__WINDLASS_EXTREMES(long long, long long, long long)
__WINDLASS_EXTREMES(unsigned long long, unsigned long long, unsigned long long)
__WINDLASS_EXTREMES(unsigned long long, long long, unsigned long long)
__WINDLASS_EXTREMES(unsigned long long, unsigned long long, long long)
#undef __WINDLASS_EXTREMES
__WINDLASS_BOTH constexpr float min(float x, float y) { return __builtin_fminf(x, y); }
__WINDLASS_BOTH constexpr float max(float x, float y) { return __builtin_fmaxf(x, y); }
__WINDLASS_BOTH constexpr double min(double x, double y) { return __builtin_fmin(x, y); }
__WINDLASS_BOTH constexpr double max(double x, double y) { return __builtin_fmax(x, y); }
__WINDLASS_BOTH constexpr double min(float x, double y) { return __builtin_fmin((double)x, y); }
__WINDLASS_BOTH constexpr double max(float x, double y) { return __builtin_fmax((double)x, y); }
__WINDLASS_BOTH constexpr double min(double x, float y) { return __builtin_fmin(x, (double)y); }
__WINDLASS_BOTH constexpr double max(double x, float y) { return __builtin_fmax(x, (double)y); }
__WINDLASS_BOTH constexpr unsigned int umin(unsigned int x, unsigned int y) { return x < y ? x : y; }
__WINDLASS_BOTH constexpr unsigned int umax(unsigned int x, unsigned int y) { return x > y ? x : y; }
__WINDLASS_BOTH constexpr long long llmin(long long x, long long y) { return x < y ? x : y; }
__WINDLASS_BOTH constexpr long long llmax(long long x, long long y) { return x > y ? x : y; }
__WINDLASS_BOTH constexpr unsigned long long ullmin(unsigned long long x, unsigned long long y) { return x < y ? x : y; }
__WINDLASS_BOTH constexpr unsigned long long ullmax(unsigned long long x, unsigned long long y) { return x > y ? x : y; }

// ---- classification under CUDA's own names
__WINDLASS_BOTH int __isnan(double x) { return x != x; }
__WINDLASS_BOTH int __isnanf(float x) { return x != x; }
__WINDLASS_BOTH int __isinf(double x) { return __builtin_isinf(x); }
__WINDLASS_BOTH int __isinff(float x) { return __builtin_isinf(x); }
__WINDLASS_BOTH int __finite(double x) { return __builtin_isfinite(x); }
__WINDLASS_BOTH int __finitef(float x) { return __builtin_isfinite(x); }
__WINDLASS_BOTH int __signbit(double x) { return __builtin_signbit(x); }
__WINDLASS_BOTH int __signbitf(float x) { return __builtin_signbit(x); }
