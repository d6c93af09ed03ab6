#pragma once
#include "../../detail/policies.h"
