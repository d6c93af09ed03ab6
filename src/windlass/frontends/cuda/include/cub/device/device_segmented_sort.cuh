#pragma once
#include "device_radix_sort.cuh"
