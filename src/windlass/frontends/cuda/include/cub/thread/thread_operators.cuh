// Function objects of CUB.
#pragma once
#include "../util_type.cuh"
#include "windlass/known_operators.h"

namespace cub {
#define __CUB_OPERATOR(name, result, expression)                                                   \
    struct name {                                                                                  \
        template <class T, class U> __WINDLASS_BOTH_MEMBER result operator()(const T &a, const U &b) const { \
            return expression;                                                                     \
        }                                                                                          \
    };
#define __CUB_COMMON typename std::common_type<T, U>::type
__CUB_OPERATOR(Equality, bool, a == b)
__CUB_OPERATOR(Inequality, bool, a != b)
__CUB_OPERATOR(Sum, __CUB_COMMON, a + b)
__CUB_OPERATOR(Difference, __CUB_COMMON, a - b)
__CUB_OPERATOR(Division, __CUB_COMMON, a / b)
__CUB_OPERATOR(Max, __CUB_COMMON, CUB_MAX(a, b))
__CUB_OPERATOR(Min, __CUB_COMMON, CUB_MIN(a, b))
#undef __CUB_OPERATOR
#undef __CUB_COMMON

// Of two pairs (offset, value) the one with the greater or smaller value; of equal values the one that is first.
struct ArgMax {
    template <class K, class T>
    __WINDLASS_BOTH_MEMBER KeyValuePair<K, T> operator()(const KeyValuePair<K, T> &a, const KeyValuePair<K, T> &b) const {
        bool is_b = b.value > a.value || (a.value == b.value && b.key < a.key);
        return KeyValuePair<K, T>(is_b ? b.key : a.key, is_b ? b.value : a.value);
    }
};
struct ArgMin {
    template <class K, class T>
    __WINDLASS_BOTH_MEMBER KeyValuePair<K, T> operator()(const KeyValuePair<K, T> &a, const KeyValuePair<K, T> &b) const {
        bool is_b = b.value < a.value || (a.value == b.value && b.key < a.key);
        return KeyValuePair<K, T>(is_b ? b.key : a.key, is_b ? b.value : a.value);
    }
};
template <class F> struct InequalityWrapper {
    F op;
    __WINDLASS_BOTH_MEMBER InequalityWrapper(F op) : op(op) {}
    template <class T> __WINDLASS_BOTH_MEMBER bool operator()(const T &a, const T &b) { return !op(a, b); }
};
template <class B> struct CastOp {
    template <class A> __WINDLASS_BOTH_MEMBER B operator()(const A &a) const { return (B)a; }
};
template <class F> struct SwizzleScanOp {
    F op;
    __WINDLASS_BOTH_MEMBER SwizzleScanOp(F op) : op(op) {}
    template <class T> __WINDLASS_BOTH_MEMBER T operator()(const T &a, const T &b) { return op(b, a); }
};
template <class F> struct ReduceBySegmentOp {
    F op;
    __WINDLASS_BOTH_MEMBER ReduceBySegmentOp(F op = F()) : op(op) {}
    template <class Pair> __WINDLASS_BOTH_MEMBER Pair operator()(const Pair &a, const Pair &b) {
        Pair result;
        result.key = a.key + b.key;
        result.value = b.key ? b.value : op(a.value, b.value);
        return result;
    }
};
template <class F> struct ReduceByKeyOp {
    F op;
    __WINDLASS_BOTH_MEMBER ReduceByKeyOp(F op = F()) : op(op) {}
    template <class Pair> __WINDLASS_BOTH_MEMBER Pair operator()(const Pair &a, const Pair &b) {
        Pair result = b;
        if (a.key == b.key) result.value = op(a.value, b.value);
        return result;
    }
};
template <class F> struct BinaryFlip {
    F op;
    __WINDLASS_BOTH_MEMBER explicit BinaryFlip(F op) : op(op) {}
    template <class T, class U> __WINDLASS_BOTH_MEMBER auto operator()(T &&a, U &&b) { return op(b, a); }
};
template <class F> __WINDLASS_BOTH BinaryFlip<F> MakeBinaryFlip(F op) { return BinaryFlip<F>(op); }
}  // namespace cub

template <> struct __windlass_operator_of<cub::Sum> {
    static constexpr __windlass_operator value = __windlass_operator::sum;
};
template <> struct __windlass_operator_of<cub::Min> {
    static constexpr __windlass_operator value = __windlass_operator::minimum;
};
template <> struct __windlass_operator_of<cub::Max> {
    static constexpr __windlass_operator value = __windlass_operator::maximum;
};
