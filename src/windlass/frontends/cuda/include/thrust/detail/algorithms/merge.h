// Merging of sorted ranges, and set operations on them; with values, too.
#pragma once
#include "copy.h"
#include "../../iterator/constant_iterator.h"
#include "../../iterator/discard_iterator.h"

namespace thrust {
namespace detail {
enum class set_operation { merge, unite, intersect, subtract, symmetric };

// Walks through both ranges. Of equal elements those of the first range come first; a pair of equal elements counts once,
// but in a merge.
template <set_operation Operation> struct set_fn {
    static constexpr int functions = 1, second = 2;
    static constexpr bool keeps_first = Operation != set_operation::intersect;
    static constexpr bool keeps_second = Operation == set_operation::merge || Operation == set_operation::unite ||
                                         Operation == set_operation::symmetric;
    template <class A, class B, class V, class W, class Out, class VOut, class Less>
    __host__ __device__ std::pair<Out, VOut> operator()(A a, A a_end, B b, B b_end, V v, W w, Out out, VOut values_out,
                                                        Less less) const {
        while (a != a_end || b != b_end) {
            bool takes_b = a == a_end || (b != b_end && less(*b, *a));
            bool is_pair = Operation != set_operation::merge && !takes_b && b != b_end && !less(*a, *b);
            bool keeps = is_pair ? Operation == set_operation::unite || Operation == set_operation::intersect
                                 : (takes_b ? keeps_second : keeps_first);
            if (keeps) {
                if (takes_b) *out = *b, *values_out = *w;
                else *out = *a, *values_out = *v;
                ++out, ++values_out;
            }
            if (takes_b || is_pair) ++b, ++w;
            if (!takes_b) ++a, ++v;
        }
        return std::pair<Out, VOut>(out, values_out);
    }
};
template <set_operation Operation> struct set_forms {
    template <class P, class A, class B, class Out>
    __host__ __device__ Out operator()(P place, A a, A a_end, B b, B b_end, Out out) const {
        return (*this)(place, a, a_end, b, b_end, out, less<value_of<A>>());
    }
    template <class P, class A, class B, class Out, class Less>
    __host__ __device__ Out operator()(P place, A a, A a_end, B b, B b_end, Out out, Less less) const {
        constant_iterator<char> none((char)0);
        return run(place, set_fn<Operation>(), a, a_end, b, b_end, none, none, out, discard_iterator<>(), less).first;
    }
};
template <set_operation Operation> struct set_by_key_forms {
    template <class P, class A, class B, class V, class W, class Out, class VOut, class... Less>
    __host__ __device__ std::pair<Out, VOut> operator()(P place, A a, A a_end, B b, B b_end, V v, W w, Out out,
                                                        VOut values_out, Less... given) const {
        using Compare = std::tuple_element_t<0, std::tuple<Less..., less<value_of<A>>>>;
        return run(place, set_fn<Operation>(), a, a_end, b, b_end, v, w, out, values_out, Compare(given...));
    }
};
struct includes_fn {
    static constexpr int functions = 1, second = 2;
    template <class A, class B, class Less>
    __host__ __device__ bool operator()(A a, A a_end, B b, B b_end, Less less) const {
        for (; b != b_end; ++a) {
            if (a == a_end || less(*b, *a)) return false;
            if (!less(*a, *b)) ++b;
        }
        return true;
    }
};
struct includes_forms {
    template <class P, class A, class B>
    __host__ __device__ bool operator()(P place, A a, A a_end, B b, B b_end) const {
        return run(place, includes_fn(), a, a_end, b, b_end, less<value_of<A>>());
    }
    template <class P, class A, class B, class Less>
    __host__ __device__ bool operator()(P place, A a, A a_end, B b, B b_end, Less less) const {
        return run(place, includes_fn(), a, a_end, b, b_end, less);
    }
};
}  // namespace detail
__THRUST_FUNCTION(merge, detail::set_forms<detail::set_operation::merge>)
__THRUST_FUNCTION(merge_by_key, detail::set_by_key_forms<detail::set_operation::merge>)
__THRUST_FUNCTION(set_union, detail::set_forms<detail::set_operation::unite>)
__THRUST_FUNCTION(set_union_by_key, detail::set_by_key_forms<detail::set_operation::unite>)
__THRUST_FUNCTION(set_intersection, detail::set_forms<detail::set_operation::intersect>)
__THRUST_FUNCTION(set_difference, detail::set_forms<detail::set_operation::subtract>)
__THRUST_FUNCTION(set_symmetric_difference, detail::set_forms<detail::set_operation::symmetric>)
__THRUST_FUNCTION(includes, detail::includes_forms)
}  // namespace thrust
