#pragma once
#include "iterator_traits.h"
#include "windlass/placement.h"

namespace thrust {
template <class Elements, class Places>
struct permutation_iterator
    : __windlass_iterator<permutation_iterator<Elements, Places>, typename std::iterator_traits<Elements>::value_type,
                          typename std::iterator_traits<Elements>::reference> {
    Elements elements;
    Places places;
    __WINDLASS_BOTH_MEMBER permutation_iterator() {}
    __WINDLASS_BOTH_MEMBER permutation_iterator(Elements elements, Places places) : elements(elements), places(places) {}
    __WINDLASS_BOTH_MEMBER const Places &base() const { return places; }
    __WINDLASS_BOTH_MEMBER typename std::iterator_traits<Elements>::reference dereference() const {
        return elements[*places];
    }
    __WINDLASS_BOTH_MEMBER void advance(ptrdiff_t n) { places += n; }
    __WINDLASS_BOTH_MEMBER ptrdiff_t distance_to(const permutation_iterator &b) const { return b.places - places; }
};
template <class Elements, class Places>
__host__ __device__ permutation_iterator<Elements, Places> make_permutation_iterator(Elements elements, Places places) {
    return {elements, places};
}
}  // namespace thrust

template <class E, class P>
inline constexpr bool __windlass_reads_on_host<thrust::permutation_iterator<E, P>> =
    __windlass_reads_on_host<E> &&__windlass_reads_on_host<P>;
