// cub::BlockDiscontinuity: flags where neighbouring items differ.
#pragma once
#include "../thread/thread_operators.cuh"
#include "../util_ptx.cuh"

namespace cub {
namespace detail {
// Flag operators may take the index of the second item, too.
template <class F, class T> __WINDLASS_DEVICE bool flag(F &op, T &a, T &b, int index) {
    if constexpr (std::is_invocable_v<F &, T &, T &, int>) return op(a, b, index);
    else return op(a, b);
}
}  // namespace detail

template <class T, int BLOCK_DIM_X, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0>
class BlockDiscontinuity {
    static constexpr int threads = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;

public:
    struct TempStorage {
        detail::Storage<T, threads> firsts, lasts;
    };

private:
    TempStorage &storage;
    int thread;
    static __WINDLASS_DEVICE_MEMBER TempStorage &own_storage() {
        __shared__ TempStorage own;
        return own;
    }
    // `edge` is the block's neighbour; without one the flag at the edge is set.
    template <int N, class Flag, class F>
    __WINDLASS_DEVICE_MEMBER void heads(Flag (&flags)[N], T (&input)[N], F op, T *edge) {
        if (thread == 0) flags[0] = edge ? (Flag)detail::flag(op, *edge, input[0], 0) : (Flag)1;
        else flags[0] = (Flag)detail::flag(op, storage.lasts[thread - 1], input[0], thread * N);
        for (int i = 1; i < N; i++) flags[i] = (Flag)detail::flag(op, input[i - 1], input[i], thread * N + i);
    }
    template <int N, class Flag, class F>
    __WINDLASS_DEVICE_MEMBER void tails(Flag (&flags)[N], T (&input)[N], F op, T *edge) {
        for (int i = 0; i < N - 1; i++) flags[i] = (Flag)detail::flag(op, input[i], input[i + 1], thread * N + i + 1);
        if (thread == threads - 1) {
            flags[N - 1] = edge ? (Flag)detail::flag(op, input[N - 1], *edge, threads * N) : (Flag)1;
        } else {
            T &next = storage.firsts[thread + 1];
            flags[N - 1] = (Flag)detail::flag(op, input[N - 1], next, thread * N + N);
        }
    }
    template <int N> __WINDLASS_DEVICE_MEMBER void publish(T (&input)[N]) {
        storage.firsts[thread] = input[0];
        storage.lasts[thread] = input[N - 1];
        __syncthreads();
    }

public:
    __WINDLASS_DEVICE_MEMBER BlockDiscontinuity() : BlockDiscontinuity(own_storage()) {}
    __WINDLASS_DEVICE_MEMBER BlockDiscontinuity(TempStorage &storage)
        : storage(storage), thread(RowMajorTid(BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z)) {}

    template <int N, class Flag, class F>
    __WINDLASS_DEVICE_MEMBER void FlagHeads(Flag (&head_flags)[N], T (&input)[N], F op) {
        publish(input);
        heads(head_flags, input, op, nullptr);
    }
    template <int N, class Flag, class F>
    __WINDLASS_DEVICE_MEMBER void FlagHeads(Flag (&head_flags)[N], T (&input)[N], F op, T predecessor) {
        publish(input);
        heads(head_flags, input, op, &predecessor);
    }
    template <int N, class Flag, class F>
    __WINDLASS_DEVICE_MEMBER void FlagTails(Flag (&tail_flags)[N], T (&input)[N], F op) {
        publish(input);
        tails(tail_flags, input, op, nullptr);
    }
    template <int N, class Flag, class F>
    __WINDLASS_DEVICE_MEMBER void FlagTails(Flag (&tail_flags)[N], T (&input)[N], F op, T successor) {
        publish(input);
        tails(tail_flags, input, op, &successor);
    }
    template <int N, class Flag, class F>
    __WINDLASS_DEVICE_MEMBER void FlagHeadsAndTails(Flag (&head_flags)[N], Flag (&tail_flags)[N], T (&input)[N], F op) {
        publish(input);
        heads(head_flags, input, op, nullptr);
        tails(tail_flags, input, op, nullptr);
    }
    template <int N, class Flag, class F>
    __WINDLASS_DEVICE_MEMBER void FlagHeadsAndTails(Flag (&head_flags)[N], Flag (&tail_flags)[N], T successor,
                                                    T (&input)[N], F op) {
        publish(input);
        heads(head_flags, input, op, nullptr);
        tails(tail_flags, input, op, &successor);
    }
    template <int N, class Flag, class F>
    __WINDLASS_DEVICE_MEMBER void FlagHeadsAndTails(Flag (&head_flags)[N], T predecessor, Flag (&tail_flags)[N],
                                                    T (&input)[N], F op) {
        publish(input);
        heads(head_flags, input, op, &predecessor);
        tails(tail_flags, input, op, nullptr);
    }
    template <int N, class Flag, class F>
    __WINDLASS_DEVICE_MEMBER void FlagHeadsAndTails(Flag (&head_flags)[N], T predecessor, Flag (&tail_flags)[N],
                                                    T successor, T (&input)[N], F op) {
        publish(input);
        heads(head_flags, input, op, &predecessor);
        tails(tail_flags, input, op, &successor);
    }
};
}  // namespace cub
