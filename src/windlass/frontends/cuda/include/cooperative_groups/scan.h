// cooperative_groups::inclusive_scan and exclusive_scan over the threads of a tile or of a coalesced group.
#pragma once
#include "reduce.h"

#ifdef __NVPTX__
namespace cooperative_groups {
template <class Group, class T, class F> __WINDLASS_DEVICE T inclusive_scan(const Group &group, T value, F combine) {
    for (unsigned int delta = 1; delta < group.size(); delta *= 2) {
        T before = group.shfl_up(value, delta);
        if (group.thread_rank() >= delta) value = combine(before, value);
    }
    return value;
}
template <class Group, class T> __WINDLASS_DEVICE T inclusive_scan(const Group &group, T value) {
    return inclusive_scan(group, value, plus<T>());
}
template <class Group, class T, class F> __WINDLASS_DEVICE T exclusive_scan(const Group &group, T value, F combine) {
    T before = group.shfl_up(inclusive_scan(group, value, combine), 1);
    return group.thread_rank() == 0 ? T() : before;
}
template <class Group, class T> __WINDLASS_DEVICE T exclusive_scan(const Group &group, T value) {
    return exclusive_scan(group, value, plus<T>());
}
}  // namespace cooperative_groups
#endif
