// Searches in sorted sequences by one thread.
#pragma once
#include "../util_type.cuh"

namespace cub {
template <class It, class Offset, class T> __WINDLASS_BOTH Offset LowerBound(It input, Offset count, T value) {
    Offset first = 0;
    while (count > 0) {
        Offset half = count >> 1;
        if (input[first + half] < value) first += half + 1, count -= half + 1;
        else count = half;
    }
    return first;
}
template <class It, class Offset, class T> __WINDLASS_BOTH Offset UpperBound(It input, Offset count, T value) {
    Offset first = 0;
    while (count > 0) {
        Offset half = count >> 1;
        if (value < input[first + half]) count = half;
        else first += half + 1, count -= half + 1;
    }
    return first;
}
// Where a diagonal crosses the path along which two sorted sequences merge.
template <class A, class B, class Offset, class Coordinate>
__WINDLASS_BOTH void MergePathSearch(Offset diagonal, A a, B b, Offset a_length, Offset b_length, Coordinate &at) {
    Offset low = diagonal - b_length > 0 ? diagonal - b_length : 0, high = diagonal < a_length ? diagonal : a_length;
    while (low < high) {
        Offset middle = low + (high - low) / 2;
        if (a[middle] <= b[diagonal - middle - 1]) low = middle + 1;
        else high = middle;
    }
    at.x = low < a_length ? low : a_length;
    at.y = diagonal - low;
}
}  // namespace cub
