// Tuples are the standard library's, which device code can use, too.
#pragma once
#include "pair.h"

namespace thrust {
using std::ignore;
using std::make_tuple;
using std::swap;
using std::tie;
using std::tuple;
using std::tuple_cat;
using null_type = std::tuple<>;
}  // namespace thrust
