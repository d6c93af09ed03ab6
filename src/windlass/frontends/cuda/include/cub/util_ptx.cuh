// Lanes, warps, and values handed from lane to lane.
#pragma once
#include "util_type.cuh"

namespace cub {
#ifdef __NVPTX__
__WINDLASS_DEVICE unsigned int LaneId() { return __lane_id(); }
__WINDLASS_DEVICE unsigned int LaneMaskLt() { return __lanemask_lt(); }
__WINDLASS_DEVICE unsigned int LaneMaskLe() { return __lanemask_lt() | (1u << LaneId()); }
__WINDLASS_DEVICE unsigned int LaneMaskGt() { return ~LaneMaskLe(); }
__WINDLASS_DEVICE unsigned int LaneMaskGe() { return ~LaneMaskLt(); }
#else
__device__ unsigned int LaneId();
__device__ unsigned int LaneMaskLt();
__device__ unsigned int LaneMaskLe();
__device__ unsigned int LaneMaskGt();
__device__ unsigned int LaneMaskGe();
#endif

__WINDLASS_DEVICE int RowMajorTid(int block_dim_x, int block_dim_y, int block_dim_z) {
    return ((block_dim_z == 1 ? 0 : threadIdx.z * block_dim_x * block_dim_y) +
            (block_dim_y == 1 ? 0 : threadIdx.y * block_dim_x) + threadIdx.x);
}
__WINDLASS_DEVICE unsigned int WarpId() {
    return ((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) / 32;
}
template <int LogicalWarpThreads, int = 0> __WINDLASS_DEVICE unsigned int WarpMask(unsigned int warp) {
    if constexpr (LogicalWarpThreads >= 32) return 0xffffffffu;
    else if constexpr (32 % LogicalWarpThreads) return (1u << LogicalWarpThreads) - 1;
    else return ((1u << LogicalWarpThreads) - 1) << (warp * LogicalWarpThreads);
}
__WINDLASS_DEVICE void CTA_SYNC() { __syncthreads(); }
__WINDLASS_DEVICE int CTA_SYNC_AND(int p) { return __syncthreads_and(p); }
__WINDLASS_DEVICE int CTA_SYNC_OR(int p) { return __syncthreads_or(p); }
__WINDLASS_DEVICE void WARP_SYNC(unsigned int mask) { __syncwarp(mask); }
template <class = void> __WINDLASS_DEVICE int WARP_ANY(int p, unsigned int mask) { return __any_sync(mask, p); }
template <class = void> __WINDLASS_DEVICE int WARP_ALL(int p, unsigned int mask) { return __all_sync(mask, p); }
template <class = void> __WINDLASS_DEVICE int WARP_BALLOT(int p, unsigned int mask) { return __ballot_sync(mask, p); }
__WINDLASS_DEVICE void ThreadTrap() { __trap(); }

template <class Bits> __WINDLASS_BOTH unsigned int BFE(Bits source, unsigned int start, unsigned int count) {
    return (unsigned int)((unsigned long long)source >> start) & (unsigned int)((1ull << count) - 1);
}
__WINDLASS_BOTH unsigned int SHR_ADD(unsigned int x, unsigned int shift, unsigned int addend) { return (x >> shift) + addend; }
__WINDLASS_BOTH unsigned int SHL_ADD(unsigned int x, unsigned int shift, unsigned int addend) { return (x << shift) + addend; }
__WINDLASS_BOTH unsigned int IADD3(unsigned int x, unsigned int y, unsigned int z) { return x + y + z; }

namespace detail {
// The value of an absolute lane of the warp.
template <class T> __WINDLASS_DEVICE T from_lane(T value, int lane, unsigned int mask) {
    return __windlass_moved(value, [=](auto word) { return __shfl_sync(mask, word, lane); });
}
}  // namespace detail

template <int LogicalWarpThreads, class T>
__WINDLASS_DEVICE T ShuffleUp(T value, int offset, int first_thread, unsigned int mask) {
    int lane = (int)LaneId(), source = lane - offset;
    T moved = __windlass_moved(value, [=](auto word) { return __shfl_up_sync(mask, word, offset, 32); });
    return source < first_thread + lane / LogicalWarpThreads * LogicalWarpThreads ? value : moved;
}
template <int LogicalWarpThreads, class T>
__WINDLASS_DEVICE T ShuffleDown(T value, int offset, int last_thread, unsigned int mask) {
    int lane = (int)LaneId(), source = lane + offset;
    T moved = __windlass_moved(value, [=](auto word) { return __shfl_down_sync(mask, word, offset, 32); });
    return source > last_thread + lane / LogicalWarpThreads * LogicalWarpThreads ? value : moved;
}
template <int LogicalWarpThreads, class T>
__WINDLASS_DEVICE T ShuffleIndex(T value, int source, unsigned int mask) {
    return __windlass_moved(value, [=](auto word) { return __shfl_sync(mask, word, source, LogicalWarpThreads); });
}
template <int LabelBits> __WINDLASS_DEVICE unsigned int MatchAny(unsigned int label) {
    return __match_any_sync(__activemask(), label & (LabelBits >= 32 ? ~0u : (1u << (LabelBits % 32)) - 1));
}
}  // namespace cub
