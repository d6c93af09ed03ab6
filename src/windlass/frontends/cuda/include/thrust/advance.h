#pragma once
#include "distance.h"
