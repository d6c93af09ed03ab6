#pragma once
#include "iterator_traits.h"
#include "windlass/placement.h"

namespace thrust {
template <class It>
struct reverse_iterator : __windlass_iterator<reverse_iterator<It>, typename std::iterator_traits<It>::value_type,
                                              typename std::iterator_traits<It>::reference> {
    It iterator;
    __WINDLASS_BOTH_MEMBER reverse_iterator() {}
    __WINDLASS_BOTH_MEMBER explicit reverse_iterator(It iterator) : iterator(iterator) {}
    __WINDLASS_BOTH_MEMBER const It &base() const { return iterator; }
    __WINDLASS_BOTH_MEMBER typename std::iterator_traits<It>::reference dereference() const { return *(iterator - 1); }
    __WINDLASS_BOTH_MEMBER void advance(ptrdiff_t n) { iterator -= n; }
    __WINDLASS_BOTH_MEMBER ptrdiff_t distance_to(const reverse_iterator &b) const { return iterator - b.iterator; }
};
template <class It> __host__ __device__ reverse_iterator<It> make_reverse_iterator(It it) { return reverse_iterator<It>(it); }
}  // namespace thrust

template <class It>
inline constexpr bool __windlass_reads_on_host<thrust::reverse_iterator<It>> = __windlass_reads_on_host<It>;
