// Part of cuBLAS.
#pragma once
#include "cublas_api.h"
