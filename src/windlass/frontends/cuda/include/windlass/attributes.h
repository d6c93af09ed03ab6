// The words that CUDA adds to C++, and the version that these headers stand for.
#pragma once

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#ifdef __CUDA_ARCH__
#define __managed__ __attribute__((device))
#else
// The host runtime keeps variables of this section and those of the device alike.
#define __managed__ __attribute__((device, section("windlass_managed")))
#endif
#define __grid_constant__
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __block_size__(...)
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __inline_hint__ __inline__
// Kernels are easiest to raise with every call inlined, and inlining never changes a result.
#define __noinline__
#define __restrict__ __restrict
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __thread__ __thread
#define __nv_pure__ __attribute__((pure))
#define __device_builtin__
#define __cudart_builtin__
#define __location__(word) __##word##__
#define CUDARTAPI
#define CUDAAPI
#define CUDART_CB
#define CUDA_CB

#define CUDART_VERSION 12060
#define CUDA_VERSION 12060
#define __CUDART_API_VERSION CUDART_VERSION
#define __CUDA_API_VERSION CUDART_VERSION
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 6
#define __CUDACC_VER_BUILD__ 0
#ifndef __CUDACC__
#define __CUDACC__ 1
#endif
#ifndef __NVCC__
#define __NVCC__ 1
#endif
// Programs ask for these to see which of CUDA's headers they have.
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__
#define __DRIVER_TYPES_H__
#define __VECTOR_TYPES_H__
#define __VECTOR_FUNCTIONS_H__
#define __HOST_DEFINES_H__
#define __DEVICE_LAUNCH_PARAMETERS_H__
#define __CUDACC_EXTENDED_LAMBDA__ 1
#define __CUDACC_RELAXED_CONSTEXPR__ 1

// For these headers alone: functions without a name of their own in a debugger, so that positions are the caller's.
#define __WINDLASS_DEVICE static __inline__ __attribute__((device, always_inline, nodebug, unused))
#define __WINDLASS_BOTH static __inline__ __attribute__((host, device, always_inline, nodebug, unused))
#define __WINDLASS_HOST static __inline__ __attribute__((host, always_inline, nodebug, unused))
#define __WINDLASS_DEVICE_MEMBER __attribute__((device, always_inline, nodebug))
#define __WINDLASS_BOTH_MEMBER __attribute__((host, device, always_inline, nodebug))
// Functions that the later stages know by name: see README.md.
#define __WINDLASS_PURE extern "C" __attribute__((host, device, const, nothrow))
#define __WINDLASS_READS extern "C" __attribute__((device, pure, nothrow))
#define __WINDLASS_ACTS extern "C" __attribute__((device, nothrow))
#define __WINDLASS_MEETS extern "C" __attribute__((device, convergent, nothrow))
