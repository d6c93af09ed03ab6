// Half precision: __half and __half2 around _Float16 (LLVM's half).
#pragma once
#define __CUDA_FP16_H__
#include "windlass_cuda.h"
#include "windlass/exact_begin.h"
#include "windlass/narrow_floats.h"

__WINDLASS_NARROW_CLASS(__half, _Float16)
__WINDLASS_NARROW_FUNCTIONS(__half, _Float16)
__WINDLASS_NARROW_CONVERSIONS(__half, _Float16, half)
#ifdef __NVPTX__
__WINDLASS_NARROW_THREADS(__half, _Float16)
#endif
// The product of two complex numbers (x + iy), added to a third.
__WINDLASS_BOTH __half2 __hcmadd(__half2 a, __half2 b, __half2 c) {
    return __half2(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));
}
#include "windlass/exact_end.h"

typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __half_raw __nv_half_raw;

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFU)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000U)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00U)
