// Loads with cache hints, which are dropped.
#pragma once
#include "../util_type.cuh"

namespace cub {
enum CacheLoadModifier { LOAD_DEFAULT, LOAD_CA, LOAD_CG, LOAD_CS, LOAD_CV, LOAD_LDG, LOAD_VOLATILE };

template <CacheLoadModifier = LOAD_DEFAULT, class Iterator> __WINDLASS_DEVICE auto ThreadLoad(Iterator at) {
    typename std::iterator_traits<Iterator>::value_type value = *at;
    return value;
}
}  // namespace cub
