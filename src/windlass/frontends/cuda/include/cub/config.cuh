// What every header of CUB needs.
#pragma once
#include <cuda_runtime.h>
#include <assert.h>
#include "version.cuh"

#define CUB_NS_PREFIX
#define CUB_NS_POSTFIX
#define CUB_NS_QUALIFIER ::cub
#define CUB_NAMESPACE_BEGIN namespace cub {
#define CUB_NAMESPACE_END }
#define CUB_RUNTIME_FUNCTION
#define CUB_DETAIL_RUNTIME_FUNCTION
#define CUB_RUNTIME_ENABLED 1
#define CUB_PTX_ARCH __CUDA_ARCH__
#define CUB_ALIGN(bytes) alignas(bytes)
#define CUB_IGNORE_DEPRECATED_API
