// Complex numbers as CUDA's C interface has them: pairs, and functions on pairs.
#pragma once
#include "windlass_cuda.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define __WINDLASS_COMPLEX(C, R, make, real, imag, conj, add, sub, mul, div, abs, hypotenuse)                   \
    __WINDLASS_BOTH R real(C x) { return x.x; }                                                                 \
    __WINDLASS_BOTH R imag(C x) { return x.y; }                                                                 \
    __WINDLASS_BOTH C make(R r, R i) { return C{r, i}; }                                                        \
    __WINDLASS_BOTH C conj(C x) { return C{x.x, -x.y}; }                                                        \
    __WINDLASS_BOTH C add(C x, C y) { return C{x.x + y.x, x.y + y.y}; }                                         \
    __WINDLASS_BOTH C sub(C x, C y) { return C{x.x - y.x, x.y - y.y}; }                                         \
    __WINDLASS_BOTH C mul(C x, C y) { return C{(x.x * y.x) - (x.y * y.y), (x.x * y.y) + (x.y * y.x)}; }         \
    /* Scaled by the divisor's size, against overflow on the way. */                                            \
    __WINDLASS_BOTH C div(C x, C y) {                                                                           \
        R scale = (R)1 / ((y.x < 0 ? -y.x : y.x) + (y.y < 0 ? -y.y : y.y));                                     \
        R a = x.x * scale, b = x.y * scale, c = y.x * scale, d = y.y * scale;                                   \
        R inverse = (R)1 / (c * c + d * d);                                                                     \
        return C{(a * c + b * d) * inverse, (b * c - a * d) * inverse};                                         \
    }                                                                                                           \
    __WINDLASS_BOTH R abs(C x) { return hypotenuse(x.x, x.y); }
__WINDLASS_COMPLEX(cuFloatComplex, float, make_cuFloatComplex, cuCrealf, cuCimagf, cuConjf, cuCaddf, cuCsubf, cuCmulf,
                   cuCdivf, cuCabsf, __builtin_hypotf)
__WINDLASS_COMPLEX(cuDoubleComplex, double, make_cuDoubleComplex, cuCreal, cuCimag, cuConj, cuCadd, cuCsub, cuCmul,
                   cuCdiv, cuCabs, __builtin_hypot)
#undef __WINDLASS_COMPLEX

__WINDLASS_BOTH cuComplex make_cuComplex(float r, float i) { return cuComplex{r, i}; }
__WINDLASS_BOTH cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex x) { return cuDoubleComplex{x.x, x.y}; }
__WINDLASS_BOTH cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex x) {
    return cuFloatComplex{(float)x.x, (float)x.y};
}
__WINDLASS_BOTH cuComplex cuCfmaf(cuComplex x, cuComplex y, cuComplex d) {
    return cuComplex{(x.x * y.x) + d.x - (x.y * y.y), (x.x * y.y) + (x.y * y.x) + d.y};
}
__WINDLASS_BOTH cuDoubleComplex cuCfma(cuDoubleComplex x, cuDoubleComplex y, cuDoubleComplex d) {
    return cuDoubleComplex{(x.x * y.x) + d.x - (x.y * y.y), (x.x * y.y) + (x.y * y.x) + d.y};
}
