// fill, sequence, generate, tabulate: ranges made from nothing.
#pragma once
#include "copy.h"
#include "../../iterator/constant_iterator.h"

namespace thrust {
namespace detail {
// *(first + i) = f(i)
template <class F> struct indexed_fn {
    using each_by_itself = void;
    static constexpr int functions = 1;
    template <class Out> __host__ __device__ void operator()(Out first, Out last, F f) const {
        for (long i = 0; first != last; ++first, ++i) *first = f(i);
    }
    template <class Out> __host__ __device__ long size(Out first, Out last, F) const { return last - first; }
    template <class Out> __host__ __device__ void at(long i, Out first, Out, F f) const { first[i] = f(i); }
    template <class Out> __host__ __device__ void result(long, Out, Out, F) const {}
};
template <class T> struct always {
    T value;
    __host__ __device__ T operator()(long) const { return value; }
};
template <class T> struct arithmetic_progression {
    T first, step;
    __host__ __device__ T operator()(long i) const { return (T)(first + (T)(step * (T)i)); }
};
struct fill_forms {
    template <class P, class Out, class T> __host__ __device__ void operator()(P place, Out first, Out last, T value) const {
        run(place, indexed_fn<always<T>>(), first, last, always<T>{value});
    }
};
struct fill_n_forms {
    template <class P, class Out, class N, class T, std::enable_if_t<std::is_integral_v<N>, int> = 0>
    __host__ __device__ Out operator()(P place, Out first, N count, T value) const {
        run(place, indexed_fn<always<T>>(), first, first + count, always<T>{value});
        return first + count;
    }
};
struct sequence_forms {
    template <class P, class Out> __host__ __device__ void operator()(P place, Out first, Out last) const {
        (*this)(place, first, last, value_of<Out>(0), value_of<Out>(1));
    }
    template <class P, class Out, class T> __host__ __device__ void operator()(P place, Out first, Out last, T from) const {
        (*this)(place, first, last, from, T(1));
    }
    template <class P, class Out, class T, class U>
    __host__ __device__ void operator()(P place, Out first, Out last, T from, U step) const {
        using F = arithmetic_progression<value_of<Out>>;
        run(place, indexed_fn<F>(), first, last, F{(value_of<Out>)from, (value_of<Out>)step});
    }
};
struct tabulate_forms {
    template <class P, class Out, class F> __host__ __device__ void operator()(P place, Out first, Out last, F f) const {
        run(place, indexed_fn<F>(), first, last, f);
    }
};
struct generate_fn {
    using each_by_itself = void;
    static constexpr int functions = 1;
    template <class Out, class F> __host__ __device__ void operator()(Out first, Out last, F f) const {
        for (; first != last; ++first) *first = f();
    }
    template <class Out, class F> __host__ __device__ long size(Out first, Out last, F) const { return last - first; }
    template <class Out, class F> __host__ __device__ void at(long i, Out first, Out, F f) const { first[i] = f(); }
    template <class Out, class F> __host__ __device__ void result(long, Out, Out, F) const {}
};
struct generate_forms {
    template <class P, class Out, class F> __host__ __device__ void operator()(P place, Out first, Out last, F f) const {
        run(place, generate_fn(), first, last, f);
    }
};
struct generate_n_forms {
    template <class P, class Out, class N, class F, std::enable_if_t<std::is_integral_v<N>, int> = 0>
    __host__ __device__ Out operator()(P place, Out first, N count, F f) const {
        run(place, generate_fn(), first, first + count, f);
        return first + count;
    }
};
}  // namespace detail
__THRUST_FUNCTION(fill, detail::fill_forms)
__THRUST_FUNCTION(fill_n, detail::fill_n_forms)
__THRUST_FUNCTION(uninitialized_fill, detail::fill_forms)
__THRUST_FUNCTION(uninitialized_fill_n, detail::fill_n_forms)
__THRUST_FUNCTION(sequence, detail::sequence_forms)
__THRUST_FUNCTION(tabulate, detail::tabulate_forms)
__THRUST_FUNCTION(generate, detail::generate_forms)
__THRUST_FUNCTION(generate_n, detail::generate_n_forms)
}  // namespace thrust
