// cooperative_groups::reduce: over the threads of a tile or of a coalesced group.
#pragma once
#include "../cooperative_groups.h"

#ifdef __NVPTX__
namespace cooperative_groups {
#define __WINDLASS_REDUCER(name, expression)                                                                 \
    template <class T = void> struct name {                                                                  \
        __WINDLASS_DEVICE_MEMBER T operator()(T a, T b) const { return expression; }                         \
    };                                                                                                       \
    template <> struct name<void> {                                                                          \
        template <class T> __WINDLASS_DEVICE_MEMBER T operator()(T a, T b) const { return expression; }      \
    };
__WINDLASS_REDUCER(plus, a + b)
__WINDLASS_REDUCER(greater, (a > b ? a : b))
__WINDLASS_REDUCER(less, (a < b ? a : b))
__WINDLASS_REDUCER(bit_and, a &b)
__WINDLASS_REDUCER(bit_or, a | b)
__WINDLASS_REDUCER(bit_xor, a ^ b)
#undef __WINDLASS_REDUCER

template <unsigned int N, class P, class T, class F>
__WINDLASS_DEVICE T reduce(const thread_block_tile<N, P> &tile, T value, F combine) {
    for (unsigned int lanes = N / 2; lanes > 0; lanes /= 2) value = combine(value, tile.shfl_xor(value, lanes));
    return value;
}
template <class T, class F> __WINDLASS_DEVICE T reduce(const coalesced_group &group, T value, F combine) {
    T result = group.shfl(value, 0);
    for (unsigned int rank = 1; rank < group.size(); ++rank) result = combine(result, group.shfl(value, rank));
    return result;
}
}  // namespace cooperative_groups
#endif
