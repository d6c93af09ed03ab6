#pragma once
#include "iterator_traits.h"

namespace thrust {
template <class T, class Incrementable = ptrdiff_t, class System = use_default>
struct constant_iterator : __windlass_iterator<constant_iterator<T, Incrementable, System>, T, T> {
    T constant;
    ptrdiff_t place;
    __WINDLASS_BOTH_MEMBER constant_iterator() : constant(), place(0) {}
    __WINDLASS_BOTH_MEMBER constant_iterator(T constant, ptrdiff_t place = 0) : constant(constant), place(place) {}
    __WINDLASS_BOTH_MEMBER const T &value() const { return constant; }
    __WINDLASS_BOTH_MEMBER T dereference() const { return constant; }
    __WINDLASS_BOTH_MEMBER void advance(ptrdiff_t n) { place += n; }
    __WINDLASS_BOTH_MEMBER ptrdiff_t distance_to(const constant_iterator &b) const { return b.place - place; }
};
template <class T> __host__ __device__ constant_iterator<T> make_constant_iterator(T value) { return {value}; }
template <class T, class I> __host__ __device__ constant_iterator<T, I> make_constant_iterator(T value, I place) {
    return {value, (ptrdiff_t)place};
}
}  // namespace thrust
