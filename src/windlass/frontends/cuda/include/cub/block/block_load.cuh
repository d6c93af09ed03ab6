// cub::BlockLoad: items from memory to threads. How a device would go about it makes no difference to what arrives:
// striped loads leave the items striped over the threads, all others in blocks of consecutive items.
#pragma once
#include "../thread/thread_load.cuh"
#include "../util_ptx.cuh"

namespace cub {
template <class T, int N, class It> __WINDLASS_DEVICE void LoadDirectBlocked(int thread, It from, T (&items)[N]) {
    for (int i = 0; i < N; i++) items[i] = from[thread * N + i];
}
template <class T, int N, class It>
__WINDLASS_DEVICE void LoadDirectBlocked(int thread, It from, T (&items)[N], int valid) {
    for (int i = 0; i < N; i++)
        if (thread * N + i < valid) items[i] = from[thread * N + i];
}
template <class T, class Default, int N, class It>
__WINDLASS_DEVICE void LoadDirectBlocked(int thread, It from, T (&items)[N], int valid, Default otherwise) {
    for (int i = 0; i < N; i++) items[i] = otherwise;
    LoadDirectBlocked(thread, from, items, valid);
}
template <class T, int N> __WINDLASS_DEVICE void LoadDirectBlockedVectorized(int thread, T *from, T (&items)[N]) {
    LoadDirectBlocked(thread, from, items);
}
template <int Threads, class T, int N, class It>
__WINDLASS_DEVICE void LoadDirectStriped(int thread, It from, T (&items)[N]) {
    for (int i = 0; i < N; i++) items[i] = from[thread + i * Threads];
}
template <int Threads, class T, int N, class It>
__WINDLASS_DEVICE void LoadDirectStriped(int thread, It from, T (&items)[N], int valid) {
    for (int i = 0; i < N; i++)
        if (thread + i * Threads < valid) items[i] = from[thread + i * Threads];
}
template <int Threads, class T, class Default, int N, class It>
__WINDLASS_DEVICE void LoadDirectStriped(int thread, It from, T (&items)[N], int valid, Default otherwise) {
    for (int i = 0; i < N; i++) items[i] = otherwise;
    LoadDirectStriped<Threads>(thread, from, items, valid);
}
template <class T, int N, class It>
__WINDLASS_DEVICE void LoadDirectWarpStriped(int thread, It from, T (&items)[N]) {
    for (int i = 0; i < N; i++) items[i] = from[thread / 32 * 32 * N + thread % 32 + i * 32];
}
template <class T, int N, class It>
__WINDLASS_DEVICE void LoadDirectWarpStriped(int thread, It from, T (&items)[N], int valid) {
    int first = thread / 32 * 32 * N + thread % 32;
    for (int i = 0; i < N; i++)
        if (first + i * 32 < valid) items[i] = from[first + i * 32];
}
template <class T, class Default, int N, class It>
__WINDLASS_DEVICE void LoadDirectWarpStriped(int thread, It from, T (&items)[N], int valid, Default otherwise) {
    for (int i = 0; i < N; i++) items[i] = otherwise;
    LoadDirectWarpStriped(thread, from, items, valid);
}

enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};

template <class T, int BLOCK_DIM_X, int ITEMS_PER_THREAD, BlockLoadAlgorithm ALGORITHM = BLOCK_LOAD_DIRECT,
          int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0>
class BlockLoad {
    static constexpr int threads = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;
    int thread;

public:
    using TempStorage = detail::NoStorage;
    __WINDLASS_DEVICE_MEMBER BlockLoad() : thread(RowMajorTid(BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z)) {}
    __WINDLASS_DEVICE_MEMBER BlockLoad(TempStorage &) : BlockLoad() {}

    template <class It, class... Bounds>
    __WINDLASS_DEVICE_MEMBER void Load(It from, T (&items)[ITEMS_PER_THREAD], Bounds... bounds) {
        if constexpr (ALGORITHM == BLOCK_LOAD_STRIPED) LoadDirectStriped<threads>(thread, from, items, bounds...);
        else LoadDirectBlocked(thread, from, items, bounds...);
    }
};
}  // namespace cub
