// Part of what every CUDA translation unit sees.
#pragma once
#include "windlass_cuda.h"
