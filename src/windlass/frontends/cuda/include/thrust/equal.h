#pragma once
#include "find.h"
