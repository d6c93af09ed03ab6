// gather and scatter, with and without conditions.
#pragma once
#include "../../iterator/permutation_iterator.h"
#include "transform.h"

namespace thrust {
namespace detail {
struct gather_forms {
    template <class P, class Map, class In, class Out>
    __host__ __device__ Out operator()(P place, Map first, Map last, In in, Out out) const {
        using From = permutation_iterator<In, Map>;
        return run(place, copy_fn(), From(in, first), From(in, last), out);
    }
};
struct as_it_is {
    template <class T> __host__ __device__ T operator()(const T &x) const { return x; }
};
struct is_set {
    template <class T> __host__ __device__ bool operator()(const T &x) const { return (bool)x; }
};
struct gather_if_forms {
    template <class P, class Map, class Stencil, class In, class Out>
    __host__ __device__ Out operator()(P place, Map first, Map last, Stencil stencil, In in, Out out) const {
        return (*this)(place, first, last, stencil, in, out, is_set());
    }
    template <class P, class Map, class Stencil, class In, class Out, class F>
    __host__ __device__ Out operator()(P place, Map first, Map last, Stencil stencil, In in, Out out, F f) const {
        using From = permutation_iterator<In, Map>;
        return run(place, transform_if_fn(), From(in, first), From(in, last), stencil, out, as_it_is(), f);
    }
};
struct scatter_forms {
    template <class P, class In, class Map, class Out>
    __host__ __device__ void operator()(P place, In first, In last, Map map, Out out) const {
        run(place, copy_fn(), first, last, permutation_iterator<Out, Map>(out, map));
    }
};
struct scatter_if_forms {
    template <class P, class In, class Map, class Stencil, class Out>
    __host__ __device__ void operator()(P place, In first, In last, Map map, Stencil stencil, Out out) const {
        (*this)(place, first, last, map, stencil, out, is_set());
    }
    template <class P, class In, class Map, class Stencil, class Out, class F>
    __host__ __device__ void operator()(P place, In first, In last, Map map, Stencil stencil, Out out, F f) const {
        run(place, transform_if_fn(), first, last, stencil, permutation_iterator<Out, Map>(out, map), as_it_is(), f);
    }
};
}  // namespace detail
__THRUST_FUNCTION(gather, detail::gather_forms)
__THRUST_FUNCTION(gather_if, detail::gather_if_forms)
__THRUST_FUNCTION(scatter, detail::scatter_forms)
__THRUST_FUNCTION(scatter_if, detail::scatter_if_forms)
}  // namespace thrust
