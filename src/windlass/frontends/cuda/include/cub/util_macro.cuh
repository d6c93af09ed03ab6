#pragma once
#include "config.cuh"
#include <utility>

#ifndef CUB_MAX
#define CUB_MAX(a, b) (((b) > (a)) ? (b) : (a))
#endif
#ifndef CUB_MIN
#define CUB_MIN(a, b) (((b) < (a)) ? (b) : (a))
#endif
#define CUB_QUOTIENT_FLOOR(x, y) ((x) / (y))
#define CUB_QUOTIENT_CEILING(x, y) (((x) + (y) - 1) / (y))
#define CUB_ROUND_UP_NEAREST(x, y) (CUB_QUOTIENT_CEILING(x, y) * (y))
#define CUB_ROUND_DOWN_NEAREST(x, y) (((x) / (y)) * (y))
#define CUB_STATIC_ASSERT(condition, message) static_assert(condition, #message)
#define CUB_PREVENT_MACRO_SUBSTITUTION

namespace cub {
template <class T, class U> constexpr __host__ __device__ auto min(T &&t, U &&u) -> decltype(t < u ? t : u) {
    return t < u ? t : u;
}
template <class T, class U> constexpr __host__ __device__ auto max(T &&t, U &&u) -> decltype(t < u ? u : t) {
    return t < u ? u : t;
}
}  // namespace cub
