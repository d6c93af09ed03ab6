// CUDA C++ as Windlass reads it: included before every translation unit, and kept as a precompiled header.
//
// One topic per file. README.md lists what each CUDA builtin looks like in LLVM IR.
#pragma once

#include "windlass/attributes.h"
#include "windlass/standard_library.h"
#include "windlass/vector_types.h"
#include "windlass/builtin_variables.h"
#include "windlass/synchronization.h"
#include "windlass/warp.h"
#include "windlass/atomics.h"
#include "windlass/math_functions.h"
#include "windlass/rounding.h"
#include "windlass/conversions.h"
#include "windlass/fast_math.h"
#include "windlass/integer_intrinsics.h"
#include "windlass/memory.h"
#include "windlass/runtime_types.h"
#include "windlass/runtime_api.h"
#include "windlass/textures.h"
#include "assert.h"
