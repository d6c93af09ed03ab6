#pragma once
#include "thread_operators.cuh"

namespace cub {
namespace internal {
template <int N, class T, class F> __WINDLASS_DEVICE T ThreadScanInclusive(T (&input)[N], T (&output)[N], F op) {
    T sum = input[0];
    output[0] = sum;
    for (int i = 1; i < N; i++) output[i] = sum = op(sum, input[i]);
    return sum;
}
template <int N, class T, class F>
__WINDLASS_DEVICE T ThreadScanInclusive(T (&input)[N], T (&output)[N], F op, T prefix, bool apply_prefix = true) {
    T sum = input[0];
    if (apply_prefix) sum = op(prefix, sum);
    output[0] = sum;
    for (int i = 1; i < N; i++) output[i] = sum = op(sum, input[i]);
    return sum;
}
template <int N, class T, class F>
__WINDLASS_DEVICE T ThreadScanExclusive(T (&input)[N], T (&output)[N], F op, T prefix, bool apply_prefix = true) {
    T sum = input[0];
    if (apply_prefix) sum = op(prefix, sum);
    output[0] = prefix;
    for (int i = 1; i < N; i++) {
        T next = op(sum, input[i]);
        output[i] = sum;
        sum = next;
    }
    return sum;
}
}  // namespace internal
using internal::ThreadScanExclusive;
using internal::ThreadScanInclusive;
}  // namespace cub
