// Which function objects of libraries are sums and the like: combining many numbers with them is one known operation.
#pragma once

enum class __windlass_operator { other, sum, minimum, maximum };

template <class F> struct __windlass_operator_of {
    static constexpr __windlass_operator value = __windlass_operator::other;
};
template <class T> struct __windlass_operator_of<std::plus<T>> {
    static constexpr __windlass_operator value = __windlass_operator::sum;
};
