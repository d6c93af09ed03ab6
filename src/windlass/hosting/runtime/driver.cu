// The part of the driver API that says the same as the runtime API: devices, memory, streams, events. Error numbers are
// the same in both. Of modules and their functions there is nothing: programs that load them don't link.
#include <cuda.h>
#include <cstring>
#include "state.h"

static CUresult driver(cudaError_t error) { return (CUresult)error; }

extern "C" {
CUresult cuInit(unsigned int) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int *version) { return driver(cudaDriverGetVersion(version)); }
CUresult cuGetErrorString(CUresult error, const char **text) {
    return *text = cudaGetErrorString((cudaError_t)error), CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char **text) {
    return *text = cudaGetErrorName((cudaError_t)error), CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    return *device = 0, ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetCount(int *count) { return *count = 1, CUDA_SUCCESS; }
CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
    struct cudaDeviceProp properties;
    if (cudaError_t error = cudaGetDeviceProperties(&properties, device)) return driver(error);
    if (length > 0) strncpy(name, properties.name, length - 1)[length - 1] = 0;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    return driver(cudaDeviceGetAttribute(value, (enum cudaDeviceAttr)attribute, device));
}
CUresult cuDeviceTotalMem(size_t *bytes, CUdevice) { return driver(cudaMemGetInfo(nullptr, bytes)); }
CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice) { return *major = 7, *minor = 0, CUDA_SUCCESS; }

// There is one context, the device's own.
static CUcontext context() { return (CUcontext)(uintptr_t)1; }
CUresult cuDevicePrimaryCtxRetain(CUcontext *given, CUdevice) { return *given = context(), CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxCreate(CUcontext *given, unsigned int, CUdevice) { return *given = context(), CUDA_SUCCESS; }
CUresult cuCtxDestroy(CUcontext) { return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext *given) { return *given = context(), CUDA_SUCCESS; }
CUresult cuCtxGetDevice(CUdevice *device) { return *device = 0, CUDA_SUCCESS; }
CUresult cuCtxSynchronize(void) { return driver(cudaDeviceSynchronize()); }

CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes) { return driver(__windlass_malloc((void **)pointer, bytes)); }
CUresult cuMemFree(CUdeviceptr pointer) { return driver(cudaFree((void *)pointer)); }
CUresult cuMemAllocHost(void **pointer, size_t bytes) { return driver(__windlass_malloc_host(pointer, bytes, 0)); }
CUresult cuMemFreeHost(void *pointer) { return driver(cudaFreeHost(pointer)); }
CUresult cuMemGetInfo(size_t *free_bytes, size_t *total_bytes) { return driver(cudaMemGetInfo(free_bytes, total_bytes)); }
CUresult cuMemcpy(CUdeviceptr target, CUdeviceptr source, size_t bytes) {
    return driver(cudaMemcpy((void *)target, (void *)source, bytes, cudaMemcpyDefault));
}
CUresult cuMemcpyHtoD(CUdeviceptr target, const void *source, size_t bytes) {
    return driver(cudaMemcpy((void *)target, source, bytes, cudaMemcpyHostToDevice));
}
CUresult cuMemcpyDtoH(void *target, CUdeviceptr source, size_t bytes) {
    return driver(cudaMemcpy(target, (void *)source, bytes, cudaMemcpyDeviceToHost));
}
CUresult cuMemcpyDtoD(CUdeviceptr target, CUdeviceptr source, size_t bytes) {
    return driver(cudaMemcpy((void *)target, (void *)source, bytes, cudaMemcpyDeviceToDevice));
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr target, const void *source, size_t bytes, CUstream stream) {
    return driver(cudaMemcpyAsync((void *)target, source, bytes, cudaMemcpyHostToDevice, stream));
}
CUresult cuMemcpyDtoHAsync(void *target, CUdeviceptr source, size_t bytes, CUstream stream) {
    return driver(cudaMemcpyAsync(target, (void *)source, bytes, cudaMemcpyDeviceToHost, stream));
}
CUresult cuMemsetD8(CUdeviceptr pointer, unsigned char value, size_t count) {
    return driver(cudaMemset((void *)pointer, value, count));
}
CUresult cuMemsetD32(CUdeviceptr pointer, unsigned int value, size_t count) {
    uintptr_t base;
    const windlass::Allocation *home = windlass::find_allocation((void *)pointer, &base);
    if (!home || pointer + 4 * count > base + home->size) return driver(windlass::fail(cudaErrorInvalidValue));
    for (size_t i = 0; i < count; i++) ((unsigned *)pointer)[i] = value;
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned int) { return driver(cudaStreamCreate(stream)); }
CUresult cuStreamSynchronize(CUstream stream) { return driver(cudaStreamSynchronize(stream)); }
CUresult cuStreamDestroy(CUstream stream) { return driver(cudaStreamDestroy(stream)); }
CUresult cuEventCreate(CUevent *event, unsigned int flags) { return driver(cudaEventCreateWithFlags(event, flags)); }
CUresult cuEventRecord(CUevent event, CUstream stream) { return driver(cudaEventRecord(event, stream)); }
CUresult cuEventSynchronize(CUevent event) { return driver(cudaEventSynchronize(event)); }
CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
    return driver(cudaEventElapsedTime(milliseconds, start, end));
}
CUresult cuEventDestroy(CUevent event) { return driver(cudaEventDestroy(event)); }
}
