#pragma once
#include "distributions.h"
