#pragma once
#include "policies.h"
