// 8-bit floats: __nv_fp8_e4m3, __nv_fp8_e5m2, two and four of them, and the conversions.
#pragma once
#define __CUDA_FP8_H__
#include "windlass_cuda.h"
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "windlass/exact_begin.h"
#include "windlass/fp8.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
typedef enum { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

// ---- one number
__WINDLASS_BOTH __nv_fp8_storage_t __nv_cvt_float_to_fp8(const float x, const __nv_saturation_t saturate,
                                                         const __nv_fp8_interpretation_t kind) {
    float most = kind == __NV_E4M3 ? 448.0f : 57344.0f, kept = x;
    if (saturate == __NV_SATFINITE) kept = x > most ? most : x < -most ? -most : x;
    return (__nv_fp8_storage_t)(kind == __NV_E4M3 ? __windlass_float_to_e4m3(kept) : __windlass_float_to_e5m2(kept));
}
__WINDLASS_BOTH __nv_fp8_storage_t __nv_cvt_double_to_fp8(const double x, const __nv_saturation_t saturate,
                                                          const __nv_fp8_interpretation_t kind) {
    return __nv_cvt_float_to_fp8(__windlass_double_to_odd_float(x), saturate, kind);
}
__WINDLASS_BOTH __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(const __half_raw x, const __nv_saturation_t saturate,
                                                           const __nv_fp8_interpretation_t kind) {
    return __nv_cvt_float_to_fp8((float)__half(x), saturate, kind);
}
__WINDLASS_BOTH __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(const __nv_bfloat16_raw x,
                                                               const __nv_saturation_t saturate,
                                                               const __nv_fp8_interpretation_t kind) {
    return __nv_cvt_float_to_fp8((float)__nv_bfloat16(x), saturate, kind);
}
__WINDLASS_BOTH float __windlass_fp8_to_float(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
    return kind == __NV_E4M3 ? __windlass_e4m3_to_float(x) : __windlass_e5m2_to_float(x);
}
__WINDLASS_BOTH __half_raw __nv_cvt_fp8_to_halfraw(const __nv_fp8_storage_t x, const __nv_fp8_interpretation_t kind) {
    return __half(__windlass_fp8_to_float(x, kind));
}

// ---- two numbers, the first in the low byte
#define __WINDLASS_FP8_PAIR(name, T, first, second, one)                                                               \
    __WINDLASS_BOTH __nv_fp8x2_storage_t name(const T x, const __nv_saturation_t saturate,                             \
                                              const __nv_fp8_interpretation_t kind) {                                  \
        return (__nv_fp8x2_storage_t)(one(first, saturate, kind) | one(second, saturate, kind) << 8);                  \
    }
__WINDLASS_FP8_PAIR(__nv_cvt_float2_to_fp8x2, float2, x.x, x.y, __nv_cvt_float_to_fp8)
__WINDLASS_FP8_PAIR(__nv_cvt_double2_to_fp8x2, double2, x.x, x.y, __nv_cvt_double_to_fp8)
__WINDLASS_FP8_PAIR(__nv_cvt_halfraw2_to_fp8x2, __half2_raw, __half_raw{x.x}, __half_raw{x.y}, __nv_cvt_halfraw_to_fp8)
__WINDLASS_FP8_PAIR(__nv_cvt_bfloat16raw2_to_fp8x2, __nv_bfloat162_raw, __nv_bfloat16_raw{x.x}, __nv_bfloat16_raw{x.y},
                    __nv_cvt_bfloat16raw_to_fp8)
#undef __WINDLASS_FP8_PAIR
__WINDLASS_BOTH __half2_raw __nv_cvt_fp8x2_to_halfraw2(const __nv_fp8x2_storage_t x,
                                                       const __nv_fp8_interpretation_t kind) {
    __half_raw low = __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)x, kind);
    __half_raw high = __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)(x >> 8), kind);
    return __half2_raw{low.x, high.x};
}

// ---- classes
#define __WINDLASS_FP8_FROM(C, T, conversion) \
    __WINDLASS_BOTH_MEMBER explicit C(const T value) : __x(conversion) {}
#define __WINDLASS_FP8_FROM_INTEGER(C, T, kind) \
    __WINDLASS_FP8_FROM(C, T, __nv_cvt_float_to_fp8((float)value, __NV_SATFINITE, kind))
#define __WINDLASS_FP8_TO_INTEGER(T, kind, limit)                                                              \
    __WINDLASS_BOTH_MEMBER explicit operator T() const {                                                       \
        return __windlass_saturate<T, float>(__builtin_truncf(__windlass_fp8_to_float(__x, kind)), limit, (T)0); \
    }
#define __WINDLASS_FP8_CLASSES(E, kind)                                                                               \
    struct __nv_fp8_##E {                                                                                             \
        __nv_fp8_storage_t __x;                                                                                       \
        __nv_fp8_##E() = default;                                                                                     \
        __WINDLASS_FP8_FROM(__nv_fp8_##E, __half, __nv_cvt_halfraw_to_fp8(value, __NV_SATFINITE, kind))               \
        __WINDLASS_FP8_FROM(__nv_fp8_##E, __nv_bfloat16, __nv_cvt_bfloat16raw_to_fp8(value, __NV_SATFINITE, kind))    \
        __WINDLASS_FP8_FROM(__nv_fp8_##E, float, __nv_cvt_float_to_fp8(value, __NV_SATFINITE, kind))                  \
        __WINDLASS_FP8_FROM(__nv_fp8_##E, double, __nv_cvt_double_to_fp8(value, __NV_SATFINITE, kind))                \
        __WINDLASS_FP8_FROM_INTEGER(__nv_fp8_##E, short, kind)                                                        \
        __WINDLASS_FP8_FROM_INTEGER(__nv_fp8_##E, unsigned short, kind)                                               \
        __WINDLASS_FP8_FROM_INTEGER(__nv_fp8_##E, int, kind)                                                          \
        __WINDLASS_FP8_FROM_INTEGER(__nv_fp8_##E, unsigned int, kind)                                                 \
        __WINDLASS_FP8_FROM_INTEGER(__nv_fp8_##E, long, kind)                                                         \
        __WINDLASS_FP8_FROM_INTEGER(__nv_fp8_##E, unsigned long, kind)                                                \
        __WINDLASS_FP8_FROM_INTEGER(__nv_fp8_##E, long long, kind)                                                    \
        __WINDLASS_FP8_FROM_INTEGER(__nv_fp8_##E, unsigned long long, kind)                                           \
        __WINDLASS_BOTH_MEMBER explicit operator float() const { return __windlass_fp8_to_float(__x, kind); }         \
        __WINDLASS_BOTH_MEMBER explicit operator double() const { return (double)(float)*this; }                      \
        __WINDLASS_BOTH_MEMBER explicit operator __half() const { return __half((float)*this); }                      \
        __WINDLASS_BOTH_MEMBER explicit operator __nv_bfloat16() const { return __nv_bfloat16((float)*this); }        \
        __WINDLASS_BOTH_MEMBER explicit operator bool() const { return (__x & 0x7f) != 0; }                           \
        __WINDLASS_FP8_TO_INTEGER(char, kind, 0x1p7f)                                                                 \
        __WINDLASS_FP8_TO_INTEGER(signed char, kind, 0x1p7f)                                                          \
        __WINDLASS_FP8_TO_INTEGER(unsigned char, kind, 0x1p8f)                                                        \
        __WINDLASS_FP8_TO_INTEGER(short, kind, 0x1p15f)                                                               \
        __WINDLASS_FP8_TO_INTEGER(unsigned short, kind, 0x1p16f)                                                      \
        __WINDLASS_FP8_TO_INTEGER(int, kind, 0x1p31f)                                                                 \
        __WINDLASS_FP8_TO_INTEGER(unsigned int, kind, 0x1p32f)                                                        \
        __WINDLASS_FP8_TO_INTEGER(long, kind, 0x1p63f)                                                                \
        __WINDLASS_FP8_TO_INTEGER(unsigned long, kind, 0x1p64f)                                                       \
        __WINDLASS_FP8_TO_INTEGER(long long, kind, 0x1p63f)                                                           \
        __WINDLASS_FP8_TO_INTEGER(unsigned long long, kind, 0x1p64f)                                                  \
    };                                                                                                                \
    struct __attribute__((aligned(2))) __nv_fp8x2_##E {                                                               \
        __nv_fp8x2_storage_t __x;                                                                                     \
        __nv_fp8x2_##E() = default;                                                                                   \
        __WINDLASS_FP8_FROM(__nv_fp8x2_##E, __half2, __nv_cvt_halfraw2_to_fp8x2(value, __NV_SATFINITE, kind))         \
        __WINDLASS_FP8_FROM(__nv_fp8x2_##E, __nv_bfloat162,                                                           \
                            __nv_cvt_bfloat16raw2_to_fp8x2(value, __NV_SATFINITE, kind))                              \
        __WINDLASS_FP8_FROM(__nv_fp8x2_##E, float2, __nv_cvt_float2_to_fp8x2(value, __NV_SATFINITE, kind))            \
        __WINDLASS_FP8_FROM(__nv_fp8x2_##E, double2, __nv_cvt_double2_to_fp8x2(value, __NV_SATFINITE, kind))          \
        __WINDLASS_BOTH_MEMBER explicit operator __half2() const { return __nv_cvt_fp8x2_to_halfraw2(__x, kind); }    \
        __WINDLASS_BOTH_MEMBER explicit operator float2() const {                                                     \
            return make_float2(__windlass_fp8_to_float((__nv_fp8_storage_t)__x, kind),                                \
                               __windlass_fp8_to_float((__nv_fp8_storage_t)(__x >> 8), kind));                        \
        }                                                                                                             \
    };                                                                                                                \
    struct __attribute__((aligned(4))) __nv_fp8x4_##E {                                                               \
        __nv_fp8x4_storage_t __x;                                                                                     \
        __nv_fp8x4_##E() = default;                                                                                   \
        __WINDLASS_FP8_FROM(__nv_fp8x4_##E, float4,                                                                   \
                            __windlass_pair_fp8x2(__nv_fp8x2_##E(make_float2(value.x, value.y)).__x,                  \
                                                  __nv_fp8x2_##E(make_float2(value.z, value.w)).__x))                 \
        __WINDLASS_FP8_FROM(__nv_fp8x4_##E, double4,                                                                  \
                            __windlass_pair_fp8x2(__nv_fp8x2_##E(make_double2(value.x, value.y)).__x,                 \
                                                  __nv_fp8x2_##E(make_double2(value.z, value.w)).__x))                \
        __WINDLASS_BOTH_MEMBER explicit __nv_fp8x4_##E(const __half2 low, const __half2 high)                         \
            : __x(__windlass_pair_fp8x2(__nv_fp8x2_##E(low).__x, __nv_fp8x2_##E(high).__x)) {}                        \
        __WINDLASS_BOTH_MEMBER explicit __nv_fp8x4_##E(const __nv_bfloat162 low, const __nv_bfloat162 high)           \
            : __x(__windlass_pair_fp8x2(__nv_fp8x2_##E(low).__x, __nv_fp8x2_##E(high).__x)) {}                        \
        __WINDLASS_BOTH_MEMBER explicit operator float4() const {                                                     \
            __nv_fp8x2_##E low, high;                                                                                 \
            low.__x = (__nv_fp8x2_storage_t)__x, high.__x = (__nv_fp8x2_storage_t)(__x >> 16);                        \
            float2 first = (float2)low, second = (float2)high;                                                        \
            return make_float4(first.x, first.y, second.x, second.y);                                                 \
        }                                                                                                             \
    };
__WINDLASS_BOTH __nv_fp8x4_storage_t __windlass_pair_fp8x2(__nv_fp8x2_storage_t low, __nv_fp8x2_storage_t high) {
    return (__nv_fp8x4_storage_t)low | (__nv_fp8x4_storage_t)high << 16;
}
__WINDLASS_FP8_CLASSES(e4m3, __NV_E4M3)
__WINDLASS_FP8_CLASSES(e5m2, __NV_E5M2)
#undef __WINDLASS_FP8_CLASSES
#undef __WINDLASS_FP8_TO_INTEGER
#undef __WINDLASS_FP8_FROM_INTEGER
#undef __WINDLASS_FP8_FROM
#include "windlass/exact_end.h"
