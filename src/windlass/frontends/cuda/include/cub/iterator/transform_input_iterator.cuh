#pragma once
#include "../util_type.cuh"
#include "windlass/iterators.h"
#include "windlass/placement.h"

namespace cub {
template <class ValueT, class F, class It, class OffsetT = ptrdiff_t>
struct TransformInputIterator
    : __windlass_iterator<TransformInputIterator<ValueT, F, It, OffsetT>, ValueT, ValueT, OffsetT> {
    It input;
    F op;
    __WINDLASS_BOTH_MEMBER TransformInputIterator(It input, F op) : input(input), op(op) {}
    __WINDLASS_BOTH_MEMBER ValueT dereference() const { return const_cast<F &>(op)(*input); }
    __WINDLASS_BOTH_MEMBER void advance(OffsetT n) { input += n; }
    __WINDLASS_BOTH_MEMBER OffsetT distance_to(const TransformInputIterator &b) const {
        return (OffsetT)(b.input - input);
    }
};
}  // namespace cub

template <class V, class F, class It, class O>
inline constexpr bool __windlass_reads_on_host<cub::TransformInputIterator<V, F, It, O>> =
    __windlass_reads_on_host<It> && __windlass_calls_on_host<F, decltype(*std::declval<It &>())>;
