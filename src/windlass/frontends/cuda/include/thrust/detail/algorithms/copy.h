// copy, copy_n, copy_if.
#pragma once
#include "../execute.h"
#include "../../distance.h"
#include "../../functional.h"

namespace thrust {
namespace detail {
struct copy_fn {
    using each_by_itself = void;
    static constexpr int functions = 0;
    template <class In, class Out> __host__ __device__ Out operator()(In first, In last, Out out) const {
        for (; first != last; ++first, ++out) *out = *first;
        return out;
    }
    template <class In, class Out> __host__ __device__ long size(In first, In last, Out) const { return last - first; }
    template <class In, class Out> __host__ __device__ void at(long i, In first, In, Out out) const { out[i] = first[i]; }
    template <class In, class Out> __host__ __device__ Out result(long n, In, In, Out out) const { return out + n; }
};
struct copy_forms {
    template <class P, class In, class Out> __host__ __device__ Out operator()(P place, In first, In last, Out out) const {
        return run(place, copy_fn(), first, last, out);
    }
};
struct copy_n_forms {
    template <class P, class In, class N, class Out, std::enable_if_t<std::is_integral_v<N>, int> = 0>
    __host__ __device__ Out operator()(P place, In first, N count, Out out) const {
        if constexpr (std::is_convertible_v<typename std::iterator_traits<In>::iterator_category,
                                            std::random_access_iterator_tag>) {
            return run(place, copy_fn(), first, first + count, out);
        } else {
            for (; count > 0; count--, ++first, ++out) *out = *first;
            return out;
        }
    }
};
// Whether a function is true of each element, into a range of flags; and the range itself.
template <class F> struct flags_fn {
    using each_by_itself = void;
    static constexpr int functions = 1;
    template <class In> __host__ __device__ void operator()(In first, In last, bool *flags, F f) const {
        for (; first != last; ++first, ++flags) *flags = (bool)f(*first);
    }
    template <class In> __host__ __device__ long size(In first, In last, bool *, F) const { return last - first; }
    template <class In> __host__ __device__ void at(long i, In first, In, bool *flags, F f) const {
        flags[i] = (bool)f(first[i]);
    }
    template <class In> __host__ __device__ void result(long, In, In, bool *, F) const {}
};
// The flags of a range, with a function that only device code can call.
template <class In, class F> struct flags : buffer<bool> {
    flags(In first, In last, F f) : buffer<bool>(last - first) {
        run_each_element(flags_fn<F>(), last - first, first, last, this->data, f);
    }
};
// The values of a range that only device code can read.
template <class In> struct values : buffer<value_of<In>> {
    values(In first, In last) : buffer<value_of<In>>(last - first) {
        run_each_element(copy_fn(), last - first, first, last, this->data);
    }
};
struct is_true {
    __host__ __device__ bool operator()(bool x) const { return x; }
};
struct is_false {
    __host__ __device__ bool operator()(bool x) const { return !x; }
};

struct copy_if_fn {
    using has_own_kernels = void;
    static constexpr int functions = 1;
    template <class In, class Stencil, class Out, class F>
    __host__ __device__ Out operator()(In first, In last, Stencil stencil, Out out, F f) const {
        for (; first != last; ++first, ++stencil)
            if (f(*stencil)) *out = *first, ++out;
        return out;
    }
    template <class In, class Stencil, class Out, class F>
    __host__ Out in_kernels(In first, In last, Stencil stencil, Out out, F f) const {
        flags<Stencil, F> chosen(stencil, stencil + (last - first), f);
        if constexpr (__windlass_reads_on_host<In> && __windlass_reads_on_host<Out>)
            return (*this)(first, last, chosen.data, out, is_true());
        else return run_in_one_thread(*this, first, last, chosen.data, out, is_true());
    }
};
struct copy_if_forms {
    template <class P, class In, class Out, class F>
    __host__ __device__ Out operator()(P place, In first, In last, Out out, F f) const {
        return run(place, copy_if_fn(), first, last, first, out, f);
    }
    template <class P, class In, class Stencil, class Out, class F>
    __host__ __device__ Out operator()(P place, In first, In last, Stencil stencil, Out out, F f) const {
        return run(place, copy_if_fn(), first, last, stencil, out, f);
    }
};
}  // namespace detail
__THRUST_FUNCTION(copy, detail::copy_forms)
__THRUST_FUNCTION(copy_n, detail::copy_n_forms)
__THRUST_FUNCTION(copy_if, detail::copy_if_forms)
__THRUST_FUNCTION(uninitialized_copy, detail::copy_forms)
__THRUST_FUNCTION(uninitialized_copy_n, detail::copy_n_forms)
}  // namespace thrust
