// What device code calls that is no instruction, but for what the C library has: for GPUs of two kinds, and hosts (tests).
#include "mathematics.h"
#include "narrow_floats.h"
#ifdef __NVPTX__
#include "nvptx.h"
#endif
#ifdef __AMDGCN__
#include "amdgcn.h"
#endif
