// transform, for_each, replace, swap_ranges: functions of each element.
#pragma once
#include "copy.h"

namespace thrust {
namespace detail {
struct transform_fn {
    using each_by_itself = void;
    static constexpr int functions = 1;
    template <class In, class Out, class F> __host__ __device__ Out operator()(In first, In last, Out out, F f) const {
        for (; first != last; ++first, ++out) *out = f(*first);
        return out;
    }
    template <class In, class Out, class F> __host__ __device__ long size(In first, In last, Out, F) const {
        return last - first;
    }
    template <class In, class Out, class F> __host__ __device__ void at(long i, In first, In, Out out, F f) const {
        out[i] = f(first[i]);
    }
    template <class In, class Out, class F> __host__ __device__ Out result(long n, In, In, Out out, F) const {
        return out + n;
    }
};
struct transform_two_fn {
    using each_by_itself = void;
    static constexpr int functions = 1, second = 2;
    template <class A, class B, class Out, class F>
    __host__ __device__ Out operator()(A a, A last, B b, Out out, F f) const {
        for (; a != last; ++a, ++b, ++out) *out = f(*a, *b);
        return out;
    }
    template <class A, class B, class Out, class F> __host__ __device__ long size(A a, A last, B, Out, F) const {
        return last - a;
    }
    template <class A, class B, class Out, class F>
    __host__ __device__ void at(long i, A a, A, B b, Out out, F f) const {
        out[i] = f(a[i], b[i]);
    }
    template <class A, class B, class Out, class F> __host__ __device__ Out result(long n, A, A, B, Out out, F) const {
        return out + n;
    }
};
struct transform_forms {
    template <class P, class In, class Out, class F>
    __host__ __device__ Out operator()(P place, In first, In last, Out out, F f) const {
        return run(place, transform_fn(), first, last, out, f);
    }
    template <class P, class A, class B, class Out, class F>
    __host__ __device__ Out operator()(P place, A first, A last, B second, Out out, F f) const {
        return run(place, transform_two_fn(), first, last, second, out, f);
    }
};
// out[i] = f(first[i]) where a predicate holds of the stencil.
struct transform_if_fn {
    using each_by_itself = void;
    static constexpr int functions = 2;
    template <class In, class Stencil, class Out, class F, class Test>
    __host__ __device__ Out operator()(In first, In last, Stencil stencil, Out out, F f, Test test) const {
        for (; first != last; ++first, ++stencil, ++out)
            if (test(*stencil)) *out = f(*first);
        return out;
    }
    template <class In, class Stencil, class Out, class F, class Test>
    __host__ __device__ long size(In first, In last, Stencil, Out, F, Test) const {
        return last - first;
    }
    template <class In, class Stencil, class Out, class F, class Test>
    __host__ __device__ void at(long i, In first, In, Stencil stencil, Out out, F f, Test test) const {
        if (test(stencil[i])) out[i] = f(first[i]);
    }
    template <class In, class Stencil, class Out, class F, class Test>
    __host__ __device__ Out result(long n, In, In, Stencil, Out out, F, Test) const {
        return out + n;
    }
};
struct transform_if_forms {
    template <class P, class In, class Out, class F, class Test>
    __host__ __device__ Out operator()(P place, In first, In last, Out out, F f, Test test) const {
        return run(place, transform_if_fn(), first, last, first, out, f, test);
    }
    template <class P, class In, class Stencil, class Out, class F, class Test>
    __host__ __device__ Out operator()(P place, In first, In last, Stencil stencil, Out out, F f, Test test) const {
        return run(place, transform_if_fn(), first, last, stencil, out, f, test);
    }
};
struct for_each_fn {
    using each_by_itself = void;
    static constexpr int functions = 1;
    template <class In, class F> __host__ __device__ In operator()(In first, In last, F f) const {
        for (; first != last; ++first) f(*first);
        return last;
    }
    template <class In, class F> __host__ __device__ long size(In first, In last, F) const { return last - first; }
    template <class In, class F> __host__ __device__ void at(long i, In first, In, F f) const { f(first[i]); }
    template <class In, class F> __host__ __device__ In result(long, In, In last, F) const { return last; }
};
struct for_each_forms {
    template <class P, class In, class F> __host__ __device__ In operator()(P place, In first, In last, F f) const {
        return run(place, for_each_fn(), first, last, f);
    }
};
struct for_each_n_forms {
    template <class P, class In, class N, class F, std::enable_if_t<std::is_integral_v<N>, int> = 0>
    __host__ __device__ In operator()(P place, In first, N count, F f) const {
        return run(place, for_each_fn(), first, first + count, f);
    }
};
template <class T> struct to_value {
    T value;
    template <class U> __host__ __device__ T operator()(const U &) const { return value; }
};
template <class T> struct equals_value {
    T value;
    template <class U> __host__ __device__ bool operator()(const U &x) const { return x == value; }
};
struct replace_forms {
    template <class P, class It, class T>
    __host__ __device__ void operator()(P place, It first, It last, T old_value, T new_value) const {
        run(place, transform_if_fn(), first, last, first, first, to_value<T>{new_value}, equals_value<T>{old_value});
    }
};
struct replace_if_forms {
    template <class P, class It, class F, class T>
    __host__ __device__ void operator()(P place, It first, It last, F f, T value) const {
        run(place, transform_if_fn(), first, last, first, first, to_value<T>{value}, f);
    }
    template <class P, class It, class Stencil, class F, class T>
    __host__ __device__ void operator()(P place, It first, It last, Stencil stencil, F f, T value) const {
        run(place, transform_if_fn(), first, last, stencil, first, to_value<T>{value}, f);
    }
};
struct replace_copy_forms {
    template <class P, class In, class Out, class T>
    __host__ __device__ Out operator()(P place, In first, In last, Out out, T old_value, T new_value) const {
        Out end = run(place, copy_fn(), first, last, out);
        run(place, transform_if_fn(), first, last, first, out, to_value<T>{new_value}, equals_value<T>{old_value});
        return end;
    }
};
struct replace_copy_if_forms {
    template <class P, class In, class Out, class F, class T>
    __host__ __device__ Out operator()(P place, In first, In last, Out out, F f, T value) const {
        Out end = run(place, copy_fn(), first, last, out);
        run(place, transform_if_fn(), first, last, first, out, to_value<T>{value}, f);
        return end;
    }
};
struct swap_ranges_fn {
    static constexpr int functions = 0;
    template <class A, class B> __host__ __device__ B operator()(A first, A last, B second) const {
        for (; first != last; ++first, ++second) {
            value_of<A> kept = *first;
            *first = *second;
            *second = kept;
        }
        return second;
    }
};
struct swap_ranges_forms {
    template <class P, class A, class B> __host__ __device__ B operator()(P place, A first, A last, B second) const {
        return run(place, swap_ranges_fn(), first, last, second);
    }
};
}  // namespace detail
__THRUST_FUNCTION(transform, detail::transform_forms)
__THRUST_FUNCTION(transform_if, detail::transform_if_forms)
__THRUST_FUNCTION(for_each, detail::for_each_forms)
__THRUST_FUNCTION(for_each_n, detail::for_each_n_forms)
__THRUST_FUNCTION(replace, detail::replace_forms)
__THRUST_FUNCTION(replace_if, detail::replace_if_forms)
__THRUST_FUNCTION(replace_copy, detail::replace_copy_forms)
__THRUST_FUNCTION(replace_copy_if, detail::replace_copy_if_forms)
__THRUST_FUNCTION(swap_ranges, detail::swap_ranges_forms)
}  // namespace thrust
