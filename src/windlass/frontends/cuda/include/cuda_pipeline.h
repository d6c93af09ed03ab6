// The pipelines of CUDA 11.0 (nvcuda::experimental::pipeline), of one thread.
#pragma once
#include "cuda_pipeline_primitives.h"

namespace nvcuda {
namespace experimental {
struct pipeline {
    __WINDLASS_DEVICE_MEMBER size_t commit() { return 0; }
    __WINDLASS_DEVICE_MEMBER void commit_and_wait() {}
    __WINDLASS_DEVICE_MEMBER void wait(size_t) {}
    template <unsigned Prior> __WINDLASS_DEVICE_MEMBER void wait_prior() {}
};
template <class T> __WINDLASS_DEVICE void memcpy_async(T &target, const T &source, pipeline &) { target = source; }
}  // namespace experimental
}  // namespace nvcuda
