// HIP's name for what CUDA has. Written by `python -m tests.frontends.cuda.hip_headers`.
#pragma once
#include <hip/hip_runtime.h>
#include <cub/version.cuh>
namespace hipcub = cub;
