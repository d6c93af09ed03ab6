#pragma once
#include "../windlass_cuda.h"
