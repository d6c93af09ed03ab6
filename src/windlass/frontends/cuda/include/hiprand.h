// An older place of hiprand/hiprand.h.
#pragma once
#include <hiprand/hiprand.h>
