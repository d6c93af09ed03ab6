#pragma once
#include "fill.h"
