// CubDebug and CubDebugExit: say on standard error which call failed.
#pragma once
#include "config.cuh"

namespace cub {
inline __host__ __device__ cudaError_t Debug(cudaError_t error, const char *file, int line) {
#ifndef __CUDA_ARCH__
    if (error) {
        fprintf(stderr, "CUDA error %d [%s, %d]: %s\n", (int)error, file, line, cudaGetErrorString(error));
        fflush(stderr);
    }
#endif
    return error;
}
}  // namespace cub

#define CubDebug(e) cub::Debug((cudaError_t)(e), __FILE__, __LINE__)
#define CubDebugExit(e)                                                 \
    if (cub::Debug((cudaError_t)(e), __FILE__, __LINE__)) exit(1)
#define _CubLog(format, ...) printf(format, __VA_ARGS__)
#define CubLog(format, ...) printf(format, __VA_ARGS__)
