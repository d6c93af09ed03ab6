// assert on both sides. Like C's own header this one counts anew each time, since NDEBUG may have changed.
#include "windlass_cuda.h"
#undef assert
#ifdef NDEBUG
#define assert(...) ((void)0)
#elif defined(__CUDA_ARCH__)
#define assert(...) \
    ((__VA_ARGS__) ? (void)0 : __windlass_assert_fail(#__VA_ARGS__, __FILE__, __LINE__, __func__))
#else
extern "C" __host__ __device__ void __assert_fail(const char *, const char *, unsigned int, const char *) throw() __attribute__((noreturn));
#define assert(...) ((__VA_ARGS__) ? (void)0 : __assert_fail(#__VA_ARGS__, __FILE__, __LINE__, __func__))
#endif
#ifndef static_assert
#ifndef __cplusplus
#define static_assert _Static_assert
#endif
#endif
