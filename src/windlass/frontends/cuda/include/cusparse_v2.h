// Part of cuSPARSE.
#pragma once
#include "cusparse.h"
