// The one device that host programs see, and errors.
#include <cstring>
#include "state.h"

static thread_local cudaError_t last_error = cudaSuccess;

namespace windlass {
// What breaks the device stays: nothing after it can be trusted.
__host__ __device__ static bool is_broken() {
    return last_error == cudaErrorIllegalAddress || last_error == cudaErrorMisalignedAddress ||
           last_error == cudaErrorLaunchFailure || last_error == cudaErrorAssert;
}
cudaError_t fail(cudaError_t error) { return last_error = is_broken() ? last_error : error; }
}  // namespace windlass
using namespace windlass;

static const char *const NAME = "Windlass (no GPU)";

// The headers declare some of these for device code as well.
extern "C" {
__host__ __device__ cudaError_t cudaGetLastError(void) {
    cudaError_t error = last_error;
    if (!is_broken()) last_error = cudaSuccess;
    return error;
}
__host__ __device__ cudaError_t cudaPeekAtLastError(void) { return last_error; }
__host__ __device__ cudaError_t cudaDeviceSynchronize(void) { return is_broken() ? last_error : cudaSuccess; }
cudaError_t cudaThreadSynchronize(void) { return cudaDeviceSynchronize(); }

#define ERRORS(entry)                                                                                              \
    entry(cudaSuccess, "no error") entry(cudaErrorInvalidValue, "invalid argument")                                \
    entry(cudaErrorMemoryAllocation, "out of memory") entry(cudaErrorInitializationError, "initialization error")  \
    entry(cudaErrorInvalidConfiguration, "invalid configuration argument")                                         \
    entry(cudaErrorInvalidPitchValue, "invalid pitch argument") entry(cudaErrorInvalidSymbol, "invalid device symbol") \
    entry(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")                                    \
    entry(cudaErrorInvalidTexture, "invalid texture reference") entry(cudaErrorInvalidSurface, "invalid surface reference") \
    entry(cudaErrorInvalidTextureBinding, "texture is not bound to a pointer")                                     \
    entry(cudaErrorInvalidChannelDescriptor, "invalid channel descriptor")                                         \
    entry(cudaErrorInvalidFilterSetting, "linear filtering not supported for non-float type")                      \
    entry(cudaErrorMissingConfiguration, "__global__ function call is not configured")                             \
    entry(cudaErrorInvalidDeviceFunction, "invalid device function") entry(cudaErrorInvalidDevice, "invalid device ordinal") \
    entry(cudaErrorInvalidResourceHandle, "invalid resource handle") entry(cudaErrorIllegalState, "the operation cannot be performed in the present state") \
    entry(cudaErrorNotReady, "device not ready") entry(cudaErrorIllegalAddress, "an illegal memory access was encountered") \
    entry(cudaErrorLaunchOutOfResources, "too many resources requested for launch")                                \
    entry(cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped")     \
    entry(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region")           \
    entry(cudaErrorAssert, "device-side assert triggered") entry(cudaErrorLaunchFailure, "unspecified launch failure") \
    entry(cudaErrorMisalignedAddress, "misaligned address") entry(cudaErrorStreamCaptureUnmatched, "the capture was not initiated in this stream") \
    entry(cudaErrorNotSupported, "operation not supported") entry(cudaErrorUnknown, "unknown error")

__host__ __device__ const char *cudaGetErrorString(cudaError_t error) {
#define TEXT(code, text) if (error == code) return text;
    ERRORS(TEXT)
#undef TEXT
    return "unrecognized error code";
}
__host__ __device__ const char *cudaGetErrorName(cudaError_t error) {
#define TEXT(code, text) if (error == code) return #code;
    ERRORS(TEXT)
#undef TEXT
    return "unrecognized error code";
}

__host__ __device__ cudaError_t cudaGetDeviceCount(int *count) { return *count = 1, cudaSuccess; }
__host__ __device__ cudaError_t cudaGetDevice(int *device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : fail(cudaErrorInvalidDevice); }
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *) { return *device = 0, cudaSuccess; }
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device) {
    if (device != 0) return fail(cudaErrorInvalidDevice);
    memset(p, 0, sizeof *p);
    strcpy(p->name, NAME);
    p->totalGlobalMem = size_t(16) << 30;
    p->sharedMemPerBlock = 48 << 10, p->sharedMemPerBlockOptin = p->sharedMemPerMultiprocessor = 96 << 10;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = 32;
    p->memPitch = 0x7fffffff;
    p->maxThreadsPerBlock = 1024, p->maxThreadsPerMultiProcessor = 2048, p->maxBlocksPerMultiProcessor = 32;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024, p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 0x7fffffff, p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->clockRate = 1000000, p->memoryClockRate = 1000000, p->memoryBusWidth = 256, p->l2CacheSize = 4 << 20;
    p->totalConstMem = 64 << 10;
    p->major = 7, p->minor = 0;
    p->textureAlignment = 512, p->texturePitchAlignment = 32;
    p->multiProcessorCount = 80;
    p->canMapHostMemory = p->unifiedAddressing = p->managedMemory = p->concurrentManagedAccess = 1;
    p->concurrentKernels = p->cooperativeLaunch = p->deviceOverlap = p->asyncEngineCount = 1;
    p->maxTexture1D = 131072, p->maxTexture2D[0] = 131072, p->maxTexture2D[1] = 65536;
    p->maxTexture3D[0] = p->maxTexture3D[1] = p->maxTexture3D[2] = 16384;
    return cudaSuccess;
}
__host__ __device__ cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    struct cudaDeviceProp p;
    if (cudaError_t error = cudaGetDeviceProperties(&p, device)) return error;
    switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
        case cudaDevAttrMaxBlockDimX: *value = p.maxThreadsDim[0]; break;
        case cudaDevAttrMaxBlockDimY: *value = p.maxThreadsDim[1]; break;
        case cudaDevAttrMaxBlockDimZ: *value = p.maxThreadsDim[2]; break;
        case cudaDevAttrMaxGridDimX: *value = p.maxGridSize[0]; break;
        case cudaDevAttrMaxGridDimY: *value = p.maxGridSize[1]; break;
        case cudaDevAttrMaxGridDimZ: *value = p.maxGridSize[2]; break;
        case cudaDevAttrMaxSharedMemoryPerBlock: *value = (int)p.sharedMemPerBlock; break;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = (int)p.sharedMemPerBlockOptin; break;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = (int)p.sharedMemPerMultiprocessor; break;
        case cudaDevAttrTotalConstantMemory: *value = (int)p.totalConstMem; break;
        case cudaDevAttrWarpSize: *value = p.warpSize; break;
        case cudaDevAttrMaxPitch: *value = (int)p.memPitch; break;
        case cudaDevAttrMaxRegistersPerBlock: *value = p.regsPerBlock; break;
        case cudaDevAttrMaxRegistersPerMultiprocessor: *value = p.regsPerMultiprocessor; break;
        case cudaDevAttrClockRate: *value = p.clockRate; break;
        case cudaDevAttrMemoryClockRate: *value = p.memoryClockRate; break;
        case cudaDevAttrGlobalMemoryBusWidth: *value = p.memoryBusWidth; break;
        case cudaDevAttrTextureAlignment: *value = (int)p.textureAlignment; break;
        case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
        case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
        case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
        case cudaDevAttrMaxBlocksPerMultiprocessor: *value = p.maxBlocksPerMultiProcessor; break;
        case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
        case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
        case cudaDevAttrCanMapHostMemory:
        case cudaDevAttrConcurrentKernels:
        case cudaDevAttrUnifiedAddressing:
        case cudaDevAttrManagedMemory:
        case cudaDevAttrConcurrentManagedAccess:
        case cudaDevAttrCooperativeLaunch:
        case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
        default: *value = 0;
    }
    return cudaSuccess;
}
cudaError_t cudaDeviceReset(void) { return last_error = cudaSuccess; }
cudaError_t cudaThreadExit(void) { return cudaDeviceReset(); }
cudaError_t cudaSetDeviceFlags(unsigned int) { return cudaSuccess; }
cudaError_t cudaGetDeviceFlags(unsigned int *flags) { return *flags = 0, cudaSuccess; }
cudaError_t cudaThreadSetLimit(enum cudaLimit, size_t) { return cudaSuccess; }
cudaError_t cudaThreadSetCacheConfig(enum cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceSetLimit(enum cudaLimit, size_t) { return cudaSuccess; }
cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit) { return *value = 8 << 20, cudaSuccess; }
cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    if (least) *least = 0;
    if (greatest) *greatest = 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int) { return strncpy(id, "0000:00:00.0", length), cudaSuccess; }
cudaError_t cudaDeviceCanAccessPeer(int *can, int, int) { return *can = 0, cudaSuccess; }
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned int) { return fail(cudaErrorInvalidDevice); }
cudaError_t cudaDeviceDisablePeerAccess(int) { return fail(cudaErrorInvalidDevice); }
cudaError_t cudaDriverGetVersion(int *version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaCtxResetPersistingL2Cache(void) { return cudaSuccess; }
cudaError_t cudaProfilerStart(void) { return cudaSuccess; }
cudaError_t cudaProfilerStop(void) { return cudaSuccess; }
}
