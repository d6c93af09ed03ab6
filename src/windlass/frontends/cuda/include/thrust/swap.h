#pragma once
#include "tuple.h"
#include "transform.h"
