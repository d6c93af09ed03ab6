// Arithmetic of float4 and its kin, which HIP has and CUDA has not. A program's own operators are preferred.
#pragma once
#include "windlass_cuda.h"

template <class V> struct __windlass_vector {};
#define __WINDLASS_HIP_VECTOR(name, type, count)                                                                       \
    template <> struct __windlass_vector<name> {                                                                       \
        using element = type;                                                                                          \
        static constexpr int size = count;                                                                             \
    };
#define __WINDLASS_HIP_VECTORS(name, type)                                                                             \
    __WINDLASS_HIP_VECTOR(name##1, type, 1)                                                                            \
    __WINDLASS_HIP_VECTOR(name##2, type, 2)                                                                            \
    __WINDLASS_HIP_VECTOR(name##3, type, 3)                                                                            \
    __WINDLASS_HIP_VECTOR(name##4, type, 4)
__WINDLASS_HIP_VECTORS(char, signed char)
__WINDLASS_HIP_VECTORS(uchar, unsigned char)
__WINDLASS_HIP_VECTORS(short, short)
__WINDLASS_HIP_VECTORS(ushort, unsigned short)
__WINDLASS_HIP_VECTORS(int, int)
__WINDLASS_HIP_VECTORS(uint, unsigned int)
__WINDLASS_HIP_VECTORS(long, long)
__WINDLASS_HIP_VECTORS(ulong, unsigned long)
__WINDLASS_HIP_VECTORS(longlong, long long)
__WINDLASS_HIP_VECTORS(ulonglong, unsigned long long)
__WINDLASS_HIP_VECTORS(float, float)
__WINDLASS_HIP_VECTORS(double, double)
#undef __WINDLASS_HIP_VECTORS
#undef __WINDLASS_HIP_VECTOR

template <class V> using __windlass_vector_element = typename __windlass_vector<V>::element;
template <class S> using __windlass_scalar = std::enable_if_t<std::is_arithmetic_v<S>, int>;

template <class V, class Operation> __WINDLASS_BOTH V __windlass_each_element(V a, const V &b, Operation operation) {
    constexpr int size = __windlass_vector<V>::size;
    a.x = operation(a.x, b.x);
    if constexpr (size > 1) a.y = operation(a.y, b.y);
    if constexpr (size > 2) a.z = operation(a.z, b.z);
    if constexpr (size > 3) a.w = operation(a.w, b.w);
    return a;
}
template <class V> __WINDLASS_BOTH V __windlass_filled_vector(__windlass_vector_element<V> value) {
    return __windlass_each_element(V{}, V{}, [=](auto, auto) { return value; });
}

#define __WINDLASS_HIP_OPERATOR(op)                                                                                    \
    template <class V, class T = __windlass_vector_element<V>> __WINDLASS_BOTH V operator op(const V &a, const V &b) { \
        return __windlass_each_element(a, b, [](T x, T y) { return (T)(x op y); });                                    \
    }                                                                                                                  \
    template <class V, class S, class T = __windlass_vector_element<V>, __windlass_scalar<S> = 0>                      \
    __WINDLASS_BOTH V operator op(const V &a, S b) {                                                                   \
        return a op __windlass_filled_vector<V>((T)b);                                                                 \
    }                                                                                                                  \
    template <class V, class S, class T = __windlass_vector_element<V>, __windlass_scalar<S> = 0>                      \
    __WINDLASS_BOTH V operator op(S a, const V &b) {                                                                   \
        return __windlass_filled_vector<V>((T)a) op b;                                                                 \
    }                                                                                                                  \
    template <class V, class U, class T = __windlass_vector_element<V>>                                                \
    __WINDLASS_BOTH auto operator op##=(V &a, const U &b) -> decltype(a = a op b) {                                    \
        return a = a op b;                                                                                             \
    }
__WINDLASS_HIP_OPERATOR(+)
__WINDLASS_HIP_OPERATOR(-)
__WINDLASS_HIP_OPERATOR(*)
__WINDLASS_HIP_OPERATOR(/)
__WINDLASS_HIP_OPERATOR(%)
__WINDLASS_HIP_OPERATOR(&)
__WINDLASS_HIP_OPERATOR(|)
__WINDLASS_HIP_OPERATOR(^)
__WINDLASS_HIP_OPERATOR(<<)
__WINDLASS_HIP_OPERATOR(>>)
#undef __WINDLASS_HIP_OPERATOR

template <class V, class T = __windlass_vector_element<V>> __WINDLASS_BOTH V operator-(const V &a) {
    return __windlass_each_element(a, a, [](T x, T) { return (T)-x; });
}
template <class V, class T = __windlass_vector_element<V>> __WINDLASS_BOTH V operator~(const V &a) {
    return __windlass_each_element(a, a, [](T x, T) { return (T)~x; });
}
template <class V, class T = __windlass_vector_element<V>> __WINDLASS_BOTH bool operator==(const V &a, const V &b) {
    bool equal = true;
    __windlass_each_element(a, b, [&](T x, T y) { return equal = equal && x == y, x; });
    return equal;
}
template <class V, class T = __windlass_vector_element<V>> __WINDLASS_BOTH bool operator!=(const V &a, const V &b) {
    return !(a == b);
}
