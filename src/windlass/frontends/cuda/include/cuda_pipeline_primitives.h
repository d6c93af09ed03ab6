// Asynchronous copies of one thread, as functions: __pipeline_memcpy_async and what goes with it.
#pragma once
#include "windlass/asynchronous.h"

// 4, 8 or 16 bytes, of which the last `zeros` are zeros instead.
__WINDLASS_DEVICE void __pipeline_memcpy_async(void *target, const void *source, size_t bytes, size_t zeros = 0) {
    for (size_t i = 0; i < bytes / 4; ++i)
        ((unsigned int *)target)[i] = 4 * i + 4 <= bytes - zeros ? ((const unsigned int *)source)[i] : 0;
    for (size_t i = bytes - zeros & ~(size_t)3; zeros % 4 && i < bytes - zeros; ++i)
        ((unsigned char *)target)[i] = ((const unsigned char *)source)[i];
}
__WINDLASS_DEVICE void __pipeline_commit() {}
__WINDLASS_DEVICE void __pipeline_wait_prior(size_t) {}
