#pragma once
#include "detail/vector.h"

namespace thrust {
template <class T, class Allocator = std::allocator<T>>
class host_vector : public detail::vector<T, Allocator, T *, const T *> {
    using Base = detail::vector<T, Allocator, T *, const T *>;

public:
    using Base::Base;
    using Base::operator=;
    host_vector() = default;
    template <class A, class I, class C, class U>
    host_vector(const detail::vector<U, A, I, C> &other) : Base(other.begin(), other.end()) {}
};
}  // namespace thrust
