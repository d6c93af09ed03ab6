// What device code calls that is no instruction, but for what the C library has: for NVIDIA's GPUs, and hosts (tests).
#include "mathematics.h"
#include "narrow_floats.h"
#ifdef __NVPTX__
#include "nvptx.h"
#endif
