// An allocator of device memory with CUB's interface. Nothing is kept for later: allocating is cheap here.
#pragma once
#include "util_debug.cuh"

namespace cub {
struct CachingDeviceAllocator {
    static constexpr unsigned int INVALID_BIN = ~0u;
    static constexpr size_t INVALID_SIZE = ~(size_t)0;
    static constexpr int INVALID_DEVICE_ORDINAL = -1;
    CachingDeviceAllocator(bool = false, bool = false) {}
    CachingDeviceAllocator(unsigned int, unsigned int = 1, unsigned int = INVALID_BIN, size_t = INVALID_SIZE, bool = false,
                           bool = false) {}
    cudaError_t SetMaxCachedBytes(size_t) { return cudaSuccess; }
    cudaError_t DeviceAllocate(int, void **pointer, size_t bytes, cudaStream_t = 0) { return cudaMalloc(pointer, bytes); }
    cudaError_t DeviceAllocate(void **pointer, size_t bytes, cudaStream_t = 0) { return cudaMalloc(pointer, bytes); }
    cudaError_t DeviceFree(int, void *pointer) { return cudaFree(pointer); }
    cudaError_t DeviceFree(void *pointer) { return cudaFree(pointer); }
    cudaError_t FreeAllCached() { return cudaSuccess; }
};
}  // namespace cub
