#pragma once
#include "../tuple.h"
#include "iterator_traits.h"
#include "windlass/placement.h"

namespace thrust {
template <class Iterators> struct zip_iterator;
template <class... It>
struct zip_iterator<std::tuple<It...>>
    : __windlass_iterator<zip_iterator<std::tuple<It...>>, std::tuple<typename std::iterator_traits<It>::value_type...>,
                          std::tuple<typename std::iterator_traits<It>::reference...>> {
    using iterators = std::tuple<It...>;
    iterators each;
    __WINDLASS_BOTH_MEMBER zip_iterator() {}
    __WINDLASS_BOTH_MEMBER zip_iterator(const iterators &each) : each(each) {}
    template <class... Other> __WINDLASS_BOTH_MEMBER zip_iterator(const zip_iterator<std::tuple<Other...>> &b) : each(b.each) {}
    __WINDLASS_BOTH_MEMBER const iterators &get_iterator_tuple() const { return each; }
    __WINDLASS_BOTH_MEMBER std::tuple<typename std::iterator_traits<It>::reference...> dereference() const {
        return all(std::index_sequence_for<It...>());
    }
    __WINDLASS_BOTH_MEMBER void advance(ptrdiff_t n) { move(n, std::index_sequence_for<It...>()); }
    __WINDLASS_BOTH_MEMBER ptrdiff_t distance_to(const zip_iterator &b) const {
        return std::get<0>(b.each) - std::get<0>(each);
    }

private:
    template <size_t... I>
    __WINDLASS_BOTH_MEMBER std::tuple<typename std::iterator_traits<It>::reference...>
    all(std::index_sequence<I...>) const {
        return std::tuple<typename std::iterator_traits<It>::reference...>(*std::get<I>(each)...);
    }
    template <size_t... I> __WINDLASS_BOTH_MEMBER void move(ptrdiff_t n, std::index_sequence<I...>) {
        ((std::get<I>(each) += n), ...);
    }
};
template <class... It> __host__ __device__ zip_iterator<std::tuple<It...>> make_zip_iterator(std::tuple<It...> each) {
    return {each};
}
template <class A, class B, class... It>
__host__ __device__ zip_iterator<std::tuple<A, B, It...>> make_zip_iterator(A a, B b, It... rest) {
    return {std::tuple<A, B, It...>(a, b, rest...)};
}
template <class A, std::enable_if_t<std::is_pointer_v<A>, int> = 0>
__host__ __device__ zip_iterator<std::tuple<A>> make_zip_iterator(A a) {
    return {std::tuple<A>(a)};
}
}  // namespace thrust

template <class... It>
inline constexpr bool __windlass_reads_on_host<thrust::zip_iterator<std::tuple<It...>>> = (__windlass_reads_on_host<It> && ...);
