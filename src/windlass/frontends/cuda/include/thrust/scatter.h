#pragma once
#include "gather.h"
