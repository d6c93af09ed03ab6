// Questions about the device, and how big a temporary allocation is.
#pragma once
#include "util_debug.cuh"
#include "util_type.cuh"

namespace cub {
inline int DeviceCount() { return 1; }
inline int CurrentDevice() { return 0; }
inline cudaError_t PtxVersion(int &version, int = 0) { return version = 700, cudaSuccess; }
inline cudaError_t SmVersion(int &version, int = 0) { return version = 700, cudaSuccess; }
inline cudaError_t SyncStream(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
template <class Kernel>
cudaError_t MaxSmOccupancy(int &count, Kernel kernel, int block_threads, int shared_bytes = 0) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, block_threads, shared_bytes);
}
// Divides one allocation into several, each aligned to 256 bytes.
template <int Count>
cudaError_t AliasTemporaries(void *storage, size_t &bytes, void *(&parts)[Count], const size_t (&sizes)[Count]) {
    size_t needed = 0, offsets[Count];
    for (int i = 0; i < Count; i++) offsets[i] = needed, needed += (sizes[i] + 255) / 256 * 256;
    if (!storage) return bytes = needed + 255, cudaSuccess;
    if (bytes < needed) return cudaErrorInvalidValue;
    for (int i = 0; i < Count; i++) parts[i] = (void *)(((size_t)storage + 255) / 256 * 256 + offsets[i]);
    return cudaSuccess;
}
}  // namespace cub
