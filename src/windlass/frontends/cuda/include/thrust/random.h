// Random numbers: engines as in the C++ standard, distributions as in Thrust's documentation.
#pragma once
#include "random/engines.h"
#include "random/distributions.h"
