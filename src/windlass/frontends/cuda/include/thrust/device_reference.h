#pragma once
#include "detail/pointer.h"
