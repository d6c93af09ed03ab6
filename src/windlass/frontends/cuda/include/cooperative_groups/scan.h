// cooperative_groups::inclusive_scan and exclusive_scan over the threads of a tile.
#pragma once
#include "reduce.h"

#ifdef __NVPTX__
namespace cooperative_groups {
template <unsigned int N, class P, class T, class F>
__WINDLASS_DEVICE T inclusive_scan(const thread_block_tile<N, P> &tile, T value, F combine) {
    for (unsigned int delta = 1; delta < N; delta *= 2) {
        T before = tile.shfl_up(value, delta);
        if (tile.thread_rank() >= delta) value = combine(before, value);
    }
    return value;
}
template <unsigned int N, class P, class T>
__WINDLASS_DEVICE T inclusive_scan(const thread_block_tile<N, P> &tile, T value) {
    return inclusive_scan(tile, value, plus<T>());
}
template <unsigned int N, class P, class T, class F>
__WINDLASS_DEVICE T exclusive_scan(const thread_block_tile<N, P> &tile, T value, F combine) {
    T before = tile.shfl_up(inclusive_scan(tile, value, combine), 1);
    return tile.thread_rank() == 0 ? T() : before;
}
template <unsigned int N, class P, class T>
__WINDLASS_DEVICE T exclusive_scan(const thread_block_tile<N, P> &tile, T value) {
    return exclusive_scan(tile, value, plus<T>());
}
}  // namespace cooperative_groups
#endif
