#pragma once
#include "remove.h"
#include "find.h"
