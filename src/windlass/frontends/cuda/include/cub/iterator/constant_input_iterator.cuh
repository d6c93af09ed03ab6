#pragma once
#include "../util_type.cuh"
#include "windlass/iterators.h"

namespace cub {
template <class ValueT, class OffsetT = ptrdiff_t>
struct ConstantInputIterator
    : __windlass_iterator<ConstantInputIterator<ValueT, OffsetT>, ValueT, ValueT, OffsetT> {
    ValueT value;
    OffsetT offset;
    __WINDLASS_BOTH_MEMBER ConstantInputIterator(ValueT value, OffsetT offset = 0) : value(value), offset(offset) {}
    __WINDLASS_BOTH_MEMBER ValueT dereference() const { return value; }
    __WINDLASS_BOTH_MEMBER void advance(OffsetT n) { offset += n; }
    __WINDLASS_BOTH_MEMBER OffsetT distance_to(const ConstantInputIterator &b) const { return b.offset - offset; }
};
}  // namespace cub
