// cub::WarpScan: prefix sums over the lanes of a warp, with any operator.
#pragma once
#include "../thread/thread_operators.cuh"
#include "../util_ptx.cuh"

namespace cub {
template <class T, int LOGICAL_WARP_THREADS = 32, int LEGACY_PTX_ARCH = 0> class WarpScan {
    static constexpr int width = LOGICAL_WARP_THREADS;
    int lane, first;
    unsigned int mask;

    __WINDLASS_DEVICE_MEMBER T up(T value, int distance) {
        if constexpr ((width & (width - 1)) == 0)
            return __windlass_moved(value, [=, this](auto word) { return __shfl_up_sync(mask, word, distance, width); });
        else return detail::from_lane(value, first + (lane >= distance ? lane - distance : lane), mask);
    }
    __WINDLASS_DEVICE_MEMBER T last(T value) { return detail::from_lane(value, first + width - 1, mask); }
    template <class F> __WINDLASS_DEVICE_MEMBER T scan(T value, F op) {
        for (int distance = 1; distance < width; distance *= 2) {
            T other = up(value, distance);
            if (lane >= distance) value = op(other, value);
        }
        return value;
    }

public:
    using TempStorage = detail::NoStorage;
    __WINDLASS_DEVICE_MEMBER WarpScan() {
        int own = (int)LaneId();
        lane = width == 32 ? own : own % width;
        first = own - lane;
        mask = WarpMask<width>(own / width);
        if constexpr (32 % width) mask <<= first;
    }
    __WINDLASS_DEVICE_MEMBER WarpScan(TempStorage &) : WarpScan() {}

    template <class F> __WINDLASS_DEVICE_MEMBER void InclusiveScan(T input, T &output, F op) { output = scan(input, op); }
    template <class F> __WINDLASS_DEVICE_MEMBER void InclusiveScan(T input, T &output, F op, T &aggregate) {
        output = scan(input, op);
        aggregate = last(output);
    }
    template <class F> __WINDLASS_DEVICE_MEMBER void ExclusiveScan(T input, T &output, F op) {
        output = up(scan(input, op), 1);
    }
    template <class F> __WINDLASS_DEVICE_MEMBER void ExclusiveScan(T input, T &output, F op, T &aggregate) {
        T sum = scan(input, op);
        output = up(sum, 1);
        aggregate = last(sum);
    }
    template <class F, std::enable_if_t<!std::is_arithmetic_v<F>, int> = 0>
    __WINDLASS_DEVICE_MEMBER void ExclusiveScan(T input, T &output, T initial, F op) {
        T sum = op(initial, up(scan(input, op), 1));
        output = lane == 0 ? initial : sum;
    }
    template <class F, std::enable_if_t<!std::is_arithmetic_v<F>, int> = 0>
    __WINDLASS_DEVICE_MEMBER void ExclusiveScan(T input, T &output, T initial, F op, T &aggregate) {
        T inclusive = scan(input, op), sum = op(initial, up(inclusive, 1));
        output = lane == 0 ? initial : sum;
        aggregate = last(inclusive);
    }
    template <class F> __WINDLASS_DEVICE_MEMBER void Scan(T input, T &inclusive, T &exclusive, F op) {
        inclusive = scan(input, op);
        exclusive = up(inclusive, 1);
    }
    template <class F> __WINDLASS_DEVICE_MEMBER void Scan(T input, T &inclusive, T &exclusive, T initial, F op) {
        T sum = scan(input, op), before = op(initial, up(sum, 1));
        exclusive = lane == 0 ? initial : before;
        inclusive = op(initial, sum);
    }
    __WINDLASS_DEVICE_MEMBER void InclusiveSum(T input, T &output) { InclusiveScan(input, output, cub::Sum()); }
    __WINDLASS_DEVICE_MEMBER void InclusiveSum(T input, T &output, T &aggregate) {
        InclusiveScan(input, output, cub::Sum(), aggregate);
    }
    __WINDLASS_DEVICE_MEMBER void ExclusiveSum(T input, T &output) { ExclusiveScan(input, output, T{}, cub::Sum()); }
    __WINDLASS_DEVICE_MEMBER void ExclusiveSum(T input, T &output, T &aggregate) {
        ExclusiveScan(input, output, T{}, cub::Sum(), aggregate);
    }
    __WINDLASS_DEVICE_MEMBER T Broadcast(T input, unsigned int source) {
        return detail::from_lane(input, first + (int)source, mask);
    }
};
}  // namespace cub
