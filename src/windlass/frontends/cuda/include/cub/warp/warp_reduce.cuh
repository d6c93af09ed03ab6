// cub::WarpReduce: the values of a warp's lanes combined, in the order of the lanes. The first lane has the result.
#pragma once
#include "../thread/thread_operators.cuh"
#include "../util_ptx.cuh"

namespace cub {
template <class T, int LOGICAL_WARP_THREADS = 32, int LEGACY_PTX_ARCH = 0> class WarpReduce {
    static constexpr int width = LOGICAL_WARP_THREADS;
    int lane, first;
    unsigned int mask;

    // `end` is where this lane's values end.
    template <class F> __WINDLASS_DEVICE_MEMBER T reduce(T value, F op, int end) {
        for (int distance = 1; distance < width; distance *= 2) {
            T other;
            if constexpr ((width & (width - 1)) == 0)
                other = __windlass_moved(value, [=, this](auto word) { return __shfl_down_sync(mask, word, distance, width); });
            else other = detail::from_lane(value, first + lane + distance, mask);
            if (lane + distance < end) value = op(value, other);
        }
        return value;
    }
    // Where the segment of this lane ends: the next head, or one behind the next tail.
    template <bool AtHeads, class Flag> __WINDLASS_DEVICE_MEMBER int segment_end(Flag flag) {
        unsigned int flags = __ballot_sync(mask, (bool)flag) >> first;
        if constexpr (width < 32) flags &= (1u << (width % 32)) - 1;
        unsigned int later = AtHeads ? (lane == 31 ? 0 : flags >> (lane + 1)) : flags >> lane;
        return later ? lane + __ffs((int)later) : width;
    }

public:
    using TempStorage = detail::NoStorage;
    __WINDLASS_DEVICE_MEMBER WarpReduce() {
        int own = (int)LaneId();
        lane = width == 32 ? own : own % width;
        first = own - lane;
        mask = WarpMask<width>(own / width);
        if constexpr (32 % width) mask <<= first;
    }
    __WINDLASS_DEVICE_MEMBER WarpReduce(TempStorage &) : WarpReduce() {}

    template <class F> __WINDLASS_DEVICE_MEMBER T Reduce(T input, F op) { return reduce(input, op, width); }
    template <class F> __WINDLASS_DEVICE_MEMBER T Reduce(T input, F op, int valid) { return reduce(input, op, valid); }
    __WINDLASS_DEVICE_MEMBER T Sum(T input) { return reduce(input, cub::Sum(), width); }
    __WINDLASS_DEVICE_MEMBER T Sum(T input, int valid) { return reduce(input, cub::Sum(), valid); }
    template <class Flag, class F> __WINDLASS_DEVICE_MEMBER T HeadSegmentedReduce(T input, Flag head, F op) {
        return reduce(input, op, segment_end<true>(head));
    }
    template <class Flag, class F> __WINDLASS_DEVICE_MEMBER T TailSegmentedReduce(T input, Flag tail, F op) {
        return reduce(input, op, segment_end<false>(tail));
    }
    template <class Flag> __WINDLASS_DEVICE_MEMBER T HeadSegmentedSum(T input, Flag head) {
        return HeadSegmentedReduce(input, head, cub::Sum());
    }
    template <class Flag> __WINDLASS_DEVICE_MEMBER T TailSegmentedSum(T input, Flag tail) {
        return TailSegmentedReduce(input, tail, cub::Sum());
    }
};
template <class T, int LEGACY_PTX_ARCH> class WarpReduce<T, 1, LEGACY_PTX_ARCH> {
public:
    using TempStorage = detail::NoStorage;
    __WINDLASS_DEVICE_MEMBER WarpReduce() {}
    __WINDLASS_DEVICE_MEMBER WarpReduce(TempStorage &) {}
    template <class... Rest> __WINDLASS_DEVICE_MEMBER T Reduce(T input, Rest...) { return input; }
    template <class... Rest> __WINDLASS_DEVICE_MEMBER T Sum(T input, Rest...) { return input; }
};
}  // namespace cub
