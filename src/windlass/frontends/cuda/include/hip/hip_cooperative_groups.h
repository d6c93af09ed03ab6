// Cooperative groups.
#pragma once
#include "hip_runtime_api.h"
#include <cooperative_groups.h>
