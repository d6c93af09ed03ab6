// Pointers to device memory, which is memory of the process.
#pragma once
#include "policies.h"
#include "windlass/iterators.h"

namespace thrust {
template <class T> using device_reference = T &;

template <class T> struct device_ptr : __windlass_iterator<device_ptr<T>, std::remove_cv_t<T>, T &> {
    using element_type = T;
    using raw_pointer = T *;
    using pointer = device_ptr;
    T *address;
    __WINDLASS_BOTH_MEMBER device_ptr() : address(nullptr) {}
    __WINDLASS_BOTH_MEMBER device_ptr(std::nullptr_t) : address(nullptr) {}
    __WINDLASS_BOTH_MEMBER device_ptr(T *address) : address(address) {}
    template <class U, std::enable_if_t<std::is_convertible_v<U *, T *>, int> = 0>
    __WINDLASS_BOTH_MEMBER device_ptr(const device_ptr<U> &other) : address(other.get()) {}
    __WINDLASS_BOTH_MEMBER T *get() const { return address; }
    __WINDLASS_BOTH_MEMBER explicit operator bool() const { return address != nullptr; }
    __WINDLASS_BOTH_MEMBER T &dereference() const { return *address; }
    __WINDLASS_BOTH_MEMBER void advance(ptrdiff_t n) { address += n; }
    __WINDLASS_BOTH_MEMBER ptrdiff_t distance_to(const device_ptr &other) const { return other.address - address; }
    __WINDLASS_BOTH_MEMBER device_ptr base() const { return *this; }
};
template <> struct device_ptr<void> {
    void *address = nullptr;
    device_ptr() = default;
    __host__ __device__ device_ptr(void *address) : address(address) {}
    template <class U> __host__ __device__ device_ptr(const device_ptr<U> &other) : address((void *)other.get()) {}
    template <class U> __host__ __device__ explicit operator device_ptr<U>() const { return device_ptr<U>((U *)address); }
    __host__ __device__ void *get() const { return address; }
};
template <class T, class U> __host__ __device__ bool operator==(const device_ptr<T> &a, const device_ptr<U> &b) {
    return a.get() == b.get();
}
template <class T, class U> __host__ __device__ bool operator!=(const device_ptr<T> &a, const device_ptr<U> &b) {
    return a.get() != b.get();
}
template <class T> __host__ __device__ bool operator==(const device_ptr<T> &a, std::nullptr_t) { return !a.get(); }
template <class T> __host__ __device__ bool operator!=(const device_ptr<T> &a, std::nullptr_t) { return a.get(); }

template <class T> __host__ __device__ T *raw_pointer_cast(T *pointer) { return pointer; }
template <class T> __host__ __device__ T *raw_pointer_cast(const device_ptr<T> &pointer) { return pointer.get(); }
template <class T> __host__ __device__ T &raw_reference_cast(T &reference) { return reference; }
template <class T> __host__ __device__ const T &raw_reference_cast(const T &reference) { return reference; }
template <class T> __host__ __device__ device_ptr<T> device_pointer_cast(T *pointer) { return device_ptr<T>(pointer); }
template <class T> __host__ __device__ device_ptr<T> device_pointer_cast(const device_ptr<T> &pointer) { return pointer; }
template <class To, class From> __host__ __device__ device_ptr<To> static_pointer_cast(const device_ptr<From> &pointer) {
    return device_ptr<To>(static_cast<To *>(pointer.get()));
}
template <class To, class From>
__host__ __device__ device_ptr<To> reinterpret_pointer_cast(const device_ptr<From> &pointer) {
    return device_ptr<To>(reinterpret_cast<To *>(pointer.get()));
}
template <class T> std::ostream &operator<<(std::ostream &out, const device_ptr<T> &pointer) {
    return out << pointer.get();
}
}  // namespace thrust
