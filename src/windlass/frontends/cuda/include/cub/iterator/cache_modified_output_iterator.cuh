#pragma once
#include "../thread/thread_store.cuh"
#include "windlass/iterators.h"

namespace cub {
template <CacheStoreModifier MODIFIER, class ValueT, class OffsetT = ptrdiff_t>
struct CacheModifiedOutputIterator
    : __windlass_iterator<CacheModifiedOutputIterator<MODIFIER, ValueT, OffsetT>, ValueT, ValueT &, OffsetT> {
    ValueT *ptr;
    template <class Q> __WINDLASS_BOTH_MEMBER CacheModifiedOutputIterator(Q *ptr) : ptr(const_cast<ValueT *>(ptr)) {}
    __WINDLASS_BOTH_MEMBER ValueT &dereference() const { return *ptr; }
    __WINDLASS_BOTH_MEMBER void advance(OffsetT n) { ptr += n; }
    __WINDLASS_BOTH_MEMBER OffsetT distance_to(const CacheModifiedOutputIterator &b) const { return b.ptr - ptr; }
};
}  // namespace cub
