// Half precision.
#pragma once
#include "hip_runtime_api.h"
#include <cuda_fp16.h>
