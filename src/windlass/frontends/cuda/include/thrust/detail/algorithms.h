// All algorithms: programs count on each header to bring others along.
#pragma once
#include "algorithms/adjacent_difference.h"
#include "algorithms/binary_search.h"
#include "algorithms/copy.h"
#include "algorithms/fill.h"
#include "algorithms/find.h"
#include "algorithms/gather.h"
#include "algorithms/merge.h"
#include "algorithms/reduce.h"
#include "algorithms/remove.h"
#include "algorithms/scan.h"
#include "algorithms/sort.h"
#include "algorithms/transform.h"
