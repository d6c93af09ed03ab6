#pragma once
#include "iterator_traits.h"
#include "windlass/placement.h"

namespace thrust {
namespace detail {
template <class F, class It, class Reference> struct transformed {
    using type = Reference;
};
template <class F, class It> struct transformed<F, It, use_default> {
    using type = decltype(std::declval<F &>()(*std::declval<It &>()));
};
template <class T, class Reference> struct value_or {
    using type = T;
};
template <class Reference> struct value_or<use_default, Reference> {
    using type = std::decay_t<Reference>;
};
}  // namespace detail

template <class F, class It, class Reference = use_default, class Value = use_default>
struct transform_iterator
    : __windlass_iterator<transform_iterator<F, It, Reference, Value>,
                          typename detail::value_or<Value, typename detail::transformed<F, It, Reference>::type>::type,
                          typename detail::transformed<F, It, Reference>::type> {
    It iterator;
    F function;
    __WINDLASS_BOTH_MEMBER transform_iterator() {}
    __WINDLASS_BOTH_MEMBER transform_iterator(It iterator, F function) : iterator(iterator), function(function) {}
    __WINDLASS_BOTH_MEMBER explicit transform_iterator(It iterator) : iterator(iterator), function() {}
    __WINDLASS_BOTH_MEMBER const It &base() const { return iterator; }
    __WINDLASS_BOTH_MEMBER F functor() const { return function; }
    __WINDLASS_BOTH_MEMBER typename detail::transformed<F, It, Reference>::type dereference() const {
        return const_cast<F &>(function)(*iterator);
    }
    __WINDLASS_BOTH_MEMBER void advance(ptrdiff_t n) { iterator += n; }
    __WINDLASS_BOTH_MEMBER ptrdiff_t distance_to(const transform_iterator &b) const { return b.iterator - iterator; }
};
template <class F, class It>
__host__ __device__ transform_iterator<F, It> make_transform_iterator(It iterator, F function) {
    return {iterator, function};
}
}  // namespace thrust

template <class F, class It, class R, class V>
inline constexpr bool __windlass_reads_on_host<thrust::transform_iterator<F, It, R, V>> =
    __windlass_reads_on_host<It> &&__windlass_calls_on_host<F, decltype(*std::declval<It &>())>;
