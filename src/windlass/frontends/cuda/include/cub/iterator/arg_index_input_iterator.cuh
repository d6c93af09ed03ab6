#pragma once
#include "../util_type.cuh"
#include "windlass/iterators.h"
#include "windlass/placement.h"

namespace cub {
template <class It, class OffsetT = ptrdiff_t, class OutputValueT = detail::value_t<It>>
struct ArgIndexInputIterator
    : __windlass_iterator<ArgIndexInputIterator<It, OffsetT, OutputValueT>, KeyValuePair<OffsetT, OutputValueT>,
                          KeyValuePair<OffsetT, OutputValueT>, OffsetT> {
    It input;
    OffsetT offset;
    __WINDLASS_BOTH_MEMBER ArgIndexInputIterator(It input, OffsetT offset = 0) : input(input), offset(offset) {}
    __WINDLASS_BOTH_MEMBER KeyValuePair<OffsetT, OutputValueT> dereference() const {
        return KeyValuePair<OffsetT, OutputValueT>(offset, input[offset]);
    }
    __WINDLASS_BOTH_MEMBER void advance(OffsetT n) { offset += n; }
    __WINDLASS_BOTH_MEMBER OffsetT distance_to(const ArgIndexInputIterator &b) const { return b.offset - offset; }
    __WINDLASS_BOTH_MEMBER void normalize() {
        input += offset;
        offset = 0;
    }
};
}  // namespace cub

template <class It, class O, class V>
inline constexpr bool __windlass_reads_on_host<cub::ArgIndexInputIterator<It, O, V>> = __windlass_reads_on_host<It>;
