// Random permutations. Their order is not that of Thrust: it is Fisher and Yates's.
#pragma once
#include "copy.h"
#include "random.h"

namespace thrust {
namespace detail {
struct shuffle_fn {
    static constexpr int functions = 0;
    template <class It, class Engine> __host__ __device__ void operator()(It first, It last, Engine *engine) const {
        for (distance_of<It> i = last - first; i > 1; i--) {
            random::uniform_int_distribution<long> any(0, (long)i - 1);
            distance_of<It> j = any(*engine);
            value_of<It> kept = first[i - 1];
            first[i - 1] = (value_of<It>)first[j];
            first[j] = kept;
        }
    }
};
}  // namespace detail
template <class It, class Engine> __host__ __device__ void shuffle(It first, It last, Engine &&engine) {
    detail::shuffle_fn()(first, last, &engine);
}
template <class Policy, class It, class Engine, std::enable_if_t<detail::is_policy<Policy>, int> = 0>
__host__ __device__ void shuffle(const Policy &, It first, It last, Engine &&engine) {
    detail::shuffle_fn()(first, last, &engine);
}
template <class In, class Out, class Engine> __host__ __device__ void shuffle_copy(In first, In last, Out out, Engine &&engine) {
    Out end = detail::copy_fn()(first, last, out);
    detail::shuffle_fn()(out, end, &engine);
}
}  // namespace thrust
