// cub::BlockMergeSort and what it shares with cub::WarpMergeSort: stable sorting with any comparison.
#pragma once
#include "sorting_network.cuh"

namespace cub {
namespace detail {
// A group of Threads threads that sorts; Meet is its barrier.
template <class KeyT, int Threads, int N, class ValueT, class Meet> class MergeSort {
    static constexpr int count = Threads * N;

public:
    struct TempStorage {
        SortStorage<KeyT, count> order;
        Storage<ValueT, std::is_same_v<ValueT, NullType> ? 1 : count> values;
    };

protected:
    TempStorage &storage;
    int thread;
    template <class Less> __WINDLASS_DEVICE_MEMBER void sort(KeyT (&keys)[N], ValueT *values, Less less) {
        auto to = [this](int i) { return thread * N + i; };
        auto &room = reinterpret_cast<Storage<ValueT, count> &>(storage.values);
        sort_items<count, Threads>(storage.order, room, thread, keys, values, less, Meet(), to);
    }
    __WINDLASS_DEVICE_MEMBER void fill(KeyT (&keys)[N], int valid, const KeyT &beyond) {
        for (int i = 0; i < N; i++)
            if (thread * N + i >= valid) keys[i] = beyond;
    }

public:
    __WINDLASS_DEVICE_MEMBER MergeSort(TempStorage &storage, int thread) : storage(storage), thread(thread) {}

    template <class Less> __WINDLASS_DEVICE_MEMBER void Sort(KeyT (&keys)[N], Less less) {
        sort(keys, (ValueT *)nullptr, less);
    }
    template <class Less> __WINDLASS_DEVICE_MEMBER void Sort(KeyT (&keys)[N], Less less, int valid, KeyT beyond) {
        fill(keys, valid, beyond);
        sort(keys, (ValueT *)nullptr, less);
    }
    template <class Less> __WINDLASS_DEVICE_MEMBER void Sort(KeyT (&keys)[N], ValueT (&values)[N], Less less) {
        sort(keys, values, less);
    }
    template <class Less>
    __WINDLASS_DEVICE_MEMBER void Sort(KeyT (&keys)[N], ValueT (&values)[N], Less less, int valid, KeyT beyond) {
        fill(keys, valid, beyond);
        sort(keys, values, less);
    }
    template <class... Rest> __WINDLASS_DEVICE_MEMBER void StableSort(KeyT (&keys)[N], Rest &&...rest) {
        Sort(keys, rest...);
    }
};
struct MeetBlock {
    __WINDLASS_DEVICE_MEMBER void operator()() const { __syncthreads(); }
};
}  // namespace detail

template <class KeyT, int BLOCK_DIM_X, int ITEMS_PER_THREAD, class ValueT = NullType, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1>
class BlockMergeSort
    : public detail::MergeSort<KeyT, BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z, ITEMS_PER_THREAD, ValueT, detail::MeetBlock> {
    using Base =
        detail::MergeSort<KeyT, BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z, ITEMS_PER_THREAD, ValueT, detail::MeetBlock>;
    static __WINDLASS_DEVICE_MEMBER typename Base::TempStorage &own_storage() {
        __shared__ typename Base::TempStorage own;
        return own;
    }

public:
    using typename Base::TempStorage;
    __WINDLASS_DEVICE_MEMBER BlockMergeSort() : BlockMergeSort(own_storage()) {}
    __WINDLASS_DEVICE_MEMBER explicit BlockMergeSort(TempStorage &storage)
        : Base(storage, RowMajorTid(BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z)) {}
};
}  // namespace cub
