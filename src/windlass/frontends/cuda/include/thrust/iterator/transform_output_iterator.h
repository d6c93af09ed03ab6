#pragma once
#include "iterator_traits.h"
#include "windlass/placement.h"

namespace thrust {
namespace detail {
// What is assigned goes through a function on its way.
template <class F, class It> struct transforming {
    F function;
    It to;
    template <class T> __WINDLASS_BOTH_MEMBER const transforming &operator=(const T &value) const {
        *to = const_cast<F &>(function)(value);
        return *this;
    }
};
}  // namespace detail
template <class F, class It>
struct transform_output_iterator
    : __windlass_iterator<transform_output_iterator<F, It>, typename std::iterator_traits<It>::value_type,
                          detail::transforming<F, It>> {
    It iterator;
    F function;
    __WINDLASS_BOTH_MEMBER transform_output_iterator(It iterator, F function) : iterator(iterator), function(function) {}
    __WINDLASS_BOTH_MEMBER detail::transforming<F, It> dereference() const { return {function, iterator}; }
    __WINDLASS_BOTH_MEMBER void advance(ptrdiff_t n) { iterator += n; }
    __WINDLASS_BOTH_MEMBER ptrdiff_t distance_to(const transform_output_iterator &b) const { return b.iterator - iterator; }
};
template <class F, class It>
__host__ __device__ transform_output_iterator<F, It> make_transform_output_iterator(It iterator, F function) {
    return {iterator, function};
}
}  // namespace thrust

template <class F, class It>
inline constexpr bool __windlass_reads_on_host<thrust::transform_output_iterator<F, It>> =
    __windlass_calls_on_host<F, typename std::iterator_traits<It>::value_type>;
