// Pinned memory of the host is ordinary memory here.
#pragma once
#include <cuda_runtime.h>
#include <memory>

namespace thrust {
namespace system {
namespace cuda {
namespace experimental {
template <class T> using pinned_allocator = std::allocator<T>;
}
}  // namespace cuda
}  // namespace system
}  // namespace thrust
