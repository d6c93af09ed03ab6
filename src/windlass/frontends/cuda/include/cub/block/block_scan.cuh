// cub::BlockScan: prefix sums over the threads of a block, with any operator, one or more items for each thread.
#pragma once
#include "../thread/thread_scan.cuh"
#include "../thread/thread_reduce.cuh"
#include "../util_ptx.cuh"

namespace cub {
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

template <class T, int BLOCK_DIM_X, BlockScanAlgorithm ALGORITHM = BLOCK_SCAN_RAKING, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0>
class BlockScan {
    static constexpr int threads = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;

public:
    struct TempStorage {
        detail::Storage<T, threads> sums;
        detail::Storage<T, 1> prefix;
    };

private:
    TempStorage &storage;
    int thread;
    static __WINDLASS_DEVICE_MEMBER TempStorage &own_storage() {
        __shared__ TempStorage own;
        return own;
    }
    // What is combined of this thread and those before it; storage has that of all threads afterwards.
    template <class F> __WINDLASS_DEVICE_MEMBER T scan(T value, F op) {
        storage.sums[thread] = value;
        __syncthreads();
        for (int distance = 1; distance < threads; distance *= 2) {
            if (thread >= distance) value = op(storage.sums[thread - distance], value);
            __syncthreads();
            storage.sums[thread] = value;
            __syncthreads();
        }
        return value;
    }
    __WINDLASS_DEVICE_MEMBER T before() { return storage.sums[thread > 0 ? thread - 1 : 0]; }
    __WINDLASS_DEVICE_MEMBER T whole() { return storage.sums[threads - 1]; }
    // The first warp asks for what comes before the block, as CUB does; lane 0's answer counts.
    template <class Callback> __WINDLASS_DEVICE_MEMBER T ask(Callback &callback) {
        if (thread < 32) {
            T prefix = callback(whole());
            if (thread == 0) storage.prefix[0] = prefix;
        }
        __syncthreads();
        return storage.prefix[0];
    }
    template <class F> static constexpr bool is_operator = !std::is_arithmetic_v<F>;

public:
    __WINDLASS_DEVICE_MEMBER BlockScan() : BlockScan(own_storage()) {}
    __WINDLASS_DEVICE_MEMBER BlockScan(TempStorage &storage)
        : storage(storage), thread(RowMajorTid(BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z)) {}

    // ---- one item for each thread, any operator
    template <class F> __WINDLASS_DEVICE_MEMBER void InclusiveScan(T input, T &output, F op) { output = scan(input, op); }
    template <class F> __WINDLASS_DEVICE_MEMBER void InclusiveScan(T input, T &output, F op, T &aggregate) {
        output = scan(input, op);
        aggregate = whole();
    }
    template <class F, class Callback, std::enable_if_t<is_operator<F>, int> = 0>
    __WINDLASS_DEVICE_MEMBER void InclusiveScan(T input, T &output, F op, Callback &callback) {
        T sum = scan(input, op);
        output = op(ask(callback), sum);
    }
    template <class F> __WINDLASS_DEVICE_MEMBER void ExclusiveScan(T input, T &output, F op) {
        scan(input, op);
        output = before();
    }
    template <class F> __WINDLASS_DEVICE_MEMBER void ExclusiveScan(T input, T &output, F op, T &aggregate) {
        ExclusiveScan(input, output, op);
        aggregate = whole();
    }
    template <class F, std::enable_if_t<is_operator<F>, int> = 0>
    __WINDLASS_DEVICE_MEMBER void ExclusiveScan(T input, T &output, T initial, F op) {
        scan(input, op);
        T sum = op(initial, before());
        output = thread == 0 ? initial : sum;
    }
    template <class F, std::enable_if_t<is_operator<F>, int> = 0>
    __WINDLASS_DEVICE_MEMBER void ExclusiveScan(T input, T &output, T initial, F op, T &aggregate) {
        ExclusiveScan(input, output, initial, op);
        aggregate = whole();
    }
    template <class F, class Callback, std::enable_if_t<is_operator<F>, int> = 0>
    __WINDLASS_DEVICE_MEMBER void ExclusiveScan(T input, T &output, F op, Callback &callback) {
        scan(input, op);
        T prefix = ask(callback), sum = op(prefix, before());
        output = thread == 0 ? prefix : sum;
    }

    // ---- several items for each thread, in a row
    template <int N, class F> __WINDLASS_DEVICE_MEMBER void InclusiveScan(T (&input)[N], T (&output)[N], F op) {
        scan(ThreadReduce(input, op), op);
        internal::ThreadScanInclusive(input, output, op, before(), thread > 0);
    }
    template <int N, class F>
    __WINDLASS_DEVICE_MEMBER void InclusiveScan(T (&input)[N], T (&output)[N], F op, T &aggregate) {
        InclusiveScan(input, output, op);
        aggregate = whole();
    }
    template <int N, class F, std::enable_if_t<is_operator<F>, int> = 0>
    __WINDLASS_DEVICE_MEMBER void InclusiveScan(T (&input)[N], T (&output)[N], T initial, F op) {
        T prefix;
        ExclusiveScan(ThreadReduce(input, op), prefix, initial, op);
        internal::ThreadScanInclusive(input, output, op, prefix);
    }
    template <int N, class F, std::enable_if_t<is_operator<F>, int> = 0>
    __WINDLASS_DEVICE_MEMBER void InclusiveScan(T (&input)[N], T (&output)[N], T initial, F op, T &aggregate) {
        InclusiveScan(input, output, initial, op);
        aggregate = whole();
    }
    template <int N, class F, class Callback, std::enable_if_t<is_operator<F>, int> = 0>
    __WINDLASS_DEVICE_MEMBER void InclusiveScan(T (&input)[N], T (&output)[N], F op, Callback &callback) {
        T prefix;
        ExclusiveScan(ThreadReduce(input, op), prefix, op, callback);
        internal::ThreadScanInclusive(input, output, op, prefix);
    }
    template <int N, class F> __WINDLASS_DEVICE_MEMBER void ExclusiveScan(T (&input)[N], T (&output)[N], F op) {
        scan(ThreadReduce(input, op), op);
        internal::ThreadScanExclusive(input, output, op, before(), thread > 0);
    }
    template <int N, class F>
    __WINDLASS_DEVICE_MEMBER void ExclusiveScan(T (&input)[N], T (&output)[N], F op, T &aggregate) {
        ExclusiveScan(input, output, op);
        aggregate = whole();
    }
    template <int N, class F, std::enable_if_t<is_operator<F>, int> = 0>
    __WINDLASS_DEVICE_MEMBER void ExclusiveScan(T (&input)[N], T (&output)[N], T initial, F op) {
        T prefix;
        ExclusiveScan(ThreadReduce(input, op), prefix, initial, op);
        internal::ThreadScanExclusive(input, output, op, prefix);
    }
    template <int N, class F, std::enable_if_t<is_operator<F>, int> = 0>
    __WINDLASS_DEVICE_MEMBER void ExclusiveScan(T (&input)[N], T (&output)[N], T initial, F op, T &aggregate) {
        ExclusiveScan(input, output, initial, op);
        aggregate = whole();
    }
    template <int N, class F, class Callback, std::enable_if_t<is_operator<F>, int> = 0>
    __WINDLASS_DEVICE_MEMBER void ExclusiveScan(T (&input)[N], T (&output)[N], F op, Callback &callback) {
        T prefix;
        ExclusiveScan(ThreadReduce(input, op), prefix, op, callback);
        internal::ThreadScanExclusive(input, output, op, prefix);
    }

    // ---- sums
    __WINDLASS_DEVICE_MEMBER void InclusiveSum(T input, T &output) { InclusiveScan(input, output, cub::Sum()); }
    __WINDLASS_DEVICE_MEMBER void InclusiveSum(T input, T &output, T &aggregate) {
        InclusiveScan(input, output, cub::Sum(), aggregate);
    }
    template <class Callback, std::enable_if_t<!std::is_same_v<Callback, T>, int> = 0>
    __WINDLASS_DEVICE_MEMBER void InclusiveSum(T input, T &output, Callback &callback) {
        InclusiveScan(input, output, cub::Sum(), callback);
    }
    __WINDLASS_DEVICE_MEMBER void ExclusiveSum(T input, T &output) { ExclusiveScan(input, output, T{}, cub::Sum()); }
    __WINDLASS_DEVICE_MEMBER void ExclusiveSum(T input, T &output, T &aggregate) {
        ExclusiveScan(input, output, T{}, cub::Sum(), aggregate);
    }
    template <class Callback, std::enable_if_t<!std::is_same_v<Callback, T>, int> = 0>
    __WINDLASS_DEVICE_MEMBER void ExclusiveSum(T input, T &output, Callback &callback) {
        ExclusiveScan(input, output, cub::Sum(), callback);
    }
    template <int N> __WINDLASS_DEVICE_MEMBER void InclusiveSum(T (&input)[N], T (&output)[N]) {
        InclusiveScan(input, output, cub::Sum());
    }
    template <int N> __WINDLASS_DEVICE_MEMBER void InclusiveSum(T (&input)[N], T (&output)[N], T &aggregate) {
        InclusiveScan(input, output, cub::Sum(), aggregate);
    }
    template <int N, class Callback, std::enable_if_t<!std::is_same_v<Callback, T>, int> = 0>
    __WINDLASS_DEVICE_MEMBER void InclusiveSum(T (&input)[N], T (&output)[N], Callback &callback) {
        InclusiveScan(input, output, cub::Sum(), callback);
    }
    template <int N> __WINDLASS_DEVICE_MEMBER void ExclusiveSum(T (&input)[N], T (&output)[N]) {
        ExclusiveScan(input, output, T{}, cub::Sum());
    }
    template <int N> __WINDLASS_DEVICE_MEMBER void ExclusiveSum(T (&input)[N], T (&output)[N], T &aggregate) {
        ExclusiveScan(input, output, T{}, cub::Sum(), aggregate);
    }
    template <int N, class Callback, std::enable_if_t<!std::is_same_v<Callback, T>, int> = 0>
    __WINDLASS_DEVICE_MEMBER void ExclusiveSum(T (&input)[N], T (&output)[N], Callback &callback) {
        ExclusiveScan(input, output, cub::Sum(), callback);
    }
};
}  // namespace cub
