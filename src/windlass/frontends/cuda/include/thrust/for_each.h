#pragma once
#include "transform.h"
