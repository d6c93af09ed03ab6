// An older place of hipblas/hipblas.h.
#pragma once
#include <hipblas/hipblas.h>
