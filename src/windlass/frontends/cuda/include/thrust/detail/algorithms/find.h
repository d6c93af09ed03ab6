// find, all_of, any_of, none_of, equal, mismatch, extrema: questions about ranges.
#pragma once
#include "copy.h"
#include "transform.h"

namespace thrust {
namespace detail {
struct find_if_fn {
    using has_own_kernels = void;
    static constexpr int functions = 1;
    template <class In, class F> __host__ __device__ In operator()(In first, In last, F f) const {
        while (first != last && !f(*first)) ++first;
        return first;
    }
    template <class In, class F> __host__ In in_kernels(In first, In last, F f) const {
        flags<In, F> found(first, last, f);
        return first + ((*this)(found.data, found.data + (last - first), is_true()) - found.data);
    }
};
struct find_if_forms {
    template <class P, class In, class F> __host__ __device__ In operator()(P place, In first, In last, F f) const {
        return run(place, find_if_fn(), first, last, f);
    }
};
template <class F> struct unless {
    F f;
    template <class T> __WINDLASS_BOTH_MEMBER bool operator()(T &&x) const { return !const_cast<F &>(f)(x); }
};
struct find_if_not_forms {
    template <class P, class In, class F> __host__ __device__ In operator()(P place, In first, In last, F f) const {
        return run(place, find_if_fn(), first, last, unless<F>{f});
    }
};
struct find_forms {
    template <class P, class In, class T> __host__ __device__ In operator()(P place, In first, In last, T value) const {
        return run(place, find_if_fn(), first, last, equals_value<T>{value});
    }
};
struct any_of_forms {
    template <class P, class In, class F> __host__ __device__ bool operator()(P place, In first, In last, F f) const {
        return run(place, find_if_fn(), first, last, f) != last;
    }
};
struct none_of_forms {
    template <class P, class In, class F> __host__ __device__ bool operator()(P place, In first, In last, F f) const {
        return run(place, find_if_fn(), first, last, f) == last;
    }
};
struct all_of_forms {
    template <class P, class In, class F> __host__ __device__ bool operator()(P place, In first, In last, F f) const {
        return run(place, find_if_fn(), first, last, unless<F>{f}) == last;
    }
};
struct is_partitioned_fn {
    static constexpr int functions = 1;
    template <class In, class F> __host__ __device__ bool operator()(In first, In last, F f) const {
        while (first != last && f(*first)) ++first;
        while (first != last && !f(*first)) ++first;
        return first == last;
    }
};
struct is_partitioned_forms {
    template <class P, class In, class F> __host__ __device__ bool operator()(P place, In first, In last, F f) const {
        return run(place, is_partitioned_fn(), first, last, f);
    }
};
struct mismatch_fn {
    static constexpr int functions = 1, second = 2;
    template <class A, class B, class Same>
    __host__ __device__ std::pair<A, B> operator()(A first, A last, B second, Same same) const {
        while (first != last && same(*first, *second)) ++first, ++second;
        return std::pair<A, B>(first, second);
    }
};
struct mismatch_forms {
    template <class P, class A, class B>
    __host__ __device__ std::pair<A, B> operator()(P place, A first, A last, B second) const {
        return run(place, mismatch_fn(), first, last, second, equal_to<>());
    }
    template <class P, class A, class B, class Same>
    __host__ __device__ std::pair<A, B> operator()(P place, A first, A last, B second, Same same) const {
        return run(place, mismatch_fn(), first, last, second, same);
    }
};
struct equal_forms {
    template <class P, class A, class B, class... Same>
    __host__ __device__ bool operator()(P place, A first, A last, B second, Same... same) const {
        return mismatch_forms()(place, first, last, second, same...).first == last;
    }
};
// The first of the least or of the greatest elements.
template <bool Greatest> struct extreme_fn {
    static constexpr int functions = 1;
    template <class In, class Less> __host__ __device__ In operator()(In first, In last, Less less) const {
        In best = first;
        if (first != last)
            for (++first; first != last; ++first)
                if (Greatest ? less(*best, *first) : less(*first, *best)) best = first;
        return best;
    }
};
template <bool Greatest> struct extreme_forms {
    template <class P, class In> __host__ __device__ In operator()(P place, In first, In last) const {
        return run(place, extreme_fn<Greatest>(), first, last, less<value_of<In>>());
    }
    template <class P, class In, class Less> __host__ __device__ In operator()(P place, In first, In last, Less less) const {
        return run(place, extreme_fn<Greatest>(), first, last, less);
    }
};
struct minmax_forms {
    template <class P, class In, class... Less>
    __host__ __device__ std::pair<In, In> operator()(P place, In first, In last, Less... less) const {
        return std::pair<In, In>(extreme_forms<false>()(place, first, last, less...),
                                 extreme_forms<true>()(place, first, last, less...));
    }
};
}  // namespace detail
__THRUST_FUNCTION(find, detail::find_forms)
__THRUST_FUNCTION(find_if, detail::find_if_forms)
__THRUST_FUNCTION(find_if_not, detail::find_if_not_forms)
__THRUST_FUNCTION(partition_point, detail::find_if_not_forms)
__THRUST_FUNCTION(any_of, detail::any_of_forms)
__THRUST_FUNCTION(all_of, detail::all_of_forms)
__THRUST_FUNCTION(none_of, detail::none_of_forms)
__THRUST_FUNCTION(is_partitioned, detail::is_partitioned_forms)
__THRUST_FUNCTION(mismatch, detail::mismatch_forms)
__THRUST_FUNCTION(equal, detail::equal_forms)
__THRUST_FUNCTION(min_element, detail::extreme_forms<false>)
__THRUST_FUNCTION(max_element, detail::extreme_forms<true>)
__THRUST_FUNCTION(minmax_element, detail::minmax_forms)

template <class T> __host__ __device__ constexpr const T &min(const T &a, const T &b) { return b < a ? b : a; }
template <class T> __host__ __device__ constexpr const T &max(const T &a, const T &b) { return a < b ? b : a; }
template <class T, class Less> __host__ __device__ constexpr const T &min(const T &a, const T &b, Less less) {
    return less(b, a) ? b : a;
}
template <class T, class Less> __host__ __device__ constexpr const T &max(const T &a, const T &b, Less less) {
    return less(a, b) ? b : a;
}
}  // namespace thrust

template <class F, class A>
inline constexpr bool __windlass_calls_on_host<thrust::detail::unless<F>, A> = __windlass_calls_on_host<F, A>;
