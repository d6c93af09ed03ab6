// Function objects.
#pragma once
#include "detail/config.h"
#include "detail/placeholders.h"
#include "windlass/known_operators.h"
#include "windlass/placement.h"

namespace thrust {
template <class A, class R> struct unary_function {
    using argument_type = A;
    using result_type = R;
};
template <class A, class B, class R> struct binary_function {
    using first_argument_type = A;
    using second_argument_type = B;
    using result_type = R;
};
}  // namespace thrust

// What the operator of a function object for T is applied to.
template <class T, class A> struct __windlass_operand {
    using type = const T &;
};
template <class A> struct __windlass_operand<void, A> {
    using type = A;
};

// Each function object for one type, and for all types (void). Host code can call it where it can do what it does.
#define __THRUST_OPERATOR(name, kind, result, other_result, expression)                                         \
    struct __windlass_host_##name {                                                                             \
        template <class T, class U>                                                                             \
        static __host__ auto calls(T &&a, U &&b, int) -> decltype((void)(expression), std::true_type{});        \
        template <class T, class U> static __host__ std::false_type calls(T &&, U &&, ...);                     \
    };                                                                                                          \
    namespace thrust {                                                                                          \
    template <class T = void> struct name {                                                                     \
        using first_argument_type = T;                                                                          \
        using second_argument_type = T;                                                                         \
        using result_type = result;                                                                             \
        __WINDLASS_BOTH_MEMBER constexpr result operator()(const T &a, const T &b) const { return expression; } \
    };                                                                                                          \
    template <> struct name<void> {                                                                             \
        using is_transparent = void;                                                                            \
        template <class T, class U>                                                                             \
        __WINDLASS_BOTH_MEMBER constexpr other_result operator()(T &&a, U &&b) const {                          \
            return expression;                                                                                  \
        }                                                                                                       \
    };                                                                                                          \
    }                                                                                                           \
    template <class T> struct __windlass_operator_of<thrust::name<T>> {                                         \
        static constexpr __windlass_operator value = __windlass_operator::kind;                                 \
    };                                                                                                          \
    template <class T, class A, class B>                                                                        \
    inline constexpr bool __windlass_calls_on_host<thrust::name<T>, A, B> =                                     \
        std::is_invocable_v<thrust::name<T>, A, B> &&decltype(__windlass_host_##name::calls(                    \
            std::declval<typename __windlass_operand<T, A>::type>(),                                \
            std::declval<typename __windlass_operand<T, B>::type>(), 0))::value;

__THRUST_OPERATOR(plus, sum, T, auto, a + b)
__THRUST_OPERATOR(minus, other, T, auto, a - b)
__THRUST_OPERATOR(multiplies, other, T, auto, a *b)
__THRUST_OPERATOR(divides, other, T, auto, a / b)
__THRUST_OPERATOR(modulus, other, T, auto, a % b)
__THRUST_OPERATOR(bit_and, other, T, auto, a &b)
__THRUST_OPERATOR(bit_or, other, T, auto, a | b)
__THRUST_OPERATOR(bit_xor, other, T, auto, a ^ b)
__THRUST_OPERATOR(equal_to, other, bool, bool, a == b)
__THRUST_OPERATOR(not_equal_to, other, bool, bool, a != b)
__THRUST_OPERATOR(greater, other, bool, bool, a > b)
__THRUST_OPERATOR(less, other, bool, bool, a < b)
__THRUST_OPERATOR(greater_equal, other, bool, bool, a >= b)
__THRUST_OPERATOR(less_equal, other, bool, bool, a <= b)
__THRUST_OPERATOR(logical_and, other, bool, bool, a &&b)
__THRUST_OPERATOR(logical_or, other, bool, bool, a || b)
__THRUST_OPERATOR(maximum, maximum, T, auto, a < b ? b : a)
__THRUST_OPERATOR(minimum, minimum, T, auto, a < b ? a : b)
#undef __THRUST_OPERATOR

namespace thrust {
template <class T = void> struct negate {
    using argument_type = T;
    using result_type = T;
    __WINDLASS_BOTH_MEMBER constexpr T operator()(const T &x) const { return -x; }
};
template <> struct negate<void> {
    template <class T> __WINDLASS_BOTH_MEMBER constexpr auto operator()(T &&x) const { return -x; }
};
template <class T = void> struct square {
    using argument_type = T;
    using result_type = T;
    __WINDLASS_BOTH_MEMBER constexpr T operator()(const T &x) const { return x * x; }
};
template <> struct square<void> {
    template <class T> __WINDLASS_BOTH_MEMBER constexpr auto operator()(T &&x) const { return x * x; }
};
template <class T = void> struct logical_not {
    using argument_type = T;
    using result_type = bool;
    __WINDLASS_BOTH_MEMBER constexpr bool operator()(const T &x) const { return !x; }
};
template <> struct logical_not<void> {
    template <class T> __WINDLASS_BOTH_MEMBER constexpr bool operator()(T &&x) const { return !x; }
};
template <class T = void> struct identity {
    using argument_type = T;
    using result_type = T;
    __WINDLASS_BOTH_MEMBER constexpr const T &operator()(const T &x) const { return x; }
};
template <> struct identity<void> {
    template <class T> __WINDLASS_BOTH_MEMBER constexpr T &&operator()(T &&x) const { return static_cast<T &&>(x); }
};
template <class A = void, class B = void> struct project1st {
    template <class T, class U> __WINDLASS_BOTH_MEMBER constexpr T operator()(const T &a, const U &) const { return a; }
};
template <class A = void, class B = void> struct project2nd {
    template <class T, class U> __WINDLASS_BOTH_MEMBER constexpr U operator()(const T &, const U &b) const { return b; }
};
template <class F> struct unary_negate {
    F f;
    template <class T> __WINDLASS_BOTH_MEMBER bool operator()(const T &x) const { return !const_cast<F &>(f)(x); }
};
template <class F> struct binary_negate {
    F f;
    template <class T, class U> __WINDLASS_BOTH_MEMBER bool operator()(const T &a, const U &b) const {
        return !const_cast<F &>(f)(a, b);
    }
};
template <class F> __host__ __device__ unary_negate<F> not1(const F &f) { return {f}; }
template <class F> __host__ __device__ binary_negate<F> not2(const F &f) { return {f}; }
template <class F> __host__ __device__ auto not_fn(F f) {
    return [f](auto &&...x) mutable { return !f(static_cast<decltype(x) &&>(x)...); };
}

}  // namespace thrust

template <class F, class A>
inline constexpr bool __windlass_calls_on_host<thrust::unary_negate<F>, A> = __windlass_calls_on_host<F, A>;
template <class F, class A, class B>
inline constexpr bool __windlass_calls_on_host<thrust::binary_negate<F>, A, B> = __windlass_calls_on_host<F, A, B>;
