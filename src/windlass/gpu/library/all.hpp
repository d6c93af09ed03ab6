// What device code calls that is no instruction: one translation unit, for NVIDIA's GPUs, AMD's, and hosts (tests).
#include "base.h"
#ifdef __NVPTX__
#include "nvptx.h"
#endif
