// Part of HIP's runtime.
#pragma once
#include "hip_runtime_api.h"
