// cub::WarpLoad and cub::WarpStore: items between memory and the lanes of a warp.
#pragma once
#include "../block/block_load.cuh"
#include "../block/block_store.cuh"

namespace cub {
enum WarpLoadAlgorithm { WARP_LOAD_DIRECT, WARP_LOAD_STRIPED, WARP_LOAD_VECTORIZE, WARP_LOAD_TRANSPOSE };
enum WarpStoreAlgorithm { WARP_STORE_DIRECT, WARP_STORE_STRIPED, WARP_STORE_VECTORIZE, WARP_STORE_TRANSPOSE };

template <class T, int N, WarpLoadAlgorithm ALGORITHM = WARP_LOAD_DIRECT, int WIDTH = 32, int LEGACY_PTX_ARCH = 0>
class WarpLoad {
public:
    using TempStorage = detail::NoStorage;
    __WINDLASS_DEVICE_MEMBER WarpLoad() {}
    __WINDLASS_DEVICE_MEMBER WarpLoad(TempStorage &) {}
    template <class It, class... Bounds> __WINDLASS_DEVICE_MEMBER void Load(It from, T (&items)[N], Bounds... bounds) {
        int lane = (int)LaneId() % WIDTH;
        if constexpr (ALGORITHM == WARP_LOAD_STRIPED) LoadDirectStriped<WIDTH>(lane, from, items, bounds...);
        else LoadDirectBlocked(lane, from, items, bounds...);
    }
};
template <class T, int N, WarpStoreAlgorithm ALGORITHM = WARP_STORE_DIRECT, int WIDTH = 32, int LEGACY_PTX_ARCH = 0>
class WarpStore {
public:
    using TempStorage = detail::NoStorage;
    __WINDLASS_DEVICE_MEMBER WarpStore() {}
    __WINDLASS_DEVICE_MEMBER WarpStore(TempStorage &) {}
    template <class It, class... Bounds> __WINDLASS_DEVICE_MEMBER void Store(It to, T (&items)[N], Bounds... bounds) {
        int lane = (int)LaneId() % WIDTH;
        if constexpr (ALGORITHM == WARP_STORE_STRIPED) StoreDirectStriped<WIDTH>(lane, to, items, bounds...);
        else StoreDirectBlocked(lane, to, items, bounds...);
    }
};
}  // namespace cub
