#pragma once
#ifdef __HIPCC__
#include <hip/hip_runtime.h>
#endif
#include <cuda_runtime.h>
#include <assert.h>
#include <stdexcept>
#include "../version.h"

#define THRUST_NODISCARD [[nodiscard]]
#define THRUST_NAMESPACE_BEGIN namespace thrust {
#define THRUST_NAMESPACE_END }
#define THRUST_NS_QUALIFIER ::thrust
#define THRUST_DEVICE_SYSTEM_CPP 1
#define THRUST_DEVICE_SYSTEM_OMP 2
#define THRUST_DEVICE_SYSTEM_TBB 3
#define THRUST_DEVICE_SYSTEM_CUDA 4
#ifndef THRUST_DEVICE_SYSTEM
#define THRUST_DEVICE_SYSTEM THRUST_DEVICE_SYSTEM_CUDA
#endif
