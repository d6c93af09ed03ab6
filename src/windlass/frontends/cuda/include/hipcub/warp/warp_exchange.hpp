// HIP's name for what CUDA has. Written by `python -m tests.frontends.cuda.hip_headers`.
#pragma once
#include <hip/hip_runtime.h>
#include <cub/warp/warp_exchange.cuh>
namespace hipcub = cub;
