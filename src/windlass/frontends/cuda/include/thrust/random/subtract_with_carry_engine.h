#pragma once
#include "engines.h"
