// The version of CUB that these headers stand for: that of CUDA 12.6.
#pragma once
#define CUB_VERSION 200500
#define CUB_MAJOR_VERSION (CUB_VERSION / 100000)
#define CUB_MINOR_VERSION ((CUB_VERSION / 100) % 1000)
#define CUB_SUBMINOR_VERSION (CUB_VERSION % 100)
#define CUB_PATCH_NUMBER 0
