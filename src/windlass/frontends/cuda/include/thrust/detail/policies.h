// Execution policies: all of them say whether what is called may be device code; streams make no difference.
#pragma once
#include "config.h"

namespace thrust {
template <class Policy> struct execution_policy {};
namespace detail {
struct any_policy {};
template <class T> inline constexpr bool is_policy = std::is_base_of_v<any_policy, T>;
// Where an algorithm is called from or told to run: on the host, launching kernels if need be; or right here.
struct from_host {};
struct right_here {};
template <class Place, class Self> struct policy : any_policy, execution_policy<Self> {
    using place = Place;
    template <class Stream> __host__ __device__ const Self on(Stream) const { return Self(); }
    template <class Allocator> __host__ __device__ const Self operator()(Allocator &&) const { return Self(); }
    template <class... Events> __host__ __device__ const Self after(Events &&...) const { return Self(); }
};
struct host_t : policy<right_here, host_t> {};
struct seq_t : policy<right_here, seq_t> {};
struct device_t : policy<from_host, device_t> {};
}  // namespace detail
inline constexpr detail::host_t host;
inline constexpr detail::seq_t seq;
inline constexpr detail::device_t device;

namespace system {
namespace cuda {
template <class Policy> using execution_policy = thrust::execution_policy<Policy>;
inline constexpr detail::device_t par, par_nosync;
struct tag : detail::device_t {};
}  // namespace cuda
namespace cpp {
inline constexpr detail::host_t par;
struct tag : detail::host_t {};
}  // namespace cpp
namespace omp = cpp;
namespace tbb = cpp;
}  // namespace system
namespace cuda = system::cuda;
namespace cuda_cub = system::cuda;
namespace cpp = system::cpp;
namespace omp = system::omp;
namespace tbb = system::tbb;
using device_system_tag = cuda::tag;
using host_system_tag = cpp::tag;
}  // namespace thrust
