// An older place of hipsparse/hipsparse.h.
#pragma once
#include <hipsparse/hipsparse.h>
