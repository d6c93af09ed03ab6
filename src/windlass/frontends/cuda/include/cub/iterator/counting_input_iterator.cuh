#pragma once
#include "../util_type.cuh"
#include "windlass/iterators.h"

namespace cub {
template <class ValueT, class OffsetT = ptrdiff_t>
struct CountingInputIterator
    : __windlass_iterator<CountingInputIterator<ValueT, OffsetT>, ValueT, ValueT, OffsetT> {
    ValueT value;
    __WINDLASS_BOTH_MEMBER CountingInputIterator(const ValueT &value) : value(value) {}
    __WINDLASS_BOTH_MEMBER ValueT dereference() const { return value; }
    __WINDLASS_BOTH_MEMBER void advance(OffsetT n) { value = (ValueT)(value + n); }
    __WINDLASS_BOTH_MEMBER OffsetT distance_to(const CountingInputIterator &b) const {
        return (OffsetT)b.value - (OffsetT)value;
    }
};
}  // namespace cub
