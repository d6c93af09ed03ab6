#pragma once
#include "iterator_traits.h"

namespace thrust {
template <class T, class System = use_default, class Traversal = use_default, class Difference = use_default>
struct counting_iterator : __windlass_iterator<counting_iterator<T, System, Traversal, Difference>, T, T> {
    T value;
    __WINDLASS_BOTH_MEMBER counting_iterator() : value() {}
    __WINDLASS_BOTH_MEMBER counting_iterator(T value) : value(value) {}
    __WINDLASS_BOTH_MEMBER T base() const { return value; }
    __WINDLASS_BOTH_MEMBER T dereference() const { return value; }
    __WINDLASS_BOTH_MEMBER void advance(ptrdiff_t n) { value = (T)(value + n); }
    __WINDLASS_BOTH_MEMBER ptrdiff_t distance_to(const counting_iterator &b) const {
        return (ptrdiff_t)(b.value) - (ptrdiff_t)value;
    }
};
template <class T> __host__ __device__ counting_iterator<T> make_counting_iterator(T value) { return {value}; }
}  // namespace thrust
