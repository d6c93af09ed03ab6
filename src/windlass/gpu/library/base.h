// Words that all of the library uses: types, what floats are made of, exact operations.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

#define EXPORT extern "C" __attribute__((visibility("default")))
#define INLINE static inline __attribute__((always_inline))

template <class To, class From>
INLINE To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From));
    return __builtin_bit_cast(To, from);
}

template <class Real> struct Format;
template <> struct Format<float> {
    typedef u32 Bits;
    typedef i32 Integer;
    static constexpr int FRACTION = 23, BIAS = 127;
};
template <> struct Format<double> {
    typedef u64 Bits;
    typedef i64 Integer;
    static constexpr int FRACTION = 52, BIAS = 1023;
};
#define FRACTION_OF(Real) (Format<Real>::FRACTION)
#define BIAS_OF(Real) (Format<Real>::BIAS)
#define BITS_OF(Real) typename Format<Real>::Bits
#define INTEGER_OF(Real) typename Format<Real>::Integer

// Each of these rounds once, whatever the kernel allows.
template <class Real> INLINE Real fused(Real x, Real y, Real z) { return __builtin_elementwise_fma(x, y, z); }
template <class Real> INLINE Real root(Real x) { return __builtin_elementwise_sqrt(x); }
template <class Real> INLINE Real magnitude(Real x) { return __builtin_elementwise_abs(x); }
template <class Real> INLINE Real nearest(Real x) { return __builtin_elementwise_rint(x); }
template <class Real> INLINE Real whole(Real x) { return __builtin_elementwise_trunc(x); }
template <class Real> INLINE Real with_sign(Real x, Real sign) { return __builtin_elementwise_copysign(x, sign); }

template <class Real> INLINE Real infinity() { return (Real)__builtin_inff(); }
template <class Real> INLINE Real not_a_number() { return (Real)__builtin_nanf(""); }
template <class Real> INLINE bool is_nan(Real x) { return x != x; }
template <class Real> INLINE bool is_infinite(Real x) { return magnitude(x) == infinity<Real>(); }

template <class Real>
INLINE BITS_OF(Real) bits_of(Real x) { return bits_as<BITS_OF(Real)>(x); }

template <class Real>
INLINE bool is_negative(Real x) { return bits_of(x) >> (8 * sizeof(Real) - 1); }

// 2^n, for normal numbers.
template <class Real>
INLINE Real power_of_two(int n) {
    return bits_as<Real>((BITS_OF(Real))(n + BIAS_OF(Real)) << FRACTION_OF(Real));
}

// x 2^n, rounded once where x is a normal number between 1/4 and 4 and n is not beyond twice the exponents there are.
template <class Real>
INLINE Real scaled(Real x, int n) {
    int half = n >> 1;
    return x * power_of_two<Real>(half) * power_of_two<Real>(n - half);
}

// The polynomial with these coefficients, the constant one first.
template <class Real, int count>
INLINE Real polynomial(const Real (&coefficients)[count], Real x) {
    Real sum = coefficients[count - 1];
    for (int i = count - 2; i >= 0; i--) sum = fused(sum, x, coefficients[i]);
    return sum;
}
