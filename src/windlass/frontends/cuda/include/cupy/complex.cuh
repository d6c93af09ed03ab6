// CuPy's complex numbers: Thrust's, known without their namespace, with an order and the tests that numbers have.
#pragma once
#include "windlass_cuda.h"
#include <thrust/complex.h>

namespace thrust {
template <class T> __WINDLASS_BOTH bool isnan(const complex<T> &z) { return std::isnan(z.re) || std::isnan(z.im); }
template <class T> __WINDLASS_BOTH bool isinf(const complex<T> &z) { return std::isinf(z.re) || std::isinf(z.im); }
template <class T> __WINDLASS_BOTH bool isfinite(const complex<T> &z) {
    return std::isfinite(z.re) && std::isfinite(z.im);
}
template <class T> __WINDLASS_BOTH complex<T> log2(const complex<T> &z) { return log(z) / T(0.69314718055994530942); }
template <class T> __WINDLASS_BOTH complex<T> exp2(const complex<T> &z) { return exp(z * T(0.69314718055994530942)); }

// Complex numbers are ordered as NumPy orders them: by real parts, then by imaginary ones; NaN is before or after nothing.
template <class T> __WINDLASS_BOTH bool operator<(const complex<T> &a, const complex<T> &b) {
    return a.re == b.re ? a.im < b.im : a.re < b.re;
}
template <class T> __WINDLASS_BOTH bool operator<=(const complex<T> &a, const complex<T> &b) {
    return a.re == b.re ? a.im <= b.im : a.re < b.re;
}
template <class T> __WINDLASS_BOTH bool operator>(const complex<T> &a, const complex<T> &b) { return b < a; }
template <class T> __WINDLASS_BOTH bool operator>=(const complex<T> &a, const complex<T> &b) { return b <= a; }
template <class T> __WINDLASS_BOTH complex<T> min(const complex<T> &a, const complex<T> &b) {
    return isnan(a) || a < b ? a : isnan(b) || b < a ? b : a;
}
template <class T> __WINDLASS_BOTH complex<T> max(const complex<T> &a, const complex<T> &b) {
    return isnan(a) || a > b ? a : isnan(b) || b > a ? b : a;
}
}  // namespace thrust

using thrust::complex;
using thrust::arg;
using thrust::conj;
using thrust::norm;
using thrust::polar;
using thrust::proj;
