// cub::WarpMergeSort: a stable sort of a warp's items with any comparison.
#pragma once
#include "../block/block_merge_sort.cuh"

namespace cub {
namespace detail {
struct MeetWarp {
    __WINDLASS_DEVICE_MEMBER void operator()() const { __syncwarp(__activemask()); }
};
}  // namespace detail

template <class KeyT, int ITEMS_PER_THREAD, int LOGICAL_WARP_THREADS = 32, class ValueT = NullType, int PTX_ARCH = 0>
class WarpMergeSort : public detail::MergeSort<KeyT, LOGICAL_WARP_THREADS, ITEMS_PER_THREAD, ValueT, detail::MeetWarp> {
    using Base = detail::MergeSort<KeyT, LOGICAL_WARP_THREADS, ITEMS_PER_THREAD, ValueT, detail::MeetWarp>;

public:
    using typename Base::TempStorage;
    __WINDLASS_DEVICE_MEMBER WarpMergeSort(TempStorage &storage)
        : Base(storage, (int)LaneId() % LOGICAL_WARP_THREADS) {}
    __WINDLASS_DEVICE_MEMBER unsigned int get_member_mask() const {
        return WarpMask<LOGICAL_WARP_THREADS>(LaneId() / LOGICAL_WARP_THREADS);
    }
};
}  // namespace cub
