#pragma once
#include "device_select.cuh"
