#pragma once
#include "iterator_facade.h"
