// Programs include this beside CUDA's own headers; buffers and images of OpenGL can't be had without a GPU.
#pragma once
#include "windlass_cuda.h"
