#pragma once
#include "detail/vector.h"
#include "host_vector.h"
#include "device_malloc.h"
#include "detail/algorithms.h"

namespace thrust {
template <class T, class Allocator = device_allocator<T>>
class device_vector : public detail::vector<T, Allocator, device_ptr<T>, device_ptr<const T>> {
    using Base = detail::vector<T, Allocator, device_ptr<T>, device_ptr<const T>>;

public:
    using Base::Base;
    using Base::operator=;
    device_vector() = default;
    template <class A, class I, class C, class U>
    device_vector(const detail::vector<U, A, I, C> &other) : Base(other.begin(), other.end()) {}
};
}  // namespace thrust
