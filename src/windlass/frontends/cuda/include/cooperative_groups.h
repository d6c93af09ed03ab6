// Cooperative groups: blocks, tiles of a warp, coalesced threads, the grid. Built on barriers and warp intrinsics.
#pragma once
#include "windlass_cuda.h"

#ifdef __NVPTX__
namespace cooperative_groups {

#define __WINDLASS_MEMBER __WINDLASS_DEVICE_MEMBER
#define __WINDLASS_STATIC static __WINDLASS_DEVICE_MEMBER

namespace details {
__WINDLASS_DEVICE unsigned int block_rank() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
__WINDLASS_DEVICE unsigned int block_size() { return blockDim.x * blockDim.y * blockDim.z; }
__WINDLASS_DEVICE unsigned long long grid_block_rank() {
    return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}
__WINDLASS_DEVICE unsigned long long grid_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
}  // namespace details

struct thread_block {
    __WINDLASS_STATIC void sync() { __syncthreads(); }
    __WINDLASS_STATIC unsigned int thread_rank() { return details::block_rank(); }
    __WINDLASS_STATIC unsigned int size() { return details::block_size(); }
    __WINDLASS_STATIC unsigned int num_threads() { return details::block_size(); }
    __WINDLASS_STATIC dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    __WINDLASS_STATIC dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    __WINDLASS_STATIC dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
    __WINDLASS_STATIC dim3 dim_threads() { return group_dim(); }
    struct arrival_token {};
    __WINDLASS_STATIC arrival_token barrier_arrive() { return {}; }
    __WINDLASS_STATIC void barrier_wait(arrival_token) { __syncthreads(); }
};

struct grid_group {
    __WINDLASS_STATIC bool is_valid() { return true; }
    __WINDLASS_STATIC void sync() { __windlass_grid_sync(); }
    __WINDLASS_STATIC unsigned long long thread_rank() {
        return details::grid_block_rank() * details::block_size() + details::block_rank();
    }
    __WINDLASS_STATIC unsigned long long block_rank() { return details::grid_block_rank(); }
    __WINDLASS_STATIC unsigned long long num_blocks() { return details::grid_blocks(); }
    __WINDLASS_STATIC unsigned long long size() { return details::grid_blocks() * details::block_size(); }
    __WINDLASS_STATIC unsigned long long num_threads() { return size(); }
    __WINDLASS_STATIC dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
    __WINDLASS_STATIC dim3 dim_blocks() { return group_dim(); }
    __WINDLASS_STATIC dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    struct arrival_token {};
    __WINDLASS_STATIC arrival_token barrier_arrive() { return {}; }
    __WINDLASS_STATIC void barrier_wait(arrival_token) { sync(); }
};

// Threads of one warp whose lanes are in a mask; one of several groups that another was divided into, perhaps.
struct coalesced_group {
    unsigned int mask, number = 0, groups = 1;
    __WINDLASS_MEMBER explicit coalesced_group(unsigned int mask) : mask(mask) {}
    __WINDLASS_MEMBER coalesced_group(unsigned int mask, unsigned int number, unsigned int groups)
        : mask(mask), number(number), groups(groups) {}
    __WINDLASS_MEMBER void sync() const { __syncwarp(mask); }
    __WINDLASS_MEMBER unsigned int size() const { return (unsigned int)__popc(mask); }
    __WINDLASS_MEMBER unsigned int num_threads() const { return size(); }
    __WINDLASS_MEMBER unsigned int thread_rank() const { return (unsigned int)__popc(mask & __lanemask_lt()); }
    __WINDLASS_MEMBER unsigned int meta_group_rank() const { return number; }
    __WINDLASS_MEMBER unsigned int meta_group_size() const { return groups; }
    // The lane of the thread with this rank in the group.
    __WINDLASS_MEMBER int lane_of(unsigned int rank) const { return (int)__fns(mask, 0, (int)rank + 1); }
    // The bits of a warp-wide ballot that belong to the group, closed up.
    __WINDLASS_MEMBER unsigned int closed_up(unsigned int lanes) const {
        unsigned int result = 0, rank = 0;
        for (unsigned int rest = mask; rest; rest &= rest - 1, ++rank)
            if (lanes & rest & (0u - rest)) result |= 1u << rank;
        return result;
    }
    template <class T> __WINDLASS_MEMBER T moved(T value, int lane) const {
        return __windlass_moved(value, [=, this](auto word) { return __shfl_sync(mask, word, lane); });
    }
    template <class T> __WINDLASS_MEMBER T shfl(T value, unsigned int rank) const {
        return moved(value, lane_of(rank % size()));
    }
    template <class T> __WINDLASS_MEMBER T shfl_down(T value, unsigned int delta) const {
        unsigned int rank = thread_rank() + delta;
        T other = moved(value, lane_of(rank < size() ? rank : thread_rank()));
        return other;
    }
    template <class T> __WINDLASS_MEMBER T shfl_up(T value, unsigned int delta) const {
        unsigned int rank = thread_rank();
        T other = moved(value, lane_of(rank >= delta ? rank - delta : rank));
        return other;
    }
    __WINDLASS_MEMBER int any(int predicate) const { return __any_sync(mask, predicate); }
    __WINDLASS_MEMBER int all(int predicate) const { return __all_sync(mask, predicate); }
    __WINDLASS_MEMBER unsigned int ballot(int predicate) const { return closed_up(__ballot_sync(mask, predicate)); }
    template <class T> __WINDLASS_MEMBER unsigned int match_any(T value) const {
        return closed_up(__match_any_sync(mask, value));
    }
    template <class T> __WINDLASS_MEMBER unsigned int match_all(T value, int &all_equal) const {
        return closed_up(__match_all_sync(mask, value, &all_equal));
    }
};

template <unsigned int N, class Parent> struct thread_block_tile;
namespace details {
// How many threads a tile's parent has: 0 for the block itself.
template <class Parent> inline constexpr unsigned int parent_size = 0;
template <unsigned int N, class Parent> inline constexpr unsigned int parent_size<thread_block_tile<N, Parent>> = N;
}  // namespace details

// A tile of N threads of a block; N is a power of two, at most 32.
template <unsigned int N, class Parent = void> struct thread_block_tile {
    static_assert(N > 0 && N <= 32 && (N & (N - 1)) == 0, "a tile has a power of two of threads, at most 32");
    thread_block_tile() = default;
    template <class Other> __WINDLASS_MEMBER thread_block_tile(const thread_block_tile<N, Other> &) {}
    __WINDLASS_STATIC unsigned int mask() {
        if constexpr (N == 32) return 0xffffffffu;
        else return ((1u << N) - 1) << (__lane_id() / N * N);
    }
    __WINDLASS_STATIC void sync() { __syncwarp(mask()); }
    __WINDLASS_STATIC unsigned int thread_rank() { return details::block_rank() % N; }
    __WINDLASS_STATIC constexpr unsigned int size() { return N; }
    __WINDLASS_STATIC constexpr unsigned int num_threads() { return N; }
    __WINDLASS_STATIC unsigned int meta_group_rank() {
        if constexpr (details::parent_size<Parent> != 0) return details::block_rank() % details::parent_size<Parent> / N;
        else return details::block_rank() / N;
    }
    __WINDLASS_STATIC unsigned int meta_group_size() {
        if constexpr (details::parent_size<Parent> != 0) return details::parent_size<Parent> / N;
        else return (details::block_size() + N - 1) / N;
    }
    template <class T> __WINDLASS_STATIC T shfl(T value, int rank) {
        return __windlass_moved(value, [=](auto word) { return __shfl_sync(mask(), word, rank, (int)N); });
    }
    template <class T> __WINDLASS_STATIC T shfl_down(T value, unsigned int delta) {
        return __windlass_moved(value, [=](auto word) { return __shfl_down_sync(mask(), word, delta, (int)N); });
    }
    template <class T> __WINDLASS_STATIC T shfl_up(T value, unsigned int delta) {
        return __windlass_moved(value, [=](auto word) { return __shfl_up_sync(mask(), word, delta, (int)N); });
    }
    template <class T> __WINDLASS_STATIC T shfl_xor(T value, unsigned int lanes) {
        return __windlass_moved(value, [=](auto word) { return __shfl_xor_sync(mask(), word, (int)lanes, (int)N); });
    }
    __WINDLASS_STATIC int any(int predicate) { return __any_sync(mask(), predicate); }
    __WINDLASS_STATIC int all(int predicate) { return __all_sync(mask(), predicate); }
    __WINDLASS_STATIC unsigned int closed_up(unsigned int lanes) {
        if constexpr (N == 32) return lanes;
        else return (lanes >> (__lane_id() / N * N)) & ((1u << N) - 1);
    }
    __WINDLASS_STATIC unsigned int ballot(int predicate) { return closed_up(__ballot_sync(mask(), predicate)); }
    template <class T> __WINDLASS_STATIC unsigned int match_any(T value) {
        return closed_up(__match_any_sync(mask(), value));
    }
    template <class T> __WINDLASS_STATIC unsigned int match_all(T value, int &all_equal) {
        return closed_up(__match_all_sync(mask(), value, &all_equal));
    }
    // Tiles pass where any group is asked for.
    __WINDLASS_MEMBER operator coalesced_group() const { return coalesced_group(mask()); }
};

// A group whose kind is known only while the program runs.
struct thread_group {
    enum kind_type { block, grid, warp } kind;
    unsigned int mask, ranks;
    __WINDLASS_MEMBER thread_group(const thread_block &) : kind(block), mask(0), ranks(0) {}
    __WINDLASS_MEMBER thread_group(const grid_group &) : kind(grid), mask(0), ranks(0) {}
    __WINDLASS_MEMBER thread_group(const coalesced_group &group) : kind(warp), mask(group.mask), ranks(0) {}
    template <unsigned int N, class P>
    __WINDLASS_MEMBER thread_group(const thread_block_tile<N, P> &tile) : kind(warp), mask(tile.mask()), ranks(N) {}
    __WINDLASS_MEMBER thread_group(unsigned int mask, unsigned int ranks) : kind(warp), mask(mask), ranks(ranks) {}
    __WINDLASS_MEMBER void sync() const {
        if (kind == block) __syncthreads();
        else if (kind == grid) __windlass_grid_sync();
        else __syncwarp(mask);
    }
    __WINDLASS_MEMBER unsigned int size() const {
        return kind == block ? details::block_size()
               : kind == grid ? (unsigned int)grid_group::size()
                              : (unsigned int)__popc(mask);
    }
    __WINDLASS_MEMBER unsigned int num_threads() const { return size(); }
    __WINDLASS_MEMBER unsigned int thread_rank() const {
        return kind == block ? details::block_rank()
               : kind == grid ? (unsigned int)grid_group::thread_rank()
                              : (unsigned int)__popc(mask & __lanemask_lt());
    }
    __WINDLASS_MEMBER bool is_valid() const { return true; }
};

__WINDLASS_DEVICE thread_block this_thread_block() { return thread_block(); }
__WINDLASS_DEVICE grid_group this_grid() { return grid_group(); }
__WINDLASS_DEVICE coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }
__WINDLASS_DEVICE thread_block_tile<1> this_thread() { return thread_block_tile<1>(); }
template <unsigned int N, class Group> __WINDLASS_DEVICE thread_block_tile<N, Group> tiled_partition(const Group &) {
    return thread_block_tile<N, Group>();
}
namespace details {
// The lanes of a mask whose ranks are in the same stretch of `count` ranks as this thread's.
__WINDLASS_DEVICE unsigned int stretch_of(unsigned int mask, unsigned int count) {
    unsigned int first = __popc(mask & __lanemask_lt()) / count * count, rank = 0, result = 0;
    for (unsigned int rest = mask; rest; rest &= rest - 1, ++rank)
        if (rank >= first && rank < first + count) result |= rest & (0u - rest);
    return result;
}
}  // namespace details
__WINDLASS_DEVICE thread_group tiled_partition(const thread_group &group, unsigned int count) {
    if (group.kind == thread_group::warp) return thread_group(details::stretch_of(group.mask, count), count);
    unsigned int ones = count >= 32 ? 0xffffffffu : (1u << count) - 1;
    return thread_group(count >= 32 ? ones : ones << (__lane_id() / count * count), count);
}
__WINDLASS_DEVICE coalesced_group tiled_partition(const coalesced_group &group, unsigned int count) {
    return coalesced_group(details::stretch_of(group.mask, count), group.thread_rank() / count,
                           (group.size() + count - 1) / count);
}
__WINDLASS_DEVICE coalesced_group binary_partition(const coalesced_group &group, bool predicate) {
    unsigned int yes = __ballot_sync(group.mask, predicate);
    return coalesced_group(predicate ? yes : group.mask & ~yes, predicate, 2);
}
// Groups are numbered by their first threads.
template <class T> __WINDLASS_DEVICE coalesced_group labeled_partition(const coalesced_group &group, T label) {
    unsigned int own;
    if constexpr (sizeof(T) < 4) own = __match_any_sync(group.mask, (int)label);
    else own = __match_any_sync(group.mask, label);
    unsigned int leader = own & (0u - own);
    unsigned int leaders = __ballot_sync(group.mask, leader == 1u << __lane_id());
    return coalesced_group(own, (unsigned int)__popc(leaders & (leader - 1)), (unsigned int)__popc(leaders));
}

// One thread of the group calls a function; all get what it gives.
template <class Group, class F, class... Arguments>
__WINDLASS_DEVICE void invoke_one(const Group &group, F &&function, Arguments &&...arguments) {
    if (group.thread_rank() == 0) function(arguments...);
}
template <class Group, class F, class... Arguments>
__WINDLASS_DEVICE auto invoke_one_broadcast(const Group &group, F &&function, Arguments &&...arguments)
    -> decltype(function(arguments...)) {
    decltype(function(arguments...)) result{};
    if (group.thread_rank() == 0) result = function(arguments...);
    return group.shfl(result, 0);
}

struct cluster_group {};
__attribute__((device, unavailable("clusters of blocks (distributed shared memory) are not supported")))
cluster_group this_cluster();

template <class Group> __WINDLASS_DEVICE void sync(const Group &group) { group.sync(); }
template <class Group> __WINDLASS_DEVICE unsigned long long thread_rank(const Group &group) { return group.thread_rank(); }
template <class Group> __WINDLASS_DEVICE unsigned long long group_size(const Group &group) { return group.size(); }
template <class Group> __WINDLASS_DEVICE unsigned long long num_threads(const Group &group) { return group.size(); }

}  // namespace cooperative_groups
#else
namespace cooperative_groups {
struct thread_group;
struct thread_block;
struct grid_group;
struct coalesced_group;
template <unsigned int N, class Parent = void> struct thread_block_tile;
}  // namespace cooperative_groups
#endif
