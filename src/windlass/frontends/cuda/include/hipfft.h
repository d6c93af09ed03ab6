// An older place of hipfft/hipfft.h.
#pragma once
#include <hipfft/hipfft.h>
