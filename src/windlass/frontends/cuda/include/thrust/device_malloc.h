// Device memory by hand.
#pragma once
#include "detail/pointer.h"

namespace thrust {
inline device_ptr<void> device_malloc(size_t bytes) {
    void *pointer = nullptr;
    if (cudaMalloc(&pointer, bytes) != cudaSuccess) throw std::bad_alloc();
    return device_ptr<void>(pointer);
}
template <class T> device_ptr<T> device_malloc(size_t count) {
    return device_ptr<T>((T *)device_malloc(count * sizeof(T)).get());
}
template <class T> void device_free(device_ptr<T> pointer) { cudaFree((void *)pointer.get()); }
template <class T> device_ptr<T> device_new(size_t count = 1) {
    device_ptr<T> first = device_malloc<T>(count);
    for (size_t i = 0; i < count; i++) new ((void *)(first.get() + i)) T();
    return first;
}
template <class T> void device_delete(device_ptr<T> pointer, size_t = 0) { device_free(pointer); }
template <class Policy> device_ptr<void> malloc(const Policy &, size_t bytes) { return device_malloc(bytes); }
template <class T, class Policy> device_ptr<T> malloc(const Policy &, size_t count) { return device_malloc<T>(count); }
template <class Policy, class Pointer> void free(const Policy &, Pointer pointer) {
    cudaFree((void *)raw_pointer_cast(pointer));
}
}  // namespace thrust
