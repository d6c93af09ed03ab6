// HIP's runtime as Windlass reads it: CUDA's under HIP's names, and what HIP has beside them. Warps have 32 threads.
#pragma once
#include "windlass_cuda.h"
#include "windlass/hip_names.h"
#include "windlass/hip_vectors.h"
#include <cuda.h>
#include <cstring>

#ifndef __HIPCC__
#define __HIPCC__ 1
#endif
#ifndef __HIP_PLATFORM_NVIDIA__
#define __HIP_PLATFORM_NVIDIA__ 1
#endif
#ifndef __HIP_PLATFORM_NVCC__
#define __HIP_PLATFORM_NVCC__ 1
#endif
#ifdef __CUDA_ARCH__
#define __HIP_DEVICE_COMPILE__ 1
#define __HIP_ARCH_HAS_WARP_SHUFFLE__ 1
#define __HIP_ARCH_HAS_WARP_VOTE__ 1
#define __HIP_ARCH_HAS_WARP_BALLOT__ 1
#define __HIP_ARCH_HAS_DOUBLES__ 1
#define __HIP_ARCH_HAS_GLOBAL_INT32_ATOMICS__ 1
#define __HIP_ARCH_HAS_SHARED_INT32_ATOMICS__ 1
#define __HIP_ARCH_HAS_GLOBAL_INT64_ATOMICS__ 1
#define __HIP_ARCH_HAS_SHARED_INT64_ATOMICS__ 1
#define __HIP_ARCH_HAS_FLOAT_ATOMIC_ADD__ 1
#endif
#include "hip_version.h"

struct hipDeviceArch_t {
    unsigned hasGlobalInt32Atomics = 1, hasSharedInt32Atomics = 1, hasFloatAtomicAdd = 1, hasGlobalInt64Atomics = 1,
             hasSharedInt64Atomics = 1, hasDoubles = 1, hasWarpVote = 1, hasWarpBallot = 1, hasWarpShuffle = 1,
             hasFunnelShift = 1, hasThreadFenceSystem = 1, hasSyncThreadsExt = 1, hasSurfaceFuncs = 1, has3dGrid = 1,
             hasDynamicParallelism = 0;
};
struct hipDeviceProp_t : cudaDeviceProp {
    char gcnArchName[256];
    int gcnArch;
    size_t maxSharedMemoryPerMultiProcessor;
    hipDeviceArch_t arch;
};
static inline hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device) {
    cudaError_t error = cudaGetDeviceProperties(properties, device);
    strcpy(properties->gcnArchName, "windlass");
    properties->gcnArch = 0;
    properties->maxSharedMemoryPerMultiProcessor = properties->sharedMemPerMultiprocessor;
    properties->arch = hipDeviceArch_t();
    return error;
}

enum : unsigned {
    hipHostMallocNumaUser = 0,
    hipHostMallocCoherent = 0,
    hipHostMallocNonCoherent = 0,
    hipDeviceMallocDefault = 0,
    hipEventReleaseToDevice = 0,
    hipEventReleaseToSystem = 0,
    hipEventDisableSystemFence = 0
};

// What a kernel's launch is written as.
#define HIP_SYMBOL(symbol) symbol
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_TEMPLATE_KERNEL_LAUNCH
#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...)          \
    do {                                                                      \
        kernel<<<(grid), (block), (shared), (stream)>>>(__VA_ARGS__);         \
    } while (0)

// CUDA's driver API, whose functions give HIP's errors.
typedef CUdevice hipDevice_t;
typedef CUcontext hipCtx_t;
typedef CUmodule hipModule_t;
typedef CUfunction hipFunction_t;
typedef void *hipDeviceptr_t;
#define hipInit(...) ((cudaError_t)cuInit(__VA_ARGS__))
#define hipDeviceGet(...) ((cudaError_t)cuDeviceGet(__VA_ARGS__))
#define hipDeviceGetName(...) ((cudaError_t)cuDeviceGetName(__VA_ARGS__))
#define hipDeviceTotalMem(...) ((cudaError_t)cuDeviceTotalMem(__VA_ARGS__))
#define hipDeviceComputeCapability(...) ((cudaError_t)cuDeviceComputeCapability(__VA_ARGS__))
#define hipDevicePrimaryCtxRetain(...) ((cudaError_t)cuDevicePrimaryCtxRetain(__VA_ARGS__))
#define hipDevicePrimaryCtxRelease(...) ((cudaError_t)cuDevicePrimaryCtxRelease(__VA_ARGS__))
#define hipCtxCreate(...) ((cudaError_t)cuCtxCreate(__VA_ARGS__))
#define hipCtxDestroy(...) ((cudaError_t)cuCtxDestroy(__VA_ARGS__))
#define hipCtxSetCurrent(...) ((cudaError_t)cuCtxSetCurrent(__VA_ARGS__))
#define hipCtxGetCurrent(...) ((cudaError_t)cuCtxGetCurrent(__VA_ARGS__))
#define hipCtxGetDevice(...) ((cudaError_t)cuCtxGetDevice(__VA_ARGS__))
#define hipCtxSynchronize(...) ((cudaError_t)cuCtxSynchronize(__VA_ARGS__))
#define hipModuleLoad(...) ((cudaError_t)cuModuleLoad(__VA_ARGS__))
#define hipModuleLoadData(...) ((cudaError_t)cuModuleLoadData(__VA_ARGS__))
#define hipModuleUnload(...) ((cudaError_t)cuModuleUnload(__VA_ARGS__))
#define hipModuleGetFunction(...) ((cudaError_t)cuModuleGetFunction(__VA_ARGS__))
#define hipModuleGetGlobal(pointer, ...) ((cudaError_t)cuModuleGetGlobal((CUdeviceptr *)(pointer), __VA_ARGS__))
#define hipModuleLaunchKernel(...) ((cudaError_t)cuLaunchKernel(__VA_ARGS__))
static inline hipError_t hipMemcpyHtoD(hipDeviceptr_t target, const void *source, size_t bytes) {
    return cudaMemcpy(target, source, bytes, cudaMemcpyHostToDevice);
}
static inline hipError_t hipMemcpyDtoH(void *target, hipDeviceptr_t source, size_t bytes) {
    return cudaMemcpy(target, source, bytes, cudaMemcpyDeviceToHost);
}
static inline hipError_t hipMemcpyDtoD(hipDeviceptr_t target, hipDeviceptr_t source, size_t bytes) {
    return cudaMemcpy(target, source, bytes, cudaMemcpyDeviceToDevice);
}
static inline hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t target, const void *source, size_t bytes, hipStream_t stream) {
    return cudaMemcpyAsync(target, source, bytes, cudaMemcpyHostToDevice, stream);
}
static inline hipError_t hipMemcpyDtoHAsync(void *target, hipDeviceptr_t source, size_t bytes, hipStream_t stream) {
    return cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToHost, stream);
}
static inline hipError_t hipMemcpyWithStream(void *target, const void *source, size_t bytes, hipMemcpyKind kind,
                                             hipStream_t stream) {
    cudaError_t error = cudaMemcpyAsync(target, source, bytes, kind, stream);
    return error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}
static inline hipError_t hipMemsetD8(hipDeviceptr_t target, unsigned char value, size_t count) {
    return cudaMemset(target, value, count);
}
static inline hipError_t hipMemsetD32(hipDeviceptr_t target, int value, size_t count) {
    return (cudaError_t)cuMemsetD32((CUdeviceptr)target, (unsigned)value, count);
}

// A deprecated spelling of what threads know of their place.
#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_DYNAMIC_SHARED_ATTRIBUTE

__device__ inline long long wall_clock64() { return clock64(); }
template <class T, class U> __device__ T unsafeAtomicAdd(T *address, U value) { return atomicAdd(address, value); }
template <class T, class U> __device__ T safeAtomicAdd(T *address, U value) { return atomicAdd(address, value); }
template <class T, class U> __device__ void atomicAddNoRet(T *address, U value) { atomicAdd(address, value); }
