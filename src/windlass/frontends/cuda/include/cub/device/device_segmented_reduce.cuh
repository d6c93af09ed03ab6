#pragma once
#include "device_reduce.cuh"
