// Bfloat16: __nv_bfloat16 and __nv_bfloat162 around __bf16 (LLVM's bfloat).
#pragma once
#define __CUDA_BF16_H__
#include "windlass_cuda.h"
#include "windlass/exact_begin.h"
#include "windlass/narrow_floats.h"

__WINDLASS_NARROW_CLASS(__nv_bfloat16, __bf16)
__WINDLASS_NARROW_FUNCTIONS(__nv_bfloat16, __bf16)
__WINDLASS_NARROW_CONVERSIONS(__nv_bfloat16, __bf16, bfloat16)
#ifdef __NVPTX__
__WINDLASS_NARROW_THREADS(__nv_bfloat16, __bf16)
#endif
#include "windlass/exact_end.h"

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80U)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7FU)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80U)
