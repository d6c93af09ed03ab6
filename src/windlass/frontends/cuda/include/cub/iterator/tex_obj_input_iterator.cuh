// Reads through a texture in CUB; here an ordinary pointer.
#pragma once
#include "../util_type.cuh"
#include "windlass/iterators.h"

namespace cub {
template <class T, class OffsetT = ptrdiff_t>
struct TexObjInputIterator : __windlass_iterator<TexObjInputIterator<T, OffsetT>, T, T, OffsetT> {
    const T *ptr = nullptr;
    template <class Q> cudaError_t BindTexture(Q *pointer, size_t = 0, size_t offset = 0) {
        ptr = (const T *)pointer + offset;
        return cudaSuccess;
    }
    cudaError_t UnbindTexture() { return cudaSuccess; }
    __WINDLASS_BOTH_MEMBER T dereference() const { return *ptr; }
    __WINDLASS_BOTH_MEMBER void advance(OffsetT n) { ptr += n; }
    __WINDLASS_BOTH_MEMBER OffsetT distance_to(const TexObjInputIterator &b) const { return b.ptr - ptr; }
};
}  // namespace cub
