#pragma once
#include "../util_type.cuh"
#include "windlass/iterators.h"

namespace cub {
template <class OffsetT = ptrdiff_t>
struct DiscardOutputIterator
    : __windlass_iterator<DiscardOutputIterator<OffsetT>, void, __windlass_sink, OffsetT> {
    OffsetT offset;
    __WINDLASS_BOTH_MEMBER DiscardOutputIterator(OffsetT offset = 0) : offset(offset) {}
    __WINDLASS_BOTH_MEMBER __windlass_sink dereference() const { return {}; }
    __WINDLASS_BOTH_MEMBER void advance(OffsetT n) { offset += n; }
    __WINDLASS_BOTH_MEMBER OffsetT distance_to(const DiscardOutputIterator &b) const { return b.offset - offset; }
};
}  // namespace cub
