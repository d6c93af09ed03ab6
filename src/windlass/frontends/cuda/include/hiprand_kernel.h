// An older place of hiprand/hiprand_kernel.h.
#pragma once
#include <hiprand/hiprand_kernel.h>
