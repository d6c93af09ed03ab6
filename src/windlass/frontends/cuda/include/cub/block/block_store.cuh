// cub::BlockStore: items from threads to memory; the counterpart of BlockLoad.
#pragma once
#include "../thread/thread_store.cuh"
#include "../util_ptx.cuh"

namespace cub {
template <class T, int N, class It> __WINDLASS_DEVICE void StoreDirectBlocked(int thread, It to, T (&items)[N]) {
    for (int i = 0; i < N; i++) to[thread * N + i] = items[i];
}
template <class T, int N, class It>
__WINDLASS_DEVICE void StoreDirectBlocked(int thread, It to, T (&items)[N], int valid) {
    for (int i = 0; i < N; i++)
        if (thread * N + i < valid) to[thread * N + i] = items[i];
}
template <class T, int N> __WINDLASS_DEVICE void StoreDirectBlockedVectorized(int thread, T *to, T (&items)[N]) {
    StoreDirectBlocked(thread, to, items);
}
template <int Threads, class T, int N, class It>
__WINDLASS_DEVICE void StoreDirectStriped(int thread, It to, T (&items)[N]) {
    for (int i = 0; i < N; i++) to[thread + i * Threads] = items[i];
}
template <int Threads, class T, int N, class It>
__WINDLASS_DEVICE void StoreDirectStriped(int thread, It to, T (&items)[N], int valid) {
    for (int i = 0; i < N; i++)
        if (thread + i * Threads < valid) to[thread + i * Threads] = items[i];
}
template <class T, int N, class It> __WINDLASS_DEVICE void StoreDirectWarpStriped(int thread, It to, T (&items)[N]) {
    for (int i = 0; i < N; i++) to[thread / 32 * 32 * N + thread % 32 + i * 32] = items[i];
}
template <class T, int N, class It>
__WINDLASS_DEVICE void StoreDirectWarpStriped(int thread, It to, T (&items)[N], int valid) {
    int first = thread / 32 * 32 * N + thread % 32;
    for (int i = 0; i < N; i++)
        if (first + i * 32 < valid) to[first + i * 32] = items[i];
}

enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

template <class T, int BLOCK_DIM_X, int ITEMS_PER_THREAD, BlockStoreAlgorithm ALGORITHM = BLOCK_STORE_DIRECT,
          int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0>
class BlockStore {
    static constexpr int threads = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;
    int thread;

public:
    using TempStorage = detail::NoStorage;
    __WINDLASS_DEVICE_MEMBER BlockStore() : thread(RowMajorTid(BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z)) {}
    __WINDLASS_DEVICE_MEMBER BlockStore(TempStorage &) : BlockStore() {}

    template <class It, class... Bounds>
    __WINDLASS_DEVICE_MEMBER void Store(It to, T (&items)[ITEMS_PER_THREAD], Bounds... bounds) {
        if constexpr (ALGORITHM == BLOCK_STORE_STRIPED) StoreDirectStriped<threads>(thread, to, items, bounds...);
        else StoreDirectBlocked(thread, to, items, bounds...);
    }
};
}  // namespace cub
