#pragma once
#include "copy.h"

namespace thrust {
namespace detail {
struct adjacent_difference_fn {
    static constexpr int functions = 1;
    template <class In, class Out, class F> __host__ __device__ Out operator()(In first, In last, Out out, F f) const {
        if (first == last) return out;
        value_of<In> before = *first;
        *out = before;
        for (++first, ++out; first != last; ++first, ++out) {
            value_of<In> own = *first;
            *out = f(own, before);
            before = own;
        }
        return out;
    }
};
struct adjacent_difference_forms {
    template <class P, class In, class Out> __host__ __device__ Out operator()(P place, In first, In last, Out out) const {
        return run(place, adjacent_difference_fn(), first, last, out, minus<value_of<In>>());
    }
    template <class P, class In, class Out, class F>
    __host__ __device__ Out operator()(P place, In first, In last, Out out, F f) const {
        return run(place, adjacent_difference_fn(), first, last, out, f);
    }
};
}  // namespace detail
__THRUST_FUNCTION(adjacent_difference, detail::adjacent_difference_forms)
}  // namespace thrust
