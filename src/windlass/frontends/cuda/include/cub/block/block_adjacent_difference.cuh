// cub::BlockAdjacentDifference: what an operator makes of each item and its neighbour.
#pragma once
#include "../util_ptx.cuh"

namespace cub {
template <class T, int BLOCK_DIM_X, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0>
class BlockAdjacentDifference {
    static constexpr int threads = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;

public:
    struct TempStorage {
        detail::Storage<T, threads> edges;
    };

private:
    TempStorage &storage;
    int thread;
    static __WINDLASS_DEVICE_MEMBER TempStorage &own_storage() {
        __shared__ TempStorage own;
        return own;
    }
    // Items at and beyond `valid`, and the first item where it has no neighbour, stay as they are.
    template <int N, class O, class F>
    __WINDLASS_DEVICE_MEMBER void left(T (&input)[N], O (&output)[N], F op, int valid, T *predecessor) {
        storage.edges[thread] = input[N - 1];
        __syncthreads();
        for (int i = N - 1; i > 0; i--) output[i] = thread * N + i < valid ? (O)op(input[i], input[i - 1]) : (O)input[i];
        if (thread == 0 && predecessor && valid > 0) output[0] = op(input[0], *predecessor);
        else if (thread == 0 || thread * N >= valid) output[0] = input[0];
        else output[0] = op(input[0], storage.edges[thread - 1]);
    }
    template <int N, class O, class F>
    __WINDLASS_DEVICE_MEMBER void right(T (&input)[N], O (&output)[N], F op, int valid, T *successor) {
        storage.edges[thread] = input[0];
        __syncthreads();
        for (int i = 0; i < N - 1; i++)
            output[i] = thread * N + i + 1 < valid ? (O)op(input[i], input[i + 1]) : (O)input[i];
        if (thread == threads - 1) output[N - 1] = successor ? (O)op(input[N - 1], *successor) : (O)input[N - 1];
        else if (thread * N + N < valid) output[N - 1] = op(input[N - 1], storage.edges[thread + 1]);
        else output[N - 1] = input[N - 1];
    }

public:
    __WINDLASS_DEVICE_MEMBER BlockAdjacentDifference() : BlockAdjacentDifference(own_storage()) {}
    __WINDLASS_DEVICE_MEMBER BlockAdjacentDifference(TempStorage &storage)
        : storage(storage), thread(RowMajorTid(BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z)) {}

    template <int N, class O, class F> __WINDLASS_DEVICE_MEMBER void SubtractLeft(T (&input)[N], O (&output)[N], F op) {
        left(input, output, op, threads * N, nullptr);
    }
    template <int N, class O, class F>
    __WINDLASS_DEVICE_MEMBER void SubtractLeft(T (&input)[N], O (&output)[N], F op, T predecessor) {
        left(input, output, op, threads * N, &predecessor);
    }
    template <int N, class O, class F>
    __WINDLASS_DEVICE_MEMBER void SubtractLeftPartialTile(T (&input)[N], O (&output)[N], F op, int valid) {
        left(input, output, op, valid, nullptr);
    }
    template <int N, class O, class F>
    __WINDLASS_DEVICE_MEMBER void SubtractLeftPartialTile(T (&input)[N], O (&output)[N], F op, int valid, T predecessor) {
        left(input, output, op, valid, &predecessor);
    }
    template <int N, class O, class F> __WINDLASS_DEVICE_MEMBER void SubtractRight(T (&input)[N], O (&output)[N], F op) {
        right(input, output, op, threads * N, nullptr);
    }
    template <int N, class O, class F>
    __WINDLASS_DEVICE_MEMBER void SubtractRight(T (&input)[N], O (&output)[N], F op, T successor) {
        right(input, output, op, threads * N, &successor);
    }
    template <int N, class O, class F>
    __WINDLASS_DEVICE_MEMBER void SubtractRightPartialTile(T (&input)[N], O (&output)[N], F op, int valid) {
        right(input, output, op, valid, nullptr);
    }
};
}  // namespace cub
