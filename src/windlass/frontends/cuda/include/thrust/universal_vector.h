#pragma once
#include "device_vector.h"

namespace thrust {
template <class T, class Allocator = device_allocator<T>> using universal_vector = device_vector<T, Allocator>;
template <class T> using universal_ptr = device_ptr<T>;
}  // namespace thrust
