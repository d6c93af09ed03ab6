#pragma once
#include "config.cuh"
