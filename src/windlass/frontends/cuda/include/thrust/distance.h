#pragma once
#include "iterator/iterator_traits.h"

namespace thrust {
template <class It> __host__ __device__ typename std::iterator_traits<It>::difference_type distance(It first, It last) {
    if constexpr (std::is_convertible_v<typename std::iterator_traits<It>::iterator_category, std::random_access_iterator_tag>)
        return last - first;
    else {
        typename std::iterator_traits<It>::difference_type count = 0;
        for (; first != last; ++first) count++;
        return count;
    }
}
template <class It, class N> __host__ __device__ void advance(It &at, N n) { at += n; }
template <class It> __host__ __device__ It next(It at, typename std::iterator_traits<It>::difference_type n = 1) {
    return at + n;
}
template <class It> __host__ __device__ It prev(It at, typename std::iterator_traits<It>::difference_type n = 1) {
    return at - n;
}
}  // namespace thrust
