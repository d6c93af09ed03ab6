#pragma once
#include "iterator_traits.h"

namespace thrust {
template <class System = use_default>
struct discard_iterator : __windlass_iterator<discard_iterator<System>, __windlass_sink, __windlass_sink> {
    ptrdiff_t place;
    __WINDLASS_BOTH_MEMBER discard_iterator(ptrdiff_t place = 0) : place(place) {}
    __WINDLASS_BOTH_MEMBER __windlass_sink dereference() const { return {}; }
    __WINDLASS_BOTH_MEMBER void advance(ptrdiff_t n) { place += n; }
    __WINDLASS_BOTH_MEMBER ptrdiff_t distance_to(const discard_iterator &b) const { return b.place - place; }
};
inline __host__ __device__ discard_iterator<> make_discard_iterator(ptrdiff_t place = 0) { return {place}; }
}  // namespace thrust
