// cub::BlockReduce: the values of a block's threads combined, in the order of the threads. Thread 0 has the result.
#pragma once
#include "../thread/thread_reduce.cuh"
#include "../util_ptx.cuh"

namespace cub {
enum BlockReduceAlgorithm {
    BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
    BLOCK_REDUCE_RAKING,
    BLOCK_REDUCE_WARP_REDUCTIONS
};

namespace detail {
// Sums of numbers, and extremes of integers, are one reduction over the block's values: thread 0 goes through them.
template <class T, class F>
inline constexpr bool is_one_reduction =
    (__windlass_operator_of<F>::value == __windlass_operator::sum && std::is_arithmetic_v<T>) ||
    (__windlass_operator_of<F>::value != __windlass_operator::other && std::is_integral_v<T>);

// Everything else goes in pairs of neighbours: log2(Threads) steps. `valid` threads from the first have values.
template <int Threads, class T, class F>
__WINDLASS_DEVICE T reduce_block(Storage<T, Threads> &shared, T value, F op, int thread, int valid) {
    shared[thread] = value;
    __syncthreads();
    if constexpr (is_one_reduction<T, F>) {
        if (thread == 0) {
            for (int i = 1; i < Threads; i++)
                if (i < valid) value = op(value, shared[i]);
        }
    } else {
        for (int size = Threads; size > 1; size = (size + 1) / 2) {
            if (2 * thread + 1 < size && 2 * thread + 1 < valid) value = op(shared[2 * thread], shared[2 * thread + 1]);
            else if (2 * thread < size) value = shared[2 * thread];
            valid = (valid + 1) / 2;
            if (size > 2) {
                __syncthreads();
                if (2 * thread < size) shared[thread] = value;
                __syncthreads();
            }
        }
    }
    return value;
}
}  // namespace detail

template <class T, int BLOCK_DIM_X, BlockReduceAlgorithm ALGORITHM = BLOCK_REDUCE_WARP_REDUCTIONS, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0>
class BlockReduce {
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

public:
    __WINDLASS_DEVICE_MEMBER BlockReduce() : BlockReduce(own_storage()) {}
    __WINDLASS_DEVICE_MEMBER BlockReduce(TempStorage &storage)
        : storage(storage), thread(RowMajorTid(BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z)) {}

    template <class F> __WINDLASS_DEVICE_MEMBER T Reduce(T input, F op) {
        return detail::reduce_block<threads>(storage.values, input, op, thread, threads);
    }
    template <class F> __WINDLASS_DEVICE_MEMBER T Reduce(T input, F op, int valid) {
        return detail::reduce_block<threads>(storage.values, input, op, thread, valid);
    }
    template <int N, class F> __WINDLASS_DEVICE_MEMBER T Reduce(T (&inputs)[N], F op) {
        return Reduce(ThreadReduce(inputs, op), op);
    }
    __WINDLASS_DEVICE_MEMBER T Sum(T input) { return Reduce(input, cub::Sum()); }
    __WINDLASS_DEVICE_MEMBER T Sum(T input, int valid) { return Reduce(input, cub::Sum(), valid); }
    template <int N> __WINDLASS_DEVICE_MEMBER T Sum(T (&inputs)[N]) { return Reduce(inputs, cub::Sum()); }
};
}  // namespace cub
