// Stores with cache hints, which are dropped.
#pragma once
#include "../util_type.cuh"

namespace cub {
enum CacheStoreModifier { STORE_DEFAULT, STORE_WB, STORE_CG, STORE_CS, STORE_WT, STORE_VOLATILE };

template <CacheStoreModifier = STORE_DEFAULT, class Iterator, class T>
__WINDLASS_DEVICE void ThreadStore(Iterator at, T value) {
    *at = value;
}
}  // namespace cub
