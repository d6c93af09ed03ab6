// cub::BlockShuffle: values move along the threads of a block.
#pragma once
#include "../util_ptx.cuh"

namespace cub {
template <class T, int BLOCK_DIM_X, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0> class BlockShuffle {
    static constexpr int threads = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;

public:
    struct TempStorage {
        detail::Storage<T, threads> values;
    };

private:
    TempStorage &storage;
    int thread;
    static __WINDLASS_DEVICE_MEMBER TempStorage &own_storage() {
        __shared__ TempStorage own;
        return own;
    }
    __WINDLASS_DEVICE_MEMBER void publish(T value) {
        storage.values[thread] = value;
        __syncthreads();
    }

public:
    __WINDLASS_DEVICE_MEMBER BlockShuffle() : BlockShuffle(own_storage()) {}
    __WINDLASS_DEVICE_MEMBER BlockShuffle(TempStorage &storage)
        : storage(storage), thread(RowMajorTid(BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z)) {}

    __WINDLASS_DEVICE_MEMBER void Offset(T input, T &output, int distance = 1) {
        publish(input);
        int other = thread + distance;
        if (other >= 0 && other < threads) output = storage.values[other];
    }
    __WINDLASS_DEVICE_MEMBER void Rotate(T input, T &output, unsigned int distance = 1) {
        publish(input);
        output = storage.values[(thread + distance) % threads];
    }
    template <int N> __WINDLASS_DEVICE_MEMBER void Up(T (&input)[N], T (&previous)[N]) {
        publish(input[N - 1]);
        for (int i = N - 1; i > 0; i--) previous[i] = input[i - 1];
        if (thread > 0) previous[0] = storage.values[thread - 1];
    }
    template <int N> __WINDLASS_DEVICE_MEMBER void Up(T (&input)[N], T (&previous)[N], T &block_suffix) {
        Up(input, previous);
        block_suffix = storage.values[threads - 1];
    }
    template <int N> __WINDLASS_DEVICE_MEMBER void Down(T (&input)[N], T (&next)[N]) {
        publish(input[0]);
        for (int i = 0; i < N - 1; i++) next[i] = input[i + 1];
        if (thread < threads - 1) next[N - 1] = storage.values[thread + 1];
    }
    template <int N> __WINDLASS_DEVICE_MEMBER void Down(T (&input)[N], T (&next)[N], T &block_prefix) {
        Down(input, next);
        block_prefix = storage.values[0];
    }
};
}  // namespace cub
