#pragma once
#include "../thread/thread_load.cuh"
#include "windlass/iterators.h"

namespace cub {
template <CacheLoadModifier MODIFIER, class ValueT, class OffsetT = ptrdiff_t>
struct CacheModifiedInputIterator
    : __windlass_iterator<CacheModifiedInputIterator<MODIFIER, ValueT, OffsetT>, ValueT, ValueT, OffsetT> {
    ValueT *ptr;
    template <class Q> __WINDLASS_BOTH_MEMBER CacheModifiedInputIterator(Q *ptr) : ptr(const_cast<ValueT *>(ptr)) {}
    __WINDLASS_BOTH_MEMBER ValueT dereference() const { return *ptr; }
    __WINDLASS_BOTH_MEMBER void advance(OffsetT n) { ptr += n; }
    __WINDLASS_BOTH_MEMBER OffsetT distance_to(const CacheModifiedInputIterator &b) const { return b.ptr - ptr; }
};
}  // namespace cub
