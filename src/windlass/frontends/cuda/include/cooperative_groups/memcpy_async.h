// cooperative_groups::memcpy_async: the copy is done at once, and waiting is the group's barrier.
#pragma once
#include "../cooperative_groups.h"

#ifdef __NVPTX__
namespace cooperative_groups {
template <class Group, class T>
__WINDLASS_DEVICE void memcpy_async(const Group &group, T *target, const T *source, size_t bytes) {
    for (size_t i = group.thread_rank(); i < bytes / sizeof(T); i += group.size()) target[i] = source[i];
}
template <class Group> __WINDLASS_DEVICE void wait(const Group &group) { group.sync(); }
template <unsigned int, class Group> __WINDLASS_DEVICE void wait_prior(const Group &group) { group.sync(); }
}  // namespace cooperative_groups
#endif
