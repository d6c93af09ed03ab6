// Functions written as expressions of _1, _2, ...: `2 * _1 + _2`.
#pragma once
#include "config.h"

namespace thrust {
namespace detail {
struct any_expression {};
template <class T> inline constexpr bool is_expression = std::is_base_of_v<any_expression, std::decay_t<T>>;

// `arity` is how many arguments an expression needs.
template <int I> struct argument : any_expression {
    static constexpr int arity = I + 1;
    template <class First, class... Rest, std::enable_if_t<(sizeof...(Rest) >= I), int> = 0>
    __WINDLASS_BOTH_MEMBER constexpr decltype(auto) operator()(First &&first, Rest &&...rest) const {
        if constexpr (I == 0) return static_cast<First &&>(first);
        else return argument<I - 1>()(static_cast<Rest &&>(rest)...);
    }
};
template <class T> struct literal : any_expression {
    static constexpr int arity = 0;
    T value;
    __WINDLASS_BOTH_MEMBER constexpr literal(const T &value) : value(value) {}
    template <class... A> __WINDLASS_BOTH_MEMBER constexpr T operator()(A &&...) const { return value; }
};
template <class F, class... Parts> struct expression;
template <class F, class X> struct expression<F, X> : any_expression {
    static constexpr int arity = X::arity;
    X x;
    __WINDLASS_BOTH_MEMBER constexpr expression(const X &x) : x(x) {}
    template <class... A, std::enable_if_t<(sizeof...(A) >= arity), int> = 0>
    __WINDLASS_BOTH_MEMBER constexpr auto operator()(A &&...a) const { return F()(x(a...)); }
};
template <class F, class X, class Y> struct expression<F, X, Y> : any_expression {
    static constexpr int arity = X::arity > Y::arity ? X::arity : Y::arity;
    X x;
    Y y;
    __WINDLASS_BOTH_MEMBER constexpr expression(const X &x, const Y &y) : x(x), y(y) {}
    template <class... A, std::enable_if_t<(sizeof...(A) >= arity), int> = 0>
    __WINDLASS_BOTH_MEMBER constexpr auto operator()(A &&...a) const {
        return F()(x(a...), y(a...));
    }
};
template <class T> using part = std::conditional_t<is_expression<T>, std::decay_t<T>, literal<std::decay_t<T>>>;

#define __THRUST_BINARY(op, name)                                                                                      \
    struct name##_of {                                                                                                 \
        template <class X, class Y> __WINDLASS_BOTH_MEMBER constexpr auto operator()(const X &x, const Y &y) const {   \
            return x op y;                                                                                             \
        }                                                                                                              \
    };                                                                                                                 \
    template <class X, class Y, std::enable_if_t<is_expression<X> || is_expression<Y>, int> = 0>                       \
    __host__ __device__ constexpr expression<name##_of, part<X>, part<Y>> operator op(const X &x, const Y &y) {        \
        return {part<X>(x), part<Y>(y)};                                                                               \
    }
__THRUST_BINARY(+, sum)
__THRUST_BINARY(-, difference)
__THRUST_BINARY(*, product)
__THRUST_BINARY(/, quotient)
__THRUST_BINARY(%, rest)
__THRUST_BINARY(==, equality)
__THRUST_BINARY(!=, inequality)
__THRUST_BINARY(<, less)
__THRUST_BINARY(>, greater)
__THRUST_BINARY(<=, less_or_equal)
__THRUST_BINARY(>=, greater_or_equal)
__THRUST_BINARY(&&, conjunction)
__THRUST_BINARY(||, disjunction)
__THRUST_BINARY(&, bitwise_and)
__THRUST_BINARY(|, bitwise_or)
__THRUST_BINARY(^, bitwise_xor)
#undef __THRUST_BINARY
#define __THRUST_UNARY(op, name)                                                                              \
    struct name##_of {                                                                                        \
        template <class X> __WINDLASS_BOTH_MEMBER constexpr auto operator()(const X &x) const { return op x; } \
    };                                                                                                        \
    template <class X, std::enable_if_t<is_expression<X>, int> = 0>                                           \
    __host__ __device__ constexpr expression<name##_of, X> operator op(const X &x) {                          \
        return {x};                                                                                           \
    }
__THRUST_UNARY(-, negation)
__THRUST_UNARY(!, complement)
__THRUST_UNARY(~, inversion)
#undef __THRUST_UNARY
}  // namespace detail
namespace placeholders {
inline constexpr detail::argument<0> _1;
inline constexpr detail::argument<1> _2;
inline constexpr detail::argument<2> _3;
inline constexpr detail::argument<3> _4;
}  // namespace placeholders
}  // namespace thrust
