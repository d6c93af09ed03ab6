// Complex numbers for both sides, with the operations as they are written in Thrust's documentation.
#pragma once
#include "detail/config.h"
#include <complex>

namespace thrust {
template <class T> struct complex {
    using value_type = T;
    T re, im;

    __WINDLASS_BOTH_MEMBER constexpr complex(const T &re = T(), const T &im = T()) : re(re), im(im) {}
    complex(const complex &) = default;
    template <class U> __WINDLASS_BOTH_MEMBER constexpr complex(const complex<U> &z) : re((T)z.re), im((T)z.im) {}
    template <class U> complex(const std::complex<U> &z) : re((T)z.real()), im((T)z.imag()) {}
    operator std::complex<T>() const { return std::complex<T>(re, im); }
    complex &operator=(const complex &) = default;
    __WINDLASS_BOTH_MEMBER complex &operator=(const T &x) { return re = x, im = T(), *this; }
    template <class U> __WINDLASS_BOTH_MEMBER complex &operator=(const complex<U> &z) { return re = z.re, im = z.im, *this; }
    template <class U> complex &operator=(const std::complex<U> &z) { return re = z.real(), im = z.imag(), *this; }

    __WINDLASS_BOTH_MEMBER constexpr T real() const { return re; }
    __WINDLASS_BOTH_MEMBER constexpr T imag() const { return im; }
    __WINDLASS_BOTH_MEMBER T real() const volatile { return re; }
    __WINDLASS_BOTH_MEMBER T imag() const volatile { return im; }
    __WINDLASS_BOTH_MEMBER void real(T x) { re = x; }
    __WINDLASS_BOTH_MEMBER void imag(T x) { im = x; }

    template <class U> __WINDLASS_BOTH_MEMBER complex &operator+=(const complex<U> &z) { return *this = *this + complex(z); }
    template <class U> __WINDLASS_BOTH_MEMBER complex &operator-=(const complex<U> &z) { return *this = *this - complex(z); }
    template <class U> __WINDLASS_BOTH_MEMBER complex &operator*=(const complex<U> &z) { return *this = *this * complex(z); }
    template <class U> __WINDLASS_BOTH_MEMBER complex &operator/=(const complex<U> &z) { return *this = *this / complex(z); }
    __WINDLASS_BOTH_MEMBER complex &operator+=(const T &x) { return re += x, *this; }
    __WINDLASS_BOTH_MEMBER complex &operator-=(const T &x) { return re -= x, *this; }
    __WINDLASS_BOTH_MEMBER complex &operator*=(const T &x) { return re *= x, im *= x, *this; }
    __WINDLASS_BOTH_MEMBER complex &operator/=(const T &x) { return re /= x, im /= x, *this; }
};

namespace detail {
template <class T, class U> using wider = std::common_type_t<T, U>;
template <class T> using number = std::enable_if_t<std::is_arithmetic_v<T>, int>;
}  // namespace detail

template <class T> __WINDLASS_BOTH constexpr complex<T> operator+(const complex<T> &z) { return z; }
template <class T> __WINDLASS_BOTH constexpr complex<T> operator-(const complex<T> &z) { return {-z.re, -z.im}; }

// The products and quotients of two complex numbers, of which the quotient is scaled against overflow.
template <class T, class U> __WINDLASS_BOTH auto operator+(const complex<T> &a, const complex<U> &b) {
    return complex<detail::wider<T, U>>(a.re + b.re, a.im + b.im);
}
template <class T, class U> __WINDLASS_BOTH auto operator-(const complex<T> &a, const complex<U> &b) {
    return complex<detail::wider<T, U>>(a.re - b.re, a.im - b.im);
}
template <class T, class U> __WINDLASS_BOTH auto operator*(const complex<T> &a, const complex<U> &b) {
    return complex<detail::wider<T, U>>(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
template <class T, class U> __WINDLASS_BOTH auto operator/(const complex<T> &a, const complex<U> &b) {
    using W = detail::wider<T, U>;
    W scale = W(1) / (std::abs((W)b.re) + std::abs((W)b.im));
    W ar = a.re * scale, ai = a.im * scale, br = b.re * scale, bi = b.im * scale;
    W size = br * br + bi * bi;
    return complex<W>((ar * br + ai * bi) / size, (ai * br - ar * bi) / size);
}
#define __THRUST_WITH_NUMBERS(op, with_right, with_left)                                                             \
    template <class T, class U, detail::number<U> = 0>                                                               \
    __WINDLASS_BOTH complex<detail::wider<T, U>> operator op(const complex<T> &a, const U &b) {                      \
        using W = detail::wider<T, U>;                                                                               \
        return with_right;                                                                                           \
    }                                                                                                                \
    template <class U, class T, detail::number<U> = 0>                                                               \
    __WINDLASS_BOTH complex<detail::wider<T, U>> operator op(const U &a, const complex<T> &b) {                      \
        using W = detail::wider<T, U>;                                                                               \
        return with_left;                                                                                            \
    }
__THRUST_WITH_NUMBERS(+, (complex<W>(a.re + b, a.im)), (complex<W>(a + b.re, b.im)))
__THRUST_WITH_NUMBERS(-, (complex<W>(a.re - b, a.im)), (complex<W>(a - b.re, -b.im)))
__THRUST_WITH_NUMBERS(*, (complex<W>(a.re * b, a.im *b)), (complex<W>(a * b.re, a *b.im)))
__THRUST_WITH_NUMBERS(/, (complex<W>(a.re / b, a.im / b)), (complex<W>(a) / complex<W>(b)))
#undef __THRUST_WITH_NUMBERS

template <class T, class U> __WINDLASS_BOTH bool operator==(const complex<T> &a, const complex<U> &b) {
    return a.re == b.re && a.im == b.im;
}
template <class T, class U> __WINDLASS_BOTH bool operator!=(const complex<T> &a, const complex<U> &b) { return !(a == b); }
template <class T, class U, detail::number<U> = 0> __WINDLASS_BOTH bool operator==(const complex<T> &a, const U &b) {
    return a.re == b && a.im == T();
}
template <class T, class U, detail::number<U> = 0> __WINDLASS_BOTH bool operator==(const U &a, const complex<T> &b) {
    return b == a;
}
template <class T, class U, detail::number<U> = 0> __WINDLASS_BOTH bool operator!=(const complex<T> &a, const U &b) {
    return !(a == b);
}
template <class T, class U, detail::number<U> = 0> __WINDLASS_BOTH bool operator!=(const U &a, const complex<T> &b) {
    return !(b == a);
}

template <class T> __WINDLASS_BOTH T abs(const complex<T> &z) { return std::hypot(z.re, z.im); }
template <class T> __WINDLASS_BOTH T arg(const complex<T> &z) { return std::atan2(z.im, z.re); }
template <class T> __WINDLASS_BOTH T norm(const complex<T> &z) { return z.re * z.re + z.im * z.im; }
template <class T> __WINDLASS_BOTH complex<T> conj(const complex<T> &z) { return {z.re, -z.im}; }
template <class T> __WINDLASS_BOTH complex<T> polar(const T &size, const T &angle = T()) {
    return {size * std::cos(angle), size * std::sin(angle)};
}
template <class T> __WINDLASS_BOTH complex<T> proj(const complex<T> &z) {
    if (std::isinf(z.re) || std::isinf(z.im)) return {(T)INFINITY, std::copysign(T(0), z.im)};
    return z;
}
template <class T> __WINDLASS_BOTH complex<T> exp(const complex<T> &z) {
    T size = std::exp(z.re);
    return {size * std::cos(z.im), size * std::sin(z.im)};
}
template <class T> __WINDLASS_BOTH complex<T> log(const complex<T> &z) { return {std::log(abs(z)), arg(z)}; }
template <class T> __WINDLASS_BOTH complex<T> log10(const complex<T> &z) { return log(z) / T(2.30258509299404568402); }
template <class T> __WINDLASS_BOTH complex<T> sqrt(const complex<T> &z) {
    T size = abs(z);
    if (size == T(0)) return {T(0), z.im};
    // The half that does not cancel first.
    T greater = std::sqrt((size + std::fabs(z.re)) / T(2)), other = std::fabs(z.im) / (T(2) * greater);
    return z.re >= T(0) ? complex<T>(greater, std::copysign(other, z.im)) : complex<T>(other, std::copysign(greater, z.im));
}
template <class T> __WINDLASS_BOTH complex<T> pow(const complex<T> &z, const complex<T> &power) {
    if (z.re == T(0) && z.im == T(0)) return power.re == T(0) && power.im == T(0) ? complex<T>(T(1)) : complex<T>();
    return exp(power * log(z));
}
template <class T, class U, detail::number<U> = 0> __WINDLASS_BOTH complex<T> pow(const complex<T> &z, const U &power) {
    return pow(z, complex<T>((T)power));
}
template <class T, class U, detail::number<U> = 0> __WINDLASS_BOTH complex<T> pow(const U &x, const complex<T> &power) {
    return pow(complex<T>((T)x), power);
}
template <class T> __WINDLASS_BOTH complex<T> sin(const complex<T> &z) {
    return {std::sin(z.re) * std::cosh(z.im), std::cos(z.re) * std::sinh(z.im)};
}
template <class T> __WINDLASS_BOTH complex<T> cos(const complex<T> &z) {
    return {std::cos(z.re) * std::cosh(z.im), -std::sin(z.re) * std::sinh(z.im)};
}
template <class T> __WINDLASS_BOTH complex<T> tan(const complex<T> &z) { return sin(z) / cos(z); }
template <class T> __WINDLASS_BOTH complex<T> sinh(const complex<T> &z) {
    return {std::sinh(z.re) * std::cos(z.im), std::cosh(z.re) * std::sin(z.im)};
}
template <class T> __WINDLASS_BOTH complex<T> cosh(const complex<T> &z) {
    return {std::cosh(z.re) * std::cos(z.im), std::sinh(z.re) * std::sin(z.im)};
}
template <class T> __WINDLASS_BOTH complex<T> tanh(const complex<T> &z) { return sinh(z) / cosh(z); }

// The inverse functions, in W. Kahan's forms, which lose nothing near branch points.
template <class T> __WINDLASS_BOTH complex<T> asin(const complex<T> &z) {
    complex<T> a = sqrt(complex<T>(T(1) + z.re, z.im)), b = sqrt(complex<T>(T(1) - z.re, -z.im));
    return {std::atan2(z.re, a.re * b.re - a.im * b.im), std::asinh(a.im * b.re - a.re * b.im)};
}
template <class T> __WINDLASS_BOTH complex<T> acos(const complex<T> &z) {
    complex<T> a = sqrt(complex<T>(T(1) - z.re, -z.im)), b = sqrt(complex<T>(T(1) + z.re, z.im));
    return {T(2) * std::atan2(a.re, b.re), std::asinh(a.im * b.re - a.re * b.im)};
}
template <class T> __WINDLASS_BOTH complex<T> asinh(const complex<T> &z) {
    complex<T> turned = asin(complex<T>(-z.im, z.re));
    return {turned.im, -turned.re};
}
template <class T> __WINDLASS_BOTH complex<T> acosh(const complex<T> &z) {
    complex<T> a = sqrt(complex<T>(z.re - T(1), z.im)), b = sqrt(complex<T>(z.re + T(1), z.im));
    return {std::asinh(a.re * b.re + a.im * b.im), T(2) * std::atan2(a.im, b.re)};
}
template <class T> __WINDLASS_BOTH complex<T> atanh(const complex<T> &z) {
    T beyond = T(1) - z.re, square = z.im * z.im;
    return {std::log1p(T(4) * z.re / (beyond * beyond + square)) / T(4),
            std::atan2(T(2) * z.im, beyond * (T(1) + z.re) - square) / T(2)};
}
template <class T> __WINDLASS_BOTH complex<T> atan(const complex<T> &z) {
    complex<T> turned = atanh(complex<T>(-z.im, z.re));
    return {turned.im, -turned.re};
}

template <class T> std::ostream &operator<<(std::ostream &out, const complex<T> &z) {
    return out << '(' << z.re << ',' << z.im << ')';
}
template <class T> std::istream &operator>>(std::istream &in, complex<T> &z) {
    std::complex<T> read;
    in >> read;
    z = read;
    return in;
}
}  // namespace thrust
