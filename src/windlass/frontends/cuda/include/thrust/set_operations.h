#pragma once
#include "merge.h"
