// cooperative_groups::memcpy_async: the copy is done at once, and waiting is the group's barrier.
#pragma once
#include "../cooperative_groups.h"
#include "../cuda/barrier"

#ifdef __NVPTX__
namespace cooperative_groups {
template <class Group, class T, class U, class Size>
__WINDLASS_DEVICE void memcpy_async(const Group &group, T *target, const U *source, const Size &bytes) {
    __windlass_copy(target, source, (size_t)bytes, (unsigned int)group.thread_rank(), (unsigned int)group.size());
}
// Elements, as many as there are on both sides.
template <class Group, class T, class U, class TargetSize, class SourceSize>
__WINDLASS_DEVICE void memcpy_async(const Group &group, T *target, const TargetSize &there, const U *source,
                                    const SourceSize &here) {
    size_t count = (size_t)there < (size_t)here ? (size_t)there : (size_t)here;
    __windlass_copy(target, source, count * sizeof(T), (unsigned int)group.thread_rank(), (unsigned int)group.size());
}
template <class Group> __WINDLASS_DEVICE void wait(const Group &group) { group.sync(); }
template <unsigned int, class Group> __WINDLASS_DEVICE void wait_prior(const Group &group) { group.sync(); }
}  // namespace cooperative_groups
#endif
