// The version of Thrust that these headers stand for: that of CUDA 12.6.
#pragma once
#define THRUST_VERSION 200500
#define THRUST_MAJOR_VERSION (THRUST_VERSION / 100000)
#define THRUST_MINOR_VERSION ((THRUST_VERSION / 100) % 1000)
#define THRUST_SUBMINOR_VERSION (THRUST_VERSION % 100)
#define THRUST_PATCH_NUMBER 0
