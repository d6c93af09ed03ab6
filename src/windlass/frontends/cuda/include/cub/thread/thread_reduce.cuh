// Reductions and scans of one thread's own items.
#pragma once
#include "thread_operators.cuh"

namespace cub {
template <int N, class T, class F> __WINDLASS_DEVICE T ThreadReduce(const T (&input)[N], F op) {
    T sum = input[0];
    for (int i = 1; i < N; i++) sum = op(sum, input[i]);
    return sum;
}
template <int N, class T, class F> __WINDLASS_DEVICE T ThreadReduce(const T (&input)[N], F op, T prefix) {
    for (int i = 0; i < N; i++) prefix = op(prefix, input[i]);
    return prefix;
}
namespace internal {
using cub::ThreadReduce;
}
}  // namespace cub
