// An older place of hipsolver/hipsolver.h.
#pragma once
#include <hipsolver/hipsolver.h>
